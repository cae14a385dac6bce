// The quantities of single runs, before they are averaged over repetitions: repetitions.csv.
#pragma once

#include <string>
#include <vector>

#include "report/comparison.hpp"

namespace rehearse::report {

inline constexpr const char* kRepetitionsFile = "repetitions.csv";

/// The whole file: a row for each policy that did not fail and each repetition. `step_evaluations` stands last: different steps of
/// the belief that were timed, and steps that searching place strategies tried.
std::string repetitions_csv(const std::vector<PolicyResult>& results, const std::vector<SummaryRow>& rows);

}  // namespace rehearse::report
