#include "policies/place/rl/partial_placement.hpp"

#include <algorithm>
#include <cmath>

#include "policies/place/list_schedule.hpp"

namespace rehearse::policies {

namespace {

/// [0, inf) to [0, 1), (-inf, 0] to (-1, 0].
double squashed(double x) { return x / (1 + std::abs(x)); }

}  // namespace

PlacementCosts::PlacementCosts(const PlacementView& view) : graph_(view), devices_(view.devices()) {
  double sum = 0;
  for (int g = 0; g < graph_.groups(); ++g) sum += shortest(g);
  if (sum > 0) unit_ = sum / graph_.groups();
  for (int from = 0; from < devices_; ++from) {
    const sim::MachineDevice& device = view.machine().device(from);
    memory_.push_back(std::max(1.0, static_cast<double>(device.memory_bytes)));
    is_cpu_.push_back(device.kind == sim::DeviceKind::cpu);
    for (int to = 0; to < devices_; ++to) {
      const auto latency = static_cast<double>(transfer_ticks(view.machine(), 0, from, to));
      constexpr std::int64_t kProbe = std::int64_t{1} << 30;
      latency_.push_back(latency / unit_);
      per_byte_.push_back((static_cast<double>(transfer_ticks(view.machine(), kProbe, from, to)) - latency) / unit_ / kProbe);
    }
  }
}

double PlacementCosts::shortest(int group) const {
  double least = duration(group, 0);
  for (int d = 1; d < devices_; ++d) least = std::min(least, duration(group, d));
  return least;
}

double PlacementCosts::transfer(std::int64_t bytes, int from, int to) const {
  const auto i = static_cast<std::size_t>(from * devices_ + to);
  return latency_[i] + per_byte_[i] * static_cast<double>(bytes);
}

double PlacementCosts::mean_transfer(std::int64_t bytes) const {
  double sum = 0;
  for (int from = 0; from < devices_; ++from)
    for (int to = 0; to < devices_; ++to) sum += transfer(bytes, from, to);
  return devices_ > 1 ? sum / (devices_ * (devices_ - 1)) : 0;
}

PartialPlacement::PartialPlacement(const PlacementCosts& costs)
    : costs_(costs),
      device_of_(static_cast<std::size_t>(costs.graph().groups()), -1),
      end_(device_of_.size(), 0),
      free_(static_cast<std::size_t>(costs.devices()), 0),
      memory_(free_.size(), 0) {}

double PartialPlacement::ready(int group, int device) const {
  double ready = 0;
  for (const PlacementGraph::Arc& arc : costs_.graph().arcs(group)) {
    const auto other = static_cast<std::size_t>(arc.group);
    if (device_of_[other] >= 0) ready = std::max(ready, end_[other] + costs_.transfer(arc.bytes(), device_of_[other], device));
  }
  return ready;
}

void PartialPlacement::describe(int group, std::span<double> features) const {
  const auto devices = static_cast<std::size_t>(costs_.devices());
  const double shortest = costs_.shortest(group), last_end = *std::max_element(free_.begin(), free_.end());
  std::vector<double> starts(devices), ends(devices), bytes_on(devices, 0);
  double bytes = 0;
  for (const PlacementGraph::Arc& arc : costs_.graph().arcs(group)) {
    const int on = device_of_[static_cast<std::size_t>(arc.group)];
    if (on < 0) continue;
    bytes_on[static_cast<std::size_t>(on)] += static_cast<double>(arc.bytes());
    bytes += static_cast<double>(arc.bytes());
  }
  for (std::size_t d = 0; d < devices; ++d) {
    const int device = static_cast<int>(d);
    starts[d] = std::max(ready(group, device), free_[d]);
    ends[d] = starts[d] + costs_.duration(group, device);
  }
  const double first_start = *std::min_element(starts.begin(), starts.end());
  const double first_end = *std::min_element(ends.begin(), ends.end());
  for (std::size_t d = 0; d < devices; ++d) {
    const int device = static_cast<int>(d);
    const double duration = costs_.duration(group, device);
    double* f = features.data() + d * kDeviceFeatures;
    f[kLateness] = squashed(ends[d] - first_end);
    f[1] = squashed(starts[d] - first_start);
    f[2] = squashed(ends[d] - last_end);
    f[3] = squashed(starts[d] - free_[d]);
    f[4] = last_end > 0 ? free_[d] / last_end : 0;
    f[5] = bytes > 0 ? bytes_on[d] / bytes : 0;
    f[6] = shortest > 0 ? squashed(duration / shortest - 1) : 0;
    f[7] = squashed(memory_[d] + costs_.memory_share(group, device));
    f[8] = costs_.is_cpu(device) ? 1 : 0;
    f[9] = device == last_ ? 1 : 0;
    f[10] = memory_[d] == 0 && free_[d] == 0 ? 1 : 0;
  }
}

void PartialPlacement::place(int group, int device) {
  const auto g = static_cast<std::size_t>(group), d = static_cast<std::size_t>(device);
  end_[g] = std::max(ready(group, device), free_[d]) + costs_.duration(group, device);
  free_[d] = end_[g];
  memory_[d] += costs_.memory_share(group, device);
  device_of_[g] = device;
  last_ = device;
}

}  // namespace rehearse::policies
