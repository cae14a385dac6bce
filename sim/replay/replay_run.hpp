// A job from its arrival to its end, as the replay keeps it beside what the queue sees (QueueJob).
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/jobs/dependencies.hpp"
#include "sim/money/meter.hpp"
#include "sim/nodes/node_events.hpp"
#include "sim/nodes/nodes.hpp"
#include "sim/nodes/sharing.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/replay/job_network.hpp"
#include "sim/replay/records.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/stage.hpp"

namespace rehearse::sim {

struct LiveJob {
  bool in_use = false;
  JobState state = JobState::queued;
  Progress progress;                              ///< at the beginning of the stage
  int entry = -1;                                 ///< of the menu, running or to be started next
  int resize_to = -1;                             ///< entry to start with after the checkpoint; -1: back to the queue
  Placement placement = Placement::consolidated;  ///< of a resize
  bool shares = false;                            ///< likewise: Start::shares
  /// At the end of a stage: the menu that `configure` answered, until the devices of the old one's entry are let go.
  std::unique_ptr<Menu> next_menu;
  Layout layout;
  std::vector<Plans> plans;
  StageCourse course;
  CheckpointTimes checkpoint_times;
  StageClock clock;         ///< while running
  StageReading cut;         ///< where the stage stood when its checkpoint was begun
  bool loses_work = false;  ///< since the last periodic checkpoint, with this preemption
  bool has_checkpoint = false;
  int stages = 0;               ///< ended
  double batch_before = 0;      ///< global, of the last of them
  std::vector<StageSeen> seen;  ///< at the ends of stages at which `configure` was asked again
  double first_start_s = kUnset;
  double stage_start_s = 0;  ///< devices taken
  double running_since_s = 0;
  double held_since_s = 0;  ///< of the current holdings
  double boot_s = 0;        ///< of the nodes that it took, before its start-up
  int start_phase = 0;      ///< the next one, while starting
  bool collects = false;    ///< its results: trained to the end, and still holds its devices
  std::vector<Holding> holdings;
  std::vector<NodeRent> rents;  ///< under node billing
  double stage_start_usd = 0;   ///< charged when the stage began
  JobMeter meter;
  StageSums stage_sums;
  CostParts cost;
  TimeParts time;
  DeviceParts devices;
  double checkpoint_usd = 0;
  double measured_usd = 0;
  double preemption_s = 0;
  bool gives_way = false;  ///< this stage ends by a preemption
  bool returns = false;    ///< the stage before did
  std::uint64_t checkpoints = 0;
  int preemptions = 0, reconfigurations = 0;
  EventHandle phase_end;  ///< of starting, running or checkpointing
  EventHandle deadline, walltime;
  EventHandle pause_end;     ///< of a paused job
  double pause_since_s = 0;  ///< when it was answered
  int pauses = 0;
  EventHandle measured;  ///< what the strategy has measured for it, before it queues
  int restarts = 0;
  int waits_for = 0;    ///< jobs of `after` that have not ended, and what is measured for it
  double furthest = 0;  ///< of its work, ever, as far as it was looked at (ReplayRun::look_for_progress)

