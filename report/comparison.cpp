#include "report/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "report/metric_fields.hpp"
#include "report/schedule_metrics.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::report {

namespace {

using sim::kNan;

/// One repetition of a policy beside the baseline's.
struct Pairing {
  double saving_percent = kNan;
  double saving_without_profiling_percent = kNan;
  double effective_saving_percent = kNan;
  double both_keep_limits_fraction = kNan;
};

double saving(double cost, double baseline) { return baseline > 0 ? 100 * (1 - cost / baseline) : kNan; }

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
  p.effective_saving_percent = saving(run.metrics.effective_cost_usd, baseline.metrics.effective_cost_usd);
  if (both == 0) return p;
  p.saving_percent = saving(cost, base);
  p.saving_without_profiling_percent = saving(bare_cost, bare_base);
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
  return {mean(values), quantile(values, 0.9)};
}

template <class Value>
Estimate over(const std::vector<RunOutcome>& repetitions, Value&& value) {
  std::vector<double> values;
  for (std::size_t r = 0; r < repetitions.size(); ++r) values.push_back(value(r));
  return estimate(values);
}

void add_own_fields(const std::vector<RunOutcome>& runs, SummaryRow& row) {
  const auto any = [&](auto&& has) { return std::any_of(runs.begin(), runs.end(), has); };
  const bool carbon = any([](const RunOutcome& run) { return !std::isnan(run.metrics.co2_kg); });
  const bool measured = any([](const RunOutcome& run) { return run.metrics.measured; });
  for (const MetricField& field : metric_fields()) {
    if ((field.present == Present::with_carbon && !carbon) || (field.present == Present::with_measure && !measured)) continue;
    std::vector<double> values;
    for (const RunOutcome& run : runs) values.push_back(run.metrics.*field.value);
    row.fields.push_back({field.name, estimate(values), values});
  }
}

/// Each repetition beside the same one of the baseline.
void add_schedule_fields(const std::vector<RunOutcome>& runs, const PolicyResult* base, SummaryRow& row) {
  std::vector<ScheduleMetrics> found(runs.size(), {kNan, kNan, kNan, kNan, kNan});
  for (std::size_t r = 0; base != nullptr && r < runs.size(); ++r) found[r] = schedule_metrics(runs[r], base->repetitions[r]);
  const auto add = [&](std::string_view name, double ScheduleMetrics::*value, auto&& estimated) {
    std::vector<double> values;
    for (const ScheduleMetrics& one : found) values.push_back(one.*value);
    row.fields.push_back({name, estimated(values), values});
  };
  add("jct_speedup", &ScheduleMetrics::jct_speedup, estimate_of_ratios);
  add("speedup_jobs", &ScheduleMetrics::speedup_jobs, estimate);
  add("fairness_rho_worst", &ScheduleMetrics::fairness_rho_worst, estimate);
  add("fairness_rho_above_1_fraction", &ScheduleMetrics::fairness_rho_above_1, estimate);
  add("fairness_jobs", &ScheduleMetrics::fairness_jobs, estimate);
}

const PolicyResult* find_ok(const std::vector<PolicyResult>& results, std::string_view name) {
  for (const PolicyResult& result : results)
    if (result.policy == name && result.ok) return &result;
  return nullptr;
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
                   .run_cpu_s = result.run_cpu_s,
                   .max_rss_bytes = result.max_rss_bytes};
    if (result.ok) {
      const std::vector<RunOutcome>& runs = result.repetitions;
      add_own_fields(runs, row);
      add_schedule_fields(runs, base, row);
      std::vector<Pairing> pairs(runs.size());
      std::vector<Regret> regrets(runs.size());
      for (std::size_t r = 0; r < runs.size(); ++r) {
        row.decision_time_s += runs[r].metrics.decision_time_s;
        if (base != nullptr) pairs[r] = pair_up(runs[r], base->repetitions[r]);
        if (oracle != nullptr) regrets[r] = regret(runs[r], oracle->repetitions[r]);
      }
      row.fields.push_back({"saving_percent", over(runs, [&](std::size_t r) { return pairs[r].saving_percent; })});
      row.fields.push_back({"saving_without_profiling_percent",
                            over(runs, [&](std::size_t r) { return pairs[r].saving_without_profiling_percent; })});
      row.fields.push_back(
          {"effective_saving_percent", over(runs, [&](std::size_t r) { return pairs[r].effective_saving_percent; })});
      row.fields.push_back(
          {"both_keep_limits_fraction", over(runs, [&](std::size_t r) { return pairs[r].both_keep_limits_fraction; })});
      row.fields.push_back({"regret_mean_usd", over(runs, [&](std::size_t r) { return regrets[r].mean; })});
      row.fields.push_back({"regret_p90_usd", over(runs, [&](std::size_t r) { return regrets[r].p90; })});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace rehearse::report
