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
  random.shuffle(std::span(menu.ranked.own()).first(feasible));
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

std::optional<sim::Choice> tried(const sim::Job& job, const sim::Configuration& configuration, double epochs,
                                 const workloads::World& world, sim::AloneRunner& truth) {
  sim::Choice choice{.configuration = configuration};
  sim::Prediction& p = choice.predicted;
  p.epochs = epochs;
  const sim::AloneOutcome outcome = truth.run(job, choice);
  if (!outcome.fits) return {};
  if (job.stop != sim::Stop::budget) p.epochs = outcome.epochs;
  p.time_s = outcome.time_s;
  p.cost_usd = outcome.cost_usd;
  p.accuracy = outcome.accuracy;
  p.feasible = outcome.failure == sim::FailureReason::none;
  if (job.has_target() && outcome.accuracy == outcome.accuracy) {
    // A floor counts as kept within two standard deviations of an evaluation.
    const double deviation = world.models().convergence->evaluation_deviation(*job.profile, outcome.accuracy);
    if (outcome.accuracy >= job.target_accuracy - 2 * deviation) p.accuracy = std::max(p.accuracy, job.target_accuracy);
  }
  return choice;
}

sim::Menu Oracle::configure(const ConfigureView& view, const workloads::World& world, sim::AloneRunner& truth) {
  std::vector<sim::Choice> choices;
  for (const sim::Configuration& c : view.candidates)
    if (auto choice = tried(view.job, c, view.estimate(c).epochs, world, truth)) choices.push_back(std::move(*choice));
  return rank(view.job, std::move(choices));
}

}  // namespace rehearse::policies
