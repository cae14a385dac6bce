#include "experiments/studies/workload_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "policies/configure/menu.hpp"
#include "sim/base/errors.hpp"

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

std::vector<GridPlace> places_with_batch(const ChoiceGrid& grid, std::size_t batch) {
  std::vector<GridPlace> places;
  for (std::size_t r = 0; r < grid.resources; ++r) places.push_back({r, batch});
  return places;
}

std::vector<GridPlace> places_with_resources(const ChoiceGrid& grid, std::size_t resources) {
  std::vector<GridPlace> places;
  for (std::size_t b = 0; b < grid.batches; ++b) places.push_back({resources, b});
  return places;
}

std::vector<GridPlace> all_places(const ChoiceGrid& grid) {
  std::vector<GridPlace> places;
  for (std::size_t r = 0; r < grid.resources; ++r)
    for (std::size_t b = 0; b < grid.batches; ++b) places.push_back({r, b});
  return places;
}

std::optional<Decision> best_of(const sim::Job& job, const ChoiceGrid& grid, const std::vector<GridPlace>& places) {
  std::vector<sim::Choice> choices;
  for (const GridPlace& place : places)
    if (const auto& choice = grid.at(place.resources, place.batch)) choices.push_back(*choice);
  if (choices.empty()) return {};
  const sim::Choice first = policies::rank(job, std::move(choices)).ranked.front();
  for (const GridPlace& place : places)
    if (const auto& choice = grid.at(place.resources, place.batch); choice && choice->configuration == first.configuration)
      return Decision{.place = place, .outcome = first.predicted};
  sim::check(false, "what ranks first is one of the choices");
  return {};
}

std::vector<Decision> decide_each_way(const sim::Job& job, const ChoiceGrid& grid, const GridPlace& manual) {
  std::vector<Decision> decisions;
  const auto add = [&](std::string_view way, std::optional<Decision> decision) {
    if (!decision) return;
    decision->way = way;
    decisions.push_back(std::move(*decision));
  };
  const auto place_of = [&](const std::optional<Decision>& decision) { return decision ? decision->place : manual; };
  const auto resources_from = [&](const GridPlace& from) { return best_of(job, grid, places_with_batch(grid, from.batch)); };
  const auto batch_from = [&](const GridPlace& from) { return best_of(job, grid, places_with_resources(grid, from.resources)); };
  const std::optional<Decision> resources = resources_from(manual), batch = batch_from(manual);
  add("manual", best_of(job, grid, {manual}));
  add("resources alone", resources);
  add("batch alone", batch);
  add("resources, then batch", batch_from(place_of(resources)));
  add("batch, then resources", resources_from(place_of(batch)));
  add("jointly", best_of(job, grid, all_places(grid)));
  return decisions;
}

namespace {

double fraction(int part, int whole) {
  return whole > 0 ? static_cast<double>(part) / whole : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double MonotonePairs::exact_fraction() const { return fraction(exact, pairs); }
double MonotonePairs::tolerated_fraction() const { return fraction(tolerated, pairs); }

void count_pairs(std::span<const double> values, Direction direction, double tolerance, MonotonePairs& counted) {
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double step = values[i + 1] / values[i] - 1;
    if (std::isnan(step)) continue;
    const double wrong = direction == Direction::falls ? step : -step;
    ++counted.pairs;
    if (wrong <= 0) ++counted.exact;
    if (wrong <= tolerance) ++counted.tolerated;
    counted.worst_percent = std::max(counted.worst_percent, 100 * wrong);
  }
}

}  // namespace rehearse::scenarios
