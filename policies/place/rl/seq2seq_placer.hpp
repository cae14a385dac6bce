// The network of "Device placement optimization with reinforcement learning" (Mirhoseini et al., ICML 2017, section 3.2): an LSTM
// reads the groups; another one, with attention to what the first made of them, names a device for each, and reads the
// device that it named before.
#pragma once

#include "policies/learn/nn/layers.hpp"
#include "policies/place/rl/group_features.hpp"
#include "policies/place/rl/placement_network.hpp"

namespace rehearse::policies {

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
