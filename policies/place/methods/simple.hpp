// Placements that need no thought: yardsticks for the others.
#pragma once

#include "policies/place/placement.hpp"

namespace rehearse::policies {

/// Everything on the first CPU.
class SingleCpu final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// Everything on the fastest GPU, of equal ones the one with the most memory. Throws InputError when there is no GPU.
class SingleGpu final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// Groups in topological order on the GPUs in turn.
class RoundRobin final : public PlacementMethod {
 public:
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

/// Every group on any device, all equally likely: the best of `tries` such placements, or of as many as there are evaluations.
class RandomPlacement final : public PlacementMethod {
 public:
  explicit RandomPlacement(std::int64_t tries) : tries_(tries) {}
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;

 private:
  std::int64_t tries_;  ///< 0: as many as there are evaluations
};

}  // namespace rehearse::policies
