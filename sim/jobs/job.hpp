// A job: what it is, what it asks for, when it writes checkpoints.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/jobs/configuration.hpp"

namespace rehearse::sim {

// Jobs as submitted, and what became of them.

inline constexpr double kNever = std::numeric_limits<double>::infinity();
inline constexpr double kUnset = std::numeric_limits<double>::quiet_NaN();

/// How the learning rate follows the batch size (docs/explain/model.md, "Convergence").
enum class LrRule : std::uint8_t { adascale, linear_warmup, sqrt, fixed };

/// What many jobs have in common: what they train, on which data, how. A job refers to one.
struct Profile {
  int index = 0;  ///< among the scenario's profiles; models keep what they computed for it under this index
  std::string model;
  std::string dataset;
  Precision precision = Precision::fp32;
  LrRule lr_rule = LrRule::adascale;
  /// Passes in which a worker may compute a step's samples, their gradients summed, where its device holds too few at once.
  int max_accumulation = 1;
  /// By which it is trained; empty: as is believed of model and dataset without one (docs/explain/model.md, "Recipes").
  std::string recipe = {};
};

enum class Work : std::uint8_t {
  rigid,  ///< a measured duration on the GPUs it asked for
  steps,  ///< a number of steps at a given global batch size
  train,  ///< epochs, a target accuracy, or both
};
enum class Objective : std::uint8_t { min_cost, max_accuracy, min_time };
enum class Stop : std::uint8_t { target, budget };
enum class OnDeadline : std::uint8_t { continue_, stop };
/// What becomes of a job when one that it waits for has failed.
enum class AfterFailed : std::uint8_t { fail, run };

/// A pool that a rigid job names among others.
struct PoolSpeed {
  int pool = 0;      ///< index into Cluster::pools
  double speed = 1;  ///< there: its length is `duration_s` over that
};

struct Job {
  std::string name;
  std::string user;
  const Profile* profile = nullptr;  ///< null only for rigid jobs of which nothing else is known
  double submit_s = 0;
  Work work = Work::rigid;
  int gpus = 0;             ///< workers that the trace gave it; 0: free to choose
  int nodes = 0;            ///< of a rigid job, with equally many of its GPUs each; 0: any
  double gpu_fraction = 1;  ///< in (0, 1], that it needs of each GPU; below 1 only rigid jobs have more than one
  double duration_s =
      0;  ///< rigid: its length; steps: measured length on `gpus` workers, to which step times are scaled (0: not scaled)
  double steps = 0;                  ///< of Work::steps
  double batch_size = 0;             ///< global, of Work::steps; 0: free to choose
  double epochs = 0;                 ///< of Work::train: exactly so many, or the cap where there is a target; 0: the default cap
  double target_accuracy = kUnset;   ///< floor in 0..1; NaN: none
  double readings = 1;               ///< evaluations in a row that must read the target before the job ends; whole
  double deadline_s = kNever;        ///< counted from submit_s
  double cost_limit_usd = kNever;    ///< on the job's own money, profiling not counted
  double priority = 0;               ///< larger is more urgent
  double checkpoint_interval_s = 0;  ///< of training, between two periodic checkpoints; 0: as the scenario has it
  double checkpoint_write_s = kUnset;  ///< of each; NaN: as the scenario has it
  int pool = -1;                       ///< index into Cluster::pools that it names, -1: none, or several
  std::vector<PoolSpeed> pools;        ///< of a rigid job that names several, the first of them preferred
  Objective objective = Objective::min_cost;
  Stop stop = Stop::target;
  OnDeadline on_deadline = OnDeadline::continue_;
  double walltime_s = kNever;      ///< of holding devices, all its starts together; then it is ended as failed
  std::vector<std::string> after;  ///< names of the jobs that must have ended before it queues
  AfterFailed after_failed = AfterFailed::fail;
  bool is_awaited = false;  ///< named in the `after` of another job

