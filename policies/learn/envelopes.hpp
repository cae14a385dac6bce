// What a few measurements say of all other configurations, when times and trainings are known to be monotone: two-sided bounds,
// in logarithms (docs/explain/strategies.md, "Static isotonic"). Of an epoch's seconds t(n, B) with n workers and the global
// batch B:
//   n t rises with n at one B; t falls with B at one n, at most in proportion; t falls along n and B together (weak scaling).
// Of the examples x(B) until a floor is reached: x rises with B, at most in proportion.
// Each measurement bounds every point from both sides. Where measurements refute an order by more than their noise, its bounds
// are relaxed by as much. In the middle stands the exact isotonic fit of the measurements, carried on by the same orders.
#pragma once

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "policies/learn/believed_runs.hpp"
#include "policies/learn/log_bounds.hpp"
#include "policies/learn/run_learner.hpp"

namespace rehearse::policies {

struct EnvelopeOptions {
  double probability = 0.9;   ///< with which the bounds of a point hold, were the orders true
  double time_noise = 0.05;   ///< standard deviation of the logarithm of a measured time
  double epoch_noise = 0.07;  ///< of the epochs that two runs alike need to the same accuracy
  EnvelopeOptions spread_by(double factor) const { return {probability, factor * time_noise, factor * epoch_noise}; }
};

/// A measured point of times: logarithms of workers, of the batch and of the seconds that a sample takes.
struct TimePoint {
  double workers = 0, batch = 0, seconds = 0;
  double deviation = 0;   ///< of `seconds`
  bool censored = false;  ///< it takes longer
};

/// By how much each order is relaxed, in logarithms.
struct TimeSlack {
  double workers = 0;     ///< worker-seconds rise with the workers
  double batch = 0;       ///< an epoch gets no longer with the batch
  double proportion = 0;  ///< ... and shorter at most in proportion
  double together = 0;    ///< an epoch gets no longer with workers and batch together
};

/// What one point says of (workers, batch), its noise aside.
double low_from(const TimePoint& point, const TimeSlack& slack, double workers, double batch);
double high_from(const TimePoint& point, const TimeSlack& slack, double workers, double batch);

/// Of one profile on one instance.
class TimeEnvelope {
 public:
  /// At least one run. `believed` must outlive it; null: what was measured alone counts.
  TimeEnvelope(std::span<const PastRun> runs, const EnvelopeOptions& options, const BelievedRuns* believed = nullptr);
  /// Of the logarithm of a sample's seconds, at logarithms of workers and batch.
  LogBounds bounds(double workers, double batch) const;
  double centre(double workers, double batch) const;
  const TimeSlack& slack() const { return slack_; }
  /// Deviations of a measurement to each side at the stated probability.
  double deviations() const { return deviations_; }

 private:
  std::vector<TimePoint> points_;
  std::vector<double> fitted_;  ///< of each point, by isotonic regression
  TimeSlack slack_;
  double deviations_ = 0;
  std::optional<BelievedTimes> believed_;
};

/// The publication's: known beforehand, and believed until runs refute it.
struct Recipe {
  double batch_size = 0, epochs = 0;
};

/// Of one profile: the epochs that reach an accuracy.
class EpochEnvelope {
 public:
  /// Runs of the same way to combine gradients; of asynchronous ones the staleness (workers) takes the place of the batch.
  /// `believed` is of synchronous ones; it must outlive this; null: what was measured alone counts.
  EpochEnvelope(std::span<const PastRun> runs, const EnvelopeOptions& options, const BelievedRuns* believed = nullptr);
  bool empty() const { return groups_.empty() && recipe_.epochs == 0; }
  /// Of the logarithm of the epochs, at the logarithm of the batch.
  LogBounds bounds(double batch, double accuracy) const;
  /// Infinite where no past run or recipe reaches the accuracy.
  double centre(double batch, double accuracy) const;
  /// Of what was measured at this batch: the most epochs of a run; 0 without any.
  double trained(double batch) const;
  const Recipe& recipe() const { return recipe_; }

 private:
  struct Curve {
    std::vector<double> epochs, accuracy;  ///< rising, by isotonic regression
  };
  struct Group {
    double batch = 0;  ///< logarithm
    std::vector<Curve> curves;
    double most_epochs = 0;
  };
  /// What the runs at one batch say of an accuracy.
  struct Reached {
    double batch = 0;
    double epochs = 0;  ///< logarithm: of those that reached it the mean; of the longest run where none did
    double deviation = 0;
    bool reached = false;
  };
  const std::vector<Reached>& reached(double accuracy) const;
  /// Nothing where nothing is believed.
  std::optional<Gaussian> believed(double batch, double accuracy) const;
  LogBounds within(const std::vector<Reached>& seen, double batch, double deviations) const;

  EnvelopeOptions options_;
  std::vector<Group> groups_;  ///< by rising batch
  Recipe recipe_;
  double deviations_ = 0;
  const BelievedRuns* believed_;
  mutable std::map<double, std::vector<Reached>> reached_;
  mutable std::map<double, BelievedEpochs> believed_epochs_;
};

// The same as a learner. Limits are held against the upper bounds, times the margins; money is reckoned with the centre.

struct EnvelopeMargins {
  double time = 0.08, epochs = 0.08;  ///< for what differs from run to run: shares
  EnvelopeMargins spread_by(double factor) const { return {factor * time, factor * epochs}; }
};

class EnvelopeLearner final : public RunLearner {
 public:
  EnvelopeLearner(const EnvelopeOptions& options, const EnvelopeMargins& margins) : options_(options), margins_(margins) {}
  std::unique_ptr<EpochTimes> epoch_times(std::span<const PastRun> runs) const override;
  std::unique_ptr<Accuracies> accuracies(std::span<const PastRun> runs, bool asynchronous) const override;
  std::unique_ptr<EpochTimes> weighed_times(std::span<const PastRun> runs, const BelievedRuns* believed) const override;
  std::unique_ptr<Accuracies> weighed_accuracies(std::span<const PastRun> runs, bool asynchronous,
                                                 const BelievedRuns* believed) const override;
  bool gives_bounds() const override { return true; }
  bool borrows() const override { return false; }
  bool reads_curves() const override { return true; }
  const EnvelopeOptions& options() const { return options_; }
  const EnvelopeMargins& margins() const { return margins_; }

 private:
  EnvelopeOptions options_;
  EnvelopeMargins margins_;
};

}  // namespace rehearse::policies
