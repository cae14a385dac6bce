// What policies answer: plain values, validated by the replay.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rehearse::sim {

using PoolId = int;
using DeviceIndex = int;
struct CpuPlan;  // sim/step/cpu_step.hpp

/// A job while the replay knows it: an index into QueueView::jobs. Used again after the job has ended.
using JobSlot = std::uint32_t;

/// Workers of one pool. A GPU worker is one GPU, a CPU worker one node.
struct Group {
  PoolId pool = 0;
  int workers = 0;
  int batch_per_worker = 0;  ///< samples a step; 0 for rigid jobs
  int nodes = 0;             ///< that have equally many of the workers, which they divide; 0: any
  /// Of each of those nodes; only with `nodes`.
  int workers_per_node() const { return workers / nodes; }
  bool operator==(const Group&) const = default;
};

enum class SyncKind : std::uint8_t { ring, servers_sync, servers_async };

/// How gradients are combined; `servers` counts parameter servers, 0 with a ring.
struct Sync {
  SyncKind kind = SyncKind::ring;
  int servers = 0;
  bool operator==(const Sync&) const = default;
};

/// What a job takes of each of its GPUs, where it leaves room for others: parts of equal size, each on any GPU with room.
struct DeviceShare {
  double fraction = 1;      ///< of the device, a multiple of kShareGrid in (0, 1]; 1: the job has it for itself
  double memory_bytes = 0;  ///< that one part needs; whole. Not counted when the fraction is 1
  int parts = 1;            ///< how many of them the job holds
  bool is_part() const { return fraction < 1; }
  /// Parts that one empty device holds.
  int parts_of_a_device() const { return static_cast<int>(1 / fraction); }
  /// Devices that hold all parts where no other job has one.
  int devices() const { return (parts + parts_of_a_device() - 1) / parts_of_a_device(); }
  bool operator==(const DeviceShare&) const = default;
};

/// Fractions are multiples of this, so that their sums are exact.
inline constexpr double kShareGrid = 0x1p-30;
/// Rounded down to that grid, but never to 0.
double on_share_grid(double fraction);

/// Resources and batch size of a job, or of one of its stages. Several groups: mixed devices.
struct Configuration {
  std::vector<Group> groups;
  double learning_rate = 0;  ///< 0: by the job's lr_rule; else fixed
  double power_limit_w = 0;  ///< of each GPU; 0: none
  Sync sync;
  /// By the job's gpu_fraction; the workers of a job of parts are the devices that it needs where no other job is on them.
  DeviceShare share;

  int workers() const;
  /// Of one pool, over all groups.
  long workers_of(PoolId pool) const;
  /// Whole devices' worth that a group, or all of them, hold: less than their workers where these leave room for others.
  double devices_held(const Group& group) const { return share.is_part() ? share.parts * share.fraction : group.workers; }
  double devices_held() const;
  /// Global: sum over workers. With asynchronous servers each push is a step of its own, so this is the batch of one worker.
  double batch_size() const;
  /// Does some group need a number of nodes?
  bool needs_nodes() const;
  bool operator==(const Configuration&) const = default;
};

/// What a strategy expects of a choice, without waiting time; NaN: it does not say.
struct Prediction {
  double time_s = std::numeric_limits<double>::quiet_NaN();
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  double cost_usd = std::numeric_limits<double>::quiet_NaN();
  double ranked_cost_usd = std::numeric_limits<double>::quiet_NaN();  ///< what choices are ranked by; NaN: cost_usd
  double safe_cost_usd = std::numeric_limits<double>::quiet_NaN();    ///< what a limit is held against; NaN: cost_usd
  double epochs = std::numeric_limits<double>::quiet_NaN();
  bool feasible = true;       ///< keeps the job's limits
  bool extrapolated = false;  ///< outside what the strategy has seen
  std::string note;
};

struct Choice {
  Configuration configuration;
  Prediction predicted;
  /// A staged choice: after so many trained epochs (whole, of the whole job) `configure` is asked again.
  double until_epochs = std::numeric_limits<double>::infinity();
};

/// Do both say the same, bit for bit?
bool is_same(const Choice& a, const Choice& b);

/// The choices of a menu, like a vector. Copies share them until one is changed: whoever asks a copy that is not const for a
/// choice gets choices of its own.
class Choices {
 public:
  using value_type = Choice;
  using iterator = std::vector<Choice>::iterator;
  using const_iterator = std::vector<Choice>::const_iterator;
  Choices() = default;
  Choices(std::initializer_list<Choice> choices) : all_(std::make_shared<std::vector<Choice>>(choices)) {}
  Choices(std::vector<Choice> choices) : all_(std::make_shared<std::vector<Choice>>(std::move(choices))) {}  // NOLINT: a vector

  std::size_t size() const { return all_ ? all_->size() : 0; }
  bool empty() const { return size() == 0; }
  const Choice& operator[](std::size_t entry) const { return (*all_)[entry]; }
  const Choice& front() const { return all_->front(); }
  const Choice& back() const { return all_->back(); }
  const Choice* data() const { return all_ ? all_->data() : nullptr; }
  const_iterator begin() const { return all_ ? all_->cbegin() : const_iterator(); }
  const_iterator end() const { return all_ ? all_->cend() : const_iterator(); }

