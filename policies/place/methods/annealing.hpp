// Simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 220, 1983) on the devices of groups, from the best placement on a
// single device.
#pragma once

#include <cstdint>

#include "policies/place/placement.hpp"

namespace rehearse::policies {

struct AnnealingOptions {
  double hottest = 0.1;    ///< first temperature, as a share of the makespan
  double coldest = 0.001;  ///< last temperature
};

class Annealing final : public PlacementMethod {
 public:
  explicit Annealing(AnnealingOptions options) : options_(options) {}
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;

 private:
  AnnealingOptions options_;
};

/// Scores everything on each single device, one of each class and memory, as far as evaluations are left.
void score_single_devices(const PlacementView& view, PlacementEvaluator& evaluator);

/// Anneals on from a placement that has this score, with all evaluations that are left.
void anneal(const PlacementView& view, PlacementEvaluator& evaluator, DeviceOfGroup at, StepScore score,
            AnnealingOptions options);

}  // namespace rehearse::policies
