// Where the start of a simulation ends: MSER-5 (White, Cobb and Spratt, A comparison of five steady-state truncation heuristics
// for simulation, Winter Simulation Conference 2000).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "report/outcome.hpp"

namespace rehearse::report {

/// How many observations at the beginning are better left out: of all truncations between means of five, the one with the
/// smallest variance of the mean of the rest, z(d) = sum over i > d of (y_i - mean)^2 / (n - d)^2. Nothing when that is in the
/// second half, where few are left to judge by, or when there are fewer than ten means: the series shows no steady state.
std::optional<std::size_t> mser5(std::span<const double> observations);

/// By the completion times of the finished jobs, in order of submission.
void measure_steady_state(RunOutcome& outcome);

}  // namespace rehearse::report
