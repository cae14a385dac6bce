// HEFT: heterogeneous earliest finish time (Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002): operations by falling upward rank,
// each on the device where it ends first, gaps used. Our additions: co-location groups and the devices' memory.
#include <algorithm>
#include <numeric>

#include "policies/place/methods/methods.hpp"

namespace rehearse::policies {

namespace {

struct Slot {
  std::int32_t device = -1;
  sim::Tick start = 0, end = 0;
};

Slot slot_on(const ListSchedule& schedule, std::int32_t op, std::int32_t device) {
  const sim::Tick length = schedule.duration(op, device);
  const sim::Tick start = schedule.timeline(device).earliest(schedule.data_ready(op, device), length);
  return {device, start, start + length};
}

Slot earliest_end(const ListSchedule& schedule, std::int32_t op, std::span<const std::int32_t> devices) {
  if (schedule.device_of(op) >= 0) return slot_on(schedule, op, schedule.device_of(op));
  Slot best;
  for (const std::int32_t device : devices) {
    if (!schedule.allowed(op, device)) continue;
    const Slot slot = slot_on(schedule, op, device);
    if (best.device < 0 || slot.end < best.end) best = slot;
  }
  return best.device >= 0 ? best : slot_on(schedule, op, schedule.roomiest());
}

}  // namespace

ListSchedule heft_schedule(const PlacementView& view, const PlacementGraph& groups, std::vector<std::int64_t> capacity) {
  const std::vector<std::int32_t> devices = all_devices(view.machine());
  const std::vector<double> rank = upward_ranks(view, devices);
  // Of equal ranks (operations that take no time) the topological order decides.
  const auto topological = view.graph().topological_order();
  std::vector<std::int32_t> order(topological.begin(), topological.end());
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return rank[static_cast<std::size_t>(a)] > rank[static_cast<std::size_t>(b)];
  });
  ListSchedule schedule(view, groups, std::move(capacity));
  for (const std::int32_t op : order) {
    const Slot slot = earliest_end(schedule, op, devices);
    schedule.run(op, slot.device, slot.start);
  }
  return schedule;
}

DeviceOfGroup Heft::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  const PlacementGraph groups(view);
  return place_within_memory(view, evaluator, [&](std::vector<std::int64_t> capacity) {
    return heft_schedule(view, groups, std::move(capacity)).device_of_group();
  });
}

}  // namespace rehearse::policies
