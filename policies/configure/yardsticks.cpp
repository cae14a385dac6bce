#include "policies/configure/yardsticks.hpp"

#include <algorithm>

#include "policies/configure/menu.hpp"

namespace rehearse::policies {

namespace {

/// All candidates ranked by the belief, and how many of them are feasible.
std::pair<sim::Menu, std::size_t> ranked_by_belief(const ConfigureView& view) {
  std::vector<sim::Choice> choices;
  for (const sim::Configuration& c : view.candidates) choices.push_back({.configuration = c, .predicted = view.estimate(c)});
  sim::Menu menu = rank(view.job, std::move(choices));
  const auto feasible =
      std::count_if(menu.ranked.begin(), menu.ranked.end(), [](const sim::Choice& c) { return c.predicted.feasible; });
  return {std::move(menu), static_cast<std::size_t>(feasible)};
}

}  // namespace

sim::Menu RandomFeasible::configure(const ConfigureView& view, const workloads::Belief&) {
  auto [menu, feasible] = ranked_by_belief(view);
  sim::Random random(view.random_key);
  random.shuffle(std::span(menu.ranked).first(feasible));
  return menu;
}

sim::Menu MedianFeasible::configure(const ConfigureView& view, const workloads::Belief&) {
  auto [menu, feasible] = ranked_by_belief(view);
  if (feasible > 0) {
    const auto middle = menu.ranked.begin() + static_cast<std::ptrdiff_t>((feasible - 1) / 2);
    std::rotate(menu.ranked.begin(), middle, middle + 1);
  }
  return menu;
}

}  // namespace rehearse::policies
