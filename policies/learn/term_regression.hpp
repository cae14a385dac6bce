// A positive quantity as a sum of terms with coefficients that are not negative. Which terms, forward selection decides by
// cross-validation over whole groups of rows (M. Stone, Cross-Validatory Choice and Assessment of Statistical Predictions, 1974).
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "sim/base/statistics.hpp"

namespace rehearse::policies {

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

}  // namespace rehearse::policies
