// The networks that place groups, each in a file of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/learn/nn/layers.hpp"
#include "policies/learn/nn/network_state.hpp"
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

/// A placement told through bundles.
struct Bundling {
  std::vector<std::int32_t> bundle_of_group;
  std::vector<std::int32_t> device_of_bundle;
  bool operator==(const Bundling&) const = default;
};

/// How bundles most likely came to give each group the device that it has. `share`: groups x bundles, how likely each group is to
/// be in each bundle. Each bundle takes the device of most of its likely members, then bundles of devices that several have give
/// way to devices that none has; each group is in the likeliest bundle of its device. At least as many bundles as devices.
Bundling explain(const ConstMatrixView& share, std::span<const std::int32_t> device_of_group, int devices);

class HierarchicalPlacer final : public PlacementNetwork {
 public:
  struct Size {
    int bundles = 16;  ///< at least as many as devices are made
    Eigen::Index hidden = 64, units = 32;
    ScoreClip clip{.temperature = 1, .bound = 5};
  };
  /// Keeps a reference to the features.
  HierarchicalPlacer(LayerMaker make, const GroupFeatures& features, int devices, Size size);
  /// The log probability is that of the bundles and their devices together; of a given placement, of those that explain it.
  PlacementSamples sample(Tape& tape, const PlacementRows& rows) const override;

 private:
  Matrix describe(std::span<const std::int32_t> bundle_of_group) const;

  const GroupFeatures& features_;
  int devices_, bundles_;
  Matrix inputs_;  ///< of the grouper: a row for each group
  Mlp grouper_;
  Linear bundle_;
  LstmCell placer_;
  ParameterId device_embedding_;  ///< a row for each device, and one for "none yet"; added to the LSTM's gates
  Linear output_;
  ScoreClip clip_;
};

class Seq2SeqPlacer final : public PlacementNetwork {
 public:
  struct Size {
    Eigen::Index units = 64;       ///< of both LSTMs
    Eigen::Index kind_units = 16;  ///< of a kind's embedding
    ScoreClip clip{.temperature = 1, .bound = 5};
  };
  Seq2SeqPlacer(LayerMaker make, const GroupFeatures& features, int devices, Size size);
  PlacementSamples sample(Tape& tape, const PlacementRows& rows) const override;

 private:
  Var encode(Tape& tape) const;  ///< n x units

  const GroupFeatures& features_;
  int devices_;
  Size size_;
  Linear kinds_, sizes_;
  LstmCell encoder_, decoder_;
  ParameterId device_embedding_;  ///< a row for each device, and one for "none yet"; added to the decoder's gates
  ProductAttention attention_;
  Linear output_;
};

}  // namespace rehearse::policies
