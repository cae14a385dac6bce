// The decision `threads`, made by a process.
#pragma once

#include <map>
#include <tuple>

#include "experiments/process/graph_messages.hpp"
#include "experiments/process/policy_process.hpp"

namespace rehearse::scenarios {

/// Asked once for each (model, CPU, samples of a worker); the answer is kept.
class ProcessThreads final : public sim::Threads {
 public:
  ProcessThreads(const ProcessSettings& settings, const policies::OutsideInputs& inputs)
      : process_(settings, "threads", inputs) {}
  sim::ThreadPlan plan(const sim::OpGraph& graph, const sim::Device& cpu, double batch) override;

 private:
  sim::ThreadPlan asked(const sim::OpGraph& graph, const sim::Device& cpu, double batch);

  PolicyProcess process_;
  ToldGraphs graphs_;
  std::map<std::tuple<const sim::OpGraph*, const sim::Device*, double>, sim::ThreadPlan> known_;
};

}  // namespace rehearse::scenarios
