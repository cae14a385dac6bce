#include "policies/configure/oracle.hpp"

#include <algorithm>

#include "policies/configure/menu.hpp"

namespace rehearse::policies {

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
