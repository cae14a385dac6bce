#include "policies/place/rl/rl_transfer.hpp"

#include <algorithm>

namespace rehearse::policies {

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