  /// As new, for another job: its course, epoch by epoch, is let go of. The memory of what it held is kept, as another job holds
  /// about as much.
  void clear();
};

// The replay in the making: one object that lives as long as one replay. Internal to the room; replay.hpp is its door.
//   replay.cpp               events, arrivals, the queue's decisions
//   replay_again.cpp         the end of a stage at which `configure` is asked again, and jobs that pause
//   replay_ends.cpp          the ends of stages and jobs: work, money, records, and jobs that wait for others
//   replay_progress.cpp      whether jobs get any further, and what waits for what when they do not
//   replay_nodes.cpp         nodes that fail, slow down and go into maintenance
//   replay_sharing.cpp       jobs that need a part of a GPU, and how fast a course passes beside jobs that share the network
//   replay_stages.cpp        what a job does with its devices, from phase to phase
//   replay_view.cpp          what a queue sees of it

/// What an event's subject says: a job's slot and which of its events, or one of these.
enum class JobTimer : std::uint32_t { phase_end = 0, deadline = 1, walltime = 2, measured = 3, pause_end = 4 };
inline constexpr std::uint32_t kTimers = 5;
inline constexpr std::uint32_t kWake = 0xFFFFFFFFu;
inline constexpr std::uint64_t kTimedDecisions = 1024;  ///< all of the first, then of a queue's every 16th

/// The pool's devices before any is shared.
DeviceShares unshared_devices(const Cluster& cluster, PoolId pool);

inline std::uint32_t subject_of(JobSlot slot, JobTimer timer) { return slot * kTimers + static_cast<std::uint32_t>(timer); }

/// Under pool billing idle money is shared out at the very end: records wait until then.
struct HeldRecord {
  Job job;
  Choice choice;
  JobRecord record;
  std::vector<double> usd_of_pool;
};

class ReplayRun final : public EventHandler, public Truth, public Sight, public HeldNodes {
 public:
  explicit ReplayRun(const ReplaySetup& setup);
  ReplayTotals run(void (*drive)(EventQueue&, EventHandler&));
  void handle(const Event& event) override;
  void decide(double now_s) override;
  std::size_t jobs() const override { return live_.size(); }
  double remaining_s(JobSlot slot, int entry, double now_s) const override;
  double now_s() const override { return now_s_; }
  PoolSight pool(PoolId pool) const override;
  int queue_length() const override { return waiting_; }
  std::vector<WaitingJob> waiting() const override;
  const Layout& held(JobSlot slot) const override { return live_[slot].layout; }

 private:
  void pull(std::size_t source);
  void arrive(std::size_t source, double now_s);
  JobSlot new_slot(Job&& job);
  void make_menu(JobSlot slot, double now_s);
  void tell_menu(const Job& job, const Menu& menu, double now_s);
  void find_first_fitting(JobSlot slot);
  void enqueue(JobSlot slot, double now_s);
  void hold_back(JobSlot slot, double now_s);
  void let_go_of(JobSlot slot, double now_s);
  void show_run(JobSlot slot);
  void start_smaller(JobSlot slot, double now_s);
  void release_dependents(JobSlot slot, double now_s);

  void push_node_event(std::size_t stream);
  void stop_node_events();
  void check_nodes_are_waited_for(double now_s);
  void on_node_event(std::size_t stream, double now_s);
  void interrupt(JobSlot slot, double now_s);
  void evict(JobSlot slot, double now_s);
  double speed_of(JobSlot slot);
  bool change_speed(JobSlot slot, double now_s);
  void follow_speed(JobSlot slot, double now_s);
  void end_waiting(double now_s);
  void look_for_progress(double now_s);
  void look_at_wakes(double now_s);
  bool anyone_got_further(double now_s);
  bool anyone_holds_since(double date_s) const;
  int nodes_away() const;
  bool may_still_change(double now_s) const;
  double own_date_s() const;
  bool anyone_began_since(double date_s) const;
  std::string why_nobody_does(double since_s, bool stands) const;
  bool waits_for_lost_nodes() const;
  bool too_few_nodes() const;
  double work_done(JobSlot slot, double now_s) const;
  std::string what_waits(JobSlot slot) const;
  std::string what_waits() const;
  ReplayProgress progress_now(double now_s) const;
  bool more_will_arrive() const;

  struct Drawn {
    double busy = 1, power = 1;
  };
  Drawn wants(JobSlot slot) const;
  void share_menu(JobSlot slot);
  bool needs_part(JobSlot slot) const;
  bool is_part_free(const Configuration& configuration, const Layout& named, bool shares) const;
  void allocate_part(JobSlot slot, const Layout& named, Placement placement, double now_s);
  void let_go_part(JobSlot slot, double now_s);
  template <class Visit>
  void for_each_running_on(PoolId pool, int device, Visit&& visit) const;
  std::vector<JobSlot> running_beside(JobSlot slot) const;
  double speed_beside_others(JobSlot slot) const;
  void retune_beside(JobSlot slot, double now_s);
  Drawn granted_beside_others(JobSlot slot) const;

