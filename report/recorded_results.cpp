#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "report/regression.hpp"
#include "report/row_writer.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/output_file.hpp"
#include "sim/io/seal.hpp"

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
  const sim::JsonDocument document = read_timing_file(path);
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

/// Seven digits of a number; other text as it is.
std::string shortened(std::string_view field) {
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size()) return std::string(field);
  return fmt::format("{:.7g}", value);
}

/// These columns of the rows that count.
template <class Counts>
void copy_columns(const std::string& from, const std::string& to, const std::vector<std::string>& names, std::size_t texts,
                  Counts&& counts) {
  sim::CsvReader in(from, {.required = {}, .optional = names});
  RowWriter out(to);
  out.line(fmt::format("{}", fmt::join(names, ",")));
  while (sim::CsvRow* row = in.next()) {
    if (!counts(*row)) continue;
    for (std::size_t c = 0; c < names.size(); ++c)
      out.text(c < texts ? std::string(row->text(names[c])) : shortened(row->text(names[c])));
    out.end_row();
    if (!row->mistakes().empty()) throw sim::InputError(row->mistakes());
  }
  out.close();
}

std::string summary_of(const Results& results) {
  std::string text =
      fmt::format("{{\n  \"scenario\": {},\n  \"seed\": {},\n  \"repetitions\": {},\n  \"kinds\": [\"{}\"],\n  \"policies\": [",
                  json_string(results.scenario), results.seed, results.repetitions, fmt::join(names_of(results.kinds), "\", \""));
  for (const PolicyValues& policy : results.policies)
    text += fmt::format("{}\n    {{\"policy\": {}, \"status\": \"{}\"{}}}", &policy == &results.policies.front() ? "" : ",",
                        json_string(policy.policy), policy.ok ? "ok" : "failed",
                        policy.ok ? "" : ", \"reason\": " + json_string(policy.reason));
  return text + "\n  ]\n}\n";
}

void copy_file(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, error);
  if (error) throw sim::InputError({.file = to, .expected = "a copy of " + from, .found = error.message()});
}

}  // namespace

const PolicyValues* Results::find(std::string_view policy) const {
  const auto at = std::find_if(policies.begin(), policies.end(), [&](const PolicyValues& p) { return p.policy == policy; });
  return at == policies.end() ? nullptr : &*at;
}

sim::JsonDocument read_timing_file(const std::string& path) {
  return sim::parse_json(
      sim::unsealed(sim::read_file(path, sim::kMaxJsonBytes), path, "run again, or remove it: results do without its times"),
      path);
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

void write_recorded(const std::string& results, const std::string& folder, const ChanceTable& chance) {
  copy_file(results + "/repetitions.csv", folder + "/repetitions.csv");
  copy_file(results + "/timing.json", folder + "/timing.json");
  copy_file(results + "/scenario.json", folder + "/scenario.json");
  sim::write_file(folder + "/summary.json", summary_of(read_results(results, {})));
  copy_columns(results + "/jobs.csv", folder + "/jobs.csv",
               {"policy", "repetition", "job", "state", "pool", "deadline_met", "accuracy_met", "cost_limit_met", "submit_s",
                "end_s", "workers", "batch_size", "cost_usd", "effective_cost_usd", "energy_j"},
               8, [](sim::CsvRow&) { return true; });
  copy_columns(
      results + "/decisions.csv", folder + "/decisions.csv",
      {"policy", "repetition", "job", "decision", "pool", "time_s", "rank", "workers", "batch_size", "predicted_cost_usd"}, 5,
      [](sim::CsvRow& row) { return row.text("decision") == "start" || row.text("rank") == "0"; });
  RowWriter out(folder + "/chance.csv");
  out.line("policy,metric,deviation,degrees_of_freedom");
  for (const auto& [key, value] : chance) {
    out.text(key.first).text(key.second).number(value.deviation).number(value.degrees_of_freedom);
    out.end_row();
  }
  out.close();
}

ChanceTable read_chance(const std::string& folder) {
  const std::string path = folder + "/chance.csv";
  ChanceTable table;
  if (!std::filesystem::exists(path)) return table;
  sim::CsvReader file(path, {.required = {"policy", "metric", "deviation", "degrees_of_freedom"}, .optional = {}});
  while (sim::CsvRow* row = file.next()) {
    table[{std::string(row->text("policy")), std::string(row->text("metric"))}] = {
        .deviation = row->number("deviation", sim::at_least(0)),
        .degrees_of_freedom = row->number("degrees_of_freedom", sim::at_least(1))};
    if (!row->mistakes().empty()) throw sim::InputError(row->mistakes());
  }
  return table;
}

}  // namespace rehearse::report
