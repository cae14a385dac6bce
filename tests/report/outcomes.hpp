// Outcomes of runs, made by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/comparison.hpp"

namespace outcomes {

using namespace rehearse::report;

/// A job that keeps its limits, or (`reference_usd` >= 0) breaks one: its manual configuration then costs that much.
struct Job {
  double cost_usd;
  double reference_usd = -1;
  double profiling_usd = 0;
};

/// One run; every job has a deadline.
inline RunOutcome run(const std::vector<Job>& jobs) {
  RunOutcome outcome;
  for (const Job& job : jobs) {
    const bool keeps = job.reference_usd < 0;
    outcome.jobs.push_back({.cost_usd = job.cost_usd,
                            .effective_cost_usd = job.cost_usd + (keeps ? 0 : job.reference_usd),
                            .profiling_usd = job.profiling_usd,
                            .seconds_late = keeps ? 0.0 : 30.0,
                            .completion_s = 100,
                            .finished = true,
                            .has_deadline = true,
                            .deadline_met = keeps,
                            .keeps_limits = keeps});
  }
  const rehearse::sim::ReplayTotals totals{.jobs = jobs.size(), .finished = jobs.size(), .last_end_s = 200};
  outcome.metrics = run_metrics(totals, outcome.jobs, {.energy_j = 1.8e6});
  return outcome;
}

inline PolicyResult policy(std::string name, std::vector<RunOutcome> repetitions) {
  return {.policy = std::move(name), .repetitions = std::move(repetitions)};
}

inline PolicyResult failed(std::string name, std::string reason) {
  return {.policy = std::move(name), .ok = false, .reason = std::move(reason)};
}

inline RunVerdict judge(const std::vector<PolicyResult>& results, const VerdictTerms& terms) {
  return judge_twice(verdict_input(results, terms));
}

}  // namespace outcomes