  void apply(const QueueAnswer& answer, double now_s);
  const Choice& entry_of(JobSlot slot, int entry) const;
  double fragmentation(PoolId pool) const;
  bool is_free(const Configuration& configuration, const Layout& named, bool shares = false) const;
  void start(const Start& start, double now_s);
  void allocate(JobSlot slot, const Layout& wanted, Placement placement, double now_s);
  void show(JobSlot slot, double now_s);
  void hold(JobSlot slot, double busy_fraction, double power_fraction, double now_s);
  void hold_running(JobSlot slot, double now_s);
  void let_go(JobSlot slot, double now_s);
  void join_network(JobSlot slot);
  void leave_network(JobSlot slot);
  void settle_network(double now_s);
  void begin_start_phase(JobSlot slot, double now_s);
  void begin_running(JobSlot slot, double now_s);
  void begin_collecting(JobSlot slot, double now_s);
  void begin_checkpoint(JobSlot slot, const StageReading& cut, double now_s);
  void preempt(JobSlot slot, Preemption preemption, double now_s);
  void end_checkpoint(JobSlot slot, double now_s);
  void end_stage(JobSlot slot, const StageReading& cut, bool keeps_all, double now_s);
  StageReading reading_of(JobSlot slot, double now_s) const;
  StageSeen see(JobSlot slot, double now_s);
  void plan_course(JobSlot slot, double now_s);
  void ask_again(JobSlot slot, double now_s);
  bool is_free_for(JobSlot slot, const Configuration& configuration) const;
  void go_on(JobSlot slot, int entry, double now_s);
  void take_next_menu(JobSlot slot, double now_s);
  void check_pause(const Pause& pause) const;
  void pause(JobSlot slot, double now_s);
  void end_pause(JobSlot slot, double now_s);
  void come_back(JobSlot slot, double now_s);
  void ask_without_devices(JobSlot slot, double now_s);
  void wake_paused(double now_s);
  void admit(JobSlot slot, double now_s);
  void on_phase_end(JobSlot slot, double now_s);
  void stop(JobSlot slot, FailureReason reason, double now_s);
  void arm_walltime(JobSlot slot, double now_s);
  void on_walltime(JobSlot slot, double now_s);
  void end_job(JobSlot slot, FailureReason reason, double now_s);
  void emit(JobSlot slot, FailureReason reason, double now_s);
  void share_idle_money();
  void finish(double now_s);

  StageInputs inputs_of(JobSlot slot) const;
  template <class Ask>
  void ask_policy(const char* decision, const Job* job, double now_s, Ask&& ask);
  void tell(double now_s, JobEvent event, JobSlot slot);

