#include "experiments/studies/workload_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "policies/configure/menu.hpp"

namespace rehearse::scenarios {

namespace {

constexpr int kFirstRepetition = 0;

}  // namespace

AloneWorld::AloneWorld(const Scenario& of)
    : scenario(of),
      belief(of.cluster, of.profile_models),
      world(belief, of.world_errors, of.seed, kFirstRepetition),
      truth(of.cluster, of.costs, world.models(), {.name = "study", .place = &place, .threads = &threads}),
      believed(of.cluster, of.costs, belief.models(), {.name = "study", .place = &place, .threads = &threads}) {}

sim::Configuration AloneWorld::manual(const sim::Job& job) {
  return scenario.manual.configuration(job, scenario.cluster, scenario.costs, belief, believed);
}

void GridLevels::include(const Resources& of, double batch) {
  const auto before = [](const Resources& a, const Resources& b) {
    return std::tie(a.pool, a.workers) < std::tie(b.pool, b.workers);
  };
  if (const auto at = std::lower_bound(resources.begin(), resources.end(), of, before); at == resources.end() || *at != of)
    resources.insert(at, of);
  if (const auto at = std::lower_bound(batches.begin(), batches.end(), batch); at == batches.end() || *at != batch)
    batches.insert(at, batch);
}

GridLevels grid_levels(const Scenario& scenario, const sim::Job& job, const std::vector<int>& workers,
                       const std::vector<double>& batch_factors) {
  GridLevels levels;
  const double published = scenario.profile_models.of(*job.profile).publication_batch;
  for (int pool = 0; pool < static_cast<int>(scenario.cluster.pools.size()); ++pool) {
    if (job.pool >= 0 && job.pool != pool) continue;
    const long capacity = static_cast<long>(scenario.cluster.pools[static_cast<std::size_t>(pool)].nodes) *
                          sim::workers_per_node(scenario.cluster, pool);
    std::vector<int> counts = workers;
    for (long count = 1; workers.empty() && count <= capacity; count *= 2) counts.push_back(static_cast<int>(count));
    for (const int count : counts)
      for (const double factor : batch_factors)
        if (const double batch = published * factor; count <= capacity && batch >= 1 && batch == std::floor(batch))
          levels.include({.pool = pool, .workers = count}, batch);
  }
  return levels;
}

std::optional<sim::Configuration> configuration_at(const AloneWorld& alone, const sim::Job& job, const Resources& resources,
                                                   double batch) {
  for (const sim::Configuration& c : policies::split_batch(job, resources.pool, resources.workers, batch))
    if (c.batch_size() == batch && policies::fits_memory(job, alone.scenario.cluster, alone.belief, c)) return c;
  return {};
}

std::string name_of(const Scenario& scenario, const Resources& resources) {
  return fmt::format("{} x {}", scenario.cluster.pools[static_cast<std::size_t>(resources.pool)].name, resources.workers);
}

}  // namespace rehearse::scenarios
