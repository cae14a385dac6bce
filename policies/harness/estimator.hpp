// The harness's estimator: how long a step takes on one device of a type, what energy and memory it needs and how well it uses
// the device, from the structure of a network alone. Fitted to a benchmark sweep, a regression for each type and power limit.
#pragma once

#include <Eigen/Core>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/learn/linear_regression.hpp"
#include "workloads/generate/sweep.hpp"
#include "workloads/layers/structure.hpp"

namespace rehearse::policies {

/// A profiled run: what an estimator learns from.
struct ProfiledStep {
  workloads::StructureFeatures features;
  int network = 0;  ///< rows of one network are held out together
  double batch = 1;
  double step_s = 0;
  double energy_j = 0;      ///< of a step; 0: not measured, then of no row of the span
  double memory_bytes = 0;  ///< likewise
};

ProfiledStep profiled_step(const workloads::SweepNetwork& network, const workloads::SweepRow& row);

/// Of one step of one worker, on its own. Each with the interval that holds 80 of 100 networks.
struct StepEstimate {
  Interval step_s, energy_j, memory_bytes;
  Interval utilization;  ///< the forward and backward pass's FLOPs a second, over the device's peak
};

/// A whole training of so many steps: intervals as wide as the step's, for its error is the same at every one.
struct TrainingEstimate {
  Interval time_s, energy_j;
};
TrainingEstimate whole_training(const StepEstimate& step, double steps, double start_s);

class Estimator {
 public:
  /// Of one device type under one limit. `peak_flops` of it in single precision.
  static Estimator fit(std::span<const ProfiledStep> steps, double peak_flops, const TermOptions& options = {});
  /// The terms of another fit, which then need not be searched: a device under another power limit.
  static Estimator fit_like(const Estimator& other, std::span<const ProfiledStep> steps);

  /// Corrected by steps measured on the real device: a factor on the part of a step's time that does not grow with the batch, and
  /// one on the part that does, by a robust fit around 1 in logarithms. Energy and memory stay as they are.
  Estimator calibrated_to(std::span<const ProfiledStep> measured) const;

  StepEstimate predict(const workloads::StructureFeatures& features, double batch) const;
  const TermRegression& step_time() const { return time_; }
  /// No regression where the steps had none.
  const TermRegression* energy() const { return has_energy_ ? &energy_ : nullptr; }
  const TermRegression* memory() const { return has_memory_ ? &memory_ : nullptr; }

 private:
  TermRegression time_, energy_, memory_;
  bool has_energy_ = false, has_memory_ = false;
  double fixed_factor_ = 1, growing_factor_ = 1;
  double peak_flops_ = 0;
};

/// The step times as a regression takes them.
TermSamples step_time_samples(std::span<const ProfiledStep> steps);

// The candidate terms of an estimator's regressions: a network's structure features, alone and against the batch.

/// Names of the terms, in the order of `curve_terms`.
std::span<const std::string_view> curve_term_names();

/// One number a term, for a step of this batch on one device; none is negative.
Eigen::VectorXd curve_terms(const workloads::StructureFeatures& features, double batch);

/// Columns of the terms of a FLOPs-only regression: a constant, and batch x FLOPs. What an estimator has to beat.
std::span<const int> flops_only_terms();

// Estimators of all devices of a cluster, each under several power limits: fitted to one sweep of generated networks.

/// The shares of a GPU's busy_w that are tried as limits; 1 is none.
inline constexpr double kLimitShares[] = {1, 0.85, 0.7, 0.55};

class EstimatorSet {
 public:
  /// Of the devices that workers of the cluster's pools are.
  EstimatorSet(const sim::Cluster& cluster, const workloads::SweepSettings& settings);

  struct Limited {
    double power_limit_w = 0;  ///< 0: none
    Estimator estimator;
  };
  sim::Precision precision() const { return precision_; }
  /// None first. Empty where no network of the sweep fits the device's memory.
  const std::vector<Limited>& of_pool(int pool) const { return by_device_[device_of_pool_[static_cast<std::size_t>(pool)]]; }

 private:
  sim::Precision precision_;
  std::vector<std::size_t> device_of_pool_;
  std::vector<std::vector<Limited>> by_device_;
};

/// FLOP/s of the data sheet in this precision; single precision's where the device has none of its own.
double peak_flops_in(const sim::Device& device, sim::Precision precision);

/// The sweep for a network of this structure: of RNNs where it has a recurrent layer.
workloads::SweepSettings sweep_for(const workloads::StructureFeatures& features, sim::Precision precision = sim::Precision::fp32);

// How good an estimator is on networks that it has not seen, beside a regression on FLOPs alone.

/// Relative errors |predicted/measured - 1|.
struct ErrorSpread {
  double median = 0, p90 = 0, mean = 0;
};

struct HeldOut {
  int networks = 0, rows = 0;
  ErrorSpread step_time, flops_only;  ///< of the same rows, by the same folds
  ErrorSpread energy, memory;         ///< zeros where they were not measured
  double coverage = 0;                ///< share of the times that lie in their interval, which is made for 0.8
};

/// Each network is predicted by an estimator that was fitted, its terms chosen included, without the fold it is in.
HeldOut held_out(std::span<const ProfiledStep> steps, double peak_flops, int folds = 5);

}  // namespace rehearse::policies
