// Means, quantiles and confidence intervals.
#pragma once

#include <span>
#include <vector>

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

using sim::quantile;

double mean(std::span<const double> values);

}  // namespace rehearse::report
