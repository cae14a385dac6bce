#include "workloads/steps/cpu_threads.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <map>

#include "sim/step/cpu_step.hpp"
#include "tests/workloads/devices.hpp"
#include "traces/measurements/measurement_list.hpp"
#include "workloads/calibration/measurement.hpp"

namespace {

using namespace rehearse;
using workloads::OpWork;

/// 10 cores of 100 GFLOP/s, 10 GB/s each, 80 GB/s for all; 20 us on all cores, 10 of them on any number.
sim::Device round_cpu() {
  sim::Device d{.name = "round",
                .kind = sim::DeviceKind::cpu,
                .peak_fp32_flops = 1e12,
                .memory_bandwidth_bytes_per_s = 100e9,
                .cores = 10,
                .threads_per_core = 2,
                .core_bandwidth_bytes_per_s = 10e9};
  d.efficiency = {.conv = 1, .gemm = 1, .rnn = 1, .bandwidth = 0.8, .launch_s = 2e-5};
  d.threading.serial_share = 0.001;
  return d;
}

OpWork conv(sim::MatrixShape shape, double batch = 1) {
  const double flops = 2 * shape.m.at(batch) * shape.n.at(batch) * shape.k.at(batch);
  return {.kind = sim::OpKind::conv, .flops = {flops, 0}, .bytes = {8e5, 0}, .matrix = shape};
}

double alone_s(const OpWork& work, const sim::Device& cpu, int k, double batch = 1) {
  return sim::cpu_alone_s(sim::cpu_machine_of(cpu), workloads::cpu_op_cost(work, cpu, batch, k), k);
}

}  // namespace

TEST_CASE("each part of the equation by hand", "[cpu_threads]") {
  // (320 x 256)(256 x 160): 26.2144 MFLOP, one core 262.144 us; 50 tiles of 32 x 32, K is too short to be split.
  const OpWork work = conv({.m = {320, 0}, .n = {160, 0}, .k = {256, 0}});
  // A thousandth of it is one thread's alone: 0.262 us of 262.144, 261.882 are shared.
  const double one_core_s = 2.0 * 320 * 256 * 160 / 1e11, shared_s = 0.999 * one_core_s;
  for (const int k : {1, 4, 10}) {
    const sim::CpuOpCost cost = workloads::cpu_op_cost(work, round_cpu(), 1, k);
    CHECK(cost.fixed_s == Approx(1e-5 + 1e-6 * k + 0.001 * one_core_s));  // t_0 + c k + s W/P_1
    CHECK(cost.arithmetic_s == Approx(shared_s * (1.0 / k + (1 - 1.0 / k) / 50)));
    CHECK(cost.bytes == 8e5);
    CHECK(cost.further_bytes == 0);
  }
  // Memory of four threads: 8e5 B at 40 GB/s are 20 us, less than the arithmetic's 69.4.
  CHECK(alone_s(work, round_cpu(), 4) == Approx(1.4e-5 + 0.001 * one_core_s + shared_s * (0.25 + 0.75 / 50)));
}

TEST_CASE("the serial part is taken from the work, not added to it (Amdahl)", "[cpu_threads]") {
  // A tenth serial, nothing to launch, 1000 x 1024 tiles: one thread takes all of W = 2 x 32768 x 32000 x 200 / 1e11 = 4.194304
  // s, ten take 0.1 W + 0.9 W / 10 = 0.19 W (pieces of unequal length add 8e-7 of it): 5.26 times as fast, Amdahl's bound.
  sim::Device cpu = round_cpu();
  cpu.threading.serial_share = 0.1;
  cpu.efficiency.launch_s = 0;
  const OpWork work = conv({.m = {32768, 0}, .n = {32000, 0}, .k = {200, 0}});
  CHECK(alone_s(work, cpu, 1) == Approx(4.194304));
  CHECK(alone_s(work, cpu, 10) == Approx(0.19 * 4.194304).epsilon(1e-5));
}

TEST_CASE("a filter gradient splits its inner dimension, and sums what each thread has", "[cpu_threads]") {
  // 64 x 96, inner dimension 32 a sample x 64 samples = 2048: 6 tiles x 8 parts of 256. Four threads: four sums of 24,576 B at
  // 80 GB/s; ten: eight of them, all there are.
  const OpWork work = conv({.m = {64, 0}, .n = {96, 0}, .k = {0, 32}}, 64);
  const double one_core_s = 2.0 * 64 * 96 * 2048 / 1e11, sum_bytes = 4 * 64 * 96;
  const sim::CpuOpCost four = workloads::cpu_op_cost(work, round_cpu(), 64, 4),
                       ten = workloads::cpu_op_cost(work, round_cpu(), 64, 10);
  CHECK(four.further_bytes == 4 * sum_bytes);
  CHECK(ten.further_bytes == 8 * sum_bytes);
  CHECK(four.fixed_s == Approx(1.4e-5 + 0.001 * one_core_s + 4 * sum_bytes / 80e9));
  CHECK(four.arithmetic_s == Approx(0.999 * one_core_s * (0.25 + 0.75 / 48)));
  // The study's factors scale c and R alone.
  const sim::CpuOpCost doubled = workloads::cpu_op_cost(work, round_cpu(), 64, 4, {.per_thread = 2, .partial_results = 0.5});
  CHECK(doubled.fixed_s == Approx(1.8e-5 + 0.001 * one_core_s + 2 * sum_bytes / 80e9));
}

