#include <catch2/catch.hpp>
#include <rapidcheck/catch.h>

#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "tests/workloads/devices.hpp"
#include "workloads/op_time.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;
namespace tests = rehearse::tests;

namespace {

/// A product of fixed shape; arithmetic 2 m n k.
OpWork product(double m, double n, double k, double bytes) {
  OpWork work;
  work.kind = sim::OpKind::gemm;
  work.matrix = {{m, 0}, {n, 0}, {k, 0}};
  work.flops = {2 * m * n * k, 0};
  work.bytes = {bytes, 0};
  return work;
}

OpWork streaming(double bytes) {
  OpWork work;
  work.bytes = {bytes, 0};
  return work;
}

sim::Device round_gpu() {
  sim::Device device = tests::gpu("round", {1e12, 4e12, 16, 1e11, 10});
  device.efficiency = {.conv = 0.8, .gemm = 0.5, .rnn = 0.25, .bandwidth = 0.8, .k_half = 128, .launch_s = 1e-5};
  return device;
}

sim::Device round_cpu() {
  return {.kind = sim::DeviceKind::cpu, .peak_fp32_flops = 1e12, .peak_fp16_flops = 1e12, .memory_bandwidth_bytes_per_s = 1e11,
          .cores = 10, .core_bandwidth_bytes_per_s = 2e10,
          .efficiency = {.gemm = 0.5, .bandwidth = 0.8, .launch_s = 2e-5}};
}

}  // namespace

