#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "report/regression.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"

namespace rehearse::report {

namespace {

using sim::kNan;

void read_summary(const std::string& path, Results& results) {
  const sim::JsonDocument document = sim::read_json_file(path);
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  results.scenario = in.text("scenario");
  results.seed = static_cast<std::uint64_t>(in.integer("seed", sim::at_least(0)));
  results.repetitions = static_cast<int>(in.integer("repetitions", sim::between(1, 1e6)));
  std::vector<std::string> kinds;
  for (const sim::JsonValue kind : in.list("kinds"))
    if (kind.is_string()) kinds.emplace_back(kind.text());
  results.kinds = study_kinds_of(kinds);
  for (const sim::JsonValue value : in.list("policies")) {
    sim::ObjectReader row(value, mistakes);
    results.policies.push_back({.policy = row.text("policy"),
                                .ok = row.text("status") == "ok",
                                .reason = row.text("reason", std::string()),
                                .metrics = {},
                                .decision_time_s = kNan});
  }
  mistakes.throw_if_any();
}

void read_timing(const std::string& path, Results& results) {
  if (!std::filesystem::exists(path)) return;
  const sim::JsonDocument document = sim::read_json_file(path);
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  for (const sim::JsonValue value : in.list("policies")) {
    sim::ObjectReader row(value, mistakes);
    const std::string name = row.text("policy");
    const double seconds = row.number("decision_time_s", sim::at_least(0));
    for (PolicyValues& policy : results.policies)
      if (policy.policy == name) policy.decision_time_s = seconds;
  }
  mistakes.throw_if_any();
}

void read_repetitions(const std::string& path, const std::vector<std::string>& metrics, Results& results) {
  for (PolicyValues& policy : results.policies)
    for (const std::string& metric : metrics)
      policy.metrics[metric].assign(policy.ok ? static_cast<std::size_t>(results.repetitions) : 0, kNan);
  std::map<std::string, std::int64_t> rows;
  sim::CsvReader file(path, {.required = {"policy", "repetition"}, .optional = metrics});
  while (sim::CsvRow* row = file.next()) {
    const std::string name(row->text("policy"));
    const auto repetition = row->integer("repetition", sim::between(0, results.repetitions - 1));
    const auto policy = std::find_if(results.policies.begin(), results.policies.end(),
                                     [&](const PolicyValues& p) { return p.ok && p.policy == name; });
    if (policy == results.policies.end())
      row->refuse("policy", "a policy of summary.json that did not fail");
    else if (repetition != rows[name]++)
      row->refuse("repetition", "repetitions in their order");
    else
      for (const std::string& metric : metrics)
        policy->metrics[metric][static_cast<std::size_t>(repetition)] = row->maybe_number(metric).value_or(kNan);
    if (!row->mistakes().empty()) throw sim::InputError(row->mistakes());
  }
  for (const PolicyValues& policy : results.policies)
    if (policy.ok && rows[policy.policy] != results.repetitions)
      throw sim::InputError({.file = path,
                             .expected = fmt::format("{} rows of \"{}\"", results.repetitions, policy.policy),
                             .found = fmt::format("{}", rows[policy.policy])});
}

}  // namespace

const PolicyValues* Results::find(std::string_view policy) const {
  const auto at = std::find_if(policies.begin(), policies.end(), [&](const PolicyValues& p) { return p.policy == policy; });
  return at == policies.end() ? nullptr : &*at;
}

StudyKinds read_kinds(const std::string& folder) {
  Results results;
  read_summary(folder + "/summary.json", results);
  return results.kinds;
}

Results read_results(const std::string& folder, const std::vector<std::string>& metrics) {
  Results results;
  results.folder = folder;
  read_summary(folder + "/summary.json", results);
  read_repetitions(folder + "/repetitions.csv", metrics, results);
  read_timing(folder + "/timing.json", results);
  return results;
}

}  // namespace rehearse::report
