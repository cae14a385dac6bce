#include "report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <tuple>

#include "report/metric_fields.hpp"
#include "report/outcome.hpp"
#include "report/table.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"

namespace rehearse::report {

namespace {

using sim::kNan;

/// One repetition of a policy beside the baseline's: logarithms of costs over the baseline's.
struct Pairing {
  double both_keep = kNan;
  double both_keep_without_profiling = kNan;
  double effective = kNan;
  double effective_without_profiling = kNan;
  double both_keep_limits_fraction = kNan;
};

double log_of_ratio(double cost, double baseline) {
  if (!(baseline > 0)) return kNan;
  return std::abs(cost - baseline) <= kSameFigure * baseline ? 0 : std::log(cost / baseline);  // rounding is no saving
}

Pairing pair_up(const RunOutcome& run, const RunOutcome& baseline) {
  sim::check(run.jobs.size() == baseline.jobs.size(), "policies did not get the same jobs");
  double cost = 0, base = 0, bare_cost = 0, bare_base = 0;
  std::size_t both = 0;
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    const JobOutcome &mine = run.jobs[j], &theirs = baseline.jobs[j];
    if (!mine.keeps_limits || !theirs.keeps_limits) continue;
    ++both;
    bare_cost += mine.cost_usd;
    bare_base += theirs.cost_usd;
    cost += mine.cost_usd + mine.profiling_usd;
    base += theirs.cost_usd + theirs.profiling_usd;
  }
  Pairing p;
  if (!run.jobs.empty()) p.both_keep_limits_fraction = static_cast<double>(both) / static_cast<double>(run.jobs.size());
  p.effective = log_of_ratio(run.metrics.effective_cost_usd, baseline.metrics.effective_cost_usd);
  const auto bare = [](const RunOutcome& of) { return of.metrics.effective_cost_usd - of.metrics.profiling_cost_usd; };
  p.effective_without_profiling = log_of_ratio(bare(run), bare(baseline));
  if (both == 0) return p;
  p.both_keep = log_of_ratio(cost, base);
  p.both_keep_without_profiling = log_of_ratio(bare_cost, bare_base);
  return p;
}

struct Regret {
  double mean = kNan;
  double p90 = kNan;
};

/// As in the total: with its share of profiling.
double effective(const JobOutcome& job) { return job.effective_cost_usd + job.profiling_usd; }

Regret regret(const RunOutcome& run, const RunOutcome& oracle) {
  std::vector<double> values;
  for (std::size_t j = 0; j < run.jobs.size(); ++j) values.push_back(effective(run.jobs[j]) - effective(oracle.jobs[j]));
  if (std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); })) return {};
  return {mean(values), quantile(values, 0.9)};
}

template <class Value>
Estimate over(const std::vector<RunOutcome>& repetitions, Value&& value) {
  std::vector<double> values;
  for (std::size_t r = 0; r < repetitions.size(); ++r) values.push_back(value(r));
  return estimate(values);
}

/// 100 (1 - exp(mean log ratio)).
template <class Value>
Estimate saving_over(const std::vector<RunOutcome>& repetitions, Value&& value) {
  const Estimate e = over(repetitions, value);
  const auto percent = [](double log) { return 0.0 - 100 * std::expm1(log); };
  return {percent(e.mean), percent(e.ci95_high), percent(e.ci95_low)};
}

/// Undefined in one repetition, undefined altogether: a mean over the others would leave the worst out.
template <class Value>
bool is_whole(const std::vector<RunOutcome>& repetitions, Value&& value) {
  return std::none_of(repetitions.begin(), repetitions.end(), [&](const RunOutcome& run) { return std::isnan(value(run)); });
}

double effective_cost(const RunOutcome& run) { return run.metrics.effective_cost_usd; }

void add_own_fields(const std::vector<RunOutcome>& runs, SummaryRow& row) {
  const auto any = [&](auto&& has) { return std::any_of(runs.begin(), runs.end(), has); };
  const bool carbon = any([](const RunOutcome& run) { return !std::isnan(run.metrics.co2_kg); });
  const bool measured = any([](const RunOutcome& run) { return run.metrics.measured; });
  for (const MetricField& field : metric_fields()) {
    if ((field.present == Present::with_carbon && !carbon) || (field.present == Present::with_measure && !measured)) continue;
    std::vector<double> values;
    for (const RunOutcome& run : runs) values.push_back(run.metrics.*field.value);
    const bool is_known = field.value != &RunMetrics::effective_cost_usd || is_whole(runs, effective_cost);
    row.fields.push_back({field.name, is_known ? estimate(values) : Estimate{kNan, kNan, kNan}, values});
  }
}

