// What happened last time: a run is like the most similar past run. Distances are in doublings.
#pragma once

#include "policies/learn/point_learner.hpp"

namespace rehearse::policies {

/// Time: the seconds a sample of the past run nearest in log2 of workers and global batch. Accuracy: that of the nearest in log2
/// of the global batch (asynchronous: of the workers) and of the epochs. Of equally near ones the mean.
class NearestRun final : public PointLearner {
 public:
  using PointLearner::PointLearner;

 protected:
  TimeGuess guess_times(std::span<const PastRun> runs) const override;
  AccuracyGuess guess_accuracies(std::span<const PastRun> runs) const override;
};

/// Nothing but what was measured: the mean seconds a sample of the past runs with the same workers and batch, and the best
/// accuracy that such runs reached within so many epochs. NaN for all else. Random search knows no more.
class MeasuredRuns final : public RunLearner {
 public:
  std::unique_ptr<EpochTimes> epoch_times(std::span<const PastRun> runs) const override;
  std::unique_ptr<Accuracies> accuracies(std::span<const PastRun> runs, bool asynchronous) const override;
};

}  // namespace rehearse::policies
