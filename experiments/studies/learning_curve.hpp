// What past runs are worth: the scenario's policies for several sizes of the history and several errors of the model.
#pragma once

#include "experiments/studies/study.hpp"

namespace rehearse::scenarios {

/// Parameters: "runs" (list of whole numbers, of each model and instance), "model_errors" (list of numbers).
std::unique_ptr<StudyParameters> read_learning_curve(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                     sim::Mistakes& mistakes);

/// Over how many jobs of a model its profiling must be spread to be worth it. Money of all jobs, without profiling, under the
/// baseline and the policy; `profiling_usd` is what was charged when spread over `reuse_jobs`. NaN: never, the policy saves
/// nothing.
double break_even_jobs(double baseline_usd, double policy_usd, double profiling_usd, double reuse_jobs);

}  // namespace rehearse::scenarios
