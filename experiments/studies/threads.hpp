// Threads of operations on many-core CPUs: planners and strategies against the recommended setting, model by model.
#pragma once

#include "experiments/studies/study.hpp"

namespace rehearse::scenarios {

/// The machines are the CPUs of the cluster's pools, the models those of the jobs, which have "steps" and "batch_size".
/// Parameters: "strides" (list of whole numbers), "noise" (number), "factors" (list of numbers).
std::unique_ptr<StudyParameters> read_threads(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                              sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
