#include "report/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "report/metric_fields.hpp"
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

const PolicyResult* find_ok(const std::vector<PolicyResult>& results, std::string_view name) {
  for (const PolicyResult& result : results)
    if (result.policy == name && result.ok) return &result;
  return nullptr;
}

}  // namespace

const std::vector<MetricField>& metric_fields() {
  static const std::vector<MetricField> all = [] {
    std::vector<MetricField> fields(std::begin(kMetricFields), std::end(kMetricFields));
    fields.insert(fields.end(), std::begin(kMeasuredFields), std::end(kMeasuredFields));
    fields.insert(fields.end(), std::begin(kCarbonFields), std::end(kCarbonFields));
    return fields;
  }();
  return all;
}

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
      row.chosen = chosen_in(runs);
      for (const MetricField& field : kMetricFields)
        row.fields.push_back({field.name, over(runs, [&](std::size_t r) { return runs[r].metrics.*field.value; })});
      const auto add = [&](std::span<const MetricField> fields) {
        for (const MetricField& field : fields)
          row.fields.push_back({field.name, over(runs, [&](std::size_t r) { return runs[r].metrics.*field.value; })});
      };
      if (std::any_of(runs.begin(), runs.end(), [](const RunOutcome& run) { return !std::isnan(run.metrics.co2_kg); }))
        add(kCarbonFields);
      if (std::any_of(runs.begin(), runs.end(), [](const RunOutcome& run) { return run.metrics.measured; })) add(kMeasuredFields);
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
