// What list schedulers build: operations get a device and a date one after the other, transfers take the time that they take
// alone. The first operation of a group decides for all of it, as long as the group's memory fits.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "policies/place/placement_graph.hpp"

namespace rehearse::policies {

/// When one device is busy.
class DeviceTimeline {
 public:
  /// The earliest start from `ready` on at which nothing else runs for `duration`.
  sim::Tick earliest(sim::Tick ready, sim::Tick duration) const;
  void occupy(sim::Tick start, sim::Tick duration);
  /// The end of all that is planned.
  sim::Tick end() const { return busy_.empty() ? 0 : busy_.back().second; }

 private:
  std::vector<std::pair<sim::Tick, sim::Tick>> busy_;  // start and end, ascending, none touching the next
};

class ListSchedule {
 public:
  /// `capacity`: bytes that groups may take on each device of the machine.
  ListSchedule(const PlacementView& view, const PlacementGraph& groups, std::vector<std::int64_t> capacity);

  /// The group's device; -1: none yet.
  std::int32_t device_of(std::int32_t op) const { return device_of_group_[group_of(op)]; }
  /// Whether an operation may run there: its group is there, or is nowhere and has room there.
  bool allowed(std::int32_t op, std::int32_t device) const;
  /// When all that it reads can be there; what it reads must be scheduled.
  sim::Tick data_ready(std::int32_t op, std::int32_t device) const;
  sim::Tick duration(std::int32_t op, std::int32_t device) const { return view_.duration(op, device); }
  const DeviceTimeline& timeline(std::int32_t device) const { return timelines_[static_cast<std::size_t>(device)]; }
  /// Runs it there from `start` on; its group stays there.
  void run(std::int32_t op, std::int32_t device, sim::Tick start);
  /// The device with the most room left: for a group that fits nowhere.
  std::int32_t roomiest() const;
  const DeviceOfGroup& device_of_group() const { return device_of_group_; }
  sim::Tick makespan() const { return makespan_; }

 private:
  std::size_t group_of(std::int32_t op) const { return static_cast<std::size_t>(view_.group_of(op)); }

  const PlacementView& view_;
  const PlacementGraph& groups_;
  std::vector<std::int64_t> room_;  // of each device
  std::vector<DeviceTimeline> timelines_;
  std::vector<sim::Tick> end_;  // of each operation
  DeviceOfGroup device_of_group_;
  sim::Tick makespan_ = 0;
};

/// How long a tensor takes from one device to another, alone on its way; 0 on the same device.
sim::Tick transfer_ticks(const sim::Machine& machine, std::int64_t bytes, std::int32_t from, std::int32_t to);

/// The longest way from each operation's start to the end of the step, with mean durations over the devices and mean transfer
/// times over their ordered pairs (HEFT's upward rank; Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002, equation 10), in ticks.
std::vector<double> upward_ranks(const PlacementView& view, std::span<const std::int32_t> devices);

/// Calls `schedule` with the memory of the machine's devices, and again with a tenth less as long as the timer finds that the
/// answer does not fit, at most 10 times and within the evaluations that are left. The best of the answers.
DeviceOfGroup place_within_memory(const PlacementView& view, PlacementEvaluator& evaluator,
                                  const std::function<DeviceOfGroup(std::vector<std::int64_t> capacity)>& schedule);

}  // namespace rehearse::policies
