#include <algorithm>
#include <charconv>
#include <filesystem>

#include "report/regression.hpp"
#include "report/row_writer.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::report {

namespace {

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

void write_recorded(const std::string& results, const std::string& folder, const ChanceTable& chance) {
  copy_file(results + "/repetitions.csv", folder + "/repetitions.csv");
  copy_file(results + "/timing.json", folder + "/timing.json");
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
