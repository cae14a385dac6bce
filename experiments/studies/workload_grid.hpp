// One job on every (resources, batch size) of a grid, each run alone in the true world of the first repetition.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/configure/menu.hpp"
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

// Ways to come from the manual configuration to one of a grid: one knob, one knob after the other, or both at once. What the
// separate ways cost more than the joint one is what makes resources and batch size complementary.

/// What may be chosen, by resources and batch size; nothing where that does not fit.
struct ChoiceGrid {
  std::size_t resources = 0, batches = 0;
  std::vector<std::optional<sim::Choice>> cells;  ///< by resources, then batch

  const std::optional<sim::Choice>& at(std::size_t r, std::size_t b) const { return cells[r * batches + b]; }
};

struct GridPlace {
  std::size_t resources = 0, batch = 0;
  bool operator==(const GridPlace&) const = default;
};

/// All resources at this batch, all batches with these resources, everything.
std::vector<GridPlace> places_with_batch(const ChoiceGrid& grid, std::size_t batch);
std::vector<GridPlace> places_with_resources(const ChoiceGrid& grid, std::size_t resources);
std::vector<GridPlace> all_places(const ChoiceGrid& grid);

struct Decision {
  std::string_view way;
  GridPlace place;
  sim::Prediction outcome;  ///< `feasible`: keeps the job's limits
};

/// What ranks first by the job's objective under its limits (policies::rank), so also the least violation where nothing keeps
/// them; nothing when nothing fits.
std::optional<Decision> best_of(const sim::Job& job, const ChoiceGrid& grid, const std::vector<GridPlace>& places);

/// "manual", "resources alone", "batch alone", "resources, then batch", "batch, then resources", "jointly", in this order. Each
/// step takes the best_of what it may choose from; a first step that finds nothing stays, a way that finds nothing is left out.
std::vector<Decision> decide_each_way(const sim::Job& job, const ChoiceGrid& grid, const GridPlace& manual);

// How often a quantity goes one way along an axis of a grid: what isotonic regression takes for granted.

enum class Direction { falls, rises };

/// Over pairs of neighbours. The wrong way means strictly so: equal neighbours are monotone.
struct MonotonePairs {
  int pairs = 0;
  int exact = 0;             ///< not the wrong way at all
  int tolerated = 0;         ///< the wrong way by no more than the tolerance, or not at all
  double worst_percent = 0;  ///< the largest step the wrong way, of the value before it

  double exact_fraction() const;      ///< NaN without pairs
  double tolerated_fraction() const;  ///< NaN without pairs
};

/// Adds the pairs of one line of the grid. `values` are positive, along the axis; a pair with a NaN does not count.
void count_pairs(std::span<const double> values, Direction direction, double tolerance, MonotonePairs& counted);

}  // namespace rehearse::scenarios
