// What several rooms make of many numbers.
#pragma once

#include <limits>
#include <span>

namespace rehearse::sim {

/// What is not known, or not defined.
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The p-quantile, 0 <= p <= 1, linear between order statistics (Hyndman and Fan 1996, definition 7; R's type 7); NaN of nothing.
double quantile(std::span<const double> values, double p);
/// The same of values that are in ascending order.
double quantile_of_ascending(std::span<const double> values, double p);

/// The number of deviations that a share p in (0, 1) of normal variables stays below.
double normal_quantile(double p);
/// The share of normal variables that stays below so many deviations.
double normal_share_below(double deviations);
/// What a share p in (0, 1) of Student's t of so many degrees of freedom stays below, and what a share p of it exceeds: for small
/// p more digits than that of 1 - p.
double student_quantile(double p, double degrees);
double student_upper_quantile(double p, double degrees);

}  // namespace rehearse::sim
