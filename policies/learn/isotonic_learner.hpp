// How long an epoch takes and what accuracy a number of epochs reaches, learned from past runs by isotonic regression: the
// two predictors of the static co-configuration of resources and batch size.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "policies/learn/isotonic.hpp"
#include "policies/learn/run_history.hpp"

namespace rehearse::policies {

/// What the predictors are monotone in. A minus means: falls with it.
enum class RunFeatures {
  /// Worker-seconds an epoch on (workers, samples, -global batch); accuracy on (-global batch, epochs) if synchronous, on
  /// (-workers, epochs) if asynchronous, where the global batch means nothing and staleness grows with the workers.
  global_batch,
  /// As in the thesis: seconds an epoch on (-workers, samples, -batch of a worker); accuracy on (-batch of a worker, epochs).
  thesis,
};

struct PredictorOptions {
  RunFeatures features = RunFeatures::global_batch;
  /// Quantile of the leave-one-out residuals that is the safety margin; 0 = no margin.
  double margin_quantile = 0.8;
  /// With fewer runs on an instance, those on another one are borrowed.
  std::size_t enough_runs = 10;
  /// Time on instance `to` over time on instance `from`, for the same workers and batch; empty = nothing is borrowed.
  std::function<double(const std::string& from, const std::string& to)> time_ratio;
};

/// A run that is thought of.
struct PlannedRun {
  int workers = 1;
  double batch_size = 0;  ///< global
  double samples = 0;     ///< an epoch
};

struct Prediction {
  double expected = 0;        ///< midway between the envelopes
  double smooth = 0;          ///< its mean over small shifts of the features: what money is reckoned with
  double safe = 0;            ///< the pessimistic envelope with the safety margin: what limits are held against
  bool extrapolated = false;  ///< outside the past runs, on one side at least
  bool borrowed = false;      ///< another instance's runs had to help out
};

/// For one model on one instance.
class EpochTimePredictor {
 public:
  /// Nothing if there is no run to learn from, on this instance or borrowed.
  static std::optional<EpochTimePredictor> fit(const RunHistory& history, std::string_view model, std::string_view instance,
                                               const PredictorOptions& options);
  /// Seconds; `safe` is the upper envelope times (1 + margin).
  Prediction epoch_time_s(const PlannedRun& run) const;
  /// Relative to the upper envelope.
  double margin() const { return margin_; }

 private:
  RunFeatures features_ = RunFeatures::global_batch;
  IsotonicFit fit_;
  double margin_ = 0;
  bool borrowed_ = false;
};

struct AccuracyQuestion {
  std::string_view model, dataset;
  bool asynchronous = false;  ///< the thesis's features make no difference
};

/// For one model on one dataset, trained either synchronously or asynchronously.
class AccuracyPredictor {
 public:
  /// Nothing if there is no run to learn from.
  static std::optional<AccuracyPredictor> fit(const RunHistory& history, const AccuracyQuestion& question,
                                              const PredictorOptions& options);
  /// `safe` is the lower envelope less the margin, at least 0.
  Prediction accuracy(const PlannedRun& run, double epochs) const;
  /// The fewest epochs in [1, cap] whose safe accuracy reaches `floor`, or nothing.
  std::optional<int> fewest_epochs(const PlannedRun& run, double floor, int cap) const;
  /// The same of the smooth accuracy: what money is reckoned with, where `fewest_epochs` is for limits.
  std::optional<int> expected_epochs(const PlannedRun& run, double floor, int cap) const;
  /// In accuracy.
  double margin() const { return margin_; }

 private:
  double safe_accuracy(std::span<const double> x) const;

  RunFeatures features_ = RunFeatures::global_batch;
  bool asynchronous_ = false;
  IsotonicFit fit_;
  double margin_ = 0;
};

}  // namespace rehearse::policies
