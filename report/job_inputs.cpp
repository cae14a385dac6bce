#include "report/job_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/json.hpp"

namespace rehearse::report {

namespace {

struct Input {
  const char* column;
  const char* words;
};

constexpr std::array kInputs{Input{"submit_s", "submit dates"},
                             Input{"model", "models"},
                             Input{"dataset", "datasets"},
                             Input{"deadline_s", "deadlines"},
                             Input{"target_accuracy", "accuracy floors"},
                             Input{"cost_limit_usd", "cost limits"}};
constexpr std::size_t kDeadline = 3;

using Inputs = std::array<std::string, kInputs.size()>;

struct Asked {
  std::set<std::string> columns;
  std::map<std::pair<int, std::string>, Inputs> jobs;  ///< by repetition and name
  std::set<int> repetitions;
};

/// As text, or as numbers: recorded results are rounded to seven digits.
bool same(const std::string& a, const std::string& b) {
  if (a == b) return true;
  double x = 0, y = 0;
  const auto reads = [](const std::string& text, double& into) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return error == std::errc() && end == text.data() + text.size();
  };
  return reads(a, x) && reads(b, y) && std::abs(x - y) <= 1e-6 * std::max(std::abs(x), std::abs(y));
}

/// Of the first policy, whose rows come first: all have the same jobs.
Asked read_asked(const std::string& path) {
  Asked asked;
  std::string policy;
  sim::CsvColumns columns{.required = {"policy", "repetition", "job"}, .optional = {}};
  for (const Input& input : kInputs) columns.optional.emplace_back(input.column);
  sim::CsvReader file(path, columns);
  for (const Input& input : kInputs)
    if (file.has_column(input.column)) asked.columns.insert(input.column);
  while (sim::CsvRow* row = file.next()) {
    if (asked.jobs.empty()) policy = row->text("policy");
    if (row->text("policy") != policy) break;
    const auto repetition = static_cast<int>(row->integer("repetition", sim::between(0, 1e6)));
    asked.repetitions.insert(repetition);
    const auto [at, is_new] = asked.jobs.try_emplace({repetition, std::string(row->text("job"))});
    if (is_new)
      for (std::size_t i = 0; i < kInputs.size(); ++i)
        if (asked.columns.contains(kInputs[i].column)) at->second[i] = row->text(kInputs[i].column);
    if (!row->mistakes().empty()) throw sim::InputError(row->mistakes());
  }
  return asked;
}

/// The jobs of the scenario that a folder keeps, as JSON, if some are generated; else empty.
std::string generated_jobs(const std::string& folder) {
  const std::string path = folder + "/scenario.json";
  if (!std::filesystem::exists(path)) return "";
  const sim::JsonDocument document = sim::read_json_file(path);
  for (const sim::JsonMember member : document.root().members())
    if (member.key.text() == "jobs")
      for (const sim::JsonValue source : member.value.elements())
        for (const sim::JsonMember key : source.members())
          if (key.key.text() == "generate") return member.value.json();
  return "";
}

}  // namespace

std::vector<std::string> input_changes(const std::string& first_folder, const std::string& other_folder) {
  const std::string first_path = first_folder + "/jobs.csv", other_path = other_folder + "/jobs.csv";
  if (!std::filesystem::exists(first_path) || !std::filesystem::exists(other_path)) return {};
  const Asked first = read_asked(first_path), other = read_asked(other_path);
  std::array<std::size_t, kInputs.size()> differ{};
  std::size_t both = 0, alone = 0;
  for (const auto& [key, inputs] : other.jobs)
    if (first.repetitions.contains(key.first) && !first.jobs.contains(key)) ++alone;
  for (const auto& [key, inputs] : first.jobs) {
    const auto at = other.jobs.find(key);
    if (at == other.jobs.end()) {
      if (other.repetitions.contains(key.first)) ++alone;
      continue;
    }
    ++both;
    for (std::size_t i = 0; i < kInputs.size(); ++i)
      if (first.columns.contains(kInputs[i].column) && other.columns.contains(kInputs[i].column) &&
          !same(inputs[i], at->second[i]))
        ++differ[i];
  }
  const std::string generated = differ[kDeadline] > 0 ? generated_jobs(first_folder) : "";
  const bool by_cluster = !generated.empty() && generated_jobs(other_folder) == generated;
  std::vector<std::string> changes;
  for (std::size_t i = 0; i < kInputs.size(); ++i)
    if (differ[i] > 0)
      changes.push_back(
          fmt::format("{} of {} of {} differ{}", kInputs[i].words, differ[i], sim::counted(static_cast<double>(both), "job"),
                      i == kDeadline && by_cluster ? ": generated jobs take theirs from the cluster" : ""));
  if (alone > 0) changes.push_back(fmt::format("{} in one of the two alone", sim::counted(static_cast<double>(alone), "job")));
  return changes;
}

}  // namespace rehearse::report
