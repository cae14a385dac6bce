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
#include "sim/io/seal.hpp"

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
    text += fmt::format(R"({}{{"reason": {}, "rows": {}{}, "first_lines": [{}]}})", text.empty() ? "" : ", ",
                        json_string(reason.reason), reason.rows,
                        reason.also > 0 ? fmt::format(", \"also\": {}", reason.also) : "", fmt::join(reason.first_lines, ", "));
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
      "\"billing\": {},\n  \"minimum_node_s\": {},\n  \"origin_s\": {},\n  \"inputs\": "
      "{},\n",
      json_string(s.scenario), json_string(sim::program_version()), s.seed, s.repetitions, json_string(s.baseline),
      json_string(sim::name_of(s.billing)), json_number(s.minimum_node_s), json_number(s.origin_s), json_inputs(s.inputs));
  if (!s.warnings.empty()) text += fmt::format("  \"warnings\": {},\n", json_names(s.warnings));
  text += fmt::format("  \"kinds\": [\"{}\"],\n", fmt::join(names_of(s.kinds), "\", \""));
  if (s.measure)
    text += fmt::format("  \"measure\": {{\"warmup_s\": {}, \"until_s\": {}}},\n", json_number(s.measure->warmup_s),
                        json_number(s.measure->until_s));
  text += fmt::format("  \"verdict\": {},\n", verdict_json(s));
  if (is_of_queues(s.kinds)) text += fmt::format("  \"completion_verdict\": {},\n", completion_verdict_json(s));
  if (s.certificate) text += fmt::format("  \"certificate\": {},\n", certificate_json(*s.certificate));
  std::vector<std::string> yardsticks;
  for (const SummaryRow& row : s.rows)
    if (row.is_yardstick) yardsticks.push_back(row.policy);
  text += fmt::format("  \"yardsticks\": {},\n", json_names(yardsticks));
  text += "  \"pools\": [";
  for (std::size_t p = 0; p < s.pools.size(); ++p)
    text += fmt::format(
        "{}\n    {{\"pool\": {}, \"instance\": {}, \"nodes\": {}, \"devices_per_node\": {}, \"price_usd_per_hour\": {}, "
        "\"price_date\": {}}}",
        p == 0 ? "" : ",", json_string(s.pools[p].name), json_string(s.pools[p].instance), s.pools[p].nodes,
        s.pools[p].devices_per_node, json_number(s.pools[p].price_usd_per_hour),
        s.pools[p].price_date.empty() ? "null" : json_string(s.pools[p].price_date));
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

namespace {

/// What not every study has.
std::string more_of_study(const StudySummary& s) {
  std::string text;
  if (!s.warnings.empty()) text += fmt::format("  \"warnings\": {},\n", json_names(s.warnings));
  if (!s.findings.empty()) text += fmt::format("  \"findings\": {},\n", json_names(s.findings));
  if (!s.saving.table.empty())
    text += fmt::format("  \"saving\": {{\"table\": {}, \"column\": {}}},\n", json_string(s.saving.table),
                        json_string(s.saving.column));
  return text;
}

}  // namespace

std::string study_json(const StudySummary& s) {
  std::string text = fmt::format(
      "{{\n  \"scenario\": {},\n  \"version\": {},\n  \"study\": {},\n  \"seed\": {},\n  \"repetitions\": {},\n  \"inputs\": "
      "{},\n{}  \"notes\": [",
      json_string(s.scenario), json_string(sim::program_version()), json_string(s.study), s.seed, s.repetitions,
      json_inputs(s.inputs), more_of_study(s));
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
  return sim::sealed(text + "\n]\n}\n");
}

