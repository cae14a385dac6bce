// Training of placement networks by REINFORCE: on one graph, and on many.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "policies/learn/nn/parameter_set.hpp"
#include "policies/place/rl/placement_network.hpp"
#include "policies/place/rl/placers.hpp"

namespace rehearse::policies {

// REINFORCE (Williams, Machine Learning 8, 1992) on placements, with a moving average as baseline (Mirhoseini et al., ICML 2017,
// section 3.1), and imitation of the best placements met so far (self-imitation: Oh et al., ICML 2018).

struct ReinforceOptions {
  int samples = 8;              ///< placements between two updates
  double rate = 0.005;          ///< Adam's
  double entropy_weight = 0.1;  ///< falls to 0 over the budget
  double imitation = 2;         ///< weight of the best placements beside the drawn ones
  double baseline_decay = 0.9;
  double out_of_memory_penalty = 2;  ///< in square roots of the first placements' mean time
};

/// Turns scores into advantages: how much better than usual, in spreads. Of one graph on one machine.
class PlacementRewards {
 public:
  PlacementRewards(const PlacementView& view, const ReinforceOptions& options);
  /// Positive: faster than the moving average of all before. The reward of a step is minus the square root of its time.
  std::vector<double> advantages(std::span<const StepScore> scores);

 private:
  double baseline_decay_, penalty_, memory_ = 0, unit_ = 0, baseline_ = 0;
  bool started_ = false;
};

/// The best different placements, the best first.
class Elite {
 public:
  void offer(std::span<const DeviceOfGroup> placements, std::span<const StepScore> scores);
  std::span<const DeviceOfGroup> placements() const { return placements_; }

 private:
  static constexpr std::size_t kMost = 8;
  std::vector<DeviceOfGroup> placements_;
  std::vector<StepScore> scores_;
};

/// Improves a network on one graph and machine. No evaluation is spent on a placement twice as long as there are others: what is
/// drawn again is changed a little, at first in one group. Nothing is learnt from how that came about, but it may be imitated.
class Reinforce {
 public:
  /// Keeps references. The network's weights are those of `parameters`.
  Reinforce(const PlacementView& view, const PlacementNetwork& network, ParameterSet& parameters,
            const ReinforceOptions& options);
  /// Placements to imitate as long as they are among the best.
  void offer(std::span<const DeviceOfGroup> placements, std::span<const StepScore> scores) { elite_.offer(placements, scores); }
  /// Draws as many placements, and takes one step towards the better ones. `left`: the share of the budget that is still to
  /// come. What they scored.
  std::vector<StepScore> update(PlacementEvaluator& evaluator, Adam& adam, std::size_t samples, double left);

 private:
  /// Whether a draw is new; else it is made so.
  bool is_new(DeviceOfGroup& placement, sim::Random& random);

  const PlacementView& view_;
  const PlacementNetwork& network_;
  ParameterSet& parameters_;
  ReinforceOptions options_;
  PlacementRewards rewards_;
  Elite elite_;
  std::set<DeviceOfGroup> seen_;
  Tape tape_;
  std::uint64_t sampled_ = 0;
};

// Trains the weights of the graph network on several graphs and machines in turn, so that they place others (Placeto: Addanki et
// al., NeurIPS 2019, section 3.3; GDP: Zhou et al., arXiv:1910.01578, section 3.4).

/// Points at things that live as long as the training.
struct TransferCase {
  std::string name;  ///< of its random numbers
  const sim::StepGraph* graph = nullptr;
  const sim::Machine* machine = nullptr;
  const Groups* groups = nullptr;
};

struct TransferSetup {
  std::vector<TransferCase> cases;  ///< at least one
  std::uint64_t seed = 0;
  int iterations = 1;  ///< over which the reward for staying undecided falls to 0
};

class TransferTraining {
 public:
  explicit TransferTraining(TransferSetup setup);
  ~TransferTraining();
  TransferTraining(const TransferTraining&) = delete;
  TransferTraining& operator=(const TransferTraining&) = delete;

  /// One step of the optimiser on the next case.
  void iterate();
  int iteration() const { return iteration_; }
  /// Geometric mean over the cases of the likeliest placement's time over HEFT's; twice that where it does not fit.
  double time_ratio();
  ParameterSet& parameters() { return parameters_; }

 private:
  struct Lesson;

  TransferSetup setup_;
  sim::Random random_;
  ParameterSet parameters_;
  GraphLayers layers_;
  Adam adam_;
  std::vector<std::unique_ptr<Lesson>> lessons_;
  int iteration_ = 0;
};

}  // namespace rehearse::policies
