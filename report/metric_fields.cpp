#include "report/metric_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/text.hpp"
#include "sim/base/units.hpp"

namespace rehearse::report {

namespace {

constexpr std::uint8_t in(MetricTable table) { return static_cast<std::uint8_t>(1u << static_cast<unsigned>(table)); }
constexpr std::uint8_t kCompletion = in(MetricTable::completion), kCluster = in(MetricTable::cluster),
                       kTime = in(MetricTable::time), kNodes = in(MetricTable::nodes);

constexpr MetricField kFields[] = {
    {.name = "jobs", .unit = "jobs", .doc = "submitted", .value = &RunMetrics::jobs},
    {.name = "jobs_completed", .unit = "jobs", .doc = "that finished", .value = &RunMetrics::jobs_completed},
    {.name = "jobs_failed",
     .unit = "jobs",
     .doc = "that failed, those that were rejected included",
     .value = &RunMetrics::jobs_failed,
     .heading = "failed",
     .tables = kCluster,
     .better = Better::lower,
     .absolute = true},
    {.name = "jobs_infeasible",
     .unit = "jobs",
     .doc = "for which the policy predicted no configuration to keep the limits",
     .value = &RunMetrics::jobs_infeasible},
    {.name = "cost_usd",
     .unit = "$",
     .doc = "the jobs' money, profiling included",
     .value = &RunMetrics::cost_usd,
     .shown = Shown::money},
    {.name = "marginal_cost_usd",
     .unit = "$",
     .doc = "what would not have been needed without the job, all else as it happened",
     .value = &RunMetrics::marginal_cost_usd,
     .shown = Shown::money},
    {.name = "effective_cost_usd",
     .unit = "$",
     .doc = "cost, and for each job with a broken limit what its manual configuration costs alone",
     .value = &RunMetrics::effective_cost_usd,
     .shown = Shown::money},
    {.name = "limits_broken", .unit = "jobs", .doc = "jobs that failed or broke a limit", .value = &RunMetrics::limits_broken},
    {.name = "deadline_met_fraction",
     .unit = "1",
     .doc = "jobs that met their deadline, of those with one",
     .value = &RunMetrics::deadline_met_fraction,
     .heading = "deadlines",
     .shown = Shown::percent,
     .tables = kCluster,
     .better = Better::higher,
     .absolute = true},
    {.name = "accuracy_met_fraction",
     .unit = "1",
     .doc = "jobs that met their floor, of those with one",
     .value = &RunMetrics::accuracy_met_fraction,
     .shown = Shown::percent},
    {.name = "energy_kwh",
     .unit = "kWh",
     .doc = "of the jobs",
     .value = &RunMetrics::energy_kwh,
     .heading = "energy, kWh",
     .shown = Shown::energy,
     .tables = kTime},
    {.name = "jct_mean_s",
     .unit = "s",
     .doc = "time from submission to end, mean over the jobs that finished",
     .value = &RunMetrics::jct_mean_s,
     .heading = "mean JCT",
     .shown = Shown::duration,
     .tables = kCompletion | kTime,
     .over = "jobs_completed",
     .better = Better::lower},
    {.name = "jct_p95_s",
     .unit = "s",
     .doc = "95 % of all jobs are done within this time of their submission",
     .value = &RunMetrics::jct_p95_s,
     .heading = "p95 JCT",
     .shown = Shown::duration,
     .tables = kCompletion | kTime,
     .better = Better::lower},
    {.name = "makespan_s",
     .unit = "s",
     .doc = "from the first submission to the last end",
     .value = &RunMetrics::makespan_s,
     .heading = "makespan",
     .shown = Shown::duration,
     .tables = kCluster | kTime,
     .better = Better::lower},
    {.name = "utilization_fraction",
     .unit = "1",
     .doc = "devices that compute, of those that are there, weighted by price",
     .value = &RunMetrics::utilization_fraction,
     .heading = "utilization",
     .shown = Shown::percent,
     .tables = kCluster | kTime},
    {.name = "profiling_cost_usd",
     .unit = "$",
     .doc = "the jobs' share of what profiling cost",
     .value = &RunMetrics::profiling_cost_usd,
     .shown = Shown::money},
    {.name = "idle_cost_usd",
     .unit = "$",
     .doc = "of devices that nobody held",
     .value = &RunMetrics::idle_cost_usd,
     .shown = Shown::money},
    {.name = "idle_energy_kwh",
     .unit = "kWh",
     .doc = "of devices that nobody held",
     .value = &RunMetrics::idle_energy_kwh,
     .shown = Shown::energy},
    {.name = "seconds_late_mean",
     .unit = "s",
     .doc = "after the deadline, mean over the jobs with one",
     .value = &RunMetrics::seconds_late_mean,
     .shown = Shown::duration},
    {.name = "accuracy_short_mean",
     .unit = "1",
     .doc = "below the floor, mean over the jobs with one",
     .value = &RunMetrics::accuracy_short_mean,
     .shown = Shown::percent},
    {.name = "cost_compute_usd",
     .unit = "$",
     .doc = "of cost: training that counted",
     .value = &RunMetrics::cost_compute_usd,
     .shown = Shown::money},
    {.name = "cost_switch_usd",
     .unit = "$",
     .doc = "of cost: start-up and checkpoints",
     .value = &RunMetrics::cost_switch_usd,
     .shown = Shown::money},
    {.name = "cost_wait_usd",
     .unit = "$",
     .doc = "of cost: share of idle devices",
     .value = &RunMetrics::cost_wait_usd,
     .shown = Shown::money},
    {.name = "cost_lost_usd",
     .unit = "$",
     .doc = "of cost: training thrown away",
     .value = &RunMetrics::cost_lost_usd,
     .heading = "lost, $",
     .shown = Shown::money,
     .tables = kNodes,
     .better = Better::lower},
    {.name = "time_error_median",
     .unit = "1",
     .doc = "median of |predicted / actual - 1| of the time from start to end",
     .value = &RunMetrics::time_error_median,
     .shown = Shown::percent},
    {.name = "cost_error_median",
     .unit = "1",
     .doc = "median of |predicted / actual - 1| of the money",
     .value = &RunMetrics::cost_error_median,
     .heading = "cost error",
     .shown = Shown::percent,
     .tables = kTime},
    {.name = "preemptions",
     .unit = "times",
     .doc = "times that jobs were stopped for others or for maintenance",
     .value = &RunMetrics::preemptions,
     .heading = "preemptions",
     .tables = kCluster},
    {.name = "reconfigurations",
     .unit = "times",
     .doc = "times that jobs took another configuration",
     .value = &RunMetrics::reconfigurations,
     .heading = "reconf.",
     .tables = kCluster | kTime},
    {.name = "jobs_rejected",
     .unit = "jobs",
     .doc = "that the policy or the scenario turned away",
     .value = &RunMetrics::jobs_rejected,
     .heading = "rejected",
     .tables = kCluster},
    {.name = "jct_p50_s",
     .unit = "s",
     .doc = "half of all jobs are done within this time of their submission",
     .value = &RunMetrics::jct_p50_s,
     .heading = "p50 JCT",
     .shown = Shown::duration,
     .tables = kCompletion,
     .better = Better::lower},
    {.name = "jct_p99_s",
     .unit = "s",
     .doc = "99 % of all jobs are done within this time of their submission",
     .value = &RunMetrics::jct_p99_s,
     .heading = "p99 JCT",
     .shown = Shown::duration,
     .tables = kCompletion,
     .better = Better::lower},
    {.name = "waiting_mean_s",
     .unit = "s",
     .doc = "without devices between submission and end, mean over the jobs that finished",
     .value = &RunMetrics::waiting_mean_s,
     .heading = "waiting",
     .shown = Shown::duration,
     .tables = kCompletion,
     .over = "jobs_completed",
     .better = Better::lower},
    {.name = "bounded_slowdown_mean",
     .unit = "1",
     .doc = "time to the end over the larger of 10 s and the time alone with manual's configuration, mean",
     .value = &RunMetrics::bounded_slowdown_mean,
     .heading = "slowdown",
     .shown = Shown::factor,
     .tables = kCompletion,
     .over = "slowdown_jobs",
     .better = Better::lower},
    {.name = "slowdown_jobs", .unit = "jobs", .doc = "over which that mean is", .value = &RunMetrics::slowdown_jobs},
    {.name = "preemption_s",
     .unit = "s",
     .doc = "what preemptions cost the jobs: checkpoints, lost work and starting again",
     .value = &RunMetrics::preemption_s,
     .heading = "their time",
     .shown = Shown::duration,
     .tables = kCluster,
     .better = Better::lower},
    {.name = "utilization_waiting_fraction",
     .unit = "1",
     .doc = "utilization while at least one job waits in the queue",
     .value = &RunMetrics::utilization_waiting_fraction,
     .heading = "while work waits",
     .shown = Shown::percent,
     .tables = kCluster,
     .better = Better::higher,
     .absolute = true},
    {.name = "goodput_fraction",
     .unit = "1",
     .doc = "device-seconds of training that counted, of those that jobs held",
     .value = &RunMetrics::goodput_fraction,
     .heading = "goodput",
     .shown = Shown::percent,
     .tables = kNodes,
     .better = Better::higher,
     .absolute = true},
    {.name = "lost_device_h",
     .unit = "device-hours",
     .doc = "device-hours of training thrown away",
     .value = &RunMetrics::lost_device_h,
     .heading = "lost, device-h",
     .tables = kNodes,
     .better = Better::lower},
    {.name = "checkpoints",
     .unit = "times",
     .doc = "periodic ones, whole",
     .value = &RunMetrics::checkpoints,
     .heading = "checkpoints",
     .tables = kNodes},
    {.name = "checkpoint_device_h",
     .unit = "device-hours",
     .doc = "device-hours spent on periodic checkpoints",
     .value = &RunMetrics::checkpoint_device_h,
     .heading = "writing, device-h",
     .tables = kNodes,
     .better = Better::lower},
    {.name = "cost_checkpoint_usd",
     .unit = "$",
     .doc = "of the switching cost: periodic checkpoints",
     .value = &RunMetrics::cost_checkpoint_usd,
     .heading = "writing, $",
     .shown = Shown::money,
     .tables = kNodes,
     .better = Better::lower},
    {.name = "restarts",
     .unit = "times",
     .doc = "times that a node failed under a job",
     .value = &RunMetrics::restarts,
     .heading = "restarts",
     .tables = kNodes},
    {.name = "steady_from_s",
     .unit = "s",
     .doc = "date from which on the queue is in a steady state",
     .value = &RunMetrics::steady_from_s,
     .present = Present::with_measure,
     .shown = Shown::duration},
    {.name = "jct_steady_mean_s",
     .unit = "s",
     .doc = "mean JCT from that date on",
     .value = &RunMetrics::jct_steady_mean_s,
     .present = Present::with_measure,
     .shown = Shown::duration},
    {.name = "co2_kg", .unit = "kg", .doc = "of the jobs", .value = &RunMetrics::co2_kg, .present = Present::with_carbon},
    {.name = "idle_co2_kg",
     .unit = "kg",
     .doc = "of devices that nobody held",
     .value = &RunMetrics::idle_co2_kg,
     .present = Present::with_carbon},
    {.name = "jct_speedup",
     .unit = "1",
     .doc = "the baseline's mean JCT over this policy's, of the jobs that both finish",
     .source = MetricSource::schedule,
     .heading = "speed-up",
     .shown = Shown::factor,
     .tables = kCompletion,
     .over = "speedup_jobs"},
    {.name = "speedup_jobs", .unit = "jobs", .doc = "that both finish", .source = MetricSource::schedule},
    {.name = "fairness_rho_worst",
     .unit = "1",
     .doc = "largest of: JCT over the time alone on 1/N of the cluster, N the mean number of jobs beside it under the baseline",
     .source = MetricSource::schedule,
     .heading = "worst rho",
     .shown = Shown::factor,
     .tables = kCompletion,
     .over = "fairness_jobs",
     .better = Better::lower},
    {.name = "fairness_rho_above_1_fraction",
     .unit = "1",
     .doc = "jobs worse off than alone on 1/N of the cluster; those that never finish are",
     .source = MetricSource::schedule,
     .heading = "rho > 1",
     .shown = Shown::percent,
     .tables = kCompletion,
     .better = Better::lower,
     .absolute = true},
    {.name = "fairness_jobs", .unit = "jobs", .doc = "over which the worst rho is", .source = MetricSource::schedule},
    {.name = "saving_percent",
     .unit = "%",
     .doc = "against the baseline, over the jobs whose limits both keep",
     .source = MetricSource::policies},
    {.name = "saving_without_profiling_percent",
     .unit = "%",
     .doc = "the same without profiling",
     .source = MetricSource::policies},
    {.name = "effective_saving_percent",
     .unit = "%",
     .doc = "of effective cost, over all jobs",
     .source = MetricSource::policies},
    {.name = "effective_saving_without_profiling_percent",
     .unit = "%",
     .doc = "the same, profiling left out of both",
     .source = MetricSource::policies},
    {.name = "both_keep_limits_fraction",
     .unit = "1",
     .doc = "jobs whose limits both keep",
     .source = MetricSource::policies,
     .shown = Shown::percent},
    {.name = "regret_mean_usd",
     .unit = "$",
     .doc = "effective cost beyond the oracle's, mean over jobs",
     .source = MetricSource::policies,
     .shown = Shown::money},
    {.name = "regret_p90_usd",
     .unit = "$",
     .doc = "90 % quantile of the same",
     .source = MetricSource::policies,
     .shown = Shown::money},
};

/// The order of a table's columns; those that are not named stand behind, in the files' order.
std::vector<std::string_view> order_of(MetricTable table) {
  switch (table) {
    case MetricTable::completion:
      return {"jct_mean_s", "jct_p50_s", "jct_p95_s", "jct_p99_s", "waiting_mean_s", "bounded_slowdown_mean"};
    case MetricTable::cluster:
      return {"makespan_s",   "utilization_fraction", "utilization_waiting_fraction", "preemptions",
              "preemption_s", "reconfigurations",     "deadline_met_fraction",        "jobs_failed",
              "jobs_rejected"};
    case MetricTable::time:
      return {"jct_mean_s", "jct_p95_s", "makespan_s", "utilization_fraction", "energy_kwh", "reconfigurations"};
    case MetricTable::nodes:
      return {"goodput_fraction", "lost_device_h", "cost_lost_usd", "checkpoints", "checkpoint_device_h"};
  }
  return {};
}

struct KindName {
  std::string_view name;
  bool StudyKinds::*kind;
};
constexpr KindName kKinds[] = {
    {"queue", &StudyKinds::queue}, {"configuration", &StudyKinds::configuration}, {"nodes", &StudyKinds::nodes}};

}  // namespace

bool shows(const StudyKinds& kinds, MetricTable table) {
  switch (table) {
    case MetricTable::completion:
    case MetricTable::cluster:
      return kinds.queue;
    case MetricTable::time:
      return kinds.configuration;
    case MetricTable::nodes:
      return kinds.nodes;
  }
  return false;
}

std::string_view name_of(Shown shown) {
  constexpr std::string_view kNames[] = {"number", "energy", "money", "percent", "duration", "factor"};
  return kNames[static_cast<std::size_t>(shown)];
}

std::string text_of(Shown shown, double value) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return "never";
  switch (shown) {
    case Shown::number:
      return value == std::floor(value) ? fmt::format("{:.6g}", value) : sim::figure(value);  // a mean over repetitions
    case Shown::energy:
      return value < 10 ? fmt::format("{:.3f}", value) : fmt::format("{:.1f}", value);
    case Shown::money:
      return std::abs(value) < 10 ? fmt::format("{:.4f}", value) : fmt::format("{:.2f}", value);
    case Shown::percent:
      return fmt::format("{:.1f} %", 100 * value);
    case Shown::factor:
      return value < 100 ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value);
    case Shown::duration:
      break;
  }
  if (value < 600) return fmt::format("{:.1f} s", value);
  if (value < 2 * sim::kSecondsPerHour) return fmt::format("{:.1f} min", value / 60);
  if (value < 96 * sim::kSecondsPerHour) return fmt::format("{:.1f} h", value / sim::kSecondsPerHour);
  return fmt::format("{:.1f} d", value / (24 * sim::kSecondsPerHour));
}

