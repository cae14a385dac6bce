// Equations whose constants are fitted to past runs.
#pragma once

#include <array>

#include "policies/learn/isotonic_learner.hpp"
#include "policies/learn/point_learner.hpp"

namespace rehearse::policies {

// The equations of docs/explain/model.md with their constants fitted to past runs: A. Qiao et al., "Pollux: Co-adaptive Cluster
// Scheduling for Goodput-Optimized Deep Learning", OSDI 2021, equations 7 to 10 (step time) and 5 (statistical efficiency).

/// Step time: (T_grad^g + T_sync^g)^(1/g), T_grad = a + b m for m samples a worker, T_sync = s (n-1)/n + l (n-1): bandwidth and
/// latency of a ring. Accuracy after E epochs: A - (A - a_0) (1 + p/c)^-beta, less d (n-1) when asynchronous, at progress p = E
/// (phi + 1)/(phi + B). Robust least squares of logarithms and of accuracies, with weak priors.
class Parametric final : public PointLearner {
 public:
  /// `spread_factor` multiplies how far from the first guess the priors lie.
  explicit Parametric(double margin_quantile, double spread_factor = 1)
      : PointLearner(margin_quantile), spread_factor_(spread_factor) {}

 protected:
  TimeGuess guess_times(std::span<const PastRun> runs) const override;
  AccuracyGuess guess_accuracies(std::span<const PastRun> runs) const override;

 private:
  double spread_factor_;
};

// Ernest: the time of a step as a sum of four terms with coefficients that are not negative. S. Venkataraman et al., "Ernest:
// Efficient Performance Prediction for Large-Scale Advanced Analytics", NSDI 2016, section 3.2.

/// A step of a global batch B on n workers takes c0 + c1 B/n + c2 log n + c3 n seconds: Ernest's input is the batch, since an
/// epoch's time is not linear in it. Least squares of relative errors. Ernest says nothing of accuracy: those are isotonic.
class Ernest final : public PointLearner {
 public:
  explicit Ernest(double margin_quantile) : PointLearner(margin_quantile), accuracies_({.margin_quantile = margin_quantile}) {}
  std::unique_ptr<Accuracies> accuracies(std::span<const PastRun> runs, bool asynchronous) const override {
    return accuracies_.accuracies(runs, asynchronous);
  }

  /// c0 to c3; at least one run.
  static std::array<double, 4> coefficients(std::span<const PastRun> runs);

 protected:
  TimeGuess guess_times(std::span<const PastRun> runs) const override;
  AccuracyGuess guess_accuracies(std::span<const PastRun> runs) const override;

 private:
  IsotonicLearner accuracies_;
};

}  // namespace rehearse::policies
