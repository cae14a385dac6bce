// One job on every (resources, batch size) of a grid, each run alone in the true world of the first repetition.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/place/data_parallel.hpp"
#include "policies/threads/recommended.hpp"
#include "scenarios/read/scenario.hpp"
#include "sim/replay/alone.hpp"

namespace rehearse::scenarios {

/// World and belief of a scenario's first repetition, and jobs run alone in them: data-parallel, with the recommended threads.
struct AloneWorld {
  explicit AloneWorld(const Scenario& scenario);
  sim::Configuration manual(const sim::Job& job);

  const Scenario& scenario;
  const workloads::Belief belief;
  const workloads::World world;
  policies::DataParallel place;
  policies::RecommendedThreads threads;
  sim::AloneRunner truth, believed;
};

/// Some workers of one pool.
struct Resources {
  int pool = 0;
  int workers = 0;
  bool operator==(const Resources&) const = default;
};

struct GridLevels {
  std::vector<Resources> resources;  ///< by pool, then workers
  std::vector<double> batches;       ///< global, increasing

  /// Adds levels that are not there yet, in order.
  void include(const Resources& of, double batch);
};

/// Workers that the pools can hold, of those named (empty: powers of two), and whole batches at these multiples of the
/// publication's. A job that names a pool has that one only.
GridLevels grid_levels(const Scenario& scenario, const sim::Job& job, const std::vector<int>& workers,
                       const std::vector<double>& batch_factors);

/// The configuration of these levels; nothing when the workers cannot share the batch evenly, or it does not fit their memory.
std::optional<sim::Configuration> configuration_at(const AloneWorld& alone, const sim::Job& job, const Resources& resources,
                                                   double batch);

/// "t4 x 8".
std::string name_of(const Scenario& scenario, const Resources& resources);

}  // namespace rehearse::scenarios
