#include "workloads/steps/cpu_counters.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/layers/layer_cost.hpp"

namespace rehearse::workloads {
namespace {

constexpr double kLineBytes = 64;
constexpr double kFlopsPerCycle = 64;        // of a core with two AVX-512 units, to take the clock from its peak
constexpr double kFlopsPerInstruction = 32;  // a fused multiply-add of 16 numbers
constexpr double kVectorBytes = 64;
constexpr double kOverhead = 0.25;  // of further instructions: addresses, loops

}  // namespace

CpuCounters cpu_counters(const OpWork& work, const sim::Device& cpu, double batch, int threads, double alone_s) {
  const double flops = work.flops.at(batch), bytes = work.bytes.at(batch);
  const double cores = std::min(threads, cpu.cores), clock_hz = cpu.peak_fp32_flops / cpu.cores / kFlopsPerCycle;
  CpuCounters read{.time_s = alone_s, .cycles = alone_s * clock_hz * cores};
  // A multiply-add of matrices loads one operand; a stream loads and stores what it reads and writes.
  const double arithmetic = flops / kFlopsPerInstruction;
  const double loads = work.matrix.m.at(batch) > 0 ? arithmetic : bytes / kVectorBytes;
  read.instructions = (arithmetic + loads) * (1 + kOverhead);
  // The last-level cache sees each thread's part of the data once, and what several threads read again.
  const double shared = 1 + 0.1 * std::log2(cores);
  read.llc_accesses = std::max(1.0, bytes / kLineBytes * shared);
  const double cache = cpu.threading.tile_cache_bytes * std::ceil(cores / cpu.threading.cores_per_tile);
  read.llc_misses = std::max(1.0, bytes / kLineBytes * bytes / (bytes + cache));
  read.l1_hits = std::max(1.0, loads - read.llc_accesses);
  return read;
}

CpuCounters noisy(CpuCounters counters, const CounterNoise& noise, sim::Random& random) {
  for (double* value : {&counters.time_s, &counters.cycles, &counters.instructions})
    *value *= random.log_normal_factor(noise.fixed);
  for (double* value : {&counters.l1_hits, &counters.llc_accesses, &counters.llc_misses})
    *value *= random.log_normal_factor(noise.multiplexed);
  return counters;
}

}  // namespace rehearse::workloads
