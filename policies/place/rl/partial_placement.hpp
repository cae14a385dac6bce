// A placement in the making, group after group in topological order, and what is known of each device for the next group: a list
// schedule of whole groups, transfers as if alone. All in units that do not depend on the graph's size or the machine's.
#pragma once

#include <span>
#include <vector>

#include "policies/place/placement_graph.hpp"

namespace rehearse::policies {

/// What partial placements of one view share.
class PlacementCosts {
 public:
  explicit PlacementCosts(const PlacementView& view);

  const PlacementGraph& graph() const { return graph_; }
  int devices() const { return devices_; }
  double duration(int group, int device) const { return static_cast<double>(graph_.duration(group, device)) / unit_; }
  /// On the device where it is shortest.
  double shortest(int group) const;
  /// Of these bytes between two devices; 0 on the same one.
  double transfer(std::int64_t bytes, int from, int to) const;
  double mean_transfer(std::int64_t bytes) const;
  double memory_share(int group, int device) const {
    return static_cast<double>(graph_.memory_bytes(group)) / memory_[static_cast<std::size_t>(device)];
  }
  bool is_cpu(int device) const { return is_cpu_[static_cast<std::size_t>(device)]; }

 private:
  PlacementGraph graph_;
  int devices_;
  double unit_ = 1;  ///< ticks: of a group on the device that is fastest for it, on the average
  std::vector<double> memory_, latency_, per_byte_;
  std::vector<bool> is_cpu_;
};

inline constexpr int kDeviceFeatures = 11;

class PartialPlacement {
 public:
  /// Keeps a reference.
  explicit PartialPlacement(const PlacementCosts& costs);
  /// Of the group on each device: devices x kDeviceFeatures, row after row.
  void describe(int group, std::span<double> features) const;
  void place(int group, int device);

 private:
  double ready(int group, int device) const;

  const PlacementCosts& costs_;
  std::vector<int> device_of_;  ///< -1: not yet placed
  std::vector<double> end_, free_, memory_;
  int last_ = -1;
};

/// Which of them says how much later than on the best device the group would end there, in [0, 1).
inline constexpr int kLateness = 0;

}  // namespace rehearse::policies
