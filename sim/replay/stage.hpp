// One stage of a job: the stretch from a start to a stop with one configuration. Its course is known when it begins, because
// nothing in it depends on other jobs but how fast it passes (StageClock); the replay only schedules its end.
#pragma once

#include <vector>

#include "sim/money/costs.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/jobs/models.hpp"

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
  bool fits_memory = true;
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

struct StageInputs {
  const Job* job = nullptr;
  const Choice* choice = nullptr;
  const Layout* layout = nullptr;
  std::span<const Plans> plans;
  const Progress* progress = nullptr;
  int stage = 0;
};

StageCourse stage_course(const StageInputs& inputs, const Models& models);

/// Seconds from taking devices to the first step: start-up, and reading the checkpoint of a job that has run before.
/// Seconds until the training data are on the job's nodes; 0 for rigid jobs, of whose data nothing is known.
double preload_seconds(const Job& job, const CostRules& rules, const Models& models);
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
                             const Configuration& configuration, const Layout& layout);

}  // namespace rehearse::sim
