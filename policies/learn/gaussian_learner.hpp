// Gaussian processes over past runs: what Bayesian optimisation believes between its probes.
#pragma once

#include "policies/learn/gaussian_process.hpp"
#include "policies/learn/run_learner.hpp"

namespace rehearse::policies {

/// Seconds an epoch: log of the worker-seconds a sample on log2 of (workers, global batch).
class GaussianTimes final : public EpochTimes {
 public:
  /// At least one run. `safe` is `quantile` of the way up.
  GaussianTimes(std::span<const PastRun> runs, double quantile);
  Prediction epoch_time_s(const PlannedRun& run) const override;
  /// Of the logarithm of an epoch's seconds.
  Gaussian log_epoch_time(const PlannedRun& run) const;

 private:
  double deviations_;
  GaussianProcess process_;
};

/// Accuracy on log2 of (global batch, or workers when asynchronous; epochs, at most those of the longest past run).
class GaussianAccuracies final : public Accuracies {
 public:
  GaussianAccuracies(std::span<const PastRun> runs, double quantile);
  Prediction accuracy(const PlannedRun& run, double epochs) const override;
  Gaussian distribution(const PlannedRun& run, double epochs) const;

 private:
  double deviations_, most_epochs_;
  GaussianProcess process_;
};

/// Censored runs join as in a PointLearner.
class GaussianLearner final : public RunLearner {
 public:
  explicit GaussianLearner(double quantile) : quantile_(quantile) {}
  std::unique_ptr<EpochTimes> epoch_times(std::span<const PastRun> runs) const override;
  std::unique_ptr<Accuracies> accuracies(std::span<const PastRun> runs, bool asynchronous) const override;

 private:
  double quantile_;
};

}  // namespace rehearse::policies
