#include "policies/staged/staged.hpp"

#include <algorithm>

#include "policies/configure/menu.hpp"
#include "sim/replay/stage.hpp"

namespace rehearse::policies {

sim::Standing standing_after(const sim::Job& job, std::span<const sim::Configuration> candidates,
                             std::span<const sim::StageSeen> seen, const sim::StageRunner& runner) {
  sim::Standing standing;
  double batch_before = 0;
  for (const sim::StageSeen& stage : seen) {
    sim::Job goes_on = job;  // whatever the models say of the target: it was not reached
    goes_on.target_accuracy = sim::kUnset;
    const sim::Choice choice{
        .configuration = stage.configuration, .predicted = {.epochs = stage.epochs}, .until_epochs = stage.epochs};
    standing.progress = runner.train(goes_on, choice, standing.progress, batch_before).end;
    batch_before = stage.configuration.batch_size();
  }
  if (seen.empty()) return standing;
  const sim::StageSeen& last = seen.back();
  standing.progress.measured_accuracy = last.accuracy;
  standing.progress.divergences = last.divergences;
  standing.stages = last.stages;
  standing.time_s = last.elapsed_s;
  standing.cost_usd = last.cost_usd;
  const auto held = std::find(candidates.begin(), candidates.end(), last.configuration);
  if (!last.let_go) standing.held = held != candidates.end() ? &*held : &last.configuration;
  runner.has_rented(seen, standing.paid);
  return standing;
}

std::vector<double> ends_after(std::span<const double> ends, std::span<const sim::StageSeen> seen) {
  const double trained = seen.empty() ? 0 : seen.back().epochs;
  std::vector<double> rest;
  for (const double end : ends)
    if (end > trained) rest.push_back(end);
  return rest;
}

double budget_epochs(const ConfigureView& view) {
  const double usual = view.estimate(view.manual).epochs;
  if (usual > 0 || view.job.stop != sim::Stop::budget) return usual;
  for (const sim::Choice& choice : believed_menu(view).ranked)
    if (choice.predicted.epochs > 0) return choice.predicted.epochs;
  sim::Job to_target = view.job;
  to_target.stop = sim::Stop::target;
  return sim::epoch_cap(to_target, 0, *view.believed->stages().models().convergence);
}

sim::Menu believed_menu(const ConfigureView& view) {
  std::vector<sim::Choice> choices;
  for (const sim::Configuration& c : view.candidates) choices.push_back({.configuration = c, .predicted = view.estimate(c)});
  return rank(view.job, std::move(choices));
}

sim::Menu staged_menu(const ConfigureView& view, const sim::Configuration& first, const StagePlan& plan,
                      std::span<const double> ends) {
  sim::Menu others = believed_menu(view);
  const double until = ends.empty() ? sim::kNever : ends.front();
  sim::Menu menu{.feasible = plan.feasible};
  if (!plan.feasible)
    menu.remedy = others.remedy.empty() ? "no way on is expected to keep the limits any more" : std::move(others.remedy);
  sim::Choice choice{.configuration = first, .until_epochs = until};
  choice.predicted.time_s = plan.time_s;
  choice.predicted.cost_usd = plan.cost_usd;
  choice.predicted.accuracy = plan.accuracy;
  choice.predicted.epochs = plan.epochs;
  choice.predicted.feasible = plan.feasible;
  const bool has_budget = view.job.stop == sim::Stop::budget;
  const double budget = has_budget ? budget_epochs(view) : sim::kUnset;
  if (has_budget) choice.predicted.epochs = budget;
  menu.ranked.push_back(std::move(choice));
  for (sim::Choice& other : others.ranked) {
    if (other.configuration == first) continue;
    other.until_epochs = until;
    if (has_budget) other.predicted.epochs = budget;
    menu.ranked.push_back(std::move(other));
  }
  return menu;
}

}  // namespace rehearse::policies
