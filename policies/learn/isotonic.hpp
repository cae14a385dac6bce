// Exact multi-dimensional isotonic regression: the least-squares fit that never falls when no coordinate falls.
// Isotonic recursive partitioning: Spouge, Wan, Wilbur, "Least squares isotonic regression in two dimensions", JOTA 117
// (2003); Luss, Rosset, Shahar, "Efficient regularized isotonic regression", Annals of Applied Statistics 6 (2012).
// One feature: pooling adjacent violators (Barlow, Bartholomew, Bremner, Brunk, "Statistical inference under order restrictions",
// Wiley 1972).
// Censored samples, of which only a lower bound c was seen, cost (c - f)^2 below it and nothing above.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rehearse::policies {

/// What is fitted: one row for each sample. A feature in which the target falls goes in with its sign changed.
struct IsotonicSamples {
  std::size_t dimension = 1;    ///< features a row, at least 1
  std::vector<double> x;        ///< rows x dimension, row-major
  std::vector<double> y;        ///< one a row
  std::vector<double> weights;  ///< one a row; empty = all 1
  std::vector<bool> censored;   ///< one a row: its target is but a lower bound; empty = none is

  std::size_t rows() const { return y.size(); }
  std::span<const double> features(std::size_t row) const { return std::span(x).subspan(row * dimension, dimension); }
};

/// The fit at the samples, and its envelopes everywhere else. Rows with equal features are merged into their weighted
/// mean first. `lower`, `upper` and `predict` never fall when no coordinate of their argument falls. A censored row that the fit
/// need not be pulled up to bounds the lower envelope alone.
class IsotonicFit {
 public:
  /// Rows times the ratio of largest to smallest weight must stay below 1e9: up to there the rounding of weights to 64-bit
  /// integers moves the fit by less than 1e-9 of the range of y. Throws CheckFailed beyond, without rows, for sizes that do
  /// not match, for numbers that are not finite and for weights that are not positive.
  static IsotonicFit fit(const IsotonicSamples& samples);

  std::size_t dimension() const { return dimension_; }
  /// The fit at each row of the samples, in their order: the least one, where censored rows leave a choice.
  std::span<const double> fitted() const { return fitted_; }

  /// The least and the most that a monotone function through the fit can be at `x`: max {f_i: x_i <= x} and min {f_i: x <= x_i},
  /// the latter over rows that tie the fit. Where no such sample exists, the fit's minimum or maximum. `x` has `dimension()`
  /// numbers, none of them NaN.
  double lower(std::span<const double> x) const;
  double upper(std::span<const double> x) const;
  /// Both, found once.
  struct Envelopes {
    double lower, upper;
    bool extrapolated;
    /// Halved first: no overflow, and rounding keeps the order.
    double middle() const { return 0.5 * lower + 0.5 * upper; }
  };
  Envelopes envelopes(std::span<const double> x) const;
  /// Midway between the envelopes.
  double predict(std::span<const double> x) const;
  /// No sample lies at or below `x`, or none at or above.
  bool extrapolated(std::span<const double> x) const;

 private:
  std::span<const double> point(std::size_t i) const { return std::span(points_).subspan(i * dimension_, dimension_); }
  void check_point(std::span<const double> x) const;
  std::size_t highest_below(std::span<const double> x) const;
  std::size_t lowest_above(std::span<const double> x) const;

  std::size_t dimension_ = 1;
  std::vector<double> fitted_;
  std::vector<double> points_;  ///< distinct features, row-major, by rising value: a search can stop at its first hit
  std::vector<double> values_;  ///< the fit at each of them, rising
  std::vector<bool> open_;      ///< of each: it bounds from below alone
};

}  // namespace rehearse::policies
