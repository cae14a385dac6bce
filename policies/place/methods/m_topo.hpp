// m-TOPO (Baechi: Jeon et al., SoCC 2020, section 3.1): groups in topological order fill one GPU after the other, each up to an
// equal share of the memory.
#pragma once

#include "policies/place/placement.hpp"

namespace rehearse::policies {

class MTopo final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

}  // namespace rehearse::policies
