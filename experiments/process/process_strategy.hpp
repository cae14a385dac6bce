// Strategies that are a process, and what is asked of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "experiments/process/messages.hpp"
#include "experiments/process/policy_process.hpp"
#include "policies/configure/configure.hpp"
#include "policies/registry/bundle.hpp"
#include "policies/registry/place_planned.hpp"
#include "scenarios/read/loader_parts.hpp"

namespace rehearse::scenarios {

// The decisions of a policy, each made by a process.

// The decision `configure`, made by a process.

class ProcessConfigure final : public policies::Configure {
 public:
  ProcessConfigure(const ProcessSettings& settings, const policies::OutsideInputs& inputs)
      : process_(settings, "configure", inputs) {}
  sim::Menu configure(const policies::ConfigureView& view, const workloads::Belief& belief) override;
  /// The process is told of the last stage alone.
  sim::Menu configure_again(const policies::ConfigureView& view, std::span<const sim::StageSeen> seen,
                            const workloads::Belief& belief) override;

 private:
  sim::Menu ask(const policies::ConfigureView& view, const sim::StageSeen* seen);

  PolicyProcess process_;
};

// The decision `place`, made by a process.

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

// The decision `queue`, made by a process that is told what has changed since it was last asked.

class ProcessQueue final : public sim::Queue {
 public:
  ProcessQueue(const ProcessSettings& settings, const policies::OutsideInputs& inputs) : process_(settings, "queue", inputs) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  /// What the process has been told of a slot's job.
  struct Told {
    bool job = false;
    const sim::Choice* menu = nullptr;  ///< where it lies: a new menu lies elsewhere
    std::uint64_t in_request = 0;
  };
  void write_news(const sim::QueueView& view, JsonLine& out);
  void write_job_news(const sim::QueueJob& queued, Told& told, const sim::Cluster& cluster, JsonLine& out);
  void read_answer(const sim::QueueView& view, sim::ObjectReader& in, sim::QueueAnswer& answer, sim::Mistakes& mistakes);
  sim::JobSlot read_job(sim::JsonValue name, sim::Mistakes& mistakes) const;
  sim::Start read_start(sim::JsonValue value, const sim::QueueView& view, sim::Mistakes& mistakes) const;
  /// The event loop would take so many answers at one date for a bug of ours.
  void check_date(const sim::QueueView& view);

  PolicyProcess process_;
  std::vector<Told> told_;                                 // by slot
  std::unordered_map<std::string, sim::JobSlot> slot_of_;  // of jobs that the process knows
  std::uint64_t requests_ = 0;
  double last_s_ = -1;
  std::size_t at_this_date_ = 0;
};

// The decision `threads`, made by a process.

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

// A strategy that is a process, as a scenario names it: {"process": [PROGRAM, ARGUMENT, ...], "timeout_s": 60}.

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
