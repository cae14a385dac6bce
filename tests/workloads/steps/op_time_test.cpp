#include "workloads/steps/op_time.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "tests/workloads/devices.hpp"

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
  return {.kind = sim::DeviceKind::cpu,
          .peak_fp32_flops = 1e12,
          .peak_fp16_flops = 1e12,
          .memory_bandwidth_bytes_per_s = 1e11,
          .cores = 10,
          .core_bandwidth_bytes_per_s = 2e10,
          .efficiency = {.gemm = 0.5, .bandwidth = 0.8, .launch_s = 2e-5}};
}

}  // namespace

TEST_CASE("tiles, waves and the inner dimension, by hand", "[op_time]") {
  // A tile of m x n is fed at r/(r + 8) x 72/64 with r = m n/(m + n): 0.75 for 32 x 32, 0.9 for 64 x 64, 18/19 for 128 x 64.
  // 640 x 640 on 10 processors: 50 tiles of 128 x 64 in 5 full waves (128 x 128 leaves 5 of 30 places empty); K = K_h = 128
  // halves it, too short to split.
  CHECK(tiling_efficiency({640, 640, 128}, 10, 128) == Approx(18.0 / 19 * 0.5));
  // 704 x 64: 44 tiles of 32 x 32 in 5 waves of 10, 0.88 x 0.75; 11 of 64 x 64 would leave 9 of 20 places empty.
  CHECK(tiling_efficiency({704, 64, 128}, 10, 0) == Approx(0.88 * 0.75));
  // 16 x 32: one tile of 32 x 32, half of it outside, 1 of 10 processors.
  CHECK(tiling_efficiency({16, 32, 128}, 10, 0) == Approx(0.5 * 0.1 * 0.75));
  // 64 x 64 with K = 25,600: 40 splits of 640 each fill four waves; 640 / (640 + 128).
  CHECK(tiling_efficiency({64, 64, 25'600}, 10, 128) == Approx(640.0 / 768 * 0.9));
  // Twelve such products side by side that may not split: 12 blocks of 64 x 64 leave 8 of 20 places empty, 0.6 x 0.9; 48 of
  // 32 x 32 leave 2 of 50, 0.96 x 0.75.
  CHECK(tiling_efficiency({64, 64, 25'600, 12, false}, 10, 0) == Approx(0.96 * 0.75));
}

TEST_CASE("a GPU operation, by hand", "[op_time]") {
  // 2 x 640 x 640 x 128 FLOPs at 1e12 x 0.5 x 9/19 (above); 1e6 bytes at 0.8e11; fourth-power mean, and the launch.
  const double arithmetic_s = 2.0 * 640 * 640 * 128 / (0.5e12 * 9 / 19), memory_s = 1e6 / 0.8e11;
  const double expected = std::pow(std::pow(arithmetic_s, 4) + std::pow(memory_s, 4), 0.25) + 1e-5;
  const OpWork work = product(640, 640, 128, 1e6);
  CHECK(op_duration_s(work, round_gpu(), {}) == Approx(expected).epsilon(1e-5));
  // Twice as slow a world; a clock slows the arithmetic alone; half precision has 4 times the peak, of which it reaches half as
  // much, and half the bytes.
  CHECK(op_duration_s(work, round_gpu(), {.time_factor = 2}) == Approx(2 * expected).epsilon(1e-5));
  CHECK(duration_s(op_parts(work, round_gpu(), {}), 0.5) ==
        Approx(std::pow(std::pow(2 * arithmetic_s, 4) + std::pow(memory_s, 4), 0.25) + 1e-5).epsilon(1e-5));
  CHECK(op_duration_s(work, round_gpu(), {.precision = sim::Precision::fp16}) ==
        Approx(std::pow(std::pow(arithmetic_s / 2, 4) + std::pow(memory_s / 2, 4), 0.25) + 1e-5).epsilon(1e-5));
  // No product: the memory term alone. 8e6 bytes at 0.8e11.
  CHECK(op_duration_s(streaming(8e6), round_gpu(), {}) == Approx(1e-4 + 1e-5).epsilon(1e-5));
  // A device whose half precision has but twice the peak: half of that is no faster than single precision.
  sim::Device packed = round_gpu();
  packed.peak_fp16_flops = 2e12;
  CHECK(op_duration_s(work, packed, {.precision = sim::Precision::fp16}) ==
        Approx(std::pow(std::pow(arithmetic_s, 4) + std::pow(memory_s / 2, 4), 0.25) + 1e-5).epsilon(1e-5));
}

TEST_CASE("TF32 and bfloat16, by hand", "[op_time]") {
  // As above, 2 x 640 x 640 x 128 FLOPs at 0.5e12 x 9/19 in single precision, and 8e6 bytes at 0.8e11. TF32 of 4e12 at `fp16` 0.5
  // is twice as quick, and moves the same bytes; bfloat16 has the peak of fp16, 8e12 x 0.5: four times, and half of the bytes.
  const double arithmetic_s = 2.0 * 640 * 640 * 128 / (0.5e12 * 9 / 19), memory_s = 8e6 / 0.8e11;
  const auto both = [](double a, double m) { return std::pow(std::pow(a, 4) + std::pow(m, 4), 0.25) + 1e-5; };
  const OpWork work = product(640, 640, 128, 8e6);
  sim::Device device = round_gpu();
  device.efficiency.fp16 = 0.5;
  device.peak_fp16_flops = 8 * device.peak_fp32_flops;
  const double single_s = both(arithmetic_s, memory_s);
  CHECK(op_duration_s(work, device, {.precision = sim::Precision::tf32}) == Approx(single_s).epsilon(1e-5));  // it has none
  device.peak_tf32_flops = 4 * device.peak_fp32_flops;
  CHECK(op_duration_s(work, device, {}) == Approx(single_s).epsilon(1e-5));
  CHECK(op_duration_s(work, device, {.precision = sim::Precision::tf32}) ==
        Approx(both(arithmetic_s / 2, memory_s)).epsilon(1e-5));
  CHECK(op_duration_s(work, device, {.precision = sim::Precision::bf16}) ==
        Approx(both(arithmetic_s / 4, memory_s / 2)).epsilon(1e-5));
  // PyTorch from 1.12 on: convolutions alone.
  CHECK(op_duration_s(work, device, {.precision = sim::Precision::tf32_convolutions}) == Approx(single_s).epsilon(1e-5));
  OpWork conv = work;
  conv.kind = sim::OpKind::conv;
  CHECK(op_duration_s(conv, device, {.precision = sim::Precision::tf32_convolutions}) ==
        op_duration_s(conv, device, {.precision = sim::Precision::tf32}));
}

TEST_CASE("the quickest form counts, by hand", "[op_time]") {
  // As above the product takes 2 x 640 x 640 x 128 FLOPs at 0.5e12 x 9/19. One that reaches 0.8 of its kind's speed takes longer.
  const double arithmetic_s = 2.0 * 640 * 640 * 128 / (0.5e12 * 9 / 19);
  OpWork work = product(640, 640, 128, 8);
  work.relative_efficiency = 0.8;
  CHECK(op_duration_s(work, round_gpu(), {}) == Approx(arithmetic_s / 0.8 + 1e-5).epsilon(1e-4));
  // Another form: 4 products of 320 x 320 x 32. 100 tiles of 64 x 64 fill ten waves, 0.9, against 36 of 128 x 128, 0.694 inside x
  // 0.9 used; K = 32 of K_h = 128 leaves a fifth. 5 x fewer FLOPs, and 4e6 bytes of transforms at 0.8e11.
  work.fast_forms = {{.matrix = {{320, 0}, {320, 0}, {32, 0}}, .products = 4, .transform_bytes = {4e6, 0}}};
  const double fast_s = 2.0 * 4 * 320 * 320 * 32 / (0.5e12 * 0.9 / 5) + 4e6 / 0.8e11;
  REQUIRE(fast_s < arithmetic_s / 0.8);
  CHECK(op_duration_s(work, round_gpu(), {}) == Approx(fast_s + 1e-5).epsilon(1e-4));
  CHECK_FALSE(work == product(640, 640, 128, 8));
  // A stack that has it for a quarter of its convolutions; one that has none.
  sim::Device device = round_gpu();
  device.efficiency.fast_forms = 0.25;
  CHECK(op_duration_s(work, device, {}) == Approx(0.75 * arithmetic_s / 0.8 + 0.25 * fast_s + 1e-5).epsilon(1e-4));
  device.efficiency.fast_forms = 0;
  CHECK(op_duration_s(work, device, {}) == Approx(arithmetic_s / 0.8 + 1e-5).epsilon(1e-4));
  // Transforms that take too long: the product itself.
  work.fast_forms[0].transform_bytes = {4e9, 0};
  CHECK(op_duration_s(work, round_gpu(), {}) == Approx(arithmetic_s / 0.8 + 1e-5).epsilon(1e-4));
}

TEST_CASE("a library starts the further repeats on its own", "[op_time]") {
  // 8e6 bytes at 0.8e11 (of all repeats), one launch of 1e-5, six repeats of 3e-6. A model's launch factor is of the first alone.
  OpWork work = streaming(8e6);
  work.repeats = 7;
  sim::Device device = round_gpu();
  device.efficiency.repeat_s = 3e-6;
  CHECK(op_duration_s(work, device, {}) == Approx(1e-4 + 1e-5 + 18e-6).epsilon(1e-5));
  CHECK(op_duration_s(work, device, {.launch_factor = 2}) == Approx(1e-4 + 2e-5 + 18e-6).epsilon(1e-5));
  // On a CPU each is dispatched to the threads again.
  CHECK(op_duration_s(work, round_cpu(), {}) == Approx(1e-4 + 7 * 2e-5).epsilon(1e-5));
}

TEST_CASE("a CPU operation, by hand", "[op_time]") {
  // 320 x 32 are ten tiles of 32 x 32. On 4 threads three rounds: 3/10 of 2 x 320 x 32 x 200 FLOPs at a core's 0.5e11; too short
  // to split. The operands are packed first: 8e5 bytes at 8e10. Launch: half of 2e-5, and 4/10 of the other half.
  const OpWork work = product(320, 32, 200, 8e5);
  const double one_core_s = 2.0 * 320 * 32 * 200 / 5e10;
  CHECK(op_duration_s(work, round_cpu(), {.threads = 4}) == Approx(one_core_s * 0.3 + 1e-5 + 1e-5 + 0.4e-5).epsilon(1e-4));
  CHECK(op_duration_s(work, round_cpu(), {}) == Approx(one_core_s * 0.1 + 1e-5 + 2e-5).epsilon(1e-4));
  // A convolution has its data in blocks: the longer of arithmetic, at 0.75, and memory.
  OpWork conv = work;
  conv.kind = sim::OpKind::conv;
  CHECK(op_duration_s(conv, round_cpu(), {}) == Approx(1e-5 + 2e-5).epsilon(1e-4));
  conv.bytes = {8, 0};
  CHECK(op_duration_s(conv, round_cpu(), {}) == Approx(one_core_s * 0.5 / 0.75 * 0.1 + 2e-5).epsilon(1e-4));
  // Bandwidth: two threads draw 4e10 of the 8e10.
  CHECK(op_duration_s(streaming(4e6), round_cpu(), {.threads = 2}) == Approx(1e-4 + 1e-5 + 0.2e-5).epsilon(1e-4));
  CHECK(op_duration_s(streaming(8e6), round_cpu(), {}) == Approx(1e-4 + 2e-5).epsilon(1e-4));
  // 32 x 24: rows of one and a half vectors of 16 cost as much as two; on one thread.
  CHECK(op_duration_s(product(32, 24, 1000, 8), round_cpu(), {.threads = 1}) ==
        Approx(2.0 * 32 * 32 * 1000 / 5e10 + 1e-5 + 0.1e-5).epsilon(1e-4));
}

TEST_CASE("a CPU cuts the inner dimension when it pays, by hand", "[op_time]") {
  // One tile of 32 x 32 with K = 2560 on ten threads: cut ten ways (256 each), a tenth of the time, and ten sums of 4096 bytes at
  // 8e10. Five ways would take a fifth and half of the sums.
  const double one_core_s = 2.0 * 32 * 32 * 2560 / 5e10;
  CHECK(op_duration_s(product(32, 32, 2560, 8), round_cpu(), {}) ==
        Approx(one_core_s / 10 + 10 * 4096 / 8e10 + 2e-5).epsilon(1e-4));
  // Sums as large as 128 x 320 with K = 512: 40 tiles fill four rounds, a cut would gain nothing.
  CHECK(op_duration_s(product(128, 320, 512, 8), round_cpu(), {}) ==
        Approx(2.0 * 128 * 320 * 512 / 5e10 / 10 + 2e-5).epsilon(1e-4));
  // 12 tiles need two rounds of ten, 1/6 of the work each. Cut three ways (the most that K = 768 allows) 36 pieces are four
  // rounds of 1/36: 0.111 of it, and three sums of 12 x 4096 bytes; two ways, 24 pieces, three rounds: 0.125.
  const double twelve_s = 12 * 2.0 * 32 * 32 * 768 / 5e10;
  CHECK(op_duration_s(product(384, 32, 768, 8), round_cpu(), {}) ==
        Approx(twelve_s / 9 + 3 * 12 * 4096 / 8e10 + 2e-5).epsilon(1e-4));
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
    const double efficiency = tiling_efficiency({m, n, k}, 56, 128);
    RC_ASSERT(efficiency > 0);
    RC_ASSERT(efficiency <= 1);
  });
}

TEST_CASE("remembered tilings change no bit of a step's time", "[op_time]") {
  Tilings tilings;
  rc::prop("equal", [&] {
    const OpWork work = product(*rc::gen::inRange(1, 300), *rc::gen::inRange(1, 5), *rc::gen::inRange(1, 3000), 8);
    sim::Device device = round_gpu();
    for (const double k_half : {0.0, 18.0, 128.0, 4096.0})
      for (const int multiprocessors : {13, 80}) {
        device.efficiency.k_half = k_half;
        device.multiprocessors = multiprocessors;
        RC_ASSERT(op_duration_s(work, device, {}, &tilings) == op_duration_s(work, device, {}));
      }
  });
  // The inner dimension may be cut or not: two products.
  Product whole{64, 64, 25'600};
  const double cut = tilings.efficiency(whole, 10, 128);
  whole.splits = false;
  CHECK(tilings.efficiency(whole, 10, 128) < cut);
}
