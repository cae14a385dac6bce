// What a policy's searches for placements tried, as it answers.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>

#include "sim/replay/decisions.hpp"

namespace rehearse::scenarios {

/// Hands every question on. A strategy searches once for each (model, GPU, GPUs of a node, samples) and repeats itself then.
class CountedPlace final : public sim::Place {
 public:
  explicit CountedPlace(sim::Place& inner) : inner_(inner) {}
  sim::StepPlan place(const sim::PlaceView& view) override {
    sim::StepPlan plan = inner_.place(view);
    const sim::Group& group = view.configuration->groups[static_cast<std::size_t>(view.group)];
    const auto samples = static_cast<std::int64_t>(group.batch_per_worker) * view.workers_on_node;
    const bool is_new = searches_.emplace(view.graph, view.worker, view.workers_on_node, samples, group.pool).second;
    if (is_new) evaluations_ += static_cast<double>(plan.evaluations);
    return plan;
  }
  /// Steps of the searches whose plans jobs started with.
  double evaluations() const { return evaluations_; }

 private:
  sim::Place& inner_;
  std::set<std::tuple<const sim::OpGraph*, const sim::Device*, int, std::int64_t, sim::PoolId>> searches_;
  double evaluations_ = 0;
};

}  // namespace rehearse::scenarios
