// Slurm's own scheduler, by the names and defaults of its manual (slurm.conf of 22.05, "SchedulerParameters"; its page
// "Multifactor Priority Plugin"): a pass through the queue in order of priority, in which the first job that cannot start holds
// up all behind it; beside it sched/backfill, which plans from scratch in each pass; priority/multifactor; and
// preempt/partition_prio with requeueing (Yoo, Jette, Grondona, "SLURM", JSSPP 2003).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policies/queue/durations.hpp"
#include "policies/queue/ordered_queue.hpp"
#include "policies/queue/planned_devices.hpp"

namespace rehearse::policies {

struct SlurmParameters {
  double interval_s = 1;            ///< between two passes: what changes is looked at once a second
  double phase_s = 0;               ///< of a pass; the others lie whole intervals before and after it
  bool backfill = false;            ///< sched/backfill, not sched/builtin
  double backfill_interval_s = 30;  ///< bf_interval
  double backfill_phase_s = 0;      ///< of a plan, likewise
  double resolution_s = 60;         ///< bf_resolution: reservations begin and end on multiples of it
  double window_s = 86400;          ///< bf_window: nothing is planned beyond
  double precision_s = 30;      ///< jobs that run are expected to end together, within this; doubled with each look. 0: exactly
  int depth = 500;              ///< bf_max_job_test
  bool tiers = false;           ///< Job::priority is the PriorityTier of its partition: larger ones first
  bool preempt = false;         ///< preempt/partition_prio: of smaller tiers
  bool youngest_first = false;  ///< preempt_youngest_first; else those of the fewest devices
  double requeue_s = 121;       ///< cred_expire, and a second: until a job that was stopped may start again
  double weight_age = 0, weight_size = 0, weight_fair_share = 0;  ///< of factors from 0 to 1; all 0: priority/basic, by arrival
  bool favor_small = false;                                       ///< PriorityFavorSmall
  double max_age_s = 7 * 86400.0;                                 ///< PriorityMaxAge
  double half_life_s = 7 * 86400.0;                               ///< PriorityDecayHalfLife of usage
  double calc_s = 300;  ///< PriorityCalcPeriod: how often usage and priorities are reckoned
  Durations::Source durations = Durations::Source::user;
  sim::Placement placement = sim::Placement::consolidated;
};

class Slurm final : public sim::Queue {
 public:
  explicit Slurm(const SlurmParameters& parameters) : parameters_(parameters), durations_(parameters.durations) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  struct Seat {
    double started_s = 0;         ///< while it holds devices
    double ends_s = sim::kNever;  ///< by what the user said
    double told_s = 0;            ///< until when its usage has been counted
    std::vector<sim::Group> groups = {};
    std::vector<DeviceRow> held = {};  ///< by group
    bool leaves = false;               ///< it was told to let go
    std::size_t user = 0;
  };
  /// What a pass can still give away, by pool.
  struct Pass {
    std::vector<DeviceRow> free, all;
    std::vector<int> left;  // free devices; within a quota fewer than on its nodes
    std::vector<char> blocked;
    std::vector<char> closed;  // somebody starts there, the queue does not know on which nodes
  };
  struct Planned {
    double start_s = sim::kNever;
    DeviceRow devices;
  };

  static std::size_t index(sim::PoolId pool) { return static_cast<std::size_t>(pool); }
  void read(const sim::QueueView& view);
  void settle(const sim::QueueView& view, sim::JobSlot slot);
  void tell(sim::JobSlot slot, double now_s);
  void free_of(const sim::QueueView& view, Pass& pass);
  void number_by_node(const sim::QueueView& view, std::size_t pool, Pass& pass);
  bool is_by_node(const sim::QueueView& view, std::size_t pool) const { return view.held != nullptr && by_node_[pool] != 0; }
  /// Of its groups the first.
  static const sim::Group& group_of(const sim::QueueView& view, sim::JobSlot slot, int entry) {
    return configuration_of(view.jobs[slot], entry).groups.front();
  }
  static int per_node(const sim::QueueView& view, sim::PoolId pool) {
    return view.nodes.empty() ? 1 : view.nodes[index(pool)].devices_per_node();
  }
  double priority(const sim::QueueView& view, sim::JobSlot slot) const;
  void reckon(const sim::QueueView& view);
  void rank_users();
  bool start(const sim::QueueView& view, sim::JobSlot slot, int entry, Pass& pass, sim::QueueAnswer& answer);
  void main_pass(const sim::QueueView& view, Pass& pass, sim::QueueAnswer& answer);
  void preempt_for(const sim::QueueView& view, sim::JobSlot slot, const Pass& pass, sim::QueueAnswer& answer);
  void backfill_pass(const sim::QueueView& view, Pass& pass, sim::QueueAnswer& answer);
  double plan(const sim::QueueView& view, sim::JobSlot slot, int entry, const Pass& pass, Reservations& reserved) const;
  Planned would_run(const sim::QueueView& view, const sim::Group& group, const DeviceRow& usable, const DeviceRow& free) const;

  SlurmParameters parameters_;
  Durations durations_;
  OrderedQueue waiting_;               // those that may start, by priority
  OrderedQueue later_;                 // those that were stopped, by the date from which they may
  std::vector<int> capacity_;          // devices by pool
  std::vector<int> up_;                // those of nodes that are there, when last looked at
  std::vector<char> by_node_;          // by pool: some job has needed a number of its nodes
  std::vector<Seat> seats_;            // by slot
  std::vector<sim::JobSlot> running_;  // in order of their starts
  std::map<std::string, std::size_t> users_;
  std::vector<double> usage_device_s_;        // by user, decayed
  std::vector<double> shares_;                // by user, when last reckoned
  bool changed_ = false;                      // since the last pass
  bool look_now_ = false;                     // a job that was stopped has let go since
  bool backfill_due_ = false;                 // something has changed since the last plan
  double planned_s_ = sim::kNever;            // the first date at which the last plan starts somebody
  double passed_s_ = -1, backfilled_s_ = -1;  // the last pass, the last plan
  double next_calc_s_ = 0, calculated_s_ = 0;
};

}  // namespace rehearse::policies
