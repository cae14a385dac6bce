#include "experiments/studies/ways.hpp"

#include "sim/base/errors.hpp"

namespace rehearse::scenarios {

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

}  // namespace rehearse::scenarios
