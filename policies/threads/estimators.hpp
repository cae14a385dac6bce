// What a planner of threads may see: profiling steps of the job on its CPU, with noisy times, each counted and charged.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/step/cpu_step.hpp"
#include "workloads/steps/cpu_threads.hpp"

namespace rehearse::policies {

struct BenchNoise {
  double deviation = 0;          ///< of the logarithm of one operation's time, and of a counter of its own
  double counter_deviation = 0;  ///< likewise of one reading of a counter that takes turns with others
  std::uint64_t key = 0;         ///< of the stream (sim::stream_key)
};

class StepBench {
 public:
  StepBench(const workloads::CpuStepModel& model, const sim::Device& cpu, double batch, BenchNoise noise)
      : model_(model), cpu_(cpu), batch_(batch), noise_(noise), random_(noise.key) {}

  /// The network's.
  const std::string& name() const { return model_.name; }
  const sim::Device& cpu() const { return cpu_; }
  const sim::CpuMachine& machine() const { return model_.machine; }
  const sim::CpuGraph& graph() const { return model_.graph; }
  const workloads::OpClasses& classes() const { return model_.classes; }
  int class_count() const { return model_.costs->classes(); }

  /// One profiling step, operations one after the other, those of class i on threads[i] threads: measured seconds of each class,
  /// the mean of its operations. The change of teams between operations is charged, and no part of their times.
  std::vector<double> probe(const std::vector<int>& threads);
  /// Likewise with the hardware counters of each class.
  std::vector<workloads::CpuCounters> probe_counters(int threads);
  /// So many profiling steps with this plan: the mean of their measured seconds.
  double step_s(const sim::CpuPlan& plan, int steps = 1);

  /// What was profiled elsewhere, and is this job's to pay.
  void charge_share(double seconds) { profiled_s_ += seconds; }

  int steps() const { return steps_; }
  double profiled_s() const { return profiled_s_; }

 private:
  sim::CpuTiming charge(const sim::CpuPlan& plan, int steps);
  const workloads::CpuStepModel& model_;
  const sim::Device& cpu_;
  double batch_;
  BenchNoise noise_;
  sim::Random random_;
  int steps_ = 0;
  double profiled_s_ = 0;
};

/// Operations one after the other, class i on threads[i] threads.
sim::CpuPlan serial_plan(const sim::CpuGraph& graph, const std::vector<int>& threads_of_class);

// Time against threads of every class of operations, learned from profiling steps: hill climbing, exhaustive, regression.

/// What a step costs with any number of threads, as far as profiling tells.
class CurveEstimator {
 public:
  virtual ~CurveEstimator() = default;
  virtual sim::CpuBelief estimate(StepBench& bench) const = 0;
};

/// Halves the threads from all cores on while that is faster; then both neighbours of the best at half the distance, down to
/// `stride`. Between samples seconds are linear in 1/threads. All classes climb at once, one probe each a
/// profiling step, and end with a quarter of the steps that trying all numbers takes (or six, on small machines).
class HillClimbing final : public CurveEstimator {
 public:
  explicit HillClimbing(int stride) : stride_(stride) {}
  sim::CpuBelief estimate(StepBench& bench) const override;

 private:
  int stride_;
};

/// Every number of threads, one profiling step each.
class ExhaustiveProbes final : public CurveEstimator {
 public:
  sim::CpuBelief estimate(StepBench& bench) const override;
};

/// One sample of a class: threads and measured seconds.
struct ThreadSample {
  int threads = 0;
  double time_s = 0;
};

/// Seconds at 1, 2, ..., `cores` threads between samples (at least one).
std::vector<double> interpolated(std::vector<ThreadSample> samples, int cores);

}  // namespace rehearse::policies
