// The decisions of a policy as the replay asks for them: what it may see, what it answers, and whether the answer is valid.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/jobs/configuration.hpp"
#include "sim/jobs/job.hpp"
#include "sim/jobs/models.hpp"
#include "sim/money/costs.hpp"
#include "sim/nodes/nodes.hpp"
#include "sim/nodes/sharing.hpp"
#include "sim/step/op_graph.hpp"

namespace rehearse::sim {

// What a scheduler sees of the cluster at a date, beside the job that it decides about: what is and what was, not what comes.
// Asked for piece by piece: who does not look pays nothing.

struct PoolSight {
  double price_usd_per_hour = 0;             ///< of a node, now
  std::span<const StepSeries::Step> prices;  ///< so far, the one now last; empty: it never changes
  int nodes = 0;                             ///< of the pool
  int nodes_away = 0;                        ///< failed, in maintenance, taken away, or about to go
  int devices = 0, free_devices = 0;         ///< workers: of all nodes; free, of those that are there
  long revocations = 0;                      ///< nodes that the cloud has taken away so far, each time counted
  /// As the pool announces it: mean time until a node is taken away by itself, until another takes its place, of the warning;
  /// the bid. Infinite, 0 and 0 where nothing is.
  double mean_up_s = kNever, down_s = 0, warning_s = 0, bid_usd_per_hour = kNever;
};

/// A job in the queue.
struct WaitingJob {
  const Job* job = nullptr;
  double since_s = 0;                    ///< in the queue
  const Configuration* wants = nullptr;  ///< the first entry of its menu that ever fits
};

class Sight {
 public:
  virtual ~Sight() = default;
  virtual double now_s() const = 0;
  virtual PoolSight pool(PoolId pool) const = 0;
  virtual int queue_length() const = 0;
  /// In order of arrival; valid until anything changes.
  virtual std::vector<WaitingJob> waiting() const = 0;
};

/// Until the job's deadline, of which waiting is a part too; negative when it has passed, infinite without one.
inline double time_left_s(const Job& job, double now_s) {
  return job.has_deadline() ? job.submit_s + job.deadline_s - now_s : kNever;
}

// Views are read-only; answers are plain values, and every one is validated.

class SharingRules;

/// What a job has shown when a stage ends: measured, with the world's noise.
struct StageSeen {
  Configuration configuration;  ///< of the stage
  int stages = 0;               ///< ended so far, this one included
  double epochs = 0;            ///< trained
  double examples = 0;          ///< samples trained on
  double accuracy = 0;          ///< last evaluation
  double noise_scale = 0;       ///< as read, samples
  double step_s = 0;            ///< of this stage
  double elapsed_s = 0;         ///< since the job was submitted
  double cost_usd = 0;          ///< of the job so far
  int divergences = 0;
  bool let_go = false;  ///< the job holds nothing any more: it has paused, or lost its devices
};

/// What a whole run has shown that nobody interrupted: measured, with the world's noise.
struct RunSeen {
  const Job* job = nullptr;
  const Configuration* configuration = nullptr;
  double time_s = 0;               ///< of its epochs and their evaluations; start-up is not in it
  std::vector<double> accuracies;  ///< that its evaluations read, one an epoch
};

/// `configure`: at a job's arrival, ranks the whole menu of configurations. Never asked about rigid jobs.
class Configurator {
 public:
  virtual ~Configurator() = default;
  /// What there is to be seen at each of the questions below, told before it; the same object as long as the replay lasts.
  virtual void look(const Sight& /*sight*/) {}
  virtual Menu configure(const Job& job, double now_s) = 0;
  /// At the end of a stage of a choice with `until_epochs`; `seen` has all stages so far. The first choice whose devices are free
  /// counts, those that the job holds included; a job never goes back to the queue. Without any, it keeps what it has to its end.
  virtual Menu configure_again(const Job& /*job*/, std::span<const StageSeen> /*seen*/, double /*now_s*/) { return {}; }
  /// A job of Work::train has finished, in one stage.
  virtual void on_run(const RunSeen& /*run*/) {}
  /// The job has started up with this configuration and was out of memory.
  virtual void on_out_of_memory(const Job& /*job*/, const Configuration& /*configuration*/) {}
};

/// What an answer of `place` is for.
struct PlacePurpose {
  bool decides = false;  ///< the job gets this configuration; else it is one of several that are compared
  double steps = 0;      ///< expected with the configuration from now on; 0: unknown
  double time_s = 0;     ///< of the job, expected by what is known so far; 0: unknown
};

/// One group of a job's configuration, on the nodes of its allocation.
struct PlaceView {
  const OpGraph* graph = nullptr;
  const Job* job = nullptr;
  const Configuration* configuration = nullptr;
  const std::vector<NodeShare>* nodes = nullptr;  ///< of the group
  const Device* worker = nullptr;
  int group = 0;            ///< index into the configuration's
  int workers_on_node = 0;  ///< of the first node
  PlacePurpose purpose = {};
};

/// `place`: gets the GPUs of ONE node of the allocation. Answers replicas = all of them (data-parallel), or one
/// model-parallel replica (a device for each op; indices into the node's workers).
class Place {
 public:
  virtual ~Place() = default;
  virtual StepPlan place(const PlaceView& view) = 0;
  /// May it search for a configuration that a job gets?
  virtual bool searches() const { return false; }
  /// How often searches have changed its answers so far: answers that were kept must be asked for again.
  virtual std::uint64_t changes() const { return 0; }
};

/// `threads`: how a CPU worker runs the graph with so many samples a step.
class Threads {
 public:
  virtual ~Threads() = default;
  virtual ThreadPlan plan(const OpGraph& graph, const Device& cpu, double batch) = 0;
};

/// What a job holds and what it has had of the cluster, as of its last change; a scheduler can observe all of it.
struct Service {
  JobState state = JobState::queued;     ///< queued, starting, running or checkpointing
  int entry = -1;                        ///< of the menu, that it holds devices for; -1 while queued
  int devices = 0;                       ///< workers that it holds
  double devices_held = 0;               ///< whole devices' worth: less than `devices` where others may be on them too
  std::vector<int> shared_devices = {};  ///< those of its pool's DeviceShares, one for each part; empty: it has whole ones
  double since_s = 0;                    ///< of the state
  double held_since_s = 0;               ///< the devices of this stage were taken
  double restart_s = 0;                  ///< of a rigid job that has been stopped: seconds of holding devices before it goes on
  double lets_go_at_s = kNever;          ///< checkpointing: when it ends
  double device_s = 0;                   ///< devices x seconds held, until `since_s`
  double held_s = 0;                     ///< seconds for which it held devices, in the stages that have ended
  double ran_s = 0;                      ///< seconds of work (no start-up, no checkpoint), until `since_s`; what was lost counts
  double fraction_done = 0;  ///< of its work, until `held_since_s`: of its duration, its steps or its predicted epochs

