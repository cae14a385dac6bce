#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "report/comparison.hpp"
#include "report/policy_name.hpp"
#include "report/row_writer.hpp"
#include "report/table.hpp"
#include "sim/base/text.hpp"
#include "sim/base/units.hpp"
#include "sim/base/version.hpp"

namespace rehearse::report {

namespace {

std::string json_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + json_string(name);
  return "[" + text + "]";
}

std::string json_reasons(const std::vector<InputReport::Reason>& reasons) {
  std::string text;
  for (const InputReport::Reason& reason : reasons)
    text += fmt::format(R"({}{{"reason": {}, "rows": {}, "first_lines": [{}]}})", text.empty() ? "" : ", ",
                        json_string(reason.reason), reason.rows, fmt::join(reason.first_lines, ", "));
  return "[" + text + "]";
}

std::string json_inputs(const std::vector<InputReport>& inputs) {
  std::string text;
  for (const InputReport& input : inputs) {
    text += fmt::format(
        "{}\n    {{\"path\": {}, \"sha256\": {}, \"rows\": {}, \"jobs\": {},\n     \"dropped\": {}, \"repaired\": {}, \"notes\": "
        "[",
        text.empty() ? "" : ",", json_string(input.path), json_string(input.sha256), input.rows, input.jobs,
        json_reasons(input.dropped), json_reasons(input.repaired));
    for (std::size_t n = 0; n < input.notes.size(); ++n) text += (n == 0 ? "" : ", ") + json_string(input.notes[n]);
    text += "]}";
  }
  return "[" + text + "]";
}

}  // namespace

std::string summary_json(const Summary& s) {
  std::string text = fmt::format(
      "{{\n  \"scenario\": {},\n  \"version\": {},\n  \"seed\": {},\n  \"repetitions\": {},\n  \"baseline\": {},\n  "
      "\"origin_s\": {},\n  \"inputs\": "
      "{},\n",
      json_string(s.scenario), json_string(sim::program_version()), s.seed, s.repetitions, json_string(s.baseline),
      json_number(s.origin_s), json_inputs(s.inputs));
  if (s.measure)
    text += fmt::format("  \"measure\": {{\"warmup_s\": {}, \"until_s\": {}}},\n", json_number(s.measure->warmup_s),
                        json_number(s.measure->until_s));
  text += fmt::format("  \"verdict\": {},\n", verdict_json(s));
  std::vector<std::string> yardsticks;
  for (const SummaryRow& row : s.rows)
    if (row.is_yardstick) yardsticks.push_back(row.policy);
  text += fmt::format("  \"yardsticks\": {},\n", json_names(yardsticks));
  text += "  \"pools\": [";
  for (std::size_t p = 0; p < s.pools.size(); ++p)
    text += fmt::format(
        "{}\n    {{\"pool\": {}, \"instance\": {}, \"nodes\": {}, \"devices_per_node\": {}, \"price_usd_per_hour\": {}}}",
        p == 0 ? "" : ",", json_string(s.pools[p].name), json_string(s.pools[p].instance), s.pools[p].nodes,
        s.pools[p].devices_per_node, json_number(s.pools[p].price_usd_per_hour));
  text += "],\n  \"policies\": [";
  for (std::size_t r = 0; r < s.rows.size(); ++r) {
    const SummaryRow& row = s.rows[r];
    text += fmt::format("{}\n    {{\"policy\": {}, \"status\": \"{}\"", r == 0 ? "" : ",", json_string(row.policy),
                        row.ok ? "ok" : "failed");
    if (!row.ok) text += fmt::format(", \"reason\": {}", json_string(row.reason));
    for (const SummaryField& field : row.fields)
      text += fmt::format(",\n     \"{}\": {}", field.name, json_estimate(field.value));
    text += "}";
  }
  return text + "\n  ]\n}\n";
}

