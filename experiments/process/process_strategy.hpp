// A strategy that is a process, as a scenario names it: {"process": [PROGRAM, ARGUMENT, ...], "timeout_s": 60}.
#pragma once

#include <memory>

#include "experiments/process/policy_process.hpp"
#include "policies/registry/bundle.hpp"
#include "scenarios/read/loader_parts.hpp"

namespace rehearse::scenarios {

class ProcessStrategy final : public policies::OutsideStrategy {
 public:
  explicit ProcessStrategy(ProcessSettings settings) : settings_(std::move(settings)) {}
  std::unique_ptr<policies::Configure> configure(const policies::OutsideInputs& inputs) const override;
  std::unique_ptr<sim::Place> place(const policies::OutsideInputs& inputs) const override;
  std::unique_ptr<sim::Threads> threads(const policies::OutsideInputs& inputs) const override;
  std::unique_ptr<sim::Queue> queue(const policies::OutsideInputs& inputs) const override;

 private:
  ProcessSettings settings_;
};

/// Of a strategy that is a process. It works in the scenario's folder (one that --set gave, in the working folder); fingerprints
/// of its words that are files, there or by absolute paths, go into the scenario.
policies::StrategyChoice read_process(sim::JsonValue strategy, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
