// What is free in a decision of a queue, less what its answer has given away: whole devices, and room on devices that are shared.
#pragma once

#include <vector>

#include "sim/replay/decisions.hpp"

namespace rehearse::sim {

class FreeDevices {
 public:
  /// As the view has it; the view must outlive what is asked. Where it does not know of shares, every job needs whole devices.
  void reset(const QueueView& view);
  int& of(PoolId pool) { return whole_[static_cast<std::size_t>(pool)]; }
  /// Is there room for this group of a configuration?
  bool fits(const Configuration& configuration, const Group& group) const;
  /// Takes the configuration's devices, if there is room for all of them, as the replay will: it needs a part of a device and
  /// starts with Start::shares, or whole ones.
  bool take(const Configuration& configuration, Placement placement);
  /// Whether a job that holds part of a device leaves others room on it; without shares it has the device for itself.
  bool holds_part(const QueueJob& job) const { return !seen_.empty() && !job.service.shared_devices.empty(); }
  /// Adds what such a job will let go of: its parts, and a device on which no other job has one.
  void give_back_part(const QueueJob& job);

 private:
  DeviceShares& own_shares(PoolId pool);
  std::vector<int> whole_;  // by pool
  std::span<const DeviceShares> seen_;
  std::vector<DeviceShares> own_;  // copies, once something was changed
};

}  // namespace rehearse::sim
