#include "policies/place/methods/rl.hpp"

#include <algorithm>
#include <cmath>

#include "policies/learn/nn/optimiser.hpp"
#include "policies/place/methods/annealing.hpp"
#include "policies/place/methods/heft.hpp"
#include "policies/place/rl/seq2seq_placer.hpp"

namespace rehearse::policies {

namespace {

/// Turns scores into advantages: how much better than usual, in spreads.
class Rewards {
 public:
  Rewards(const PlacementView& view, const RlOptions& options) : options_(options) {
    for (int d = 0; d < view.devices(); ++d) memory_ += static_cast<double>(view.machine().device(d).memory_bytes);
  }

  /// Positive: faster than the moving average of all before.
  std::vector<double> advantages(std::span<const StepScore> scores) {
    std::vector<double> costs;
    if (unit_ == 0) {
      for (const StepScore& score : scores)
        unit_ += std::sqrt(sim::seconds_of(score.makespan)) / static_cast<double>(scores.size());
      if (unit_ == 0) unit_ = 1;
    }
    double mean = 0, square = 0;
    for (const StepScore& score : scores) {
      const double missing = static_cast<double>(score.missing_bytes) / std::max(1.0, memory_);
      costs.push_back(std::sqrt(sim::seconds_of(score.makespan)) / unit_ +
                      (score.fits() ? 0 : options_.out_of_memory_penalty * (1 + missing)));
      mean += costs.back() / static_cast<double>(scores.size());
    }
    baseline_ = started_ ? options_.baseline_decay * baseline_ + (1 - options_.baseline_decay) * mean : mean;
    started_ = true;
    for (const double cost : costs) square += (cost - baseline_) * (cost - baseline_) / static_cast<double>(scores.size());
    const double spread = std::max(std::sqrt(square), 1e-6);
    for (double& cost : costs) cost = (baseline_ - cost) / spread;
    return costs;
  }

 private:
  RlOptions options_;
  double memory_ = 0, unit_ = 0, baseline_ = 0;
  bool started_ = false;
};

/// One step of the network against what its samples earned.
class Learner {
 public:
  Learner(const PlacementView& view, const RlOptions& options)
      : view_(view),
        options_(options),
        features_(group_features(view, PlacementGraph(view))),
        random_(sim::Random::mix(view.random_key())),
        placer_({parameters_, random_}, features_, view.devices(), {}),
        tape_(parameters_),
        rewards_(view, options) {}

  /// `left`: the share of the budget that is still to come.
  void update(PlacementEvaluator& evaluator, std::size_t samples, double left) {
    std::vector<sim::Random> streams;
    // A stream for each sample of each update: what one draws does not depend on the others.
    for (std::size_t s = 0; s < samples; ++s) streams.emplace_back(sim::Random::mix(view_.random_key() + ++sampled_));
    tape_.clear();
    const PlacementSamples drawn = placer_.sample(tape_, streams);
    const std::vector<double> advantages = rewards_.advantages(evaluator.score(drawn.placements));
    const Var weights = tape_.constant({static_cast<Eigen::Index>(samples), 1}, advantages);
    const Var gain = tape_.mean(tape_.multiply(drawn.log_probability, weights));
    const double bonus = options_.entropy_weight * left * static_cast<double>(view_.groups().count);
    parameters_.clear_gradients();
    tape_.backward(tape_.scale(tape_.add(gain, tape_.scale(drawn.entropy, bonus)), -1));
    parameters_.clip_gradients(1);
    adam_.step(parameters_, options_.rate);
  }

 private:
  const PlacementView& view_;
  RlOptions options_;
  GroupFeatures features_;
  ParameterSet parameters_;
  sim::Random random_;
  Seq2SeqPlacer placer_;
  Tape tape_;
  Adam adam_;
  Rewards rewards_;
  std::uint64_t sampled_ = 0;
};

}  // namespace

DeviceOfGroup Rl::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  const std::int64_t kept = static_cast<std::int64_t>(options_.refine_share * static_cast<double>(evaluator.left()));
  const auto budget = static_cast<double>(evaluator.left() - kept);
  Learner learner(view, options_);
  while (evaluator.left() > kept) {
    const std::int64_t left = evaluator.left() - kept;
    learner.update(evaluator, static_cast<std::size_t>(std::min<std::int64_t>(options_.samples, left)),
                   static_cast<double>(left) / budget);
  }
  if (evaluator.left() > 0) {
    score_single_devices(view, evaluator);
    if (evaluator.left() > 0) Heft().place(view, evaluator);
    const DeviceOfGroup start = evaluator.best();
    anneal(view, evaluator, start, evaluator.best_score(), {.hottest = 0.02});
  }
  return evaluator.best();
}

}  // namespace rehearse::policies
