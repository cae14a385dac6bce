#include "sim/nodes/sharing.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

const DeviceShares::Device* DeviceShares::find(int device) const {
  const auto found =
      std::lower_bound(devices_.begin(), devices_.end(), device, [](const Device& d, int number) { return d.number < number; });
  return found != devices_.end() && found->number == device ? &*found : nullptr;
}

const DeviceShares::Device& DeviceShares::at(int device) const {
  const Device* found = find(device);
  check(found != nullptr, "a shared device that is not open");
  return *found;
}

bool DeviceShares::has_room(const Device& device, const DeviceShare& wanted) const {
  return !device.out && device.fraction + wanted.fraction <= 1 && device.memory_bytes + wanted.memory_bytes <= memory_bytes_;
}

bool DeviceShares::has_room(int device, const DeviceShare& wanted) const {
  const Device* found = find(device);
  return found != nullptr && has_room(*found, wanted);
}

DeviceShares::Device& DeviceShares::at(int device) { return const_cast<Device&>(std::as_const(*this).at(device)); }

int DeviceShares::to_open(const DeviceShare& wanted, Placement placement, bool beside, int free) const {
  const auto parts_in = [&](double fraction, double memory_bytes) {
    const double by_memory = wanted.memory_bytes > 0 ? memory_bytes / wanted.memory_bytes : wanted.parts;
    return static_cast<int>(std::min<double>({fraction / wanted.fraction, by_memory, 1.0 * wanted.parts}));
  };
  const int of_one = std::max(1, parts_in(1, memory_bytes_));  // one that needs more memory than a device has is alone on it
  int left = wanted.parts;
  for (const Device& device : devices_) {
    if (!beside || left <= 0) break;
    if (!has_room(device, wanted)) continue;
    left -= parts_in(1 - device.fraction, memory_bytes_ - device.memory_bytes);
  }
  const int needed = left > 0 ? (left + of_one - 1) / of_one : 0;
  if (needed > free) return kNone;
  return beside && placement == Placement::spread ? std::min(free, wanted.parts) : needed;
}

std::vector<int> DeviceShares::put_all(const DeviceShare& wanted, Placement placement, bool beside,
                                       const std::vector<int>& nodes) {
  const int first = beside ? 0 : opened_;
  for (const int node : nodes) open(node);
  std::vector<int> devices;
  for (int part = 0; part < wanted.parts; ++part) {
    const int device = choose(wanted, placement, first);
    devices.push_back(device != kNone ? device : opened_ - 1);
    put(devices.back(), wanted);
  }
  return devices;
}

/// Of those from `first` on.
int DeviceShares::choose(const DeviceShare& wanted, Placement placement, int first) const {
  const bool spread = placement == Placement::spread;
  const Device* best = nullptr;
  for (const Device& device : devices_) {
    if (device.number < first || !has_room(device, wanted)) continue;
    if (best == nullptr || (spread ? device.fraction < best->fraction : device.fraction > best->fraction)) best = &device;
  }
  return best == nullptr ? kNone : best->number;
}

int DeviceShares::open(int node) {
  devices_.push_back({.number = opened_, .node = node});
  return opened_++;
}

void DeviceShares::put(int device, const DeviceShare& share) {
  Device& on = at(device);
  on.fraction += share.fraction;
  on.memory_bytes += share.memory_bytes;
  ++on.tenants;
  check(on.fraction <= 1, "a device is shared beyond all of it");
  check(on.tenants == 1 || on.memory_bytes <= memory_bytes_, "jobs that share a device need more memory than it has");
}

bool DeviceShares::take_back(int device, const DeviceShare& share) {
  Device& on = at(device);
  on.fraction -= share.fraction;
  on.memory_bytes -= share.memory_bytes;
  check(--on.tenants >= 0 && on.fraction >= 0, "a share of a device is given back twice");
  if (on.tenants > 0) return false;
  devices_.erase(devices_.begin() + (&on - devices_.data()));
  return true;
}

void DeviceShares::set_out(int node, bool out) {
  for (Device& device : devices_)
    if (device.node == node) device.out = out;
}

double SharingRules::slowdown(const Job& job, const Job& other, int pool) const {
  if (job.profile != nullptr && other.profile != nullptr) {
    const bool are_types = job.profile->dataset.empty() && other.profile->dataset.empty();
    for (const int where : {are_types ? pool : kAnyPool, kAnyPool}) {
      const auto found = slowdowns_.find({job.profile->model, other.profile->model, where});
      if (found != slowdowns_.end()) return found->second;
    }
  }
  return job.work == Work::rigid ? 1 : default_slowdown;
}

double SharingRules::mean_speed(const Job& job, int pool) const {
  double sum = 0;
  int others = 0;
  if (job.profile != nullptr) {
    const std::string& model = job.profile->model;
    const bool is_type = job.profile->dataset.empty();
    for (auto pair = slowdowns_.lower_bound({model, "", kAnyPool}); pair != slowdowns_.end(); ++pair) {
      const auto& [of, other, where] = pair->first;
      if (of != model) break;
      if (where != kAnyPool && (!is_type || where != pool)) continue;
      sum += 1 / pair->second;
      ++others;
    }
  }
  if (others > 0) return sum / others;
  return job.work == Work::rigid ? 1 : 1 / default_slowdown;
}

}  // namespace rehearse::sim
