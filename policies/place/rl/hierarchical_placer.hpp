// The network of "A hierarchical model for device placement" (Mirhoseini et al., ICLR 2018): a feed-forward grouper puts each
// group of co-located operations into one of a few bundles, an LSTM names a device for each bundle, and reads the device that it
// named before. Both are learnt together; a bundle moves as one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/learn/nn/layers.hpp"
#include "policies/place/rl/group_features.hpp"
#include "policies/place/rl/placement_network.hpp"

namespace rehearse::policies {

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

}  // namespace rehearse::policies
