// The cost-deadline-accuracy frontier: what each policy charges for a job under a grid of deadlines and accuracy floors.
#pragma once

#include <span>

#include "experiments/studies/study.hpp"

namespace rehearse::scenarios {

/// Parameters: "accuracy_slack", "deadline_factors" (lists of numbers).
std::unique_ptr<StudyParameters> read_frontier(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                               sim::Mistakes& mistakes);

/// Limits that were asked for, and what keeping them cost.
struct FrontierPoint {
  double deadline_s = 0, floor = 0, cost_usd = 0;
  bool kept = true;
};

/// Whether each point is efficient: kept, and no other kept point has a deadline no later, a floor no lower and a cost no higher,
/// one of them strictly better.
std::vector<bool> efficient(std::span<const FrontierPoint> points);

/// What one policy saves over another, point by point, where both keep the limits.
struct PairedSaving {
  int points = 0;                                  ///< that both keep
  double largest_percent = 0, median_percent = 0;  ///< NaN without points
};
/// 100 (1 - cost / other cost). As many points as `others`, in the same order.
PairedSaving paired_saving(std::span<const FrontierPoint> points, std::span<const FrontierPoint> others);

}  // namespace rehearse::scenarios
