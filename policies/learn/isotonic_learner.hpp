// The two predictors of the static co-configuration of resources and batch size: epoch time and accuracy by isotonic regression.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "policies/learn/isotonic.hpp"
#include "policies/learn/run_learner.hpp"

namespace rehearse::policies {

/// What the predictors are monotone in. A minus means: falls with it.
enum class RunFeatures {
  /// Worker-seconds an epoch on (workers, samples, -global batch); accuracy on (-global batch, epochs) if synchronous, on
  /// (-workers, epochs) if asynchronous, where the global batch means nothing and staleness grows with the workers.
  global_batch,
  /// As in the thesis: seconds an epoch on (-workers, samples, -batch of a worker); accuracy on (-batch of a worker, epochs).
  thesis,
};

struct IsotonicOptions {
  RunFeatures features = RunFeatures::global_batch;
  /// Quantile of the leave-one-out residuals that is the safety margin; 0 = no margin.
  double margin_quantile = 0.8;
};

/// Workers, samples, batch; batch or workers, epochs: the signs are such that the targets rise in each.
std::array<double, 3> time_features(RunFeatures features, const PlannedRun& run);
std::array<double, 2> accuracy_features(RunFeatures features, const PlannedRun& run, double epochs);
/// What is fitted: (worker-)seconds an epoch, and accuracy.
IsotonicSamples time_samples(std::span<const PastRun> runs, RunFeatures features);
IsotonicSamples accuracy_samples(std::span<const PastRun> runs, RunFeatures features);

class IsotonicEpochTimes final : public EpochTimes {
 public:
  /// At least one run.
  IsotonicEpochTimes(std::span<const PastRun> runs, const IsotonicOptions& options);
  /// `expected` is midway between the envelopes, `smooth` its mean over small shifts of workers and batch, `safe` the upper
  /// envelope times (1 + margin).
  Prediction epoch_time_s(const PlannedRun& run) const override;
  /// Relative to the upper envelope.
  double margin() const { return margin_; }

 private:
  RunFeatures features_;
  IsotonicFit fit_;
  double margin_ = 0;
};

class IsotonicAccuracies final : public Accuracies {
 public:
  /// At least one run; all of them trained as those that are asked about, but for the thesis's features, which make no
  /// difference.
  IsotonicAccuracies(std::span<const PastRun> runs, const IsotonicOptions& options);
  /// As above, the shifts of batch and epochs; `safe` is the lower envelope less the margin, at least 0. Never falls with epochs.
  Prediction accuracy(const PlannedRun& run, double epochs) const override;
  double safe_accuracy(const PlannedRun& run, double epochs) const override;
  double smooth_accuracy(const PlannedRun& run, double epochs) const override;
  bool depends_on_workers() const override { return features_ == RunFeatures::thesis; }
  /// In accuracy.
  double margin() const { return margin_; }

 private:
  RunFeatures features_;
  IsotonicFit fit_;
  double margin_ = 0;
};

class IsotonicLearner final : public RunLearner {
 public:
  explicit IsotonicLearner(const IsotonicOptions& options) : options_(options) {}
  std::unique_ptr<EpochTimes> epoch_times(std::span<const PastRun> runs) const override;
  std::unique_ptr<Accuracies> accuracies(std::span<const PastRun> runs, bool asynchronous) const override;

 private:
  IsotonicOptions options_;
};

// How far an isotonic fit errs on a sample that it has not seen: each sample is left out in turn and predicted from the rest.

/// At most so many samples are left out, evenly spread over the rows, so that a long history stays cheap.
inline constexpr std::size_t kMostLeftOut = 100;

/// The residual of a sample (x, y) that `fit` has not seen, in whatever scale the caller needs.
using Residual = std::function<double(const IsotonicFit& fit, std::span<const double> x, double y)>;

/// One residual for each row left out, in the rows' order; none for a single row, nor for a censored one, whose target nobody
/// knows.
std::vector<double> leave_one_out(const IsotonicSamples& samples, const Residual& residual);

/// The smallest residual that at least a share `quantile` of the residuals does not exceed (the ceil(quantile n)-th
/// smallest), or 0 if that is negative, if there are none, or at quantile 0. `quantile` lies in [0, 1].
double safety_margin(std::vector<double> residuals, double quantile);

}  // namespace rehearse::policies
