#include "policies/staged/environment.hpp"

#include <algorithm>
#include <cmath>

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
       .cost_usd = standing_.cost_usd - world_.paid_ahead_usd(standing_.paid, standing_.time_s),
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

namespace {

constexpr double kTrace = 0.95;
constexpr double kLeastSpread = 0.003;  ///< of courses' returns, in shares of the job's money

/// Backwards, each course by itself.
void judge(JudgedCourse& course) {
  double worth_after = -course.fine, advantage = 0, cost_after = course.cost_usd;
  for (auto step = course.steps.rbegin(); step != course.steps.rend(); ++step) {
    const double worth = -(1 + step->excess) * step->plan_usd / course.reference_usd;
    advantage = (step->cost_usd - cost_after) / course.reference_usd + worth_after - worth + kTrace * advantage;
    step->advantage = advantage;
    step->wanted_excess = std::clamp(-(worth + advantage) * course.reference_usd / step->plan_usd - 1, -0.5, 1.0);
    worth_after = worth;
    cost_after = step->cost_usd;
  }
}

}  // namespace

void find_advantages(std::vector<JudgedCourse*> of_one_job) {
  std::size_t longest = 0;
  for (JudgedCourse* course : of_one_job) {
    judge(*course);
    longest = std::max(longest, course->steps.size());
  }
  double squares = 0, steps = 0;
  for (std::size_t stage = 0; stage < longest; ++stage) {
    double sum = 0, n = 0;
    for (const JudgedCourse* course : of_one_job)
      if (stage < course->steps.size()) sum += course->steps[stage].advantage, ++n;
    for (JudgedCourse* course : of_one_job) {
      if (stage >= course->steps.size()) continue;
      double& advantage = course->steps[stage].advantage;
      advantage = n > 1 ? advantage - (sum - advantage) / (n - 1) : 0;
      squares += advantage * advantage;
      ++steps;
    }
  }
  const double unit = kLeastSpread + std::sqrt(squares / std::max(1.0, steps));
  for (JudgedCourse* course : of_one_job)
    for (JudgedCourse::Step& step : course->steps) step.advantage /= unit;
}

}  // namespace rehearse::policies