namespace {

std::string money(double usd) { return text_of(Shown::money, usd); }

std::string percent(double fraction) { return text_of(Shown::percent, fraction); }

std::string duration(double seconds) { return text_of(Shown::duration, seconds); }

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
std::string verdict(const SummaryRow& row, const RunVerdict& of_all, bool is_of_queues) {
  if (row.of("jobs").mean == 0) return "no job counts";
  const double broken = row.of("limits_broken").mean, infeasible = row.of("jobs_infeasible").mean;
  std::string text = is_of_queues ? completion_in_row(of_all, row.policy) : verdict_in_row(of_all, row.policy);
  const bool has_limits = !std::isnan(row.of("deadline_met_fraction").mean) || !std::isnan(row.of("accuracy_met_fraction").mean);
  if (is_of_queues && !has_limits && broken == 0) return text;
  if (!text.empty()) text += "; ";
  text += broken > 0 ? fmt::format("breaks limits of {}", sim::counted(broken, "job")) : "keeps all limits";
  if (infeasible > 0) text += fmt::format("; finds {} infeasible", sim::figure(infeasible));
  return text;
}

/// The saving over the jobs whose limits policy and baseline keep, and their share.
std::string where_both_keep(const SummaryRow& row) {
  const double percent_saved = row.of("saving_percent").mean;
  if (std::isnan(percent_saved)) return "-";
  return fmt::format("{:.1f} % of {:.0f} %", std::abs(percent_saved) < 0.05 ? 0.0 : percent_saved,
                     100 * row.of("both_keep_limits_fraction").mean);
}

/// Not where all keep all limits: it is the saving then.
bool shows_where_both_keep(const Summary& s) {
  return std::any_of(s.rows.begin(), s.rows.end(),
                     [](const SummaryRow& row) { return row.ok && !(row.of("both_keep_limits_fraction").mean >= 1); });
}

using Cells = std::vector<std::string>;

Tone tone_of(const SummaryRow& row, bool is_best) {
  if (!row.ok) return Tone::failed;
  return is_best ? Tone::best : row.of("limits_broken").mean > 0 ? Tone::broken : Tone::plain;
}

/// Money and limits: which policy to choose.
std::string money_table(const Summary& s, const RunVerdict& judged, const Screen& screen) {
  const bool where_both = shows_where_both_keep(s);
  Cells head{"policy", "cost, $", "profiling, $", "effective, $", "saving", "deadlines", "accuracy"};
  if (where_both) head.emplace_back("where both keep");
  head.emplace_back("verdict");
  std::vector<bool> left(head.size(), false);
  left.front() = left.back() = true;
  std::vector<Cells> rows{std::move(head)};
  std::vector<Tone> tones{Tone::plain};
  for (const SummaryRow& row : s.rows) {
    tones.push_back(tone_of(row, row.policy == judged.drawn.winner));
    if (!row.ok) {
      rows.push_back({shown_name(row.policy, row.is_yardstick), "FAILED: " + row.reason});
      continue;
    }
    rows.push_back({shown_name(row.policy, row.is_yardstick), money(row.of("cost_usd").mean),
                    money(row.of("profiling_cost_usd").mean), money(row.of("effective_cost_usd").mean),
                    saving(row.of("effective_saving_percent")), percent(row.of("deadline_met_fraction").mean),
                    percent(row.of("accuracy_met_fraction").mean)});
    if (where_both) rows.back().push_back(where_both_keep(row));
    rows.back().push_back(verdict(row, judged, is_of_queues(s.kinds)));
  }
  return aligned(rows, left, screen.in_colour ? tones : std::vector<Tone>(), screen.width);
}

/// A ratio with its interval, or any other quantity; "(n)" behind it where it is over n jobs and not over all.
std::string cell(const SummaryRow& row, const MetricField& field) {
  const Estimate value = row.of(field.name);
  std::string text = text_of(field.shown, value.mean);
  if (field.name == "jct_speedup" && !std::isnan(value.ci95_low))
    text += fmt::format(" [{}, {}]", text_of(field.shown, value.ci95_low), text_of(field.shown, value.ci95_high));
  if (field.over.empty()) return text;
  const double over = row.of(field.over).mean;
  return over < row.of("jobs").mean ? fmt::format("{} ({:.6g})", text, over) : text;
}

/// One of metric_columns(), in their order; with the time that policies took behind the last of those about policies.
std::string metric_table(const Summary& s, const MetricColumns& columns, bool with_policy_time, std::size_t width) {
  std::vector<Cells> rows{{"policy"}};
  for (const MetricField* field : columns.fields) rows.front().emplace_back(field->heading);
  if (with_policy_time) rows.front().emplace_back("policy took");
  for (const SummaryRow& row : s.rows) {
    if (!row.ok) continue;
    Cells& cells = rows.emplace_back(Cells{shown_name(row.policy, row.is_yardstick)});
    for (const MetricField* field : columns.fields) cells.push_back(cell(row, *field));
    if (with_policy_time) cells.push_back(short_time(row.decision_time_s / s.repetitions));
  }
  std::vector<bool> left(rows.front().size(), false);
  left.front() = true;
  if (with_policy_time) left.back() = true;
  return rows.size() > 1 ? aligned(rows, left, {}, width) : std::string();
}

/// Tables of metrics, before the money of a queue study, whose policies cost the same by construction, and behind it otherwise.
struct MetricTables {
  std::string before, behind;
};

MetricTables metric_tables(const Summary& s, std::size_t width) {
  MetricTables text;
  const MetricTable last_of_policies = s.kinds.configuration ? MetricTable::time : MetricTable::cluster;
  for (const MetricColumns& columns : metric_columns(s.kinds)) {
    const std::string table = metric_table(s, columns, columns.table == last_of_policies, width);
    if (table.empty()) continue;
    if (shows({.queue = true}, columns.table))
      text.before += table + "\n";
    else
      text.behind += "\n" + table;
  }
  return text;
}

/// What the columns mean that not every study has, and over how many jobs they are.
std::string metric_notes(const Summary& s) {
  std::string text;
  if (s.kinds.queue)
    text += fmt::format(
        "Speed-up: {0}'s mean JCT over the policy's{1}. Slowdown: JCT over the time alone with manual's configuration, at least "
        "10 "
        "s.\nrho: JCT over the time alone on 1/N of the cluster, N the mean number of jobs beside it under {0}.\n",
        sim::printable(s.baseline, sim::kWholeText), s.repetitions > 1 ? ", with its 95 % confidence interval" : "");
  if (s.kinds.nodes) text += "Goodput: device-seconds of training that counted over those held.\n";
  const bool censored = std::any_of(s.rows.begin(), s.rows.end(), [](const SummaryRow& row) {
    return row.ok && row.of("jobs_completed").mean < row.of("jobs").mean;
  });
  if (censored)
    text += "(n): over n jobs, as the others did not finish or cannot be compared. In quantiles of JCT they are never done.\n";
  return text;
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

/// Whether this policy shows that the yardstick is no bound: it pays less, and breaks no more limits or pays for them as well.
bool beats(const SummaryRow& row, const SummaryRow& yardstick) {
  const auto is_less = [&](std::string_view field) { return row.of(field).mean < yardstick.of(field).mean * (1 - kSameFigure); };
  return is_less("effective_cost_usd") ||
         (is_less("cost_usd") && row.of("limits_broken").mean <= yardstick.of("limits_broken").mean);
}

/// A line for each yardstick that a policy beats.
std::string beaten_yardsticks(const Summary& s) {
  std::string text;
  for (const SummaryRow& yardstick : s.rows) {
    if (!yardstick.ok || !yardstick.is_yardstick) continue;
    const auto better = std::find_if(s.rows.begin(), s.rows.end(),
                                     [&](const SummaryRow& row) { return row.ok && !row.is_yardstick && beats(row, yardstick); });
    if (better == s.rows.end()) continue;
    text += fmt::format(
        "{} is no bound here: {} costs less. A yardstick knows the world of each job by itself, not who\n"
        "waits for whom or shares a node: under queues and whole nodes it can cost more than another policy.\n",
        sim::printable(yardstick.policy, sim::kWholeText), sim::printable(better->policy, sim::kWholeText));
  }
  return text;
}

}  // namespace

std::string billing_line(sim::Billing billing, double minimum_node_s) {
  switch (billing) {
    case sim::Billing::allocated:
      return "Billing: allocated: a job pays for the devices that it holds; idle devices are nobody's.";
    case sim::Billing::node:
      return fmt::format("Billing: node: whole nodes from provisioning to release{}, split over the jobs on them.",
                         minimum_node_s > 0 ? fmt::format(", {:g} s each at least", minimum_node_s) : "");
    case sim::Billing::pool:
      return "Billing: pool: every node from first submission to last end, idle ones shared out; policies minimise\n"
             "price-weighted device-seconds of the pools that a job uses, until it ends.";
  }
  return "";
}

std::string terminal_table(const Summary& s, const Screen& screen) {
  const MetricTables tables = metric_tables(s, screen.width);
  const bool of_queues = is_of_queues(s.kinds);
  const RunVerdict judged = of_queues ? judge_completion(s) : s.verdict;
  std::string text = tables.before + money_table(s, judged, screen) + tables.behind;
  if (const std::string choices = choices_text(s); !choices.empty()) text += "\n" + choices;
  double jobs = 0;
  for (const SummaryRow& row : s.rows)
    if (row.ok) jobs = row.of("jobs").mean;
  text += fmt::format("\n{}, {}, seed {}. ", sim::counted(jobs, "job"), sim::counted(s.repetitions, "repetition"), s.seed);
  if (const std::string population = population_line(s); !population.empty())
    text += population + "\n";
  else
    text += "\n";
  text += fmt::format(
      "Saving: against {}, of effective cost, over all jobs{}{}.\n", sim::printable(s.baseline, sim::kWholeText),
      s.repetitions > 1 ? ", with its 95 % confidence interval" : "",
      shows_where_both_keep(s) ? "; \"where both keep\": over the jobs whose limits both\nkeep, and their share" : "");
  text +=
      "Effective cost adds, for each job with a broken limit, what its manual configuration costs alone. Cost error: median of\n"
      "|predicted / actual - 1|. Profiling is included in cost and saving.\n";
  text += billing_line(s.billing, s.minimum_node_s) + "\n";
  if (!s.price_dates.empty()) text += fmt::format("Prices of {}.\n", s.price_dates);
  text += metric_notes(s);
  text += beaten_yardsticks(s);
  if (s.measure) text += measured(s);
  for (const SummaryRow& row : s.rows) {
    const double profiling = row.of("profiling_cost_usd").mean;
    if (profiling > 0)
      text += fmt::format("Without profiling, {} saves {}.\n", sim::printable(row.policy, sim::kWholeText),
                          saving(row.of("effective_saving_without_profiling_percent")));
  }
  text += "\n" + (of_queues ? completion_sentence(s, judged) : verdict_sentence(s.verdict)) + "\n";
  if (s.certificate && of_queues) text += "By money: " + verdict_sentence(s.verdict) + "\n";  // what is certified
  if (s.certificate) text += certificate_sentence(*s.certificate) + "\n";
  return text;
}

}  // namespace rehearse::report