const std::vector<MetricField>& all_metric_fields() {
  static const std::vector<MetricField> all(std::begin(kFields), std::end(kFields));
  return all;
}

const std::vector<MetricField>& metric_fields() {
  static const std::vector<MetricField> own = [] {
    std::vector<MetricField> fields;
    for (const MetricField& field : kFields)
      if (field.source == MetricSource::run) fields.push_back(field);
    return fields;
  }();
  return own;
}

const MetricField* find_metric_field(std::string_view name) {
  const std::vector<MetricField>& all = all_metric_fields();
  const auto at = std::find_if(all.begin(), all.end(), [&](const MetricField& field) { return field.name == name; });
  return at == all.end() ? nullptr : &*at;
}

std::vector<MetricColumns> metric_columns(const StudyKinds& kinds) {
  std::vector<MetricColumns> tables;
  std::vector<std::string_view> had;
  for (const MetricTable table : {MetricTable::completion, MetricTable::cluster, MetricTable::time, MetricTable::nodes}) {
    if (!shows(kinds, table)) continue;
    MetricColumns columns{table, {}};
    for (const MetricField& field : all_metric_fields())
      if (field.stands_in(table) && std::find(had.begin(), had.end(), field.name) == had.end()) columns.fields.push_back(&field);
    const std::vector<std::string_view> order = order_of(table);
    std::stable_sort(columns.fields.begin(), columns.fields.end(), [&](const MetricField* a, const MetricField* b) {
      return std::find(order.begin(), order.end(), a->name) < std::find(order.begin(), order.end(), b->name);
    });
    for (const MetricField* field : columns.fields) had.push_back(field->name);
    tables.push_back(std::move(columns));
  }
  return tables;
}

std::vector<std::string_view> names_of(const StudyKinds& kinds) {
  std::vector<std::string_view> names;
  for (const KindName& kind : kKinds)
    if (kinds.*kind.kind) names.push_back(kind.name);
  return names;
}

StudyKinds study_kinds_of(const std::vector<std::string>& names) {
  StudyKinds kinds;
  for (const KindName& kind : kKinds) kinds.*kind.kind = std::find(names.begin(), names.end(), kind.name) != names.end();
  if (kinds == StudyKinds{}) kinds.configuration = true;
  return kinds;
}

}  // namespace rehearse::report
