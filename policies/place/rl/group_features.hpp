// What the placement networks see of each group: kinds of operations, sizes of outputs, neighbours.
#pragma once

#include <vector>

#include "policies/learn/nn/matrix.hpp"
#include "policies/place/placement_graph.hpp"

namespace rehearse::policies {

inline constexpr int kOpKinds = 10;     ///< of sim::OpKind
inline constexpr int kOutputSizes = 6;  ///< as many outputs of a group are looked at, the largest; fewer: zeros (the paper pads)

/// Rows are groups in PlacementGraph::order().
struct GroupFeatures {
  std::vector<std::int32_t> group;  ///< of each row
  Matrix kinds;                     ///< n x kOpKinds: share of the group's operations
  Matrix sizes;                     ///< n x kOutputSizes: log10(1 + bytes) / 10 of tensors that leave the group, falling
  Matrix neighbours;                ///< n x n: 1 where a tensor passes between two groups
};

GroupFeatures group_features(const PlacementView& view, const PlacementGraph& graph);

}  // namespace rehearse::policies
