// What a CPU's hardware counters read while an operation runs: simulated, from the same equation as its time, with noise.
#pragma once

#include <array>
#include <string_view>

#include "sim/base/random.hpp"
#include "sim/step/cpu_machine.hpp"
#include "workloads/steps/op_time.hpp"

namespace rehearse::workloads {

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