/// Each repetition beside the same one of the baseline.
void add_schedule_fields(const std::vector<RunOutcome>& runs, const PolicyResult* base, SummaryRow& row) {
  std::vector<ScheduleMetrics> found(runs.size(), {kNan, kNan, kNan, kNan, kNan, kNan, kNan});
  for (std::size_t r = 0; base != nullptr && r < runs.size(); ++r) found[r] = schedule_metrics(runs[r], base->repetitions[r]);
  const auto values_of = [&](double ScheduleMetrics::*value) {
    std::vector<double> values;
    for (const ScheduleMetrics& one : found) values.push_back(one.*value);
    return values;
  };
  const auto add = [&](std::string_view name, double ScheduleMetrics::*value) {
    const std::vector<double> values = values_of(value);
    row.fields.push_back({name, estimate(values), values});
  };
  add("jct_speedup", &ScheduleMetrics::jct_speedup);
  if (runs.size() > 1)  // of the means over repetitions, which stand beside it and rank policies
    row.fields.back().value = ratio_of_means(values_of(&ScheduleMetrics::reference_both_mean_s),
                                             values_of(&ScheduleMetrics::both_mean_s), Mean::arithmetic);
  add("speedup_jobs", &ScheduleMetrics::speedup_jobs);
  add("fairness_rho_worst", &ScheduleMetrics::fairness_rho_worst);
  add("fairness_rho_above_1_fraction", &ScheduleMetrics::fairness_rho_above_1);
  add("fairness_jobs", &ScheduleMetrics::fairness_jobs);
}

const PolicyResult* find_ok(const std::vector<PolicyResult>& results, std::string_view name) {
  for (const PolicyResult& result : results)
    if (result.policy == name && result.ok) return &result;
  return nullptr;
}

bool ends_alike(const JobOutcome& a, const JobOutcome& b) {
  return a.finished == b.finished && a.keeps_limits == b.keeps_limits && is_same_figure(a.completion_s, b.completion_s) &&
         is_same_figure(effective(a), effective(b)) && is_same_figure(a.cost_usd, b.cost_usd);
}

/// In every repetition, job by job.
bool is_as(const PolicyResult& policy, const PolicyResult& reference) {
  return std::equal(policy.repetitions.begin(), policy.repetitions.end(), reference.repetitions.begin(),
                    reference.repetitions.end(), [](const RunOutcome& mine, const RunOutcome& theirs) {
                      return std::equal(mine.jobs.begin(), mine.jobs.end(), theirs.jobs.begin(), theirs.jobs.end(), ends_alike);
                    });
}

std::string csv_number(double value) { return std::isfinite(value) ? json_number(value) : std::string(); }

constexpr std::size_t kMostShown = 3;
constexpr std::size_t kLongestName = 24;

std::string choice_words(const ChosenCount& c, double jobs, const std::vector<PoolFacts>& pools) {
  const std::string pool = sim::printable(pools.at(static_cast<std::size_t>(c.pool)).name, kLongestName);
  return fmt::format("{} x {}{}: {}", c.workers, pool,
                     c.batch_size > 0 ? fmt::format(", batch {}", sim::figure(c.batch_size, 6)) : "",
                     sim::percent_words(static_cast<double>(c.jobs) / jobs));
}

/// As many of the most frequent as fit.
std::string choices_line(const std::string& policy, std::size_t width, const std::vector<ChosenCount>& chosen,
                         const std::vector<PoolFacts>& pools) {
  double jobs = 0;
  for (const ChosenCount& c : chosen) jobs += static_cast<double>(c.jobs);
  std::string line = fmt::format("{:<{}}", policy, width);
  for (std::size_t i = 0; i < std::min(kMostShown, chosen.size()); ++i) {
    const std::string words = (i == 0 ? "  " : ";  ") + choice_words(chosen[i], jobs, pools);
    if (i > 0 && line.size() + words.size() > kTerminalWidth) break;
    line += words;
  }
  return line + "\n";
}

}  // namespace

Estimate SummaryRow::of(std::string_view field) const {
  for (const SummaryField& f : fields)
    if (f.name == field) return f.value;
  return {kNan, kNan, kNan};
}

