// Planners of threads for one training step on a CPU: how many each operation gets, and what runs beside what.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "policies/threads/estimators.hpp"
#include "policies/threads/recommended.hpp"
#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

class ThreadPlanner {
 public:
  virtual ~ThreadPlanner() = default;
  /// What it profiles on the bench is counted there.
  virtual sim::CpuPlan plan(StepBench& bench) const = 0;
};

/// Intra-op = physical cores, inter-op = sockets (TensorFlow performance guide).
class RecommendedPlanner final : public ThreadPlanner {
 public:
  sim::CpuPlan plan(StepBench& bench) const override;
};

/// Intra-op = inter-op = logical cores.
class DefaultPlanner final : public ThreadPlanner {
 public:
  sim::CpuPlan plan(StepBench& bench) const override;
};

/// The quickest of all uniform settings, a profiling step each: inter-op 1 to 8, intra-op 1 to the cores, and whole multiples.
class ManualBestPlanner final : public ThreadPlanner {
 public:
  sim::CpuPlan plan(StepBench& bench) const override;
};

/// Which of the four strategies (Liu et al., IPDPS 2019, section IV).
struct ThreadStrategies {
  bool own_counts = false;     ///< S1: the quickest number of threads for each operation
  bool type_counts = false;    ///< S2: one number for all operations of a type; goes before S1
  bool co_run = false;         ///< S3
  bool spare_threads = false;  ///< S4
};

/// "S1", "S2+S3+S4", ...; "recommended" for none.
std::string to_string(const ThreadStrategies& strategies);
/// All that can be combined: S1 or S2 or neither, with S3, S4, both or neither; without the empty one.
std::vector<ThreadStrategies> all_thread_strategies();

/// The plan that follows from believed times; threads without S1 and S2: all cores.
sim::CpuPlan strategy_plan(const sim::CpuMachine& machine, const sim::CpuGraph& graph, const workloads::OpClasses& classes,
                           std::shared_ptr<const sim::CpuBelief> belief, const ThreadStrategies& strategies);

class StrategyPlanner final : public ThreadPlanner {
 public:
  enum class Use {
    as_given,
    /// Of the recommended setting and all combinations of them the one with the quickest steps, three profiling steps each:
    /// what does not pay is left out.
    if_quicker,
    /// Likewise, and of uniform settings: one operation more side by side than recommended while that is quicker, on as many
    /// threads each as fill the hardware threads.
    or_uniform
  };
  StrategyPlanner(std::unique_ptr<CurveEstimator> estimator, const ThreadStrategies& strategies, Use use = Use::as_given)
      : estimator_(std::move(estimator)), strategies_(strategies), use_(use) {}
  sim::CpuPlan plan(StepBench& bench) const override;

 private:
  std::unique_ptr<CurveEstimator> estimator_;
  ThreadStrategies strategies_;
  Use use_;
};

/// A bound in practice: with exact times, list schedules by critical path over a family of thread counts (Radulescu and van
/// Gemund, ICPP 2001, allocate by marginal gain), the strategies' plans, and uniform settings that fill the hardware threads; the
/// quickest of all.
sim::CpuPlan list_schedule(const workloads::CpuStepModel& model);

/// No schedule is shorter: the longest path with every operation at its quickest, and all core-seconds over all cores.
double thread_lower_bound_s(const workloads::CpuStepModel& model);

/// True times, alone.
std::shared_ptr<const sim::CpuBelief> exact_belief(const workloads::CpuStepModel& model);

// The decision `threads` of a replay, by a planner that profiles steps: a plan for each (model, CPU, samples of a worker).

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