std::string study_json(const StudySummary& s) {
  std::string text = fmt::format(
      "{{\n  \"scenario\": {},\n  \"version\": {},\n  \"study\": {},\n  \"seed\": {},\n  \"repetitions\": {},\n  \"inputs\": "
      "{},\n  \"notes\": [",
      json_string(s.scenario), json_string(sim::program_version()), json_string(s.study), s.seed, s.repetitions,
      json_inputs(s.inputs));
  for (std::size_t n = 0; n < s.notes.size(); ++n) text += (n == 0 ? "" : ", ") + json_string(s.notes[n]);
  text += fmt::format("],\n  \"yardsticks\": {},\n  \"tables\": {{", json_names(s.yardsticks));
  bool first = true;
  for (const Table& table : s.tables) {
    if (table.name.empty()) continue;
    text += fmt::format("{}\n    {}: {}", first ? "" : ",", json_string(table.name), table_json(table));
    first = false;
  }
  return text + "\n  }\n}\n";
}

std::string timing_json(const Summary& s) {
  std::string text = "{\"policies\": [";
  for (std::size_t r = 0; r < s.rows.size(); ++r) {
    const SummaryRow& row = s.rows[r];
    text += fmt::format("{}\n  {{\"policy\": {}, \"decision_time_s\": {}, \"run_cpu_s\": {}, \"max_rss_bytes\": {}}}",
                        r == 0 ? "" : ",", json_string(row.policy), json_number(row.decision_time_s), json_number(row.run_cpu_s),
                        json_number(row.max_rss_bytes));
  }
  return text + "\n]}\n";
}

namespace {

std::string money(double usd) {
  return std::isnan(usd) ? "-" : std::abs(usd) < 10 ? fmt::format("{:.4f}", usd) : fmt::format("{:.2f}", usd);
}

std::string percent(double fraction) { return std::isnan(fraction) ? "-" : fmt::format("{:.1f} %", 100 * fraction); }

std::string duration(double seconds) {
  if (std::isnan(seconds)) return "-";
  if (seconds < 600) return fmt::format("{:.1f} s", seconds);
  if (seconds < 2 * sim::kSecondsPerHour) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds < 96 * sim::kSecondsPerHour) return fmt::format("{:.1f} h", seconds / sim::kSecondsPerHour);
  return fmt::format("{:.1f} d", seconds / (24 * sim::kSecondsPerHour));
}

