#include "policies/configure/oracle.hpp"

#include <algorithm>

#include "policies/configure/menu.hpp"

namespace rehearse::policies {

sim::Menu Oracle::configure(const ConfigureView& view, const workloads::World& world, sim::AloneRunner& truth) {
  std::vector<sim::Choice> choices;
  for (const sim::Configuration& c : view.candidates) {
    sim::Choice choice{.configuration = c};
    choice.predicted.epochs = view.estimate(c).epochs;  // what a budget trains
    const sim::AloneOutcome outcome = truth.run(view.job, choice);
    if (!outcome.fits) continue;
    sim::Prediction& p = choice.predicted;
    if (view.job.stop != sim::Stop::budget) p.epochs = outcome.epochs;
    p.time_s = outcome.time_s;
    p.cost_usd = outcome.cost_usd;
    p.accuracy = outcome.accuracy;
    p.feasible = outcome.failure == sim::FailureReason::none;
    if (view.job.has_target() && outcome.accuracy == outcome.accuracy) {
      // A floor counts as kept within two standard deviations of an evaluation: the same rule as the job's record.
      const double deviation = world.models().convergence->evaluation_deviation(*view.job.profile, outcome.accuracy);
      if (outcome.accuracy >= view.job.target_accuracy - 2 * deviation)
        p.accuracy = std::max(p.accuracy, view.job.target_accuracy);
    }
    choices.push_back(std::move(choice));
  }
  return rank(view.job, std::move(choices));
}

}  // namespace rehearse::policies
