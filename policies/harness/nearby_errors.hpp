// How wrong a calibrated model is near settings that were measured: a Gaussian process over the logarithm of measured over
// predicted (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, 2.2 and 5.4).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "policies/harness/rent.hpp"

namespace rehearse::policies {

/// Where a step was, or would be, measured: what errors resemble each other by.
struct StepSetting {
  double batch_per_worker = 1;
  int workers = 1, nodes = 1;
  double power_limit_w = 0;  ///< 0: none
};

class NearbyErrors {
 public:
  /// One setting at least, and the logarithm of measured over predicted of each. Far from all of them the error is `far`, of
  /// which the bias is 1. Of more than 150 every so manyth counts. `fitted_by_batch`: the predictions were fitted to these very
  /// rows, with a factor of its own for each batch (workloads::calibrate), which says little of batches in between.
  NearbyErrors(std::span<const StepSetting> settings, std::span<const double> errors, double far_sigma,
               bool fitted_by_batch = false);
  ~NearbyErrors();
  NearbyErrors(NearbyErrors&&) noexcept;
  NearbyErrors& operator=(NearbyErrors&&) noexcept;

  PredictionError at(const StepSetting& setting) const;

 private:
  struct Process;  ///< with one amplitude, length and noise
  std::vector<Process> processes_;
  double scale_ = 1;             ///< of the process's deviation, by what left-out rows were off by
  sim::ModelCorrection fitted_;  ///< its batches, where the predictions have a factor for each
};

}  // namespace rehearse::policies