  const ReplaySetup& setup_;
  const Cluster& cluster_;
  EventQueue events_;
  Meter meter_;
  Books books_;
  std::unique_ptr<JobNetwork> network_;  ///< null when every job has the network to itself
  std::vector<Nodes> nodes_;
  std::vector<DeviceShares> shares_;                          // by pool
  std::vector<std::map<int, std::vector<JobSlot>>> tenants_;  // by pool and shared device; a job once for each of its parts
  std::unique_ptr<NodeWatch> node_watch_;                     ///< null while nothing happens to nodes
  Dependencies dependencies_;
  std::vector<JobSlot> ended_awaited_;
  std::vector<int> free_devices_;
  std::vector<std::optional<Job>> next_of_source_;
  SharedChoices choices_;  ///< of menus; below what has them
  std::vector<QueueJob> jobs_;
  std::vector<LiveJob> live_;
  std::vector<JobSlot> free_slots_;
  std::vector<JobSlot> queued_, started_, changed_, ended_;  // since the queue was last asked
  std::vector<JobSlot> paused_;                              // that a pool may wake
  QueueAnswer answer_;
  EventHandle wake_;
  double wake_due_s_ = kNever;           ///< of that event, until it has come
  std::uint64_t wakes_in_row_ = 0;       ///< at the queue's own wish, with no other event between
  double wakes_since_s_ = 0;             ///< the first of them
  std::uint64_t dates_ = 0;              ///< of decisions
  std::uint64_t dates_without_end_ = 0;  ///< of decisions, since a job came, ended or was seen to have got further
  double looked_s_ = 0;                  ///< at the first of those dates, then at the last look
  bool was_hopeless_ = false;            ///< at that look
  bool all_were_there_ = false;          ///< at some date since that look no node was away
  std::uint64_t restarts_ = 0;           ///< of all jobs, by nodes that fail
  std::uint64_t looked_restarts_ = 0;    ///< at that look
  double looked_own_date_s_ = kNever;    ///< own_date_s() at that look
  double last_own_date_s_ = kNever;      ///< own_date_s() at the last decision
  bool own_date_came_ = false;           ///< one of them, since that look
  std::deque<HeldRecord> held_;
  ReplayTotals totals_;
  std::uint64_t active_ = 0;   ///< jobs that have arrived and not ended
  int waiting_ = 0;            ///< of those, jobs in the queue
  std::uint64_t holding_ = 0;  ///< of those, jobs that hold devices
  double now_s_ = 0;
};

/// Shows the question while it is open; a question within another gives way to that one again.
class ShownAtWork {
 public:
  ShownAtWork(AtWork* at_work, const char* decision, double now_s) : at_work_(at_work) {
    if (at_work_ == nullptr) return;
    before_ = at_work_->decision.load(std::memory_order_relaxed);
    predicted_before_ = at_work_->predicted.exchange(0, std::memory_order_relaxed);
    at_work_->date_s.store(now_s, std::memory_order_relaxed);
    at_work_->decision.store(decision, std::memory_order_relaxed);
    at_work_->asked.store(at_work_->asked.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  ~ShownAtWork() {
    if (at_work_ == nullptr) return;
    at_work_->predicted.store(predicted_before_, std::memory_order_relaxed);
    at_work_->decision.store(before_, std::memory_order_relaxed);
  }
  ShownAtWork(const ShownAtWork&) = delete;
  ShownAtWork& operator=(const ShownAtWork&) = delete;

 private:
  AtWork* at_work_;
  const char* before_ = nullptr;
  std::uint64_t predicted_before_ = 0;
};

template <class Ask>
void ReplayRun::ask_policy(const char* decision, const Job* job, double now_s, Ask&& ask) {
  const auto fail = [&](const char* what) {
    throw PolicyError(fmt::format("policy \"{}\", {}{}, at {:.6f} s: {}", setup_.policy.name, decision,
                                  job != nullptr ? fmt::format(", job \"{}\"", job->name) : std::string(), now_s, what));
  };
  // Queues are asked at every date: of many only some are timed, each for those between, as reading the clock takes longer than
  // some decide.
  const bool is_queue = std::string_view(decision) == "queue";
  const std::uint64_t stands_for = !is_queue || totals_.decisions < kTimedDecisions ? 1 : kTimedDecisions / 64;
  const bool timed = totals_.decisions % stands_for == 0;
  const auto begun = timed ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  const ShownAtWork shown(setup_.at_work, decision, now_s);
  try {
    ask();
  } catch (const CheckFailed&) {
    throw;
  } catch (const std::bad_alloc&) {  // the run's, whoever asked last
    throw;
  } catch (const std::exception& error) {
    fail(error.what());
  }
  if (timed)
    totals_.decision_s +=
        static_cast<double>(stands_for) * std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  ++totals_.decisions;
}

}  // namespace rehearse::sim
