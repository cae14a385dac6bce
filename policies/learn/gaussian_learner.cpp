#include "policies/learn/gaussian_learner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>

#include "policies/learn/point_learner.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/linear_algebra.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::policies {

namespace {

std::array<double, 2> time_point(const PlannedRun& run) { return {std::log2(run.workers), std::log2(run.batch_size)}; }

std::array<double, 3> accuracy_point(const PlannedRun& run, double epochs) {
  return {std::log2(run.asynchronous ? run.workers : run.batch_size), std::log2(epochs), run.asynchronous ? kApart : 0.0};
}

GaussianProcess time_process(std::span<const PastRun> runs, double noise_factor) {
  GaussianSamples samples{.dimension = 2};
  for (const PastRun& run : runs) {
    const auto x = time_point(planned(run));
    samples.x.insert(samples.x.end(), x.begin(), x.end());
    samples.y.push_back(std::log(run.time_s / run.epochs / run.samples * run.workers));
  }
  return GaussianProcess::fit(samples, noise_factor);
}

GaussianProcess accuracy_process(std::span<const PastRun> runs, double noise_factor) {
  GaussianSamples samples{.dimension = 3};
  for (const PastRun& run : runs) {
    const auto x = accuracy_point(planned(run), run.epochs);
    samples.x.insert(samples.x.end(), x.begin(), x.end());
    samples.y.push_back(run.accuracy);
    samples.group.push_back(run.group);
  }
  return GaussianProcess::fit(samples, noise_factor);
}

double deviations_at(double quantile) { return quantile <= 0.5 ? 0 : normal_quantile(std::min(quantile, 0.9999)); }

}  // namespace

GaussianTimes::GaussianTimes(std::span<const PastRun> runs, double quantile, double noise_factor)
    : deviations_(deviations_at(quantile)), process_(time_process(runs, noise_factor)) {}

Gaussian GaussianTimes::log_epoch_time(const PlannedRun& run) const {
  Gaussian found = process_.at(time_point(run));
  found.mean += std::log(run.samples / run.workers);
  return found;
}

Prediction GaussianTimes::epoch_time_s(const PlannedRun& run) const {
  const Gaussian log_time = log_epoch_time(run);
  const double expected = std::exp(log_time.mean);
  return {.expected = expected,
          .smooth = expected,
          .safe = std::exp(log_time.mean + deviations_ * log_time.deviation),
          .extrapolated = log_time.deviation > 0.9 * process_.kernel().deviation};
}

GaussianAccuracies::GaussianAccuracies(std::span<const PastRun> runs, double quantile, double noise_factor)
    : deviations_(deviations_at(quantile)),
      most_epochs_(std::ranges::max_element(runs, {}, &PastRun::epochs)->epochs),
      process_(accuracy_process(runs, noise_factor)) {}

Gaussian GaussianAccuracies::distribution(const PlannedRun& run, double epochs) const {
  return process_.at(accuracy_point(run, std::min(epochs, most_epochs_)));
}

Prediction GaussianAccuracies::accuracy(const PlannedRun& run, double epochs) const {
  const Gaussian found = distribution(run, epochs);
  const double expected = std::clamp(found.mean, 0.0, 1.0);
  return {.expected = expected,
          .smooth = expected,
          .safe = std::clamp(found.mean - deviations_ * found.deviation, 0.0, 1.0),
          .extrapolated = epochs > most_epochs_ || found.deviation > 0.9 * process_.kernel().deviation};
}

std::unique_ptr<EpochTimes> GaussianLearner::epoch_times(std::span<const PastRun> runs) const {
  if (runs.empty()) return nullptr;
  const auto learn = [&](std::span<const PastRun> measured) { return GaussianTimes(measured, quantile_, noise_factor_); };
  const auto falls_short = [](const GaussianTimes& without, const PastRun& run) {
    return without.epoch_time_s(planned(run)).expected < run.time_s / run.epochs;
  };
  return std::make_unique<GaussianTimes>(learn(with_binding_bounds(runs, learn, falls_short)));
}

std::unique_ptr<Accuracies> GaussianLearner::accuracies(std::span<const PastRun> runs, bool asynchronous) const {
  const std::vector<PastRun> alike = trained_alike(runs, asynchronous);
  if (alike.empty()) return nullptr;
  const auto learn = [&](std::span<const PastRun> measured) { return GaussianAccuracies(measured, quantile_, noise_factor_); };
  const auto falls_short = [](const GaussianAccuracies& without, const PastRun& run) {
    return without.accuracy(planned(run), run.epochs).expected < run.accuracy;
  };
  return std::make_unique<GaussianAccuracies>(learn(with_binding_bounds(alike, learn, falls_short)));
}

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
  for (Index i = 0; i < n && kernel.group_noise > 0; ++i)
    for (Index j = 0; j <= i; ++j)
      if (const int group = samples_.group[static_cast<std::size_t>(i)];
          group > 0 && group == samples_.group[static_cast<std::size_t>(j)])
        k(i, j) += kernel.group_noise * kernel.group_noise;
  factor_ = sim::cholesky_root(k);
  const VectorXd y = Eigen::Map<const VectorXd>(samples_.y.data(), n).array() - kernel.mean;
  const VectorXd half = sim::solve_lower(factor_, y);
  weights_ = sim::solve_lower_transposed(factor_, half);
  fit_ = half.squaredNorm();
}

GaussianProcess GaussianProcess::fit(const GaussianSamples& samples, double noise_factor) {
  const auto n = static_cast<double>(samples.y.size());
  const double mean = std::accumulate(samples.y.begin(), samples.y.end(), 0.0) / n;
  std::optional<GaussianProcess> best;
  const bool grouped = std::any_of(samples.group.begin(), samples.group.end(), [](int group) { return group > 0; });
  struct Noise {
    double own, group;
  };
  std::vector<Noise> noises;
  for (const double own : {0.03, 0.1, 0.3}) {
    if (!grouped) noises.push_back({own, 0});
    for (const double group : {0.03, 0.1, 0.3})
      if (grouped) noises.push_back({own, group});
  }
  for (const double length : {0.5, 1.0, 2.0, 4.0, 8.0, 16.0}) {
    for (const auto& [noise, group_noise] : noises) {
      const GaussianProcess unit(samples, {.length = length,
                                           .deviation = 1,
                                           .noise = noise_factor * noise,
                                           .mean = mean,
                                           .group_noise = noise_factor * group_noise});
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
  const double known = sim::solve_lower(factor_, k).squaredNorm();
  return {.mean = kernel_.mean + k.dot(weights_), .deviation = kernel_.deviation * std::sqrt(std::max(0.0, 1 - known))};
}

double probability_at_most(double limit, const Gaussian& value) {
  if (value.deviation == 0) return value.mean <= limit ? 1 : 0;
  return sim::normal_share_below((limit - value.mean) / value.deviation);
}

double expected_improvement(double best, const Gaussian& value) {
  if (value.deviation == 0) return std::max(0.0, best - value.mean);
  const double z = (best - value.mean) / value.deviation;
  return value.deviation * (z * sim::normal_share_below(z) + normal_density(z));
}

}  // namespace rehearse::policies
