// METIS (Karypis and Kumar, SIAM J. Scientific Computing 20(1), 1998): the fewest bytes between devices, work in the ratio of
// their speeds.
#pragma once

#include "policies/place/placement.hpp"

namespace rehearse::policies {

class Metis final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

}  // namespace rehearse::policies
