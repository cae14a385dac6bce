// Placement methods side by side: what a training step takes where each of them puts its operations.
#pragma once

#include <string>
#include <vector>

#include "experiments/studies/placement_cases.hpp"
#include "experiments/studies/study.hpp"

namespace rehearse::scenarios {

/// Parameters: "graphs", "machines", "methods", "evaluations" (docs/reference/scenario.md).
std::unique_ptr<StudyParameters> read_placement(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                sim::Mistakes& mistakes);

struct NamedCase {
  std::string name;
  PlacementCase placed;
};

/// The graphs of a scenario's placement study, each on each machine. Throws InputError when it has no such study.
std::vector<NamedCase> placement_cases(const Scenario& scenario);

}  // namespace rehearse::scenarios
