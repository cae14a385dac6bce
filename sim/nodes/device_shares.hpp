// Devices that jobs share: how much room each has left, and which of them a job gets.
#pragma once

#include <vector>

#include "sim/jobs/configuration.hpp"

namespace rehearse::sim {

/// The devices of one pool that are open to jobs which need a part of one. A plain value: a queue copies it to see what its own
/// answer leaves. A device is opened for the first job on it and closed after its last one.
class DeviceShares {
 public:
  static constexpr int kNone = -1;

  /// `memory_bytes` that jobs can use of each device.
  explicit DeviceShares(double memory_bytes) : memory_bytes_(memory_bytes) {}
  /// The device that a job gets: of those with room, the one with the least of it left (best fit); to spread, the one with the
  /// most, and none while another device is free. Ties go to the one opened first. kNone when no device has room: fractions sum
  /// to 1 at most, and needs of memory to what there is, so that a job which needs more never goes beside another.
  int choose(const DeviceShare& wanted, Placement placement, bool another_is_free) const;
  /// Is this device open, and has it room?
  bool has_room(int device, const DeviceShare& wanted) const;
  /// Opens a device that was free, on this node of the pool, and returns its number: they are given in order of opening.
  int open(int node);
  void put(int device, const DeviceShare& share);
  /// Takes a job's share back. True when it was the last: the device is closed then.
  bool take_back(int device, const DeviceShare& share);
  /// Nothing new goes on a node that is out.
  void set_out(int node, bool out);
  int node_of(int device) const { return at(device).node; }
  bool is_out(int device) const { return at(device).out; }

 private:
  struct Device {
    int number = 0;
    int node = 0;
    bool out = false;
    double fraction = 0;  // taken
    double memory_bytes = 0;
    int tenants = 0;
  };
  const Device* find(int device) const;  // null: not open
  const Device& at(int device) const;
  bool has_room(const Device& device, const DeviceShare& wanted) const;
  Device& at(int device);
  double memory_bytes_;
  int opened_ = 0;
  std::vector<Device> devices_;  // in order of opening
};

}  // namespace rehearse::sim
