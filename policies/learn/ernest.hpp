// Ernest: the time of a step as a sum of four terms with coefficients that are not negative. S. Venkataraman et al., "Ernest:
// Efficient Performance Prediction for Large-Scale Advanced Analytics", NSDI 2016, section 3.2.
#pragma once

#include <array>

#include "policies/learn/isotonic_learner.hpp"
#include "policies/learn/point_learner.hpp"

namespace rehearse::policies {

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
