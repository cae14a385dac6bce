// The graph of co-location groups: operations of a group together, tensors between two groups together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/place/placement.hpp"

namespace rehearse::policies {

class PlacementGraph {
 public:
  explicit PlacementGraph(const PlacementView& view);

  struct Arc {
    std::int32_t group = 0;      ///< the other one
    std::int64_t bytes_out = 0;  ///< that it reads from here; a tensor once, whatever its readers
    std::int64_t bytes_in = 0;   ///< that are read from it here
    std::int64_t bytes() const { return bytes_out + bytes_in; }
  };

  int groups() const { return groups_; }
  /// Ticks of all its operations on a device.
  sim::Tick duration(int group, int device) const { return durations_[group * devices_ + device]; }
  /// Ticks of all groups on a device.
  sim::Tick work(int device) const;
  std::int64_t resident_bytes(int group) const { return resident_[group]; }
  /// An estimate of what it takes: what stays during the step, outputs of forward operations, the largest workspace.
  std::int64_t memory_bytes(int group) const { return memory_[group]; }
  /// Neighbours by ascending group; each pair of groups that share a tensor stands in both lists.
  std::span<const Arc> arcs(int group) const {
    return std::span(arcs_).subspan(first_arc_[group], first_arc_[group + 1] - first_arc_[group]);
  }
  /// By where each group's first operation stands in the graph's topological order.
  const std::vector<std::int32_t>& order() const { return order_; }

 private:
  void add_costs(const PlacementView& view);
  void add_arcs(const PlacementView& view);

  int groups_ = 0, devices_ = 0;
  std::vector<sim::Tick> durations_;
  std::vector<std::int64_t> resident_, memory_;
  std::vector<Arc> arcs_;
  std::vector<std::int32_t> first_arc_, order_;
};

/// The GPUs, or all devices when there are none.
std::vector<std::int32_t> gpus_or_all(const sim::Machine& machine);
std::vector<std::int32_t> all_devices(const sim::Machine& machine);

/// The device of a list on which all work takes shortest, of equal ones the one with the most memory, then the first.
std::int32_t fastest_device(const PlacementGraph& graph, const sim::Machine& machine, std::span<const std::int32_t> devices);

// The graph of groups in the form that partitioners take: undirected, whole weights that fit 32 bits.

struct PartitionGraph {
  /// Neighbours of v: [first[v], first[v + 1]) of `neighbour` and `bytes`, both directions.
  std::vector<std::int32_t> first, neighbour;
  std::vector<std::int32_t> bytes;  ///< scaled; at least 1
  std::vector<std::int32_t> work;   ///< time of each vertex, scaled; at least 1
};

/// Work is the time on the fastest GPU.
PartitionGraph partition_graph(const PlacementGraph& groups, const sim::Machine& machine);

/// The share of the work that each device should get, so that all end at once: its speed over the sum.
std::vector<double> device_shares(const PlacementGraph& groups, std::span<const std::int32_t> devices);

/// Parts as devices.
DeviceOfGroup devices_of_parts(std::span<const std::int32_t> parts, std::span<const std::int32_t> devices);

}  // namespace rehearse::policies
