// Placement by reinforcement learning (Mirhoseini et al., ICML 2017): a sequence-to-sequence network proposes placements, the
// square root of the step's time is what it is punished by, against a moving average (REINFORCE; Williams 1992).
#pragma once

#include "policies/place/placement.hpp"

namespace rehearse::policies {

struct RlOptions {
  int samples = 16;             ///< placements between two updates
  double rate = 0.005;          ///< Adam's
  double entropy_weight = 0.3;  ///< falls to 0 over the budget
  double baseline_decay = 0.9;
  double out_of_memory_penalty = 2;  ///< in square roots of the first placements' mean time
  double refine_share = 0;           ///< of the evaluations, kept to anneal the best placement in the end
};

class Rl final : public PlacementMethod {
 public:
  explicit Rl(RlOptions options) : options_(options) {}
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;

 private:
  RlOptions options_;
};

}  // namespace rehearse::policies
