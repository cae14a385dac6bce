// A global batch over the workers of several pools: the uneven split beside the equal one and the fast workers alone, each
// predicted by the equations and timed by the simulation's own step times for such a mixed configuration.
#pragma once

#include <limits>
#include <vector>

#include "policies/harness/uneven_split.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::policies {

struct PoolWorkers {
  sim::PoolId pool = 0;
  int workers = 0;
  bool operator==(const PoolWorkers&) const = default;
};

/// One way to train the batch. Times are infinite when the memories do not hold it.
struct MixedSplit {
  std::vector<PoolWorkers> mix;                                  ///< that take part
  Split split;                                                   ///< of their workers, pool after pool
  sim::Configuration configuration;                              ///< a group for each pool and number of samples
  double predicted_s = std::numeric_limits<double>::infinity();  ///< a step, by docs/explain/model.md, "Synchronisation"
  double simulated_s = std::numeric_limits<double>::infinity();  ///< StepTiming::step_s of the configuration on an empty cluster
};

struct MixedComparison {
  MixedSplit uneven, equal, fast_alone;
  bool all_fast = false;  ///< nobody is slower than the fastest by more than 5 %
  bool slow_pay = false;  ///< some workers are slower than the fastest, and with them a simulated step is quicker
};

/// The mix must be there in the belief's cluster. Workers that would only hold the others up are left out of the uneven split.
MixedComparison compare_mixed(const workloads::Belief& belief, const sim::Profile& profile, const std::vector<PoolWorkers>& mix,
                              int batch);

}  // namespace rehearse::policies
