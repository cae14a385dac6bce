// How close to each other periodic checkpoints may be.
#pragma once

#include "sim/jobs/job.hpp"

namespace rehearse::sim {

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
