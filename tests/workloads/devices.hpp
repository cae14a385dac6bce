// Devices of the tests: data-sheet figures, and efficiencies shared by all GPUs from Pascal on: matrix products from DeepBench on
// P100 and V100 (median error 5 and 6 %), convolutions between DeepBench and tf_benchmarks, bandwidth as copies reach it. Kepler
// reaches a smaller part of its peak, which counts boost clocks and dual issue that its register files seldom feed.
#pragma once

#include "sim/cluster/cluster.hpp"

namespace rehearse::tests {

inline constexpr sim::Efficiency kGpuEfficiency{
    .conv = 0.75, .gemm = 0.78, .rnn = 0.76, .bandwidth = 0.8, .k_half = 18, .launch_s = 10e-6, .host_s_per_op = 10e-6};

struct GpuSheet {
  double fp32_flops, fp16_flops, memory_gib, bandwidth_bytes_per_s;
  int multiprocessors;
};

inline sim::Device gpu(const char* name, const GpuSheet& sheet) {
  constexpr double kGib = 1024.0 * 1024 * 1024;
  return {.name = name,
          .kind = sim::DeviceKind::gpu,
          .peak_fp32_flops = sheet.fp32_flops,
          .peak_fp16_flops = sheet.fp16_flops,
          .memory_bytes = sheet.memory_gib * kGib,
          .memory_bandwidth_bytes_per_s = sheet.bandwidth_bytes_per_s,
          .multiprocessors = sheet.multiprocessors,
          .efficiency = kGpuEfficiency};
}

/// One GK210 of the two on a K80 board, at its boost clock of 875 MHz; it has no half precision.
inline sim::Device k80() {
  sim::Device device = gpu("k80", {4.37e12, 4.37e12, 12, 240e9, 13});
  device.efficiency.conv = 0.35;
  device.efficiency.gemm = 0.6;
  device.efficiency.rnn = 0.25;
  return device;
}
inline sim::Device p100() { return gpu("p100", {10.6e12, 21.2e12, 16, 732e9, 56}); }
inline sim::Device v100() { return gpu("v100", {15.7e12, 125e12, 16, 900e9, 80}); }
/// Its 70 W let it sustain about half of its clock in arithmetic (Jia et al., "Dissecting the NVidia Turing T4 GPU", 2019).
inline sim::Device t4() {
  sim::Device device = gpu("t4", {8.1e12, 65e12, 16, 320e9, 40});
  device.efficiency.conv = 0.4;
  device.efficiency.gemm = 0.5;
  return device;
}
inline sim::Device a100() { return gpu("a100", {19.5e12, 312e12, 40, 1555e9, 108}); }
inline sim::Device h100() { return gpu("h100", {66.9e12, 989e12, 80, 3350e9, 132}); }

/// Xeon Phi 7250: 68 cores x 1.4 GHz x 64 FLOPs; DeepBench's matrix products sustain 4.33 TFLOP/s and 378 GB/s, and a call on all
/// cores takes 16.9 us besides.
inline sim::Device knl() {
  return {.name = "knl7250",
          .kind = sim::DeviceKind::cpu,
          .peak_fp32_flops = 6.09e12,
          .peak_fp16_flops = 6.09e12,
          .memory_bytes = 112e9,
          .memory_bandwidth_bytes_per_s = 450e9,
          .cores = 68,
          .threads_per_core = 4,
          .core_bandwidth_bytes_per_s = 12e9,
          .efficiency = {.conv = 0.71, .gemm = 0.711, .rnn = 0.71, .bandwidth = 0.84, .launch_s = 16.9e-6, .host_s_per_op = 0}};
}

}  // namespace rehearse::tests
