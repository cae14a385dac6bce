#include "report/html_report.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "report/metric_fields.hpp"
#include "report/regression.hpp"
#include "report/row_writer.hpp"
#include "report/xml_text.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::report {

namespace {

std::string base64(const std::vector<unsigned char>& bytes, std::size_t count) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((count + 2) / 3 * 4);
  for (std::size_t i = 0; i < count; i += 3) {
    const auto at = [&](std::size_t k) { return i + k < count ? static_cast<std::uint32_t>(bytes[i + k]) : 0u; };
    const std::uint32_t word = at(0) << 16 | at(1) << 8 | at(2);
    for (std::size_t k = 0; k < 4; ++k) out += i + k > count ? '=' : kDigits[word >> (18 - 6 * k) & 63];
  }
  return out;
}

/// The page's slots in the order in which they stand, each filled once: what goes in is not looked at again.
std::string filled(std::string_view page, const std::vector<std::pair<std::string_view, std::string>>& slots) {
  std::string out;
  for (const auto& [slot, text] : slots) {
    const std::size_t at = page.find(slot);
    sim::check(at != page.npos, "the report's page has its slots, in this order");
    out += page.substr(0, at);
    out += text;
    page.remove_prefix(at + slot.size());
  }
  return out += page;
}

/// What the tables of a run show for these kinds of study.
std::string columns_json(const StudyKinds& kinds) {
  std::string json;
  for (const MetricColumns& columns : metric_columns(kinds)) {
    std::string of_table;
    for (const MetricField* field : columns.fields)
      of_table += fmt::format(R"({}{{"field":"{}","label":"{}","doc":{},"shown":"{}","over":"{}"}})", of_table.empty() ? "" : ",",
                              field->name, field->heading, json_string(field->doc), name_of(field->shown), field->over);
    json += fmt::format(R"({}{{"queue":{},"columns":[{}]}})", json.empty() ? "" : ",", shows({.queue = true}, columns.table),
                        of_table);
  }
  return "[" + json + "]";
}

/// Of scenario.json, which the user may have edited since: a missing or odd one has no description.
std::string description_of(const std::string& folder) {
  const std::string path = folder + "/scenario.json";
  if (!std::filesystem::exists(path)) return "null";
  const sim::JsonDocument document = sim::read_json_file(path);
  for (const sim::JsonMember& member : document.root().members())
    if (member.key.text() == "description" && member.value.is_string()) return sim::json_string(member.value.text());
  return "null";
}

}  // namespace

std::string script_safe(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string deflated_base64(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<unsigned char> out(size);
  const int status = compress2(out.data(), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 6);
  sim::check(status == Z_OK, "what fits into memory can be deflated");
  return base64(out, size);
}

std::string html_report(const HtmlReportSetup& setup) {
  const std::string path = setup.folder + "/summary.json";
  const std::string summary = sim::read_file(path, sim::kMaxJsonBytes);
  const sim::JsonDocument document = sim::parse_json(summary, path);
  std::string title;
  bool is_study = false, has_policies = false;
  std::vector<std::string> kinds;
  for (const sim::JsonMember& member : document.root().members()) {
    if (member.key.text() == "scenario" && member.value.is_string()) title = member.value.text();
    if (member.key.text() == "kinds" && member.value.is_array())
      for (const sim::JsonValue kind : member.value.elements())
        if (kind.is_string()) kinds.emplace_back(kind.text());
    is_study = is_study || member.key.text() == "study";
    has_policies = has_policies || (member.key.text() == "policies" && member.value.is_array());
  }
  if (title.empty()) throw sim::InputError({.file = path, .expected = "a summary of ours, with a scenario's name"});
  if (!is_study && !has_policies) throw sim::InputError({.file = path, .expected = "a summary of ours, with a list of policies"});
  std::string timing = "null";
  if (setup.timing) timing = read_timing_file(setup.folder + "/timing.json").dump();
  const std::string first = fmt::format("{{\"summary\":{},\"description\":{},\"timing\":{},\"tables\":{}}}", summary,
                                        description_of(setup.folder), timing, columns_json(study_kinds_of(kinds)));
  const std::string details = is_study ? study_details_json(setup.folder) : run_details_json(setup.folder);
  return filled(setup.page, {{"@rehearse-title@", xml_text(title)},
                             {"@rehearse-summary@", script_safe(first)},
                             {"@rehearse-detail@", deflated_base64(details)}});
}

// What the HTML report shows of a study beyond its tables, which summary.json has: its graphs and timelines.

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
