// One stage of a job: the stretch from a start to a stop with one configuration. Its course is known when it begins, because
// nothing in it depends on other jobs but how fast it passes (StageClock); the replay only schedules its end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sim/jobs/job.hpp"
#include "sim/jobs/models.hpp"
#include "sim/money/costs.hpp"
#include "sim/replay/decisions.hpp"

namespace rehearse::sim {

/// What a job has done so far; outlives its stages.
struct Progress {
  double work_done = 0;  ///< rigid: fraction of its duration; steps: steps
  TrainingState training;
  int epochs = 0;             ///< completed, lost ones included: the number of evaluations
  double epochs_trained = 0;  ///< of the state, in fractions
  int divergences = 0;
  double accuracy = kUnset;           ///< noise-free
  double measured_accuracy = kUnset;  ///< last evaluation
  int reached = 0;                    ///< evaluations in a row, up to the last, that read the job's target
};

/// One epoch inside a stage. Offsets are seconds from the first step.
struct EpochPoint {
  double begin_s = 0;
  double end_s = 0;  ///< its evaluation included
  Progress before, after;
  double noise_scale = 0;
  bool lost = false;  ///< diverged; `after` has the state of `before`
};

/// The course of a stage if nothing interrupts it.
struct StageCourse {
  bool fits_memory = true;                       ///< otherwise nothing else is set
  double step_s = 0;                             ///< true, noise included
  double profiling_s = 0;                        ///< likewise, before the first step
  double busy_fraction = 1, power_fraction = 1;  ///< as StepTiming has them
  double waiting_power_fraction = 0;
  double input_bytes_per_s = 0;    ///< of training data, when nobody slows it down
  double network_bytes_per_s = 0;  ///< what it asks of each link of its ring when nobody slows it down
  double length_s = 0;             ///< from the first step to the end
  double full_work = 0;            ///< rigid and steps: of `work_done` at the end
  std::vector<EpochPoint> epochs;  ///< of Work::train
  Progress end;
  FailureReason failure = FailureReason::none;  ///< how it ends
  bool asks_again = false;                      ///< it ends where the choice's stage does, not with the job
};

/// What a user does whose job was out of memory: half of each worker's samples. False, and nothing done, where a worker has one
/// sample left or the batch is the job's own.
bool halve_batch(const Job& job, Configuration& configuration);

struct StageInputs {
  const Job* job = nullptr;
  const Choice* choice = nullptr;
  const Layout* layout = nullptr;
  std::span<const Plans> plans;
  const Progress* progress = nullptr;
  int stage = 0;
};

StageCourse stage_course(const StageInputs& inputs, const Models& models);

/// Seconds until the training data are on the job's nodes; 0 for rigid jobs, of whose data nothing is known.
double preload_seconds(const Job& job, const CostRules& rules, const Models& models);
/// Seconds from taking devices to the first step: those, start-up, and reading the checkpoint of a job that has run before. Of
/// rigid jobs only where the rules say so (CostRules::rigid_jobs_switch), and only with a checkpoint.
double start_seconds(const Job& job, const CostRules& rules, const Models& models, bool ran_before);

/// With another global batch size than before (0: the job has not run) the learning rate warms up again.
void take_up_batch(const Job& job, double batch_before, double batch, const CostRules& rules, const Models& models,
                   TrainingState& state);

/// Epochs after which a job of Work::train stops without having reached its target. Throws PolicyError when `predicted_epochs`,
/// which count under Stop::budget, are not in (0, 1e6].
double epoch_cap(const Job& job, double predicted_epochs, const Convergence& convergence);

/// One epoch and its evaluation. Fewer samples take as much less training.
struct EpochTimes {
  double training_s = 0;
  double evaluation_s = 0;
};
EpochTimes epoch_times(const Job& job, const Configuration& configuration, const Convergence& convergence,
                       const StepTiming& timing);

/// Where the job stands when the stage is cut `elapsed_s` after its first step.
Progress progress_at(const StageInputs& inputs, const StageCourse& course, const Models& models, double elapsed_s);

/// Seconds of `elapsed_s` that were spent on epochs that diverged.
double lost_seconds(const StageCourse& course, double elapsed_s);

/// What `place` and `threads` answer for each group of a layout.
std::vector<Plans> ask_plans(const Policy& policy, const StepTimes& step_times, const Cluster& cluster, const Job& job,
                             const Configuration& configuration, const Layout& layout, const PlacePurpose& purpose = {});

// How far a stage is at a date: training at a speed that may change, with a checkpoint after each interval of training. In closed
// form from change to change, so that checkpoints are no events.

/// Where a stage stands. Course seconds are those of StageCourse: training at full speed. The others are as they passed.
struct StageReading {
  double done_s = 0;              ///< course seconds trained
  double trained_s = 0;           ///< that they took
  double saved_s = 0;             ///< course seconds in the last whole checkpoint of this stage
  double saved_trained_s = 0;     ///< that those took
  double writing_s = 0;           ///< spent on periodic checkpoints, begun ones included
  std::uint64_t checkpoints = 0;  ///< whole ones
};

/// Seconds of periodic checkpoints before so many seconds of a course are trained.
double writing_before(const CheckpointTimes& times, double course_s);

class StageClock {
 public:
  StageClock() = default;
  /// A stage whose first step is at `begin_s` and whose course takes `length_s` at full speed. The last checkpoint is the last
  /// one before the end.
  StageClock(double begin_s, double length_s, const CheckpointTimes& checkpoints, double speed = 1);
  /// From now on `speed` course seconds are trained in a second; positive. Writing is as fast as before.
  void set_speed(double now_s, double speed);
  double speed() const { return speed_; }
  /// `now_s` must not be before the last change of speed.
  StageReading at(double now_s) const;
  /// All of the course, as it stands at end_s().
  StageReading whole() const;
  /// Date of the end, not on the grid of dates.
  double end_s() const;
  /// Course seconds trained in a second, on average from the last change of speed to the end: speed and writing.
  double mean_speed() const;

