// Regression by a Gaussian process with a Matern 5/2 kernel, and what one may hope of a point: C. E. Rasmussen, C. K. I.
// Williams, Gaussian Processes for Machine Learning, 2006, sections 2.2, 4.2 and 5.4.1; expected improvement: Jones, Schonlau,
// Welch, Journal of Global Optimization 13 (1998), equation 15.
#pragma once

#include <Eigen/Core>
#include <span>
#include <vector>

#include "policies/learn/run_learner.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::policies {

struct GaussianSamples {
  std::size_t dimension = 1;
  std::vector<double> x;        ///< rows x dimension, row-major, in units in which a step of about 1 matters
  std::vector<double> y;        ///< one a row
  std::vector<int> group = {};  ///< one a row; rows of one group, but 0, share an error. Empty: none does

  std::span<const double> features(std::size_t row) const { return std::span(x).subspan(row * dimension, dimension); }
};

struct Kernel {
  double length = 1;       ///< over which values are alike
  double deviation = 1;    ///< of the function around its mean
  double noise = 0.1;      ///< standard deviation of a measurement, in units of `deviation`; above 0
  double mean = 0;         ///< far from every sample
  double group_noise = 0;  ///< standard deviation of what the rows of a group have in common, in units of `deviation`
};

/// k(r)/deviation^2 at distance r, in units of the length: (1 + sqrt5 r + 5/3 r^2) exp(-sqrt5 r).
double matern52(double r);

struct Gaussian {
  double mean = 0;
  double deviation = 0;  ///< of the function, measuring noise not counted
};

class GaussianProcess {
 public:
  /// At least one row.
  GaussianProcess(GaussianSamples samples, const Kernel& kernel);
  /// Mean: that of the rows. Length 2^-1..2^4, noise 0.03, 0.1, 0.3 and, where there are groups, theirs 0.03, 0.1, 0.3: the
  /// likeliest of these, the deviation by its closed form for each. `noise_factor` multiplies those of noise.
  static GaussianProcess fit(const GaussianSamples& samples, double noise_factor = 1);

  Gaussian at(std::span<const double> x) const;
  const Kernel& kernel() const { return kernel_; }
  /// Logarithm of the marginal likelihood of the rows.
  double log_likelihood() const;

 private:
  GaussianSamples samples_;
  Kernel kernel_;
  Eigen::MatrixXd factor_;   ///< lower Cholesky factor of K/deviation^2 + noise^2 I
  Eigen::VectorXd weights_;  ///< its inverse times (y - mean)
  double fit_ = 0;           ///< (y - mean)' times that
};

/// Of a normal variable.
double probability_at_most(double limit, const Gaussian& value);
/// The expectation of max(0, best - value): how much a smaller value may bring.
double expected_improvement(double best, const Gaussian& value);
using sim::normal_quantile;

// Gaussian processes over past runs: what Bayesian optimisation believes between its probes.

/// Seconds an epoch: log of the worker-seconds a sample on log2 of (workers, global batch).
class GaussianTimes final : public EpochTimes {
 public:
  /// At least one run. `safe` is `quantile` of the way up.
  GaussianTimes(std::span<const PastRun> runs, double quantile, double noise_factor = 1);
  Prediction epoch_time_s(const PlannedRun& run) const override;
  /// Of the logarithm of an epoch's seconds.
  Gaussian log_epoch_time(const PlannedRun& run) const;

 private:
  double deviations_;
  GaussianProcess process_;
};

/// The distance of two runs of which one is asynchronous, all else being equal: that of two and a half doublings.
inline constexpr double kApart = 2.5;

/// Accuracy on log2 of (global batch, or workers when asynchronous; epochs, at most those of the longest past run).
class GaussianAccuracies final : public Accuracies {
 public:
  GaussianAccuracies(std::span<const PastRun> runs, double quantile, double noise_factor = 1);
  Prediction accuracy(const PlannedRun& run, double epochs) const override;
  Gaussian distribution(const PlannedRun& run, double epochs) const;

 private:
  double deviations_, most_epochs_;
  GaussianProcess process_;
};

/// Censored runs join as in a PointLearner.
class GaussianLearner final : public RunLearner {
 public:
  explicit GaussianLearner(double quantile, double noise_factor = 1) : quantile_(quantile), noise_factor_(noise_factor) {}
  std::unique_ptr<EpochTimes> epoch_times(std::span<const PastRun> runs) const override;
  std::unique_ptr<Accuracies> accuracies(std::span<const PastRun> runs, bool asynchronous) const override;

 private:
  double quantile_, noise_factor_;
};

}  // namespace rehearse::policies
