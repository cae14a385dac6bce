#include "policies/place/rl/rl.hpp"

#include <algorithm>
#include <memory>

#include "policies/place/methods/methods.hpp"
#include "policies/place/rl/placers.hpp"

namespace rehearse::policies {

namespace {

/// A network for one view, with weights of its own.
struct Untrained {
  explicit Untrained(const PlacementView& view) : random(sim::Random::mix(view.random_key())) {}
  virtual ~Untrained() = default;
  virtual const PlacementNetwork& network() const = 0;
  ParameterSet parameters;
  sim::Random random;
};

struct UntrainedSequence final : Untrained {
  explicit UntrainedSequence(const PlacementView& view)
      : Untrained(view),
        features(group_features(view, PlacementGraph(view))),
        placer({parameters, random}, features, view.devices(), {}) {}
  const PlacementNetwork& network() const override { return placer; }
  GroupFeatures features;
  Seq2SeqPlacer placer;
};

struct UntrainedHierarchy final : Untrained {
  explicit UntrainedHierarchy(const PlacementView& view)
      : Untrained(view),
        features(group_features(view, PlacementGraph(view))),
        placer({parameters, random}, features, view.devices(), {}) {}
  const PlacementNetwork& network() const override { return placer; }
  GroupFeatures features;
  HierarchicalPlacer placer;
};

struct UntrainedGraph final : Untrained {
  explicit UntrainedGraph(const PlacementView& view) : Untrained(view), layers({parameters, random}), placer(layers, view) {}
  const PlacementNetwork& network() const override { return placer; }
  GraphLayers layers;
  GraphPlacer placer;
};

std::unique_ptr<Untrained> untrained(RlNetwork kind, const PlacementView& view) {
  if (kind == RlNetwork::graph) return std::make_unique<UntrainedGraph>(view);
  if (kind == RlNetwork::hierarchy) return std::make_unique<UntrainedHierarchy>(view);
  return std::make_unique<UntrainedSequence>(view);
}

}  // namespace

DeviceOfGroup Rl::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  const auto kept = static_cast<std::int64_t>(options_.refine_share * static_cast<double>(evaluator.left()));
  const auto made = untrained(options_.network, view);
  Reinforce learner(view, made->network(), made->parameters, options_.learning);
  if (kept > 0) {
    score_single_devices(view, evaluator);
    if (evaluator.left() > 0) Heft().place(view, evaluator);
    const StepScore score = evaluator.best_score();
    learner.offer(std::span(&evaluator.best(), 1), std::span(&score, 1));
  }
  Adam adam;
  const auto budget = static_cast<double>(evaluator.left() - kept);
  while (evaluator.left() > kept) {
    const std::int64_t left = evaluator.left() - kept;
    learner.update(evaluator, adam, static_cast<std::size_t>(std::min<std::int64_t>(options_.learning.samples, left)),
                   static_cast<double>(left) / budget);
  }
  if (evaluator.left() > 0) {
    const DeviceOfGroup start = evaluator.best();
    anneal(view, evaluator, start, evaluator.best_score(), {.hottest = 0.02, .coldest = 0.0001});
  }
  return evaluator.best();
}

RlTransfer::RlTransfer(const ReinforceOptions& options, const NetworkState* weights)
    : options_(options), random_(0), layers_({parameters_, random_}) {
  if (weights != nullptr) load(*weights, parameters_);
}

DeviceOfGroup RlTransfer::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  const GraphPlacer placer(layers_, view);
  Reinforce learner(view, placer, parameters_, options_);
  Tape tape(static_cast<const ParameterSet&>(parameters_));
  const PlacementSamples first = placer.sample(tape, {.drawn = {}, .likeliest = true});
  learner.offer(first.placements, evaluator.score(first.placements));
  Adam adam;
  const auto budget = static_cast<double>(evaluator.left());
  while (evaluator.left() > 0)
    learner.update(evaluator, adam, static_cast<std::size_t>(std::min<std::int64_t>(options_.samples, evaluator.left())),
                   static_cast<double>(evaluator.left()) / budget);
  return evaluator.best();
}

}  // namespace rehearse::policies
