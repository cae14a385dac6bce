// The hand-made placements of Mirhoseini et al. 2017 (section 4.2): recurrent networks layer by layer over the GPUs, attention
// and softmax apart (Sutskever et al. 2014; Wu et al. 2016); others in contiguous parts that take equally long.
#pragma once

#include "policies/place/placement.hpp"

namespace rehearse::policies {

/// A group belongs to the layer of its first forward operation. Of a recurrent network every LSTM layer, attention (operations
/// named "attention...") and the first matrix product behind the last LSTM layer (the softmax's) begin a unit, all layers up to
/// the next belong to it, and U units share G GPUs as unit i on GPU floor(i G / U).
class Expert final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

}  // namespace rehearse::policies
