// What is told of a run: a record of each job, and that all records together are right.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/jobs/job.hpp"
#include "sim/money/costs.hpp"
#include "sim/money/meter.hpp"
#include "sim/nodes/node_events.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/replay/stage.hpp"

namespace rehearse::sim {

// What a replay tells as it goes, and the totals that it proves at its end.

/// `interrupted`: a node failed under it; `released`: the jobs that it waited for have ended; `paused`: it has let go of its
/// devices and waits outside of the queue, until `resumed`.
enum class JobEvent : std::uint8_t {
  submitted,
  rejected,
  started,
  preloading,
  starting_up,
  restoring,
  running,
  collecting,
  preempted,
  resized,
  interrupted,
  released,
  paused,
  resumed,
  finished,
  failed
};
std::string_view name_of(JobEvent event);

/// The menu that `configure` answered for a job, the start that `queue` decided, or what `place` answered for it.
struct DecisionRecord {
  double time_s = 0;
  const Job* job = nullptr;
  std::string_view decision;  ///< "configure", "start" or "place"
  int rank = 0;               ///< in the menu, from 0
  const Choice* choice = nullptr;
  std::string_view remedy = {};  ///< of an infeasible menu
  std::string_view note = {};    ///< of `place`
};

struct StageRecord {
  const Job* job = nullptr;
  int stage = 0;
  double start_s = 0, end_s = 0;  ///< start-up and checkpoint included
  double running_since_s = 0;     ///< first step
  CheckpointTimes checkpoints;    ///< periodic ones
  double speed = 1;               ///< course seconds trained in a second of training, on average
  const Configuration* configuration = nullptr;
  const StageCourse* course = nullptr;
  Progress from, to;
  double noise_scale_seen = kUnset;  ///< by a strategy that was asked again at its end, samples
  double cost_usd = 0;
  double switch_cost_usd = 0;
  double cost_before_usd = 0;  ///< of the job's earlier stages
  /// When so many seconds of the course were trained.
  double date_of(double course_s) const;
};

/// Gets every record of a replay, in order of simulated time. What a recorder does not want stays empty.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual void on_job(const JobRecord& record) = 0;
  virtual void on_decision(const DecisionRecord&) {}
  virtual void on_event(double /*time_s*/, JobEvent, const Job&, const Configuration*) {}
  virtual void on_stage(const StageRecord&) {}
  virtual void on_pool_sample(const PoolSample&) {}
  virtual void on_node(const NodeEvent&) {}
  /// A job takes these devices, or lets go of them.
  virtual void on_devices(double /*time_s*/, bool /*taken*/, const Job&, const Configuration&, const Layout&) {}
};

/// Of all pools.
struct ReplayTotals {
  std::uint64_t jobs = 0, finished = 0, failed = 0;
  double first_submit_s = 0, last_end_s = 0;
  std::vector<PoolTotals> pools;
  double parameter_servers_usd = 0;
  double shared_idle_usd = 0;  ///< idle money charged to jobs under pool billing
  double decision_s = 0;       ///< wall-clock seconds inside the policy: goes to timing.json only
  std::uint64_t decisions = 0;
};

// What must hold of every job's record when it ends, and of all of them together at the end of a replay: said once more, from
// what was told rather than from how it was reckoned. A difference is a bug of ours and ends the run.

/// Of one job, over its stages.
struct StageSums {
  double device_s = 0;  ///< devices times the time that they were held
  double usd = 0;
  double end_s = kUnset;  ///< of the last one; NaN: none
};

class Books {
 public:
  explicit Books(Billing billing) : billing_(billing) {}
  /// Devices from `start_s` to `end_s`; one stage follows the other.
  static void add_stage(double start_s, double end_s, double devices, double usd, StageSums& sums);
  /// A job that has ended, before its share of what idle devices cost. Jobs come in the order of their ends.
  void add_job(const JobRecord& record, const JobMeter& meter, const StageSums& stages);
  /// All jobs together had what the pools say that jobs had.
  void check_totals(std::span<const PoolTotals> pools, double parameter_servers_usd) const;

 private:
  Billing billing_;
  double last_end_s_ = 0;
  double device_s_ = 0, usd_ = 0, energy_j_ = 0, co2_kg_ = 0;
};

}  // namespace rehearse::sim
