// Boosted regression trees whose every tree never falls when no feature falls: gradient boosting of squared errors (J. H.
// Friedman, Annals of Statistics 29, 2001) with the bounds of XGBoost's monotone constraints (Chen and Guestrin, KDD 2016, and
// its documentation): what lies left of a split stays at or below the middle of its two sides, what lies right at or above.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/learn/isotonic.hpp"
#include "policies/learn/point_learner.hpp"

namespace rehearse::policies {

struct TreesOptions {
  int rounds = 200;
  double rate = 0.1;  ///< the share of a tree that is added
  int depth = 3;
  int least_rows = 2;  ///< of a leaf
};

class MonotoneTrees {
 public:
  /// At least one row; neither weights nor censored rows.
  static MonotoneTrees fit(const IsotonicSamples& samples, const TreesOptions& options);
  /// Never falls when no coordinate falls.
  double predict(std::span<const double> x) const;

 private:
  struct Node {
    std::int32_t feature = -1;  ///< -1: a leaf
    double threshold = 0;       ///< at or below it: left
    std::int32_t left = 0, right = 0;
    double value = 0;
  };
  class Grower;
  static double value_of(const std::vector<Node>& tree, std::span<const double> x);

  double start_ = 0, rate_ = 0;
  std::vector<std::vector<Node>> trees_;
};

// The monotone features of the isotonic learner, fitted by boosted monotone trees.

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
