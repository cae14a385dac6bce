// Placements that a method samples together, scored by several processes (Mirhoseini et al., ICML 2017, section 3.4, has workers
// that share a controller's samples).
#pragma once

#include <span>

#include "policies/place/placement.hpp"

namespace rehearse::scenarios {

/// Spreads each batch evenly over `processes` forked children; whatever their number, scores are those of `scorer`. A batch of
/// one is scored here.
class ProcessScorer final : public policies::PlacementScorer {
 public:
  /// Keeps a reference. `processes` from 1.
  ProcessScorer(policies::PlacementScorer& scorer, int processes) : scorer_(scorer), processes_(processes) {}
  /// Throws CheckFailed when a child ends otherwise than by answering.
  void score(std::span<const policies::DeviceOfGroup> placements, std::span<policies::StepScore> scores) override;

 private:
  policies::PlacementScorer& scorer_;
  int processes_;
};

}  // namespace rehearse::scenarios
