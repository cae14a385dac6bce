// The graph of groups in the form that partitioners take: undirected, whole weights that fit 32 bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/place/placement_graph.hpp"

namespace rehearse::policies {

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
