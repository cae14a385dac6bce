// What the HTML report shows of a study beyond its tables, which summary.json has: its graphs and timelines.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "report/html_report.hpp"
#include "report/row_writer.hpp"
#include "sim/io/file.hpp"

namespace rehearse::report {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostBytes = 12'000'000;  ///< of all pictures together, before they are deflated

bool is_picture(const fs::path& file) {
  const std::string ending = file.extension(), name = file.filename();
  return ending == ".dot" || (ending == ".json" && name.starts_with("timeline"));
}

}  // namespace

std::string study_details_json(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file() && is_picture(entry.path())) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::string json, left_out;
  std::size_t bytes = 0;
  for (const fs::path& file : files) {
    const std::string name = json_string(file.filename().string());
    bytes += fs::file_size(file);
    if (bytes > kMostBytes) {
      left_out += (left_out.empty() ? "" : ",") + name;
      continue;
    }
    json += fmt::format("{}{}:{}", json.empty() ? "" : ",", name, json_string(sim::read_file(file, kMostBytes)));
  }
  return fmt::format(R"({{"files":{{{}}},"left_out":[{}]}})", json, left_out);
}

}  // namespace rehearse::report
