// The decision `place`, made by a process.
#pragma once

#include <map>
#include <tuple>

#include "policies/registry/place_planned.hpp"
#include "experiments/process/graph_messages.hpp"
#include "experiments/process/policy_process.hpp"

namespace rehearse::scenarios {

/// Asked once for each (model, pool, GPUs of a node, samples, power limit); the answer is kept. Not asked where there is nothing
/// to place: that is data-parallel.
class ProcessPlace final : public sim::Place {
 public:
  ProcessPlace(const ProcessSettings& settings, const policies::OutsideInputs& inputs)
      : belief_(*inputs.belief), process_(settings, "place", inputs) {}
  sim::StepPlan place(const sim::PlaceView& view) override;

 private:
  sim::StepPlan asked(const sim::PlaceView& view, const sim::Group& group, double batch);

  const workloads::Belief& belief_;
  PolicyProcess process_;
  ToldGraphs graphs_;
  std::map<std::tuple<const sim::OpGraph*, int, int, double, double>, sim::StepPlan> known_;
};

}  // namespace rehearse::scenarios
