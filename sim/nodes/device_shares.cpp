#include "sim/nodes/device_shares.hpp"

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

int DeviceShares::choose(const DeviceShare& wanted, Placement placement, bool another_is_free) const {
  const bool spread = placement == Placement::spread;
  if (spread && another_is_free) return kNone;
  const Device* best = nullptr;
  for (const Device& device : devices_) {
    if (!has_room(device, wanted)) continue;
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

}  // namespace rehearse::sim
