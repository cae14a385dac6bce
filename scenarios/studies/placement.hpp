// Placement methods side by side: what a training step takes where each of them puts its operations.
#pragma once

#include "scenarios/studies/study.hpp"

namespace rehearse::scenarios {

/// Parameters: "graphs", "machines", "methods", "evaluations" (docs/scenario.md).
std::unique_ptr<Study> read_placement(sim::ObjectReader& in, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