TEST_CASE("streaming operations have a piece for each 16 KiB", "[cpu_threads]") {
  OpWork work{.flops = {1e6, 0}, .bytes = {163840, 0}};
  const sim::CpuOpCost cost = workloads::cpu_op_cost(work, round_cpu(), 1, 5);
  CHECK(cost.arithmetic_s == Approx(0.999e-5 * (0.2 + 0.8 / 10)));
}

TEST_CASE("small operations are quickest on some cores, large ones on all", "[cpu_threads]") {
  const sim::Device cpu = tests::knl();
  int before = 0;
  for (const double side : {16.0, 64.0, 160.0, 1024.0}) {
    const OpWork work = conv({.m = {side * side, 0}, .n = {64, 0}, .k = {64, 0}});
    int best = 1;
    for (int k = 2; k <= cpu.cores; ++k)
      if (alone_s(work, cpu, k) < alone_s(work, cpu, best)) best = k;
    CHECK(best >= before);
    before = best;
    if (side == 16) CHECK(best < cpu.cores / 2);
  }
  CHECK(before == cpu.cores);
}

TEST_CASE("time against threads falls, then rises", "[cpu_threads]") {
  rc::prop("unimodal", [] {
    const double m = *rc::gen::inRange(1, 3000), n = *rc::gen::inRange(1, 600), inner = *rc::gen::inRange(1, 255);
    const OpWork work = conv({.m = {m, 0}, .n = {n, 0}, .k = {inner, 0}});
    const sim::Device cpu = tests::knl();
    bool rises = false;
    for (int k = 2; k <= cpu.cores; ++k) {
      const double step = alone_s(work, cpu, k) - alone_s(work, cpu, k - 1);
      if (step > 1e-12) rises = true;
      RC_ASSERT(!rises || step > -1e-12);
    }
  });
}

TEST_CASE("a KNL's matrix products of shapes that were held out", "[cpu_threads]") {
  const char* data = std::getenv("REHEARSE_DATA");
  if (data == nullptr) {
    WARN("skipped: REHEARSE_DATA is not set");
    return;
  }
  // Arithmetic, bandwidth and launch of five-fold training shapes: the middle of what gives the least median error on a grid.
  struct Row {
    OpWork work;
    double measured_s;
    std::size_t shape;
  };
  std::vector<Row> rows;
  std::map<std::string, std::size_t> shapes;
  for (const workloads::Measurement& m :
       traces::read_deepbench(std::string(data) + "/deepbench/DeepBench_IA_KNL7250__Results_FP32.csv").rows) {
    const auto* gemm = m.kernel ? std::get_if<workloads::GemmKernel>(&*m.kernel) : nullptr;
    if (gemm == nullptr) continue;
    const std::string key = std::to_string(gemm->m) + "/" + std::to_string(gemm->n) + "/" + std::to_string(gemm->k);
    rows.push_back({workloads::kernel_work(*m.kernel).front(), m.step_s, shapes.emplace(key, shapes.size()).first->second});
  }
  REQUIRE(rows.size() > 100);
  const auto error_of = [](const Row& row, const sim::Device& cpu) {
    return std::abs(alone_s(row.work, cpu, cpu.cores) / row.measured_s - 1);
  };
  const auto quantile = [](std::vector<double> errors, double q) {
    std::sort(errors.begin(), errors.end());
    return errors[static_cast<std::size_t>(q * static_cast<double>(errors.size() - 1))];
  };
  std::vector<double> held_out;
  for (std::size_t fold = 0; fold < 5; ++fold) {
    sim::Device best = tests::knl();
    double least = 1e9;
    for (const double gemm : {0.68, 0.7, 0.72, 0.74, 0.76, 0.78})
      for (const double bandwidth : {0.8, 0.9, 1.0, 1.1, 1.2})
        for (const double launch_s : {1e-5, 1.2e-5, 1.4e-5, 1.6e-5, 1.8e-5}) {
          sim::Device cpu = tests::knl();
          cpu.efficiency.gemm = gemm;
          cpu.efficiency.bandwidth = bandwidth;
          cpu.efficiency.launch_s = launch_s;
          cpu.core_bandwidth_bytes_per_s = 4e10;  // not seen on all cores
          double sum = 0;
          for (const Row& row : rows)
            if (row.shape % 5 != fold) sum += std::log1p(std::pow(error_of(row, cpu) / 0.05, 2));
          if (sum < least) {
            least = sum;
            best = cpu;
          }
        }
    for (const Row& row : rows)
      if (row.shape % 5 == fold) held_out.push_back(error_of(row, best));
  }
  WARN("held out: median " << quantile(held_out, 0.5) << ", p90 " << quantile(held_out, 0.9));
  CHECK(quantile(held_out, 0.5) <= 0.08);
  CHECK(quantile(held_out, 0.9) <= 0.25);
}
