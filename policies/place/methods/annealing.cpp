// Simulated annealing (Kirkpatrick, Gelatt, Vecchi, Science 220, 1983) on the devices of groups, from the best placement on a
// single device.
#include <cmath>
#include <set>
#include <tuple>

#include "policies/place/methods/methods.hpp"
#include "policies/place/placement_graph.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

namespace {

/// Of a score, as one number: what does not fit counts as its missing share of all memory slower.
double cost_of(const StepScore& score, double all_memory) {
  return static_cast<double>(score.makespan) * (1 + 10 * static_cast<double>(score.missing_bytes) / all_memory);
}

class Moves {
 public:
  Moves(const PlacementView& view, std::uint64_t key) : graph_(view), devices_(view.machine().devices()), random_(key) {}

  /// One group or a run of groups in topological order gets the device of a neighbour or any other.
  DeviceOfGroup next_to(DeviceOfGroup at) {
    const auto groups = at.size();
    const std::size_t first = random_.below(groups);
    // Lengths 1, 2, 4, ... alike likely: contiguous parts move as one.
    const auto doublings = static_cast<std::uint64_t>(std::log2(static_cast<double>(groups))) + 1;
    const std::size_t length = random_.uniform() < 0.5 ? 1 : std::size_t{1} << random_.below(doublings);
    const std::int32_t device = device_for(at, graph_.order()[first]);
    for (std::size_t i = first; i < std::min(groups, first + length); ++i)
      at[static_cast<std::size_t>(graph_.order()[i])] = device;
    return at;
  }
  double uniform() { return random_.uniform(); }

 private:
  std::int32_t device_for(const DeviceOfGroup& at, std::int32_t group) {
    const std::int32_t now = at[static_cast<std::size_t>(group)];
    const auto arcs = graph_.arcs(group);
    if (!arcs.empty() && random_.uniform() < 0.5) {
      const std::int32_t other = at[static_cast<std::size_t>(arcs[random_.below(arcs.size())].group)];
      if (other != now) return other;
    }
    if (devices_ == 1) return now;
    const auto any = static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(devices_ - 1)));
    return any < now ? any : any + 1;
  }

  PlacementGraph graph_;
  int devices_;
  sim::Random random_;
};

}  // namespace

void score_single_devices(const PlacementView& view, PlacementEvaluator& evaluator) {
  std::set<std::tuple<int, std::int64_t>> met;
  for (int d = 0; d < view.machine().devices() && evaluator.left() > 0; ++d) {
    const sim::MachineDevice& device = view.machine().device(d);
    if (met.emplace(device.device_class, device.memory_bytes).second)
      evaluator.score(DeviceOfGroup(static_cast<std::size_t>(view.groups().count), d));
  }
}

void anneal(const PlacementView& view, PlacementEvaluator& evaluator, DeviceOfGroup at, StepScore score,
            AnnealingOptions options) {
  Moves moves(view, view.random_key());
  double all_memory = 0;
  for (int d = 0; d < view.machine().devices(); ++d) all_memory += static_cast<double>(view.machine().device(d).memory_bytes);
  const auto steps = static_cast<double>(evaluator.left());
  double cost = cost_of(score, all_memory);
  while (evaluator.left() > 0) {
    const double done = 1 - static_cast<double>(evaluator.left()) / steps;
    const double temperature = options.hottest * std::pow(options.coldest / options.hottest, done);
    DeviceOfGroup next = moves.next_to(at);
    const double next_cost = cost_of(evaluator.score(next), all_memory);
    if (next_cost > cost && moves.uniform() >= std::exp((1 - next_cost / cost) / temperature)) continue;
    at = std::move(next);
    cost = next_cost;
  }
}

DeviceOfGroup Annealing::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  score_single_devices(view, evaluator);
  const DeviceOfGroup start = evaluator.best();
  anneal(view, evaluator, start, evaluator.best_score(), options_);
  return evaluator.best();
}

}  // namespace rehearse::policies
