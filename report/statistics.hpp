// Means, quantiles and confidence intervals.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "report/outcome.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::report {

/// Mean with its 95 % confidence interval by Student's t; the bounds are NaN with fewer than two values. The mean of no values
/// is NaN. NaN values (undefined in that repetition) are left out.
struct Estimate {
  double mean;
  double ci95_low;
  double ci95_high;
};
Estimate estimate(std::span<const double> values);
/// Of ratios: the geometric mean, and the interval of its logarithm.
Estimate estimate_of_ratios(std::span<const double> values);

using sim::quantile;

double mean(std::span<const double> values);

// Where the start of a simulation ends: MSER-5 (White, Cobb and Spratt, A comparison of five steady-state truncation heuristics
// for simulation, Winter Simulation Conference 2000).

/// How many observations at the beginning are better left out: of all truncations between means of five, the one with the
/// smallest variance of the mean of the rest, z(d) = sum over i > d of (y_i - mean)^2 / (n - d)^2. Nothing when that is in the
/// second half, where few are left to judge by, or when there are fewer than ten means: the series shows no steady state.
std::optional<std::size_t> mser5(std::span<const double> observations);

/// By the completion times of the finished jobs, in order of submission.
void measure_steady_state(RunOutcome& outcome);

}  // namespace rehearse::report
