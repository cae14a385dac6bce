// The quantities of a run by the names that they have in files (docs/reference/metrics.md), in the files' order.
#pragma once

#include <string_view>

#include "report/outcome.hpp"

namespace rehearse::report {

/// A quantity of summary.json and repetitions.csv that a run has by itself.
struct MetricField {
  std::string_view name;
  double RunMetrics::*value;
};

inline constexpr MetricField kMetricFields[] = {
    {"jobs", &RunMetrics::jobs},
    {"jobs_completed", &RunMetrics::jobs_completed},
    {"jobs_failed", &RunMetrics::jobs_failed},
    {"jobs_infeasible", &RunMetrics::jobs_infeasible},
    {"cost_usd", &RunMetrics::cost_usd},
    {"marginal_cost_usd", &RunMetrics::marginal_cost_usd},
    {"effective_cost_usd", &RunMetrics::effective_cost_usd},
    {"limits_broken", &RunMetrics::limits_broken},
    {"deadline_met_fraction", &RunMetrics::deadline_met_fraction},
    {"accuracy_met_fraction", &RunMetrics::accuracy_met_fraction},
    {"energy_kwh", &RunMetrics::energy_kwh},
    {"jct_mean_s", &RunMetrics::jct_mean_s},
    {"jct_p95_s", &RunMetrics::jct_p95_s},
    {"makespan_s", &RunMetrics::makespan_s},
    {"utilization_fraction", &RunMetrics::utilization_fraction},
    {"profiling_cost_usd", &RunMetrics::profiling_cost_usd},
    {"idle_cost_usd", &RunMetrics::idle_cost_usd},
    {"idle_energy_kwh", &RunMetrics::idle_energy_kwh},
    {"seconds_late_mean", &RunMetrics::seconds_late_mean},
    {"accuracy_short_mean", &RunMetrics::accuracy_short_mean},
    {"cost_compute_usd", &RunMetrics::cost_compute_usd},
    {"cost_switch_usd", &RunMetrics::cost_switch_usd},
    {"cost_wait_usd", &RunMetrics::cost_wait_usd},
    {"cost_lost_usd", &RunMetrics::cost_lost_usd},
    {"time_error_median", &RunMetrics::time_error_median},
    {"cost_error_median", &RunMetrics::cost_error_median},
    {"preemptions", &RunMetrics::preemptions},
    {"reconfigurations", &RunMetrics::reconfigurations},
};

/// In the summary where a run has them: a MeasureWindow, a carbon intensity.
inline constexpr MetricField kMeasuredFields[] = {
    {"steady_from_s", &RunMetrics::steady_from_s},
    {"jct_steady_mean_s", &RunMetrics::jct_steady_mean_s},
};
inline constexpr MetricField kCarbonFields[] = {
    {"co2_kg", &RunMetrics::co2_kg},
    {"idle_co2_kg", &RunMetrics::idle_co2_kg},
};

}  // namespace rehearse::report
