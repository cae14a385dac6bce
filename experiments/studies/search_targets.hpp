// What is asked of a search, and whether its fronts and its replays have it.
#pragma once

#include "experiments/studies/search_workload.hpp"

namespace rehearse::scenarios {

/// Asked of every space; docs/reference/metrics.md says what is measured for each.
struct SearchTargets {
  double accuracy = 0.95;            ///< at least
  double latency_s = 0.010;          ///< at most
  double memory_saved_percent = 30;  ///< at least, as all below but the hours
  double training_time_saved_percent = 50;
  double utilization_gain_percent = 20;
  double search_h = 24;  ///< at most: hours, not days
};
SearchTargets read_search_targets(sim::JsonValue value, sim::Mistakes& mistakes);

/// One row for each target. `arms`: those of a workload, the first of which the others are held against; empty without one. A
/// space without a front has no rows.
report::Table targets_table(const SearchQuestion& question, const SearchTargets& asked, const std::vector<SpaceOutcome>& outcomes,
                            const std::vector<std::vector<ArmFigures>>& arms);

}  // namespace rehearse::scenarios