std::string short_time(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string saving(const Estimate& e) {
  if (std::isnan(e.mean)) return "-";
  const auto shown = [](double percent) { return std::abs(percent) < 0.05 ? 0.0 : percent; };  // never "-0.0"
  if (std::isnan(e.ci95_low)) return fmt::format("{:.1f} %", shown(e.mean));
  return fmt::format("{:.1f} % [{:.1f}, {:.1f}]", shown(e.mean), shown(e.ci95_low), shown(e.ci95_high));
}

/// What the numbers of a row mean for choosing it.
std::string verdict(const SummaryRow& row, const RunVerdict& of_all) {
  if (row.of("jobs").mean == 0) return "no job counts";
  const double broken = row.of("limits_broken").mean, infeasible = row.of("jobs_infeasible").mean;
  std::string text = verdict_in_row(of_all, row.policy);
  if (!text.empty()) text += "; ";
  text += broken > 0 ? fmt::format("breaks limits of {:.3g} jobs", broken) : "keeps all limits";
  if (infeasible > 0) text += fmt::format("; finds {:.3g} infeasible", infeasible);
  return text;
}

/// The saving over the jobs whose limits policy and baseline keep, and their share.
std::string where_both_keep(const SummaryRow& row) {
  const double percent_saved = row.of("saving_percent").mean;
  if (std::isnan(percent_saved)) return "-";
  return fmt::format("{:.1f} % of {:.0f} %", std::abs(percent_saved) < 0.05 ? 0.0 : percent_saved,
                     100 * row.of("both_keep_limits_fraction").mean);
}

using Cells = std::vector<std::string>;

/// Money and limits: which policy to choose.
std::string money_table(const Summary& s) {
  std::vector<Cells> rows{
      {"policy", "cost, $", "profiling, $", "effective, $", "saving", "deadlines", "accuracy", "where both keep", "verdict"}};
  for (const SummaryRow& row : s.rows) {
    if (!row.ok) {
      rows.push_back({shown_name(row.policy, row.is_yardstick), "FAILED: " + row.reason});
      continue;
    }
    rows.push_back({shown_name(row.policy, row.is_yardstick), money(row.of("cost_usd").mean),
                    money(row.of("profiling_cost_usd").mean), money(row.of("effective_cost_usd").mean),
                    saving(row.of("effective_saving_percent")), percent(row.of("deadline_met_fraction").mean),
                    percent(row.of("accuracy_met_fraction").mean), where_both_keep(row), verdict(row, s.verdict)});
  }
  return aligned(rows, {true, false, false, false, false, false, false, false, true});
}

/// The mean completion time; over how many jobs, where some have none.
std::string mean_of_finished(const SummaryRow& row) {
  const double jobs = row.of("jobs").mean, finished = row.of("jobs_completed").mean;
  const std::string text = duration(row.of("jct_mean_s").mean);
  return finished < jobs ? fmt::format("{} ({:.4g} of {:.4g})", text, finished, jobs) : text;
}

/// What it meant for time, energy and the policy's own work.
std::string time_table(const Summary& s) {
  std::vector<Cells> rows{
      {"policy", "mean JCT", "p95 JCT", "makespan", "utilization", "energy, kWh", "reconf.", "cost error", "policy took"}};
  for (const SummaryRow& row : s.rows) {
    if (!row.ok) continue;
    const double energy = row.of("energy_kwh").mean;
    rows.push_back({shown_name(row.policy, row.is_yardstick), mean_of_finished(row), duration(row.of("jct_p95_s").mean),
                    duration(row.of("makespan_s").mean), percent(row.of("utilization_fraction").mean),
                    energy < 10 ? fmt::format("{:.3f}", energy) : fmt::format("{:.1f}", energy),
                    fmt::format("{:g}", row.of("reconfigurations").mean), percent(row.of("cost_error_median").mean),
                    short_time(row.decision_time_s / s.repetitions)});
  }
  return rows.size() > 1 ? "\n" + aligned(rows, {true, false, false, false, false, false, false, false, true}) : std::string();
}

/// Which jobs count, and from when on each policy's queue was in a steady state.
std::string measured(const Summary& s) {
  const MeasureWindow& window = *s.measure;
  std::string text = fmt::format("Jobs submitted from {:.0f} s{} count.", window.warmup_s,
                                 std::isinf(window.until_s) ? " on" : fmt::format(" to {:.0f} s", window.until_s));
  for (const SummaryRow& row : s.rows) {
    if (!row.ok) continue;
    const double from_s = row.of("steady_from_s").mean;
    const std::string policy = sim::printable(row.policy, sim::kWholeText);
    text += std::isnan(from_s) ? fmt::format(" {}: no steady state found (MSER-5).", policy)
                               : fmt::format(" {}: steady from {:.0f} s on, mean JCT {} (MSER-5).", policy, from_s,
                                             duration(row.of("jct_steady_mean_s").mean));
  }
  return text + "\n";
}

}  // namespace

std::string terminal_table(const Summary& s) {
  std::string text = money_table(s) + time_table(s);
  double jobs = 0;
  for (const SummaryRow& row : s.rows)
    if (row.ok) jobs = row.of("jobs").mean;
  text += fmt::format("\n{:.6g} jobs, {} repetition{}, seed {}. ", jobs, s.repetitions, s.repetitions == 1 ? "" : "s", s.seed);
  if (const std::string population = population_line(s); !population.empty())
    text += population + "\n";
  else
    text += "\n";
  text += fmt::format(
      "Saving: against {}, of effective cost, over all jobs{}; \"where both keep\": over the jobs whose limits both keep, and "
      "their share.\n",
      sim::printable(s.baseline, sim::kWholeText), s.repetitions > 1 ? ", with its 95 % confidence interval" : "");
  text +=
      "Effective cost adds, for each job with a broken limit, what its manual configuration costs alone. Cost error: median of\n"
      "|predicted / actual - 1|. Profiling is included in cost and saving.\n";
  if (s.measure) text += measured(s);
  for (const SummaryRow& row : s.rows) {
    const double profiling = row.of("profiling_cost_usd").mean;
    if (profiling > 0)
      text += fmt::format("Without profiling, {} saves {}.\n", sim::printable(row.policy, sim::kWholeText),
                          saving(row.of("saving_without_profiling_percent")));
  }
  text += "\n" + verdict_sentence(s.verdict) + "\n";
  return text;
}

}  // namespace rehearse::report
