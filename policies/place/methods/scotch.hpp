// SCOTCH (Pellegrini and Roman, HPCN Europe 1996): the fewest bytes between devices, work in the ratio of their speeds. The two
// graph partitioners of Mirhoseini et al. 2017 (section 4.2): over all devices, and "MinCut", without the CPU.
#pragma once

#include "policies/place/placement.hpp"

namespace rehearse::policies {

class Scotch final : public PlacementMethod {
 public:
  explicit Scotch(bool with_cpu) : with_cpu_(with_cpu) {}
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;

 private:
  bool with_cpu_;
};

}  // namespace rehearse::policies
