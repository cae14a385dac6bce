// What is left to chance in a scenario: what repetitions draw anew, and how much of a workload one draw moves.
#pragma once

#include "report/comparison.hpp"
#include "scenarios/read/scenario.hpp"

namespace rehearse::scenarios {

/// Whether any of its jobs is modelled: the others have a fixed length.
bool trains(const Scenario& scenario);

/// Whether anything in the world of its repetitions is drawn: errors that act on its jobs, or what happens to nodes.
bool has_noise(const Scenario& scenario);

/// By the jobs of the first repetition, where `any_ended`: else nobody is judged, and the jobs are not drawn for it.
report::VerdictTerms verdict_terms(const Scenario& scenario, bool any_ended = true);

}  // namespace rehearse::scenarios
