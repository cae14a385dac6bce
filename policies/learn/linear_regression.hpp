// Linear regression: of terms with coefficients that are not negative, and with normal priors, one measurement after the other.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

#include "policies/learn/gaussian_learner.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::policies {

// A positive quantity as a sum of terms with coefficients that are not negative. Which terms, forward selection decides by
// cross-validation over whole groups of rows (M. Stone, Cross-Validatory Choice and Assessment of Statistical Predictions, 1974).

struct TermSamples {
  Eigen::MatrixXd terms;   ///< a row for each observation, a column for each candidate; none is negative
  Eigen::VectorXd values;  ///< above 0
  std::vector<int> group;  ///< of each row; rows of one group are held out together
};

struct TermOptions {
  int folds = 5;        ///< fewer where there are fewer groups
  int most_terms = 12;  ///< that are chosen
};

/// What is expected, and where 80 of 100 values lie by the errors on held-out groups.
struct Interval {
  double expected = 0, low = 0, high = 0;
};

class TermRegression {
 public:
  /// Squares of relative errors, so that small values count as much as large ones. With at least two groups.
  static TermRegression fit(const TermSamples& samples, const TermOptions& options = {});
  /// The given terms, without selection; the errors are those of cross-validation as well.
  static TermRegression fit_terms(const TermSamples& samples, std::vector<int> terms, const TermOptions& options = {});

  double expected(const Eigen::VectorXd& terms) const;
  Interval predict(const Eigen::VectorXd& terms) const;
  /// Columns of the candidates, in the order in which they were chosen; those whose coefficient came out as 0 included.
  std::span<const int> chosen() const { return chosen_; }
  /// log(value/prediction) of each row, predicted without its group; ascending.
  std::span<const double> held_out_errors() const { return errors_; }

 private:
  std::vector<int> chosen_;
  Eigen::VectorXd coefficients_;  ///< of the chosen
  std::vector<double> errors_;
};

using sim::quantile_of_ascending;

// Least squares with coefficients that are not negative: the active-set method of Lawson and Hanson, Solving Least Squares
// Problems, 1974, chapter 23.

/// The x >= 0 that minimises |a x - b|; a has at least one row and one column. A column that others make up for exactly gets 0.
Eigen::VectorXd nonnegative_least_squares(const Eigen::MatrixXd& a, const Eigen::VectorXd& b);

// Linear regression with normal priors, one measurement after the other: C. M. Bishop, Pattern Recognition and Machine Learning,
// 2006, section 3.3. With S the covariance of the weights, m their means and r the deviation of a measurement y at features x:
//   v = r^2 + x'Sx,   m += S x (y - x'm)/v,   S -= S x x'S/v

/// A feature that is not 0.
struct LinearTerm {
  std::size_t feature = 0;
  double value = 0;
};

class LinearModel {
 public:
  /// Weights are believed to be 0, each give or take its prior spread. `noise`: standard deviation of a measurement, above 0.
  LinearModel(std::span<const double> prior_spreads, double noise);
  /// Of what would be measured there: what the weights leave open, and the noise.
  Gaussian measured_at(std::span<const LinearTerm> x) const;
  void add(std::span<const LinearTerm> x, double y);
  /// Only known to be more than `bound`: counts as the mean of what is believed beyond it.
  void add_above(std::span<const LinearTerm> x, double bound);
  double mean_of_weight(std::size_t feature) const { return means_[static_cast<Eigen::Index>(feature)]; }

 private:
  Eigen::VectorXd means_;
  Eigen::MatrixXd covariance_;
  double noise_;
};

}  // namespace rehearse::policies
