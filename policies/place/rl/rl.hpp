// Placement by reinforcement learning (Mirhoseini et al., ICML 2017): a network proposes placements, the square root of the
// step's time is what it is punished by.
#pragma once

#include <cstdint>

#include "policies/place/placement.hpp"
#include "policies/place/rl/placers.hpp"
#include "policies/place/rl/training.hpp"

namespace rehearse::policies {

enum class RlNetwork : std::uint8_t {
  sequence,  ///< a sequence-to-sequence LSTM, as in the paper
  graph,     ///< messages between groups, and what stands on each device (GraphPlacer)
  hierarchy  ///< a learned grouper makes bundles of them, which are placed (HierarchicalPlacer)
};

struct RlOptions {
  ReinforceOptions learning = {};
  RlNetwork network = RlNetwork::sequence;
  double refine_share = 0;  ///< of the evaluations, kept to anneal the best placement in the end
};

/// With a `refine_share` it begins with the single devices' and HEFT's placements, which the network imitates while they are
/// among the best.
class Rl final : public PlacementMethod {
 public:
  explicit Rl(RlOptions options) : options_(options) {}
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;

 private:
  RlOptions options_;
};

// A graph network that was trained on other graphs (rl/training.hpp) places this one: first its likeliest placement,
// then it learns on with the evaluations that are left.

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
