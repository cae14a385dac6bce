// m-SCT (Baechi: Jeon et al., SoCC 2020, section 3.3; SCT: Hanen and Munier, Discrete Applied Mathematics 108, 2001): m-ETF in
// which an operation's favourite successor follows it on its device. A linear programme says which successors are favourites.
#pragma once

#include <vector>

#include "policies/place/placement.hpp"

namespace rehearse::policies {

class MSct final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// Of each operation its favourite successor, -1: none. No operation is the favourite of two.
std::vector<std::int32_t> favourite_successors(const PlacementView& view);

}  // namespace rehearse::policies
