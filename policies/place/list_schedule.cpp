#include "policies/place/list_schedule.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace rehearse::policies {

sim::Tick DeviceTimeline::earliest(sim::Tick ready, sim::Tick duration) const {
  auto next = std::upper_bound(busy_.begin(), busy_.end(), ready,
                               [](sim::Tick date, const std::pair<sim::Tick, sim::Tick>& span) { return date < span.second; });
  for (; next != busy_.end() && next->first - ready < duration; ++next) ready = std::max(ready, next->second);
  return ready;
}

void DeviceTimeline::occupy(sim::Tick start, sim::Tick duration) {
  if (duration == 0) return;
  auto next = std::lower_bound(busy_.begin(), busy_.end(), start,
                               [](const std::pair<sim::Tick, sim::Tick>& span, sim::Tick date) { return span.second < date; });
  const sim::Tick end = start + duration;
  if (next != busy_.end() && next->second == start) {
    next->second = end;
    if (const auto after = next + 1; after != busy_.end() && after->first == end) {
      next->second = after->second;
      busy_.erase(after);
    }
  } else if (next != busy_.end() && next->first == end) {
    next->first = start;
  } else {
    busy_.insert(next, {start, end});
  }
}

ListSchedule::ListSchedule(const PlacementView& view, const PlacementGraph& groups, std::vector<std::int64_t> capacity)
    : view_(view),
      groups_(groups),
      room_(std::move(capacity)),
      timelines_(static_cast<std::size_t>(view.machine().devices())),
      end_(static_cast<std::size_t>(view.graph().ops()), 0),
      device_of_group_(static_cast<std::size_t>(view.groups().count), -1) {}

bool ListSchedule::allowed(std::int32_t op, std::int32_t device) const {
  const std::size_t group = group_of(op);
  if (device_of_group_[group] >= 0) return device_of_group_[group] == device;
  return groups_.memory_bytes(static_cast<int>(group)) <= room_[static_cast<std::size_t>(device)];
}

sim::Tick ListSchedule::data_ready(std::int32_t op, std::int32_t device) const {
  sim::Tick ready = 0;
  for (const sim::StepInput& input : view_.graph().inputs_of(op)) {
    const sim::StepTensor& tensor = view_.graph().tensor(input.tensor);
    ready = std::max(ready, end_[static_cast<std::size_t>(tensor.producer)] +
                                transfer_ticks(view_.machine(), tensor.bytes, device_of(tensor.producer), device));
  }
  return ready;
}

void ListSchedule::run(std::int32_t op, std::int32_t device, sim::Tick start) {
  const std::size_t group = group_of(op);
  if (device_of_group_[group] < 0) {
    device_of_group_[group] = device;
    room_[static_cast<std::size_t>(device)] -= groups_.memory_bytes(static_cast<int>(group));
  }
  sim::check(device_of_group_[group] == device, "a group stays on its device");
  const sim::Tick length = duration(op, device);
  timelines_[static_cast<std::size_t>(device)].occupy(start, length);
  end_[static_cast<std::size_t>(op)] = start + length;
  makespan_ = std::max(makespan_, start + length);
}

std::int32_t ListSchedule::roomiest() const {
  return static_cast<std::int32_t>(std::max_element(room_.begin(), room_.end()) - room_.begin());
}

sim::Tick transfer_ticks(const sim::Machine& machine, std::int64_t bytes, std::int32_t from, std::int32_t to) {
  if (from == to) return 0;
  const sim::Route route = machine.route(from, to);
  return route.latency + sim::ticks_up(static_cast<double>(bytes) / route.bandwidth_bytes_per_s);
}

std::vector<double> upward_ranks(const PlacementView& view, std::span<const std::int32_t> devices) {
  const double n = static_cast<double>(devices.size());
  double latency = 0, ticks_per_byte = 0;
  for (const std::int32_t from : devices) {
    for (const std::int32_t to : devices) {
      if (from == to) continue;
      const sim::Route route = view.machine().route(from, to);
      latency += static_cast<double>(route.latency);
      ticks_per_byte += 0x1p30 / route.bandwidth_bytes_per_s;
    }
  }
  const double pairs = std::max(1.0, n * (n - 1));
  std::vector<double> ranks(static_cast<std::size_t>(view.graph().ops()), 0);
  const auto order = view.graph().topological_order();
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    double longest = 0, sum = 0;
    for (int t = view.graph().first_tensor(*op); t < view.graph().first_tensor(*op + 1); ++t) {
      const auto bytes = static_cast<double>(view.graph().tensor(t).bytes);
      const double transfer = (latency + bytes * ticks_per_byte) / pairs;
      for (const std::int32_t reader : view.graph().readers_of(t))
        longest = std::max(longest, transfer + ranks[static_cast<std::size_t>(reader)]);
    }
    for (const std::int32_t d : devices) sum += static_cast<double>(view.duration(*op, d));
    ranks[static_cast<std::size_t>(*op)] = sum / n + longest;
  }
  return ranks;
}

DeviceOfGroup place_within_memory(const PlacementView& view, PlacementEvaluator& evaluator,
                                  const std::function<DeviceOfGroup(std::vector<std::int64_t> capacity)>& schedule) {
  constexpr int kMostTries = 10;
  double share = 1;
  for (int tries = 0; tries < kMostTries && evaluator.left() > 0; ++tries, share *= 0.9) {
    std::vector<std::int64_t> capacity;
    for (int d = 0; d < view.machine().devices(); ++d)
      capacity.push_back(
          static_cast<std::int64_t>(std::floor(share * static_cast<double>(view.machine().device(d).memory_bytes))));
    if (evaluator.score(schedule(std::move(capacity))).fits()) break;
  }
  return evaluator.best();
}

}  // namespace rehearse::policies