  Choice& operator[](std::size_t entry) { return own()[entry]; }
  Choice& front() { return own().front(); }
  Choice& back() { return own().back(); }
  iterator begin() { return own().begin(); }
  iterator end() { return own().end(); }
  void push_back(Choice choice) { own().push_back(std::move(choice)); }
  void reserve(std::size_t choices) { own().reserve(choices); }
  /// To be changed: shared with nobody.
  std::vector<Choice>& own() {
    if (!all_)
      all_ = std::make_shared<std::vector<Choice>>();
    else if (all_.use_count() > 1)
      all_ = std::make_shared<std::vector<Choice>>(*all_);
    return *all_;
  }

 private:
  friend class SharedChoices;
  std::shared_ptr<std::vector<Choice>> all_;
};

/// Choices that are alike, kept once as long as anybody has them: jobs of one profile and equal limits have equal menus.
class SharedChoices {
 public:
  void share(Choices& choices);

 private:
  std::unordered_map<std::uint64_t, std::weak_ptr<std::vector<Choice>>> known_;  // by what they say
  std::size_t tidied_ = 0;                                                       // entries left when the last were dropped
};

inline constexpr double kLongestPause_s = 0x1p33;

/// A job that is to wait outside of the queue, without devices; then `configure` is asked again.
struct Pause {
  double wait_s = 0;  ///< at most so long from the answer on; 0: no pause
  PoolId pool = -1;   ///< or until so many of its workers are free at once; -1: no pool ends it
  int workers = 0;
  bool is_set() const { return wait_s > 0; }
};

/// The answer of `configure`: best choice first; one entry = rigid. When no choice keeps the limits, `remedy` says what would.
struct Menu {
  Choices ranked;
  bool feasible = true;
  std::string remedy;
  double wait_s = 0;    ///< of an arriving job, before it queues: so long is measured for it, outside of the queue
  double wait_usd = 0;  ///< what is measured for this job alone costs it
  Pause pause;        ///< instead of going on; at the end of a stage a checkpoint is written first
  /// Of a job that loses its devices before its stage ends, by a node that goes or by the queue: `configure` is asked before it
  /// queues again.
  bool asks_when_lost = false;
};

/// The answer of `place`, for one node: replicas = all its workers (data-parallel), or one model-parallel replica.
struct StepPlan {
  int replicas = 1;
  std::vector<DeviceIndex> device_of_op = {};  ///< for one replica; empty: all on one device
  /// What a search takes that the answer asks for: so many steps as this plan's, each after a re-initialisation.
  std::int64_t evaluations = 0;
  double reinitialisation_s = 0;
  double expected_share = 1;  ///< of an estimate: what that search is expected to leave of the step's time
  std::string note = {};  ///< for decisions.csv; none for a plain data-parallel plan
  bool operator==(const StepPlan&) const = default;
};

/// The answer of `threads`, for one CPU node.
struct ThreadPlan {
  int inter_op = 1;  ///< operations side by side
  int intra_op = 1;  ///< threads of each operation
  /// Of a whole step at the batch that was asked for; null: inter_op and intra_op say all.
  std::shared_ptr<const CpuPlan> schedule = nullptr;
  double profiling_steps = 0;  ///< at each start: what finding it took, in steps of the recommended setting
  bool operator==(const ThreadPlan&) const = default;
};

struct NodeShare {
  int node = 0;
  int devices = 0;
  int shared_device = -1;  ///< the one device, when others may be on it too: a number of DeviceShares
};

/// Which of a pool's free devices a job takes (Nodes::take).
enum class Placement : std::uint8_t {
  consolidated,  ///< on the fewest nodes
  best_fit,      ///< in the smallest gaps: keeps whole nodes free for large jobs
  spread,        ///< evenly, on the emptiest nodes
  network_aware  ///< on one node, else in one rack, else in the fewest racks; there on the fewest nodes
};

/// Starts (or resizes) a job to an entry of its menu. No nodes named: the replay chooses them by `placement`.
struct Start {
  JobSlot job = 0;
  int entry = 0;
  /// Of each group; empty: by `placement`. Of a job that needs a part of a device: the shared one that it goes on.
  std::vector<std::vector<NodeShare>> nodes = {};
  Placement placement = Placement::consolidated;
  bool shares = false;  ///< a job that needs a part of a GPU may go beside others; else it gets a free one
};

/// The answer of `queue`. Applied in this order: preempts, resizes, rejects, starts. Resizes checkpoint and start
/// again; a preempted job checkpoints and queues again; a rejected one leaves the queue and has failed.
struct QueueAnswer {
  std::vector<Start> starts;
  std::vector<JobSlot> preempts;
  std::vector<Start> resizes;
  std::vector<JobSlot> rejects;
  std::vector<JobSlot> heads;  ///< those that wait for devices and are next in their line: what fragmentation is counted for
  double wake_at_s = std::numeric_limits<double>::infinity();
  /// Of a queue that is woken to keep its books: the date at which it may start somebody, if not wake_at_s already.
  double acts_at_s = std::numeric_limits<double>::infinity();
  void clear();
};

}  // namespace rehearse::sim
