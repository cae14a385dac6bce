#include "policies/staged/environment.hpp"

#include <algorithm>

namespace rehearse::policies {

bool Episode::step(const sim::Choice& choice) {
  held_.push_back(choice.configuration);  // the standing points to one that stays
  if (!world_.run(job_, choice, standing_)) {
    standing_.ended = true;
    standing_.failure = sim::FailureReason::does_not_fit;
    return false;
  }
  standing_.held = &held_.back();
  if (standing_.ended) return true;
  const sim::Progress& at = standing_.progress;
  seen_.push_back(
      {.configuration = choice.configuration,
       .stages = standing_.stages,
       .epochs = at.epochs_trained,
       .examples = at.training.examples,
       .accuracy = at.measured_accuracy,
       .noise_scale = world_.models().convergence->measured_noise_scale(job_, standing_.stages - 1, standing_.noise_scale),
       .step_s = standing_.step_s,
       .elapsed_s = standing_.time_s,
       .cost_usd = standing_.cost_usd,
       .divergences = at.divergences});
  return true;
}

double Episode::lateness() const { return job_.has_deadline() ? std::max(0.0, standing_.time_s / job_.deadline_s - 1) : 0; }

double Episode::shortfall() const {
  if (!job_.has_target()) return 0;
  const double accuracy = standing_.progress.accuracy;
  if (!(accuracy == accuracy) || standing_.failure != sim::FailureReason::none) return job_.target_accuracy;
  const double deviation = world_.models().convergence->evaluation_deviation(*job_.profile, accuracy);
  return std::max(0.0, job_.target_accuracy - 2 * deviation - accuracy);
}

}  // namespace rehearse::policies
