// Time against threads of every class of operations, learned from profiling steps: hill climbing, exhaustive, regression.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "policies/threads/step_bench.hpp"

namespace rehearse::policies {

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
