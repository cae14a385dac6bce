// Contiguous parts for the best throughput by dynamic programming over one linear order of the graph: DPL of Tarnawski et al.,
// "Efficient Algorithms for Device Placement of DNN Graph Operators", NeurIPS 2020, section 5.
#pragma once

#include "policies/place/placement.hpp"

namespace rehearse::policies {

/// When no contiguous parts fit into the devices' memory, as if they did.
class Dpl final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// Anneals DPL's answer, by whatever the evaluator counts.
class DplAnnealed final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

}  // namespace rehearse::policies
