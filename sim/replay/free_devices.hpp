// What is free in a decision of a queue, less what its answer has given away: whole devices, and room on devices that are shared.
#pragma once

#include <span>
#include <vector>

#include "sim/replay/decisions.hpp"

namespace rehearse::sim {

class FreeDevices {
 public:
  /// As the view has it; the view must outlive what is asked. Where it does not know of shares, every job needs whole devices.
  /// `by_node`: it also follows which nodes the devices are on, as configurations that need a number of nodes ask for it.
  void reset(const QueueView& view, bool by_node = false);
  /// For a queue that gives every job whole devices.
  void reset_whole(const QueueView& view, bool by_node);
  int of(PoolId pool) const { return whole_[static_cast<std::size_t>(pool)]; }
  bool is_by_node() const { return !nodes_.empty(); }
  /// By node.
  const Nodes& nodes(PoolId pool) const { return nodes_[static_cast<std::size_t>(pool)]; }
  /// Is there room for this group of a configuration?
  bool fits(const Configuration& configuration, const Group& group) const;
  /// For all of its groups, each alone?
  bool fits(const Configuration& configuration) const;
  /// Takes the configuration's devices, if there is room for all of them, as the replay will: it needs a part of a device and
  /// starts with Start::shares, or whole ones.
  bool take(const Configuration& configuration, Placement placement);
  /// By node: where the last `take` found them, for each group; none of a part of a device that others are on.
  const Layout& taken() const { return taken_; }
  /// Takes whole devices of a pool, of which so many must be free. By node: where they are.
  std::vector<NodeShare> take(PoolId pool, int devices, Placement placement);
  /// By node: takes these, which must be free there.
  void take(PoolId pool, std::span<const NodeShare> shares);
  void give_back(PoolId pool, int devices, std::span<const NodeShare> shares);
  /// What a job holds of the pool becomes free: its whole devices, or its part of one.
  void give_back(const QueueView& view, JobSlot slot, PoolId pool);
  /// The whole devices that a job holds of the pool are not free after all.
  void take_again(const QueueView& view, JobSlot slot, PoolId pool);
  /// Whether a job that holds part of a device leaves others room on it; without shares it has the device for itself.
  bool holds_part(const QueueJob& job) const { return !seen_.empty() && !job.service.shared_devices.empty(); }

 private:
  DeviceShares& own_shares(PoolId pool);
  bool take_part(const Configuration& configuration, Placement placement);
  void give_back_part(const QueueJob& job);
  std::vector<int> whole_;    // by pool
  std::vector<Nodes> nodes_;  // by pool; empty: only counted
  Layout taken_;
  std::span<const DeviceShares> seen_;
  std::vector<DeviceShares> own_;  // copies, once something was changed
};

/// Of a job that holds devices, those of one pool: how many, and, where the view knows it, on which nodes.
int held_in(const QueueJob& job, PoolId pool);
Layout held_layout(const QueueView& view, JobSlot slot);
std::vector<NodeShare> held_nodes(const QueueView& view, JobSlot slot, PoolId pool);

}  // namespace rehearse::sim
