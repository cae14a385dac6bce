#include "policies/learn/linear_model.hpp"

#include <cmath>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

Eigen::Index at(const LinearTerm& term) { return static_cast<Eigen::Index>(term.feature); }

/// Mean of a normal variable, given that it exceeds `bound`.
double mean_above(const Gaussian& normal, double bound) {
  constexpr double kFar = 8;  // deviations: the tail's mean is the bound, but for a hundredth of a deviation
  const double z = (bound - normal.mean) / normal.deviation;
  if (z > kFar) return bound + normal.deviation / z;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI);
  return normal.mean + normal.deviation * density / (0.5 * std::erfc(z / std::sqrt(2.0)));
}

}  // namespace

LinearModel::LinearModel(std::span<const double> prior_spreads, double noise)
    : means_(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(prior_spreads.size()))), noise_(noise) {
  sim::check(noise > 0, "a linear model of measurements without noise");
  covariance_ = Eigen::MatrixXd::Zero(means_.size(), means_.size());
  for (Eigen::Index i = 0; i < means_.size(); ++i) {
    const double spread = prior_spreads[static_cast<std::size_t>(i)];
    covariance_(i, i) = spread * spread;
  }
}

Gaussian LinearModel::measured_at(std::span<const LinearTerm> x) const {
  double mean = 0, variance = noise_ * noise_;
  for (const LinearTerm& a : x) {
    mean += a.value * means_[at(a)];
    for (const LinearTerm& b : x) variance += a.value * b.value * covariance_(at(a), at(b));
  }
  return {.mean = mean, .deviation = std::sqrt(variance)};
}

void LinearModel::add(std::span<const LinearTerm> x, double y) {
  Eigen::VectorXd gain = Eigen::VectorXd::Zero(means_.size());  // S x
  for (const LinearTerm& a : x) gain += a.value * covariance_.col(at(a));
  double mean = 0, variance = noise_ * noise_;
  for (const LinearTerm& a : x) {
    mean += a.value * means_[at(a)];
    variance += a.value * gain[at(a)];
  }
  means_ += gain * ((y - mean) / variance);
  covariance_ -= gain * gain.transpose() / variance;
}

void LinearModel::add_above(std::span<const LinearTerm> x, double bound) { add(x, mean_above(measured_at(x), bound)); }

}  // namespace rehearse::policies
