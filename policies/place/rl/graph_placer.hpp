// A network that places graphs and machines of any size: messages between neighbours make an embedding of each group (Placeto:
// Addanki et al., NeurIPS 2019, section 3.2; GDP: Zhou et al., arXiv:1910.01578, section 3.1), and each device is judged for
// it by what stands there already. What it learns on some graphs can be used on others.
#pragma once

#include <vector>

#include "policies/learn/nn/layers.hpp"
#include "policies/learn/nn/network_state.hpp"
#include "policies/place/rl/group_features.hpp"
#include "policies/place/rl/partial_placement.hpp"
#include "policies/place/rl/placement_network.hpp"

namespace rehearse::policies {

/// The weights, which fit every graph.
class GraphLayers {
 public:
  static constexpr const char* kKind = "rl-transfer";
  static constexpr Eigen::Index kUnits = 16, kHidden = 32;
  static constexpr int kRounds = 2;  ///< of messages
  static constexpr int kNodeFeatures = kOpKinds + kOutputSizes + 7;

  explicit GraphLayers(LayerMaker make);
  /// What an agent's file must hold.
  static NetworkBlueprint blueprint();

 private:
  friend class GraphPlacer;
  struct Round {
    Linear own, from, to;
  };
  Linear input_;
  std::vector<Round> rounds_;
  Linear group_, device_, output_;
};

class GraphPlacer final : public PlacementNetwork {
 public:
  /// Keeps a reference to the layers; the view is read now.
  GraphPlacer(const GraphLayers& layers, const PlacementView& view);
  PlacementSamples sample(Tape& tape, const PlacementRows& rows) const override;

 private:
  Var embed(Tape& tape) const;  ///< groups x kUnits

  const GraphLayers& layers_;
  PlacementCosts costs_;
  Matrix nodes_;      ///< groups x kNodeFeatures; rows are groups in topological order, as everywhere here
  Matrix from_, to_;  ///< groups x groups: means over those that come before, after
};

}  // namespace rehearse::policies