  /// Attained service in device-seconds.
  double device_s_at(double now_s) const { return device_s + devices_held * (now_s - since_s); }
};

/// Of a job at a date: seconds of holding devices before it goes on, and the part of its work that is left, of which an entry's
/// predicted time says how long it takes. Not less than 0 only once they are put together.
struct WorkLeft {
  double restart_s = 0, part = 1;
};

/// A job as a queue sees it.
struct QueueJob {
  Job job;
  Menu menu;
  std::uint64_t number = 0;  ///< in order of arrival
  double queued_since_s = 0;
  int first_fitting_entry = -1;  ///< of the menu, on an empty cluster
  Service service;

  /// Seconds that the job needs with an entry of its menu from now on, by the menu's prediction and what it has done; infinite
  /// when there is none. Not less than 0, also when it has taken longer than predicted.
  double predicted_remaining_s(int entry, double now_s) const { return predicted_remaining_s(entry, left_at(now_s)); }
  /// The same for many entries at one date.
  double predicted_remaining_s(int entry, const WorkLeft& left) const;
  WorkLeft left_at(double now_s) const;
  /// What is left of the bound that the user gave (Job::walltime_s), not less than 0; the prediction when he gave none.
  double user_remaining_s(int entry, double now_s) const;
};

inline const Configuration& configuration_of(const QueueJob& job, int entry) {
  return job.menu.ranked[static_cast<std::size_t>(entry)].configuration;
}
/// What the job holds; what it would start with on an empty cluster when it holds nothing.
inline const std::vector<Group>& groups_of(const QueueJob& job) {
  return configuration_of(job, job.service.entry >= 0 ? job.service.entry : job.first_fitting_entry).groups;
}

/// What only queues named oracle are told: the world as it is.
class Truth {
 public:
  virtual ~Truth() = default;
  /// Seconds that the job will need with an entry of its menu from now on, start-up included, at full speed and without periodic
  /// checkpoints: a job that a slow node or a shared link holds up must not seem longer than one that waits. While it holds
  /// devices for that entry exact but for what happens to it; else on the nodes that it would get on an empty cluster.
  virtual double remaining_s(JobSlot slot, int entry, double now_s) const = 0;
};

/// Which nodes jobs hold.
class HeldNodes {
 public:
  virtual ~HeldNodes() = default;
  /// For each group of its configuration the devices on each node; of a job that holds devices.
  virtual const Layout& held(JobSlot slot) const = 0;
};

/// Read-only. The spans name slots to which something has happened since the last call, in order of time; what they are now
/// stands in `jobs` (Service::state): a job may have been in several places meanwhile, and then is in several spans. A discipline
/// keeps its own ordered index from them. A slot of `ended` is used for another job after this call.
struct QueueView {
  double now_s = 0;
  const Cluster* cluster = nullptr;
  std::span<const JobSlot> queued;            ///< joined the queue: arrived, or came back after a checkpoint
  std::span<const JobSlot> started;           ///< took devices: the last answer's starts, and resized jobs after their checkpoint
  std::span<const JobSlot> changed;           ///< began to run, or to write a checkpoint, or the next of their stages
  std::span<const JobSlot> ended;             ///< left the cluster, from wherever they were; who pauses queues again later
  std::span<const QueueJob> jobs;             ///< by slot
  std::span<const int> free_devices;          ///< by pool
  std::span<const Nodes> nodes;               ///< by pool: how the free devices lie on its nodes
  std::span<const DeviceShares> shares = {};  ///< by pool: the room beside jobs that need parts of devices; empty: unknown
  const SharingRules* sharing = nullptr;      ///< how jobs on one device slow each other down, as measured; null: unknown
  const CostRules* costs = nullptr;           ///< how devices are paid for; null: as CostRules has it
  const HeldNodes* held = nullptr;            ///< which nodes jobs hold; null: unknown
  const Sight* sight = nullptr;               ///< prices, revocations and what waits; null outside of a replay
};

/// `queue`: which job runs next, where.
class Queue {
 public:
  virtual ~Queue() = default;
  /// `answer` comes empty.
  virtual void decide(const QueueView& view, QueueAnswer& answer) = 0;
};

/// A queue that is told the truth, once, before it decides anything.
class OracleQueue : public Queue {
 public:
  virtual void learn(const Truth& truth) = 0;
};

/// A policy: a named bundle of the four. All pointers are set.
struct Policy {
  std::string name;
  Configurator* configure = nullptr;
  Place* place = nullptr;
  Threads* threads = nullptr;
  Queue* queue = nullptr;
};

// What a queue may have beside its decisions: limits on what jobs hold together. A job that takes other devices at the end of a
// stage is not started by the queue, and keeps to them too.

class Quotas {
 public:
  virtual ~Quotas() = default;
  /// May the job hold this instead of what it holds?
  virtual bool has_room(JobSlot slot, const Configuration& configuration) const = 0;
  /// It does so from now on; the queue hears of it at its next decision as well.
  virtual void take(JobSlot slot, const Configuration& configuration) = 0;
};

// Validation of every answer of a policy. Throws PolicyError naming what is wrong; the replay adds policy, job and time.

/// `trained_epochs` of the job so far: stages end later.
void validate_menu(const Cluster& cluster, const Job& job, const Menu& menu, double trained_epochs = 0);
void validate_step_plan(const OpGraph& graph, int workers_on_node, const StepPlan& plan);
void validate_thread_plan(const OpGraph& graph, const Device& cpu, const ThreadPlan& plan);

/// The nodes a queue names for a start must be as many devices as the entry wants, in range, each node once.
void validate_layout(const Cluster& cluster, const Configuration& configuration, const Layout& layout);

}  // namespace rehearse::sim
