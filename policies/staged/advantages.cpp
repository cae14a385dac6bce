#include "policies/staged/advantages.hpp"

#include <algorithm>
#include <cmath>

namespace rehearse::policies {

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