std::vector<SummaryRow> compare(const std::vector<PolicyResult>& results, std::string_view baseline) {
  const PolicyResult* base = find_ok(results, baseline);
  const PolicyResult* oracle = find_ok(results, "oracle");
  std::vector<SummaryRow> rows;
  for (const PolicyResult& result : results) {
    SummaryRow row{.policy = result.policy,
                   .ok = result.ok,
                   .reason = result.reason,
                   .is_yardstick = result.is_yardstick,
                   .run_cpu_s = result.run_cpu_s,
                   .max_rss_bytes = result.max_rss_bytes};
    if (result.ok) {
      const std::vector<RunOutcome>& runs = result.repetitions;
      row.chosen = chosen_in(runs);
      add_own_fields(runs, row);
      add_schedule_fields(runs, base, row);
      std::vector<Pairing> pairs(runs.size());
      std::vector<Regret> regrets(runs.size());
      for (std::size_t r = 0; r < runs.size(); ++r) {
        row.decision_time_s += runs[r].metrics.decision_time_s;
        if (base != nullptr) pairs[r] = pair_up(runs[r], base->repetitions[r]);
        if (oracle != nullptr) regrets[r] = regret(runs[r], oracle->repetitions[r]);
      }
      row.fields.push_back({"saving_percent", saving_over(runs, [&](std::size_t r) { return pairs[r].both_keep; })});
      row.fields.push_back({"saving_without_profiling_percent",
                            saving_over(runs, [&](std::size_t r) { return pairs[r].both_keep_without_profiling; })});
      const bool is_paired = base != nullptr && is_whole(runs, effective_cost) && is_whole(base->repetitions, effective_cost);
      row.fields.push_back(
          {"effective_saving_percent", saving_over(runs, [&](std::size_t r) { return is_paired ? pairs[r].effective : kNan; })});
      row.fields.push_back({"effective_saving_without_profiling_percent", saving_over(runs, [&](std::size_t r) {
                              return is_paired ? pairs[r].effective_without_profiling : kNan;
                            })});
      row.fields.push_back(
          {"both_keep_limits_fraction", over(runs, [&](std::size_t r) { return pairs[r].both_keep_limits_fraction; })});
      row.fields.push_back({"regret_mean_usd", over(runs, [&](std::size_t r) { return regrets[r].mean; })});
      row.fields.push_back({"regret_p90_usd", over(runs, [&](std::size_t r) { return regrets[r].p90; })});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

VerdictInput verdict_input(const std::vector<PolicyResult>& results, const VerdictTerms& terms) {
  VerdictInput input{.reference = terms.reference,
                     .is_exact = terms.is_exact,
                     .unit_share = terms.unit_share,
                     .has_limits = terms.has_limits,
                     .limits_margin = terms.limits_margin};
  const PolicyResult* reference = find_ok(results, terms.reference);
  for (const PolicyResult& result : results) {
    input.policies.push_back({.name = result.policy, .is_yardstick = result.is_yardstick});
    if (!result.ok) continue;
    input.policies.back().is_as_reference = reference != nullptr && &result != reference && is_as(result, *reference);
    for (const RunOutcome& run : result.repetitions)
      input.policies.back().repetitions.push_back(
          {.broken_share = run.metrics.jobs > 0 ? run.metrics.limits_broken / run.metrics.jobs : kNan,
           .effective_cost_usd = run.metrics.effective_cost_usd,
           .jobs = run.metrics.jobs});
  }
  return input;
}

std::string repetitions_csv(const std::vector<PolicyResult>& results, const std::vector<SummaryRow>& rows) {
  std::string text = "policy,repetition";
  for (const MetricField& field : all_metric_fields())
    if (field.source != MetricSource::policies) (text += ',') += field.name;
  text += ",step_evaluations\n";
  for (std::size_t p = 0; p < rows.size(); ++p) {
    if (!rows[p].ok) continue;
    for (std::size_t r = 0; r < results[p].repetitions.size(); ++r) {
      text += fmt::format("{},{}", sim::csv_text(rows[p].policy), r);
      for (const MetricField& field : all_metric_fields()) {
        if (field.source == MetricSource::policies) continue;
        const auto& fields = rows[p].fields;
        const auto at = std::find_if(fields.begin(), fields.end(), [&](const SummaryField& f) { return f.name == field.name; });
        text += "," + (at == fields.end() ? std::string() : csv_number(at->by_repetition[r]));
      }
      text += "," + csv_number(results[p].repetitions[r].metrics.step_evaluations) + "\n";
    }
  }
  return text;
}

std::vector<ChosenCount> chosen_in(const std::vector<RunOutcome>& repetitions) {
  std::map<std::tuple<int, int, double>, std::size_t> counts;
  for (const RunOutcome& run : repetitions)
    for (const JobOutcome& job : run.jobs)
      if (job.pool >= 0) ++counts[{job.pool, job.workers, job.batch_size > 0 ? job.batch_size : 0}];
  std::vector<ChosenCount> chosen;
  for (const auto& [choice, jobs] : counts)
    chosen.push_back(
        {.pool = std::get<0>(choice), .workers = std::get<1>(choice), .batch_size = std::get<2>(choice), .jobs = jobs});
  std::stable_sort(chosen.begin(), chosen.end(), [](const ChosenCount& a, const ChosenCount& b) { return a.jobs > b.jobs; });
  return chosen;
}

std::string choices_text(const Summary& summary) {
  std::vector<const SummaryRow*> rows;
  for (const SummaryRow& row : summary.rows)
    if (row.ok && !row.chosen.empty()) rows.push_back(&row);
  if (rows.empty()) return {};
  const bool alike = std::all_of(rows.begin(), rows.end(), [&](const SummaryRow* row) { return row->chosen == rows[0]->chosen; });
  if (alike && rows.size() > 1)
    return "What the jobs ran on, under every policy\n" + choices_line({}, 0, rows[0]->chosen, summary.pools);
  std::size_t width = 0;
  std::vector<std::string> names;
  for (const SummaryRow* row : rows) {
    names.push_back(sim::printable(row->policy, kLongestName));
    width = std::max(width, names.back().size());
  }
  std::string text = "What each policy chose: workers, pool and batch, of how many of the jobs that ran\n";
  for (std::size_t r = 0; r < rows.size(); ++r) text += choices_line(names[r], width, rows[r]->chosen, summary.pools);
  return text;
}

}  // namespace rehearse::report
