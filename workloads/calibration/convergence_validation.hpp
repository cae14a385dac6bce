// Predicted accuracy and epochs beside measured ones, by batch.
#pragma once

#include <vector>

#include "workloads/calibration/convergence_fit.hpp"

namespace rehearse::workloads {

/// Of the runs at one batch.
struct BatchErrors {
  double batch = 0;
  bool inner = false;  ///< there are measured batches on both sides
  int evaluations = 0;
  double metric_error = 0;  ///< mean of |predicted - measured| at equal examples; NaN without evaluations
  double metric_bias = 0;   ///< mean of predicted - measured
  /// |predicted / measured - 1| of the examples to each hundredth of the metric that a run crosses while it still climbs by 0.002
  /// an epoch; infinite where it is never predicted to.
  std::vector<double> examples_errors;
  std::vector<StepCheck> steps;  ///< of each run with progress and noise scales
};

/// Epochs until a reading reaches the target, as runs tell it that give nothing else.
struct TargetError {
  double batch = 0, learning_rate = 0;
  bool inner = false;
  TargetReached measured;
  double predicted_epochs = kNotMeasured;  ///< NaN: in less than half of the runs
};

struct PairErrors {
  std::vector<BatchErrors> batches;
  std::vector<TargetError> targets;
  std::size_t fitted_parameters = 0;
  /// Of all batches, or of those with measured ones on both sides; NaN where there is nothing of the kind.
  double metric_error(bool inner_only) const;    ///< mean over batches
  double examples_error(bool inner_only) const;  ///< median over all targets of evaluated runs
  double epochs_error(bool inner_only) const;    ///< median over the targets that were measured and predicted to be reached
};

/// The measured runs beside what these parameters say of them. Where a batch is inner is told by `all_batches`.
PairErrors compare(const MeasuredPair& pair, const ConvergenceParameters& parameters, const std::vector<double>& all_batches);

/// Each batch beside what a fit to the others says of it; at least two batches (sim::check).
PairErrors hold_out_batches(const MeasuredPair& pair);

/// Epochs that are tried before a target counts as never reached.
inline constexpr int kMostEpochsTried = 2000;

}  // namespace rehearse::workloads
