#include "policies/queue/packing.hpp"

#include <algorithm>

#include "policies/queue/job_plan.hpp"
#include "policies/queue/line_queue.hpp"

namespace rehearse::policies {

namespace {

const sim::Configuration& wanted_of(const sim::QueueJob& job) { return configuration_of(job, job.first_fitting_entry); }

}  // namespace

int packing_score(double mean_speed) {
  if (mean_speed < 0.85) return 2;
  return mean_speed < 0.95 ? 1 : 0;
}

/// The other has the device for itself again.
void Packing::leaves_devices(sim::JobSlot slot) {
  Known& known = known_[slot];
  alone_.remove(slot);
  if (known.beside != kNobody) {
    Known& other = known_[known.beside];
    other.beside = kNobody;
    alone_.put(known.beside, 0, other.started);
  }
  known.beside = kNobody;
  known.runs = false;
}

void Packing::take_up(const sim::QueueView& view) {
  for (const sim::JobSlot slot : view.ended) {
    if (slot >= known_.size()) continue;
    waiting_.remove(slot);
    if (known_[slot].runs) leaves_devices(slot);
    known_[slot] = {};
  }
  for (const sim::JobSlot slot : view.queued) {
    const sim::QueueJob& job = view.jobs[slot];
    if (job.service.state != sim::JobState::queued) continue;
    if (known_.size() <= slot) known_.resize(slot + 1);
    if (known_[slot].runs) leaves_devices(slot);  // its node has failed
    if (known_[slot].priority < 0) {
      known_[slot].priority = parameters_.durations.remaining_s(view, slot) * wanted_of(job).workers();
      if (view.sharing != nullptr)
        known_[slot].score = packing_score(view.sharing->mean_speed(job.job, wanted_of(job).groups.front().pool));
    }
    waiting_.put(slot, known_[slot].priority, job.number);
  }
}

/// The first to start with whom it may share a device.
sim::JobSlot Packing::partner(const sim::QueueView& view, sim::JobSlot slot) const {
  const sim::Configuration& wanted = wanted_of(view.jobs[slot]);
  if (!wanted.share.is_part() || wanted.share.parts > 1 || view.sharing == nullptr || shares_.empty()) return kNobody;
  const sim::PoolId pool = wanted.groups.front().pool;
  for (const OrderedQueue::Item& item : alone_) {
    const sim::JobSlot other = item.slot;
    if (wanted_of(view.jobs[other]).groups.front().pool != pool) continue;
    if (known_[slot].score + known_[other].score > parameters_.most_score) continue;
    if (known_[slot].priority > parameters_.longest_ratio * known_[other].priority) continue;
    if (shares_[static_cast<std::size_t>(pool)].has_room(known_[other].device.shared_device, wanted.share)) return other;
  }
  return kNobody;
}

void Packing::start_beside(const sim::QueueView& view, sim::JobSlot slot, sim::JobSlot other, sim::QueueAnswer& answer) {
  const sim::QueueJob& job = view.jobs[slot];
  const sim::Configuration& wanted = wanted_of(job);
  Known& known = known_[slot];
  known.device = known_[other].device;
  known.beside = other;
  known_[other].beside = slot;
  alone_.remove(other);
  shares_[static_cast<std::size_t>(wanted.groups.front().pool)].put(known.device.shared_device, wanted.share);
  answer.starts.push_back({.job = slot, .entry = job.first_fitting_entry, .nodes = {{known.device}}});
}

/// On the fewest nodes that could ever hold it. A device on which it leaves room is opened, and has the number that the replay
/// will give it.
bool Packing::start_alone(const sim::QueueView& view, sim::JobSlot slot, sim::QueueAnswer& answer) {
  const sim::QueueJob& job = view.jobs[slot];
  const sim::Configuration& wanted = wanted_of(job);
  for (const sim::Group& group : wanted.groups) {
    const sim::Nodes& nodes = nodes_[static_cast<std::size_t>(group.pool)];
    const bool fits = group.nodes > 0 ? nodes.has_room_for(group) : fits_on_fewest(nodes, group.workers);
    if (free_[static_cast<std::size_t>(group.pool)] < group.workers || !fits) return false;
  }
  std::vector<sim::NodeShare> taken;
  for (const sim::Group& group : wanted.groups) {
    nodes_[static_cast<std::size_t>(group.pool)].take(sim::Placement::consolidated, group, taken);
    free_[static_cast<std::size_t>(group.pool)] -= group.workers;
  }
  answer.starts.push_back({.job = slot, .entry = job.first_fitting_entry});
  if (!wanted.share.is_part() || shares_.empty()) return true;
  std::vector<int> opened;
  for (const sim::NodeShare& on : taken) opened.insert(opened.end(), static_cast<std::size_t>(on.devices), on.node);
  sim::DeviceShares& shares = shares_[static_cast<std::size_t>(wanted.groups.front().pool)];
  const std::vector<int> devices = shares.put_all(wanted.share, sim::Placement::consolidated, false, opened);
  if (wanted.share.parts > 1) return true;
  known_[slot].device = {.node = taken.front().node, .devices = 1, .shared_device = devices.front()};
  alone_.put(slot, 0, starts_);
  return true;
}

void Packing::decide(const sim::QueueView& view, sim::QueueAnswer& answer) {
  take_up(view);
  if (waiting_.empty()) return;
  free_.assign(view.free_devices.begin(), view.free_devices.end());
  nodes_.assign(view.nodes.begin(), view.nodes.end());
  shares_.assign(view.shares.begin(), view.shares.end());
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    if (alone_.empty() && std::all_of(free_.begin(), free_.end(), [](int free) { return free <= 0; })) return;
    const sim::JobSlot slot = (next++)->slot;  // a start takes it out of the list
    const sim::JobSlot other = partner(view, slot);
    if (other != kNobody)
      start_beside(view, slot, other, answer);
    else if (!start_alone(view, slot, answer))
      continue;
    waiting_.remove(slot);
    known_[slot].runs = true;
    known_[slot].started = starts_++;
  }
}

}  // namespace rehearse::policies
