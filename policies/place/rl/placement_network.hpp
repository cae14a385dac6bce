// What reinforcement learning asks of a network that places groups one after the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/learn/nn/arithmetic.hpp"
#include "policies/learn/nn/tape.hpp"
#include "policies/place/placement.hpp"
#include "policies/place/placement_graph.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

/// The rows of a batch of placements, in this order.
struct PlacementRows {
  std::span<sim::Random> drawn;               ///< a placement drawn by each stream
  std::span<const DeviceOfGroup> given = {};  ///< placements whose probability is asked for
  bool likeliest = false;                     ///< one more, of the likeliest device for each group
  std::size_t count() const { return drawn.size() + given.size() + (likeliest ? 1 : 0); }
};

struct PlacementSamples {
  std::vector<DeviceOfGroup> placements;  ///< of all rows
  Var log_probability;                    ///< rows x 1
  Var entropy;                            ///< 1 x 1: mean over rows and groups, in nats
};

class PlacementNetwork {
 public:
  virtual ~PlacementNetwork() = default;
  /// What a row gets depends on no other row.
  virtual PlacementSamples sample(Tape& tape, const PlacementRows& rows) const = 0;
};

/// Gathers the choices of a batch, group after group.
class RowChoices {
 public:
  RowChoices(const PlacementRows& rows, std::size_t groups);
  /// A device for this group in each row; `log_probabilities`: rows x devices.
  std::span<const std::int32_t> choose(Tape& tape, std::int32_t group, Var log_probabilities);
  PlacementSamples take(Tape& tape);

 private:
  const PlacementRows& rows_;
  std::vector<DeviceOfGroup> placements_;
  std::vector<std::int32_t> choice_;
  std::vector<Var> picked_, entropies_;
};

/// The choice that a number in [0, 1) makes among columns with these log probabilities.
std::int32_t drawn(std::span<const double> log_probabilities, double uniform);

// What the placement networks see of each group: kinds of operations, sizes of outputs, neighbours.

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
