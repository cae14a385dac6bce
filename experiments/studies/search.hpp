// Architectures searched for several objectives at once: methods side by side on a space of candidates, over and over from
// different seeds.
#pragma once

#include "experiments/studies/study.hpp"

namespace rehearse::scenarios {

/// Parameters: "space", "objectives", "methods", "evaluations", "gpu_hours", "cost_usd", "accuracy_above", "targets",
/// "workload" (docs/reference/scenario.md).
std::unique_ptr<StudyParameters> read_search(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                             sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
