#include "policies/learn/gaussian_process.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

double distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return std::sqrt(sum);
}

double normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }
double normal_share(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

}  // namespace

double matern52(double r) {
  const double s = std::sqrt(5.0) * r;
  return (1 + s + s * s / 3) * std::exp(-s);
}

GaussianProcess::GaussianProcess(GaussianSamples samples, const Kernel& kernel) : samples_(std::move(samples)), kernel_(kernel) {
  const auto n = static_cast<Index>(samples_.y.size());
  sim::check(n > 0 && samples_.x.size() == samples_.y.size() * samples_.dimension, "a Gaussian process without matching samples");
  sim::check(kernel.noise > 0 && kernel.length > 0 && kernel.deviation > 0,
             "a Gaussian process without noise, length or deviation");
  MatrixXd k(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j)
      k(i, j) =
          matern52(distance(samples_.features(static_cast<std::size_t>(i)), samples_.features(static_cast<std::size_t>(j))) /
                   kernel.length);
  k.diagonal().array() += kernel.noise * kernel.noise;
  factor_ = k.llt().matrixL();
  const VectorXd y = Eigen::Map<const VectorXd>(samples_.y.data(), n).array() - kernel.mean;
  const VectorXd half = factor_.triangularView<Eigen::Lower>().solve(y);
  weights_ = factor_.triangularView<Eigen::Lower>().adjoint().solve(half);
  fit_ = half.squaredNorm();
}

GaussianProcess GaussianProcess::fit(const GaussianSamples& samples) {
  const auto n = static_cast<double>(samples.y.size());
  const double mean = std::accumulate(samples.y.begin(), samples.y.end(), 0.0) / n;
  std::optional<GaussianProcess> best;
  for (const double length : {0.5, 1.0, 2.0, 4.0, 8.0, 16.0}) {
    for (const double noise : {0.03, 0.1, 0.3}) {
      const GaussianProcess unit(samples, {.length = length, .deviation = 1, .noise = noise, .mean = mean});
      // The likeliest deviation given the rest; a hair for rows that are all alike.
      const double deviation = std::max(1e-9 * (1 + std::abs(mean)), std::sqrt(unit.fit_ / n));
      GaussianProcess candidate = unit;
      candidate.kernel_.deviation = deviation;
      if (!best || candidate.log_likelihood() > best->log_likelihood()) best = std::move(candidate);
    }
  }
  return *best;
}

double GaussianProcess::log_likelihood() const {
  const auto n = static_cast<double>(samples_.y.size());
  const double d = kernel_.deviation;
  return -fit_ / (2 * d * d) - factor_.diagonal().array().log().sum() - n * std::log(d) - n / 2 * std::log(2 * std::numbers::pi);
}

Gaussian GaussianProcess::at(std::span<const double> x) const {
  VectorXd k(factor_.rows());
  for (Index i = 0; i < k.size(); ++i)
    k[i] = matern52(distance(samples_.features(static_cast<std::size_t>(i)), x) / kernel_.length);
  const double known = factor_.triangularView<Eigen::Lower>().solve(k).squaredNorm();
  return {.mean = kernel_.mean + k.dot(weights_), .deviation = kernel_.deviation * std::sqrt(std::max(0.0, 1 - known))};
}

double probability_at_most(double limit, const Gaussian& value) {
  if (value.deviation == 0) return value.mean <= limit ? 1 : 0;
  return normal_share((limit - value.mean) / value.deviation);
}

double expected_improvement(double best, const Gaussian& value) {
  if (value.deviation == 0) return std::max(0.0, best - value.mean);
  const double z = (best - value.mean) / value.deviation;
  return value.deviation * (z * normal_share(z) + normal_density(z));
}

double normal_quantile(double quantile) {
  sim::check(quantile > 0 && quantile < 1, "the quantile of a normal variable lies outside (0, 1)");
  return boost::math::quantile(boost::math::normal(), quantile);
}

}  // namespace rehearse::policies
