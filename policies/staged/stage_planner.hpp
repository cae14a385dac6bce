// The exact dynamic programme over stages: for each stage one configuration, switching costs included, so that the job keeps its
// limits at the least money. On the belief it is what staged-mpc plans with; on the world it is staged-oracle.
//
// Labels (training state, configuration held, seconds, money) are extended stage by stage. One label dominates another of the
// same stage and configuration when it is behind in nothing: more progress never needs more training, as trajectories of one
// ordinary differential equation do not cross. (What breaks this is a reading above the target by luck: who is a little ahead may
// stop at it too early. And a node's minimum time, once it is over, may be paid anew a little earlier by who has paid further.)
// A label goes when it can be no part of a plan that is cheaper than the best known
// and ends in time, by the lower bounds of what is left (stage_bounds.hpp), which never say too much.
#pragma once

#include <span>
#include <vector>

#include "sim/replay/alone.hpp"

namespace rehearse::policies {

struct StageProblem {
  const sim::Job* job = nullptr;
  /// What may be chosen; must outlive plans. Those that do not fit are left out.
  std::span<const sim::Configuration> candidates;
  /// Trained epochs at which the stages to come end, whole and increasing; after the last one the final stage ends with the job.
  std::vector<double> ends;
  sim::Standing from;
  double deadline_s = sim::kNever;  ///< of `from.time_s` and what is added to it
  /// Predicted epochs of a job with Stop::budget; else without effect.
  double budget_epochs = std::numeric_limits<double>::quiet_NaN();
  /// Plans that are cheaper by less than this share may be missed; 0: exact.
  double tolerance = 0;
};

struct StagePlan {
  std::vector<const sim::Configuration*> stages;  ///< of each stage to come that the job reaches; empty: nothing fits
  double time_s = 0, cost_usd = 0;                ///< `from` included
  double accuracy = sim::kUnset;
  double epochs = 0;
  bool feasible = false;   ///< keeps deadline and floor
  std::size_t labels = 0;  ///< that were extended
};

/// The cheapest plan that keeps the limits; when there is none, the one that reaches the target soonest; when none reaches it,
/// the one that ends most accurate.
StagePlan plan_stages(const StageProblem& problem, sim::StageRunner& runner);

}  // namespace rehearse::policies
