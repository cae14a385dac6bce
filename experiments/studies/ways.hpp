// Ways to come from the manual configuration to one of a grid: one knob, one knob after the other, or both at once. What the
// separate ways cost more than the joint one is what makes resources and batch size complementary.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "policies/configure/menu.hpp"

namespace rehearse::scenarios {

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

}  // namespace rehearse::scenarios
