// The equations of docs/explain/model.md with their constants fitted to past runs: A. Qiao et al., "Pollux: Co-adaptive Cluster
// Scheduling for Goodput-Optimized Deep Learning", OSDI 2021, equations 7 to 10 (step time) and 5 (statistical efficiency).
#pragma once

#include "policies/learn/point_learner.hpp"

namespace rehearse::policies {

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

}  // namespace rehearse::policies
