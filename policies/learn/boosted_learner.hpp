// The monotone features of the isotonic learner, fitted by boosted monotone trees (learn/monotone_trees.hpp).
#pragma once

#include "policies/learn/monotone_trees.hpp"
#include "policies/learn/point_learner.hpp"

namespace rehearse::policies {

class BoostedLearner final : public PointLearner {
 public:
  BoostedLearner(double margin_quantile, const TreesOptions& options) : PointLearner(margin_quantile), options_(options) {}

 protected:
  /// The trees fit the logarithm of worker-seconds.
  TimeGuess guess_times(std::span<const PastRun> runs) const override;
  AccuracyGuess guess_accuracies(std::span<const PastRun> runs) const override;

 private:
  TreesOptions options_;
};

}  // namespace rehearse::policies