TEST_CASE("tiles, waves and the inner dimension, by hand", "[op_time]") {
  // 640 x 640: 100 tiles of 64 x 64 on 10 processors, 10 full waves; K = 128 = K_h halves it (splits need K >= 256 each).
  CHECK(tiling_efficiency(640, 640, 128, 10, 128) == Approx(0.5));
  // 704 x 64: 11 tiles, two waves of 10, 11/20 busy. Tiles of 128: 6 x 1 tiles of 128 x 64 hang over (704/768) and keep 6 of 10.
  CHECK(tiling_efficiency(704, 64, 128, 10, 0) == Approx(0.55));
  // 32 x 64: one tile, half of it outside, 1 of 10 processors.
  CHECK(tiling_efficiency(32, 64, 128, 10, 0) == Approx(0.5 * 0.1));
  // One tile, K = 25,600: 4 x 10 splits of 640 each fill four waves; 640 / (640 + 128).
  CHECK(tiling_efficiency(64, 64, 25'600, 10, 128) == Approx(640.0 / 768));
}

TEST_CASE("a GPU operation, by hand", "[op_time]") {
  // 2 x 640 x 640 x 128 FLOPs at 1e12 x 0.5 x 0.5; 1e6 bytes at 0.8e11; fourth-power mean, and the launch.
  const double arithmetic_s = 2.0 * 640 * 640 * 128 / 2.5e11, memory_s = 1e6 / 0.8e11;
  const double expected = std::pow(std::pow(arithmetic_s, 4) + std::pow(memory_s, 4), 0.25) + 1e-5;
  const OpWork work = product(640, 640, 128, 1e6);
  CHECK(op_duration_s(work, round_gpu(), {}) == Approx(expected).epsilon(1e-5));
  // Twice as slow a world; a power limit slows the arithmetic alone; half precision has 4 times the peak and half the bytes.
  CHECK(op_duration_s(work, round_gpu(), {.time_factor = 2}) == Approx(2 * expected).epsilon(1e-5));
  CHECK(op_duration_s(work, round_gpu(), {.speed_factor = 0.5}) ==
        Approx(std::pow(std::pow(2 * arithmetic_s, 4) + std::pow(memory_s, 4), 0.25) + 1e-5).epsilon(1e-5));
  CHECK(op_duration_s(work, round_gpu(), {.precision = sim::Precision::fp16}) ==
        Approx(std::pow(std::pow(arithmetic_s / 4, 4) + std::pow(memory_s / 2, 4), 0.25) + 1e-5).epsilon(1e-5));
  // No product: the memory term alone. 8e6 bytes at 0.8e11.
  CHECK(op_duration_s(streaming(8e6), round_gpu(), {}) == Approx(1e-4 + 1e-5).epsilon(1e-5));
  OpWork saved = work;
  saved.arithmetic_saving = 2.25;
  CHECK(op_duration_s(saved, round_gpu(), {}) < op_duration_s(work, round_gpu(), {}));
}

TEST_CASE("repeats launch each on their own", "[op_time]") {
  OpWork work = streaming(8e6);
  work.repeats = 7;
  CHECK(op_duration_s(work, round_gpu(), {}) == Approx(1e-4 + 7e-5).epsilon(1e-5));
}

TEST_CASE("a CPU operation, by hand", "[op_time]") {
  // 320 x 32 are ten tiles of 32 x 32. On 4 threads three rounds: 3/10 of 2 x 320 x 32 x 1000 FLOPs at a core's 0.5e11. Bytes are few.
  // Launch: half of 2e-5, and 4/10 of the other half.
  const OpWork work = product(320, 32, 1000, 1e3);
  const double flops = 2.0 * 320 * 32 * 1000;
  CHECK(op_duration_s(work, round_cpu(), {.threads = 4}) == Approx(flops / 5e10 * 0.3 + 1e-5 + 0.4e-5).epsilon(1e-4));
  CHECK(op_duration_s(work, round_cpu(), {}) == Approx(flops / 5e10 * 0.1 + 2e-5).epsilon(1e-4));
  // Bandwidth: two threads draw 4e10 of the 8e10.
  CHECK(op_duration_s(streaming(4e6), round_cpu(), {.threads = 2}) == Approx(1e-4 + 1e-5 + 0.2e-5).epsilon(1e-4));
  CHECK(op_duration_s(streaming(8e6), round_cpu(), {}) == Approx(1e-4 + 2e-5).epsilon(1e-4));

  // A filter gradient with one tile and K = 2560 splits ten ways (256 each), and sums ten partial results of 4e5 bytes at 8e10.
  OpWork gradient = product(32, 32, 2560, 1e3);
  gradient.partial_bytes = 4e5;
  CHECK(op_duration_s(gradient, round_cpu(), {}) == Approx(2.0 * 32 * 32 * 2560 / 5e10 * 0.1 + 4e6 / 8e10 + 2e-5).epsilon(1e-4));
}

TEST_CASE("on DeepBench's anchors, all cores of a KNL", "[op_time]") {
  // A large product sustains 4.33 TFLOP/s, a long stream 378 GB/s, an empty operation takes 16.9 us.
  const OpWork large = product(4096, 4096, 4096, 3 * 4.0 * 4096 * 4096);
  CHECK(large.flops.fixed / op_duration_s(large, tests::knl(), {}) == Approx(4.33e12).epsilon(0.02));
  CHECK(40e9 / op_duration_s(streaming(40e9), tests::knl(), {}) == Approx(378e9).epsilon(0.001));
  CHECK(op_duration_s(streaming(1), tests::knl(), {}) == Approx(16.9e-6).epsilon(0.001));
}

TEST_CASE("a device that lacks a figure is our bug", "[op_time]") {
  sim::Device device = round_gpu();
  device.multiprocessors = 0;
  CHECK_THROWS_AS(op_duration_s(streaming(1), device, {}), sim::CheckFailed);
  CHECK_THROWS_AS(op_duration_s(streaming(1), round_gpu(), {.batch = 0}), sim::CheckFailed);
}

TEST_CASE("durations lie on the grid, and no device does better than its roofline", "[op_time]") {
  rc::prop("bounds", [] {
    const double m = *rc::gen::inRange(1, 5000), n = *rc::gen::inRange(1, 5000), k = *rc::gen::inRange(1, 50'000);
    const OpWork work = product(m, n, k, *rc::gen::inRange(1, 1'000'000'000));
    for (const sim::Device& device : {round_gpu(), round_cpu()}) {
      const double duration_s = op_duration_s(work, device, {});
      RC_ASSERT(sim::on_step_grid(duration_s) == duration_s);
      RC_ASSERT(duration_s >= work.flops.fixed / (device.peak_fp32_flops * device.efficiency.gemm));
      RC_ASSERT(duration_s >= work.bytes.fixed / (device.memory_bandwidth_bytes_per_s * device.efficiency.bandwidth));
    }
    const double efficiency = tiling_efficiency(m, n, k, 56, 128);
    RC_ASSERT(efficiency > 0);
    RC_ASSERT(efficiency <= 1);
  });
}
