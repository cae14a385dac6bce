// A graph network that was trained on other graphs (rl/transfer_training.hpp) places this one: first its likeliest placement,
// then it learns on with the evaluations that are left.
#pragma once

#include "policies/place/rl/graph_placer.hpp"
#include "policies/place/rl/reinforce.hpp"

namespace rehearse::policies {

class RlTransfer final : public PlacementMethod {
 public:
  /// `weights`: what GraphLayers::blueprint() says; null: untrained ones.
  RlTransfer(const ReinforceOptions& options, const NetworkState* weights);
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;

 private:
  ReinforceOptions options_;
  sim::Random random_;
  ParameterSet parameters_;
  GraphLayers layers_;
};

}  // namespace rehearse::policies
