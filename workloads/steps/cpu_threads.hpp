// What an operation takes on a CPU against its number of threads: work, granularity, serial part, per-thread overhead, partial
// results, memory (docs/explain/step.md, "Threads").
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/step/cpu_machine.hpp"
#include "sim/step/cpu_step.hpp"
#include "workloads/steps/op_time.hpp"

namespace rehearse::workloads {

/// Multiplies parts of the equation, for studies of their weight.
struct ThreadFactors {
  double per_thread = 1;       ///< c, the dispatch of each thread
  double partial_results = 1;  ///< R
};

/// Alone on k threads with a core each. k from 1 on; the device's figures must be positive (sim::check).
sim::CpuOpCost cpu_op_cost(const OpWork& work, const sim::Device& cpu, double batch, int threads,
                           const ThreadFactors& factors = {});

/// One step's operations in classes of equal work.
struct OpClasses {
  std::vector<OpWork> works;           ///< of each class
  std::vector<std::int32_t> class_of;  ///< of each operation
  /// Of each class: operations of one type differ in size alone (forward convolutions, their data gradients, ...).
  std::vector<std::int32_t> type_of;
  int types = 0;
  std::vector<std::int32_t> first_op;  ///< of each class: one of its operations
};
OpClasses classes_of(const sim::OpGraph& graph);

/// For 1 to `cpu`'s logical cores.
class CpuOpCosts final : public sim::CpuCosts {
 public:
  CpuOpCosts(std::span<const OpWork> works, const sim::Device& cpu, double batch, const ThreadFactors& factors = {});
  int classes() const override { return classes_; }
  const sim::CpuOpCost& cost(int op_class, int threads) const override {
    return costs_[static_cast<std::size_t>(op_class) * most_ + static_cast<std::size_t>(threads) - 1];
  }

 private:
  int classes_;
  std::size_t most_;
  std::vector<sim::CpuOpCost> costs_;
};

/// One step of a graph on a CPU: all that its timing needs.
struct CpuStepModel {
  sim::CpuMachine machine;
  OpClasses classes;
  sim::CpuGraph graph;
  std::unique_ptr<const CpuOpCosts> costs;
  std::string name = {};  ///< the graph's

  /// Of a class alone, threads beyond the cores sharing them.
  double alone_s(int op_class, int threads) const;
};

/// What is multiplied to see how much depends on it.
struct Sensitivity {
  ThreadFactors factors;
  double rethreading = 1;
  double smt_gain = 1;  ///< of what further threads add to a core
};
CpuStepModel cpu_step_model(const sim::OpGraph& graph, const sim::Device& cpu, double batch, const Sensitivity& sensitivity = {});

/// `inter_op` operations side by side, of `intra_op` threads each.
struct UniformSetting {
  int intra_op = 1, inter_op = 1;
};
sim::CpuPlan uniform_plan(const sim::CpuGraph& graph, const UniformSetting& setting);

/// With intra-op = physical cores, inter-op = sockets.
double recommended_step_s(const CpuStepModel& model);

// What a CPU's hardware counters read while an operation runs: simulated, from the same equation as its time, with noise.

struct CpuCounters {
  double time_s = 0;
  double cycles = 0;  ///< of all its cores
  double instructions = 0;
  double l1_hits = 0;
  double llc_accesses = 0, llc_misses = 0;  ///< cache lines
};

/// An operation alone that took `alone_s`. Noise-free.
CpuCounters cpu_counters(const OpWork& work, const sim::Device& cpu, double batch, int threads, double alone_s);

/// Standard deviations of the logarithms of readings.
struct CounterNoise {
  double fixed = 0;        ///< of the time, and of cycles and instructions, which have counters of their own
  double multiplexed = 0;  ///< of the others: three events take turns on a KNL's two programmable counters
};

/// Each reading times the exponential of its noise, all independent.
CpuCounters noisy(CpuCounters counters, const CounterNoise& noise, sim::Random& random);

}  // namespace rehearse::workloads
