// Which entry of its menu each job should run, as a discipline plans it, and the answers that bring the cluster there: a plan may
// need devices that are only let go after a checkpoint, so it outlives the decision that made it.
#pragma once

#include <vector>

#include "policies/queue/ordered_queue.hpp"
#include "sim/replay/free_devices.hpp"

namespace rehearse::policies {

class JobPlan {
 public:
  /// Takes up what has happened since the last decision. To be called first in each.
  void update(const sim::QueueView& view);
  /// Plans an entry for a job, -1: none. It must exist; whether it fits is up to the caller.
  void set(const sim::QueueView& view, sim::JobSlot slot, int entry);
  int of(sim::JobSlot slot) const { return entries_[slot].planned; }
  /// Of its plan; none without.
  const std::vector<sim::Group>& groups_of(sim::JobSlot slot) const { return entries_[slot].groups; }
  /// Devices by pool that no plan has; negative when a job took other ones at a stage's end.
  const std::vector<int>& left() const { return left_; }
  /// Do the groups fit into what is left, and what the job's own plan has?
  bool fits(sim::JobSlot slot, const sim::Configuration& configuration) const;
  const OrderedQueue& planned() const { return planned_; }      ///< in order of arrival
  const OrderedQueue& unplanned() const { return unplanned_; }  ///< in order of arrival
  bool empty() const { return planned_.empty() && unplanned_.empty(); }
  /// Starts, preempts and resizes what can be now. To be called last in each decision.
  void act(const sim::QueueView& view, sim::QueueAnswer& answer);

 private:
  struct Entry {
    int planned = -1;
    std::vector<sim::Group> groups = {};  // of that entry
  };
  void release(sim::JobSlot slot);
  bool is_of_menu(const sim::QueueView& view, sim::JobSlot slot) const;
  void follow(const sim::QueueView& view, sim::JobSlot slot);
  bool settle(const sim::QueueView& view, sim::JobSlot slot, sim::QueueAnswer& answer);

  std::vector<int> left_;
  std::vector<Entry> entries_;  // by slot
  OrderedQueue planned_, unplanned_;
  OrderedQueue open_;      // whose plan is not what they do
  sim::FreeDevices free_;  // of this decision
  bool by_node_ = false;   // some job has been planned on a number of nodes
};

/// Devices of each pool.
std::vector<int> pool_sizes(const sim::Cluster& cluster);

/// The entries with which a waiting job may start where the scheduler chooses: the first that could ever fit; of a rigid job that
/// names several pools each that could, in the job's order.
std::vector<int> entries_to_start(const sim::Cluster& cluster, const sim::QueueJob& job);

// What the disciplines that choose among a job's menu entries make of it.

/// An entry of one pool that could ever fit, and that is expected to keep the job's limits if any is.
bool is_usable(const sim::Cluster& cluster, const sim::QueueJob& job, int entry);

/// Seconds that the job still needs with the entry as predicted, at least 1; a day when nothing is predicted.
double expected_remaining_s(const sim::QueueJob& job, int entry, const sim::WorkLeft& left);
inline double expected_remaining_s(const sim::QueueJob& job, int entry, double now_s) {
  return expected_remaining_s(job, entry, job.left_at(now_s));
}

}  // namespace rehearse::policies