 private:
  double left_s() const;  // from since_s_ to the end
  double since_s_ = 0;    // last change of speed
  StageReading base_;     // then
  double length_s_ = 0;
  CheckpointTimes times_;
  double speed_ = 1;
  double written_s_ = 0;   // of a checkpoint begun, at since_s_
  std::uint64_t all_ = 0;  // checkpoints of the whole stage
};

// Training, epoch after epoch: the one loop behind stages, estimates and plans.

enum class TrainingEnd : std::uint8_t { epochs, target, failed };

/// What one epoch did; `part` of a whole one.
struct EpochStep {
  double part = 1;
  EpochOutcome outcome;
};

/// Trains until `until` epochs are trained, the target is measured `readings` times in a row (Stop::target), or the job diverges
/// for the last time. A part
/// of an epoch, where it begins inside one or ends with `until`, is evaluated like a whole one. After each epoch `on_epoch(const
/// EpochStep&, const Progress& now)`.
template <class OnEpoch>
TrainingEnd train_epochs(const Job& job, const Configuration& configuration, double until, const Convergence& convergence,
                         Progress& now, OnEpoch&& on_epoch) {
  const double samples = convergence.samples_per_epoch(*job.profile);
  const bool stops_at_target = job.has_target() && job.stop == Stop::target;
  while (now.epochs_trained < until) {
    const double end = std::min(until, std::floor(now.epochs_trained) + 1);
    EpochStep step{.part = end - now.epochs_trained};
    step.outcome = convergence.train(job, configuration, step.part * samples, now.training);
    ++now.epochs;
    if (step.outcome.diverged) {
      ++now.divergences;
    } else {
      now.epochs_trained = end;
      now.accuracy = convergence.accuracy(job, now.training);
      now.measured_accuracy = convergence.measured_accuracy(job, now.epochs, now.accuracy);
      now.reached = job.has_target() && now.measured_accuracy >= job.target_accuracy ? now.reached + 1 : 0;
    }
    on_epoch(step, now);
    if (now.divergences >= kMostDivergences) return TrainingEnd::failed;
    if (stops_at_target && !step.outcome.diverged && now.reached >= job.readings) return TrainingEnd::target;
  }
  return TrainingEnd::epochs;
}

}  // namespace rehearse::sim
