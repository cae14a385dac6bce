// Linear regression with normal priors, one measurement after the other: C. M. Bishop, Pattern Recognition and Machine Learning,
// 2006, section 3.3. With S the covariance of the weights, m their means and r the deviation of a measurement y at features x:
//   v = r^2 + x'Sx,   m += S x (y - x'm)/v,   S -= S x x'S/v
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>

#include "policies/learn/gaussian_learner.hpp"

namespace rehearse::policies {

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