  /// Of a rigid job: its length there.
  double duration_on_s(int on_pool) const {
    for (const PoolSpeed& named : pools)
      if (named.pool == on_pool) return duration_s / named.speed;
    return duration_s;
  }
  bool has_target() const { return target_accuracy == target_accuracy; }
  bool has_deadline() const { return deadline_s != kNever; }
  bool has_cost_limit() const { return cost_limit_usd != kNever; }
  bool has_walltime() const { return walltime_s != kNever; }
};

enum class JobState : std::uint8_t { held, queued, starting, running, checkpointing, finished, failed };
enum class FailureReason : std::uint8_t {
  none,
  rejected,
  does_not_fit,
  out_of_memory,
  cannot_converge,
  deadline_stop,
  walltime_stop,
  node_failure,
  dependency_failed
};

std::string_view name_of(JobState state);
std::string_view name_of(FailureReason reason);

/// What a job's money paid for.
struct CostParts {
  double compute_usd = 0;  ///< training steps and evaluations that counted
  double switch_usd = 0;   ///< start-up and checkpoints
  double wait_usd = 0;     ///< share of idle nodes, under pool billing
  double lost_usd = 0;     ///< training thrown away: by divergence, by failures, by preemptions that lose it
  double total() const { return compute_usd + switch_usd + wait_usd + lost_usd; }
};

/// What a job did with its device-seconds: what is left of those that it held are start-up and checkpoints at its stops.
struct DeviceParts {
  double train_device_s = 0;       ///< steps and evaluations that counted
  double lost_device_s = 0;        ///< training thrown away
  double checkpoint_device_s = 0;  ///< periodic checkpoints
};

/// What a job did with the time in which it held devices.
struct TimeParts {
  double train_s = 0;   ///< steps and evaluations that counted
  double switch_s = 0;  ///< start-up and checkpoints
  double lost_s = 0;    ///< training thrown away
  double held_s() const { return train_s + switch_s + lost_s; }
};

/// The final record of a job: a row of jobs.csv (docs/reference/metrics.md).
struct JobRecord {
  const Job* job = nullptr;
  std::uint64_t number = 0;  ///< in order of arrival, from 0
  JobState state = JobState::finished;
  FailureReason reason = FailureReason::none;
  double start_s = kUnset;  ///< NaN when it never started
  double end_s = 0;
  int pool = -1;
  int workers = 0;
  double batch_size = 0;           ///< global, of the last stage
  double epochs = 0;               ///< trained, lost ones included
  double accuracy = kUnset;        ///< noise-free, of the final weights
  double accuracy_deviation = 0;   ///< standard deviation of one evaluation at that accuracy
  bool predicted_feasible = true;  ///< the policy found a configuration that it expects to keep the limits
  const Choice* choice = nullptr;  ///< the entry it ran last; null when it never started
  CostParts cost;
  double marginal_usd = 0;  ///< what the bill would be less without it (docs/explain/model.md, "Money")
  TimeParts time;
  DeviceParts devices;
  double checkpoint_usd = 0;  ///< of cost.switch_usd: periodic checkpoints
  double measured_usd = 0;    ///< beside `cost`: what was measured for this job alone
  double energy_j = 0;
  double co2_kg = kUnset;  ///< NaN where the cluster has no carbon intensity
  double device_s = 0;
  int preemptions = 0;
  double preemption_s = 0;  ///< of `time`: their checkpoints, the work that they lose, and starting again after them
  int reconfigurations = 0;
  int restarts = 0;               ///< times that a node failed under it and it went back to the queue
  std::uint64_t checkpoints = 0;  ///< periodic ones, whole

  /// The deadline's date is rounded up to the grid of dates, as the job's end is.
  bool meets_deadline() const { return state == JobState::finished && end_s <= on_date_grid(job->submit_s + job->deadline_s); }
  /// Two standard deviations are allowed: one lucky reading ends a job; a strict comparison would fail most jobs.
  bool meets_accuracy() const { return state == JobState::finished && accuracy >= job->target_accuracy - 2 * accuracy_deviation; }
  /// Money adds up to 1e-9, so that no job breaks its limit by the rounding of a sum.
  bool meets_cost_limit() const { return state == JobState::finished && cost.total() <= job->cost_limit_usd * (1 + 1e-9); }
  /// Every limit that the job has.
  bool keeps_limits() const {
    return state == JobState::finished && (!job->has_deadline() || meets_deadline()) &&
           (!job->has_target() || meets_accuracy()) && (!job->has_cost_limit() || meets_cost_limit());
  }
};

/// Where jobs come from: a trace, a generator, a search. Dates never decrease.
class JobSource {
 public:
  virtual ~JobSource() = default;
  /// The next job, or nothing; after `on_end` a drained source may be asked again.
  virtual std::optional<Job> next() = 0;
  /// A job of any source has ended. True when this source may have become able to give more.
  virtual bool on_end(const JobRecord& /*record*/) { return false; }
};

// How close to each other periodic checkpoints may be.

/// Seconds of training between two of them, at least: those of the longest stage can still be counted, and no job writes one in
/// every step.
inline constexpr double kLeastCheckpointInterval_s = 1e-3;

// How often running jobs write checkpoints, and what that saves them from.

/// What a preemption does with the work since the last checkpoint.
enum class Preemption : std::uint8_t {
  resume,  ///< another checkpoint is written before the devices are let go
  lose,    ///< the devices are let go at once, and that work is lost
};

/// Of all jobs that say nothing else.
struct CheckpointRules {
  double interval_s = kNever;  ///< of training, between two checkpoints; kNever: none but those of preemptions and resizes
  bool young_daly = false;     ///< instead: by the mean distance of the failures of a job's nodes
  double write_s = kUnset;     ///< of each; NaN: CostRules::checkpoint_s
  Preemption preemption = Preemption::resume;
};

/// Periodic checkpoints while a job trains.
struct CheckpointTimes {
  double interval_s = kNever;  ///< of training at full speed, between two of them; positive
  double write_s = 0;          ///< nothing is trained meanwhile
};

/// The interval that loses the least time to checkpoints and repeated work, where failures come at a mean distance of `mtbf_s`
/// and a checkpoint takes `write_s`, both positive. Daly 2006 (A higher order estimate of the optimum checkpoint interval for
/// restart dumps, Future Generation Computer Systems 22), equation 37; its first term is Young 1974. kNever when `mtbf_s` is.
double young_daly_interval_s(double write_s, double mtbf_s);

/// `checkpoint_s` as CostRules has it; `mtbf_s` of the job's nodes together.
CheckpointTimes checkpoint_times(const Job& job, const CheckpointRules& rules, double checkpoint_s, double mtbf_s);

}  // namespace rehearse::sim
