#include <catch2/catch.hpp>
#include <cmath>

#include "workloads/steps/cpu_threads.hpp"

using namespace rehearse;
using workloads::CpuCounters;
using workloads::OpWork;

namespace {

/// 10 cores of 64 GFLOP/s, that are 1 GHz at 64 FLOPs a cycle; two cores share 16 kB.
sim::Device gigahertz_cpu() {
  sim::Device d{.name = "gigahertz",
                .kind = sim::DeviceKind::cpu,
                .peak_fp32_flops = 640e9,
                .memory_bandwidth_bytes_per_s = 100e9,
                .cores = 10,
                .threads_per_core = 2};
  d.threading.cores_per_tile = 2;
  d.threading.tile_cache_bytes = 16e3;
  return d;
}

/// 3.2 MFLOP on 64 kB.
OpWork product() {
  return {.kind = sim::OpKind::gemm,
          .flops = {3.2e6, 0},
          .bytes = {64e3, 0},
          .matrix = {.m = {100, 0}, .n = {160, 0}, .k = {100, 0}}};
}

}  // namespace

TEST_CASE("the counters of a product by hand", "[cpu_counters]") {
  const CpuCounters c = workloads::cpu_counters(product(), gigahertz_cpu(), 1, 4, 1e-4);
  CHECK(c.time_s == 1e-4);
  CHECK(c.cycles == Approx(4e5));  // 100 us x 1 GHz x 4 cores
  // 32 FLOPs an instruction: 1e5, as many loads, and a quarter more of both.
  CHECK(c.instructions == Approx(2.5e5));
  CHECK(c.llc_accesses == Approx(1200));      // 1000 lines x (1 + 0.1 log2 4)
  CHECK(c.llc_misses == Approx(2000.0 / 3));  // 1000 lines x 64 kB / (64 kB + 32 kB of two tiles)
  CHECK(c.l1_hits == Approx(1e5 - 1200));     // loads that go no further
}

TEST_CASE("the counters of a stream by hand; cycles are those of cores, not of threads", "[cpu_counters]") {
  const OpWork stream{.flops = {3200, 0}, .bytes = {64e3, 0}};
  const CpuCounters c = workloads::cpu_counters(stream, gigahertz_cpu(), 1, 1, 1e-5);
  CHECK(c.instructions == Approx(1.25 * (3200 / 32 + 64e3 / 64)));
  CHECK(c.llc_accesses == Approx(1000));
  CHECK(c.llc_misses == Approx(1000 * 64.0 / (64 + 16)));
  CHECK(c.l1_hits == 1);  // each load is a new line
  CHECK(workloads::cpu_counters(stream, gigahertz_cpu(), 1, 20, 1e-5).cycles == Approx(10 * 1e-5 * 1e9));
}

TEST_CASE("what grows with the batch grows in the counters", "[cpu_counters]") {
  const OpWork stream{.flops = {0, 3200}, .bytes = {0, 64e3}};
  const CpuCounters one = workloads::cpu_counters(stream, gigahertz_cpu(), 1, 1, 1e-5),
                    eight = workloads::cpu_counters(stream, gigahertz_cpu(), 8, 1, 8e-5);
  CHECK(eight.instructions == Approx(8 * one.instructions));
  CHECK(eight.llc_accesses == Approx(8 * one.llc_accesses));
  // More of it lies outside the cache: 512 of 528 kB instead of 64 of 80.
  CHECK(eight.llc_misses / eight.llc_accesses == Approx(512.0 / 528));
}

TEST_CASE("noise: none without deviation, else of each reading its own", "[cpu_counters]") {
  const CpuCounters exact = workloads::cpu_counters(product(), gigahertz_cpu(), 1, 4, 1e-4);
  sim::Random random(7);
  CHECK(workloads::noisy(exact, {}, random).llc_misses == exact.llc_misses);
  double sum = 0, squares = 0, misses_squares = 0, together = 0;
  constexpr int kReadings = 4000;
  for (int i = 0; i < kReadings; ++i) {
    const CpuCounters read = workloads::noisy(exact, {.fixed = 0.05, .multiplexed = 0.2}, random);
    const double time = std::log(read.time_s / exact.time_s), misses = std::log(read.llc_misses / exact.llc_misses);
    sum += time;
    squares += time * time;
    misses_squares += misses * misses;
    together += time * misses;
  }
  // Four standard deviations of a mean of 4000, of a sample deviation, and of a correlation.
  CHECK(std::abs(sum / kReadings) < 4 * 0.05 / std::sqrt(kReadings));
  CHECK(std::sqrt(squares / kReadings) == Approx(0.05).epsilon(4 / std::sqrt(2.0 * kReadings)));
  CHECK(std::sqrt(misses_squares / kReadings) == Approx(0.2).epsilon(4 / std::sqrt(2.0 * kReadings)));
  CHECK(std::abs(together) / std::sqrt(squares * misses_squares) < 4 / std::sqrt(kReadings));
}
