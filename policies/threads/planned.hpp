// The decision `threads` of a replay, by a planner that profiles steps: a plan for each (model, CPU, samples of a worker).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "policies/threads/planner.hpp"
#include "policies/threads/recommended.hpp"
#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

/// Profiling measures what the CPU would do: the true times of operations, which differ from the believed ones by a factor that
/// all of a step share, with noise. A plan is made once and kept, and its profiling is charged at each start of a job.
class PlannedThreads final : public sim::Threads {
 public:
  PlannedThreads(std::unique_ptr<ThreadPlanner> planner, BenchNoise noise) : planner_(std::move(planner)), noise_(noise) {}
  /// Graphs and CPUs must outlive it.
  sim::ThreadPlan plan(const sim::OpGraph& graph, const sim::Device& cpu, double batch) override;

 private:
  sim::ThreadPlan made(const sim::OpGraph& graph, const sim::Device& cpu, double batch) const;

  std::unique_ptr<ThreadPlanner> planner_;
  BenchNoise noise_;
  std::map<std::tuple<const sim::OpGraph*, const sim::Device*, double>, sim::ThreadPlan> known_;
};

}  // namespace rehearse::policies
