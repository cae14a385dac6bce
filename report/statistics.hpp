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
/// Which mean of the repetitions stands for a policy.
enum class Mean {
  arithmetic,  ///< of completion times, and of all else that is printed as such a mean
  geometric    ///< of money: what is saved is a ratio of costs
};
/// Figures that differ by less, relatively, are the same: what is left is rounding.
inline constexpr double kSameFigure = 1e-6;
/// Whether two figures differ by rounding alone. Two that are undefined (NaN) are the same.
bool is_same_figure(double a, double b);

/// Numbers, one a pair, whose mean is the logarithm of one sample's mean over the other's. Geometric: the logarithms of the
/// ratios. Arithmetic: each deviates by what its pair adds to the error of the ratio (Cochran, Sampling Techniques, 1977,
/// section 6.4). Equal but for rounding is equal; NaN where there is no such ratio.
std::vector<double> log_ratios(std::span<const double> of, std::span<const double> over, Mean mean);
/// One sample's mean over another's, paired, with its 95 % interval. NaN where there is no such ratio.
Estimate ratio_of_means(std::span<const double> of, std::span<const double> over, Mean mean);

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
