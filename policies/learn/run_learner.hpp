// Finished training runs, from which the predictors learn: as measured, with noise, and nothing of the simulator's truth.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/training/past_run.hpp"

namespace rehearse::policies {

using workloads::PastRun;
using workloads::tells_time;
using workloads::Told;

class RunHistory {
 public:
  RunHistory() = default;
  /// Throws InputError with every mistake; `line` is the run's number, from 1.
  explicit RunHistory(std::vector<PastRun> runs);

  const std::vector<PastRun>& runs() const { return runs_; }
  std::vector<PastRun> of(const sim::Profile& profile) const;
  /// Those of them that tell a time.
  std::vector<PastRun> on_instance(const sim::Profile& profile, std::string_view instance) const;
  /// As `on_instance`; where those are fewer than `enough`, joined by the richest other instance's, their times scaled.
  struct Gathered {
    std::vector<PastRun> runs;
    bool borrowed = false;
  };
  /// Time on instance `to` over time on instance `from`, for the same workers and batch; empty = nothing is borrowed.
  using TimeRatio = std::function<double(const std::string& from, const std::string& to)>;
  Gathered on_instance_or_borrowed(const sim::Profile& profile, std::string_view instance, std::size_t enough,
                                   const TimeRatio& ratio) const;
  /// The other instance with the most runs of the profile, of equals the first by name; empty when there is none.
  std::string richest_other_instance(const sim::Profile& profile, std::string_view instance) const;

 private:
  std::vector<PastRun> runs_;
};

/// Where a strategy's past runs come from while jobs arrive. Nothing in it hangs on jobs that have not arrived.
class PastRuns {
 public:
  /// What is known when the job's configuration is chosen: `wait_s` after its arrival, for which it waits. Good until the next
  /// call.
  struct Known {
    const RunHistory* history = nullptr;
    double wait_s = 0;
  };
  virtual ~PastRuns() = default;
  virtual Known at_arrival(const sim::Job& job, double now_s) = 0;
  /// A job has ended whose run can teach.
  virtual void on_run(PastRun /*run*/) {}
};

// What every learner of past runs is asked: how long an epoch takes, and what accuracy a number of epochs reaches. Rows in,
// predictions out: nothing of the simulator, so that a table of measured runs serves as well.

/// A run that is thought of.
struct PlannedRun {
  int workers = 1;
  double batch_size = 0;  ///< global: of all workers together, also where each pushes on its own
  double samples = 0;     ///< an epoch
  bool asynchronous = false;

  /// Samples that a worker computes at once.
  double local_batch() const { return batch_size / workers; }
};

PlannedRun planned(const PastRun& run);

/// NaN: the learner does not say.
struct Prediction {
  double expected = 0;        ///< the learner's best guess
  double smooth = 0;          ///< what money is reckoned with: `expected`, but for steps that only few runs make
  double safe = 0;            ///< pessimistic: what limits are held against
  bool extrapolated = false;  ///< outside the past runs
};

/// Of one profile on one instance.
class EpochTimes {
 public:
  virtual ~EpochTimes() = default;
  /// Seconds; `safe` is at least `expected`.
  virtual Prediction epoch_time_s(const PlannedRun& run) const = 0;
};

/// Of one profile, trained either synchronously or asynchronously.
class Accuracies {
 public:
  virtual ~Accuracies() = default;
  /// `safe` is at most `expected`, and at least 0.
  virtual Prediction accuracy(const PlannedRun& run, double epochs) const = 0;
  /// One number of it: epochs are searched with them.
  virtual double safe_accuracy(const PlannedRun& run, double epochs) const { return accuracy(run, epochs).safe; }
  virtual double smooth_accuracy(const PlannedRun& run, double epochs) const { return accuracy(run, epochs).smooth; }
  /// Whether how many workers share a global batch makes a difference; always when asynchronous.
  virtual bool depends_on_workers() const { return false; }
  /// The fewest epochs in [1, cap] whose safe accuracy reaches `floor`, or nothing. Where more epochs lower a prediction, some
  /// that reach it, with nothing just before.
  virtual std::optional<int> fewest_epochs(const PlannedRun& run, double floor, int cap) const;
  /// The same of the smooth accuracy: what money is reckoned with, where `fewest_epochs` is for limits.
  virtual std::optional<int> expected_epochs(const PlannedRun& run, double floor, int cap) const;
};

class BelievedRuns;

class RunLearner {
 public:
  virtual ~RunLearner() = default;
  /// From runs of one profile on one instance; null without any to learn from.
  virtual std::unique_ptr<EpochTimes> epoch_times(std::span<const PastRun> runs) const = 0;
  /// From runs of one profile; null without any to learn from.
  virtual std::unique_ptr<Accuracies> accuracies(std::span<const PastRun> runs, bool asynchronous) const = 0;
  /// As above, weighed with what is believed of runs before any is measured; null: nothing. Most learners take no belief.
  virtual std::unique_ptr<EpochTimes> weighed_times(std::span<const PastRun> runs, const BelievedRuns* /*believed*/) const {
    return epoch_times(runs);
  }
  virtual std::unique_ptr<Accuracies> weighed_accuracies(std::span<const PastRun> runs, bool asynchronous,
                                                         const BelievedRuns* /*believed*/) const {
    return accuracies(runs, asynchronous);
  }
  /// Whether what it calls safe are bounds: what no run or belief sets is then infinite, or never reached.
  virtual bool gives_bounds() const { return false; }
  /// Whether another instance's times, scaled, join where an instance has few.
  virtual bool borrows() const { return true; }
  /// Whether it reads PastRun::curve; others are shown its points as runs.
  virtual bool reads_curves() const { return false; }
};

/// Those of the runs that were trained so: their accuracies say nothing of the others'.
std::vector<PastRun> trained_alike(std::span<const PastRun> runs, bool asynchronous);

/// Of each run with a curve the points after 1, 2, 4, ... epochs and its end, as runs of one group; the others as they are.
std::vector<PastRun> points_of_curves(std::span<const PastRun> runs);

/// As the predictor says.
std::optional<int> fewest_epochs(const Accuracies& accuracies, const PlannedRun& run, double floor, int cap);
std::optional<int> expected_epochs(const Accuracies& accuracies, const PlannedRun& run, double floor, int cap);

}  // namespace rehearse::policies
