#include "workloads/calibration/thread_calibration.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/errors.hpp"
#include "tests/workloads/devices.hpp"

using namespace rehearse;
using namespace rehearse::workloads;

namespace {

Measurement product(int side, int threads, double step_s) {
  Measurement m;
  m.kernel = GemmKernel{.m = side, .n = side, .k = side};
  m.threads = threads;
  m.step_s = step_s;
  return m;
}

/// What this CPU would have measured, each kernel at a level of its own.
std::vector<Measurement> curves_of(const sim::Device& cpu) {
  std::vector<Measurement> rows;
  int kernel = 0;
  for (const int side : {16, 48, 96, 256, 512, 1024, 2048}) {
    const double level = std::exp(0.3 * std::sin(++kernel));
    for (const int threads : {1, 2, 4, 16, 68}) {
      Measurement m = product(side, threads, 1);
      m.step_s = level * threaded_kernel_s(m, cpu);
      rows.push_back(m);
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("curves are kernels with several numbers of threads, fewest first", "[thread_calibration]") {
  Measurement model;
  model.model = "resnet50";
  model.threads = 1;
  const std::vector<Measurement> rows{product(8, 4, 1), product(16, 1, 1), product(8, 1, 1), model, product(8, 0, 1)};
  const std::vector<ThreadCurve> curves = thread_curves(rows);
  REQUIRE(curves.size() == 1);
  CHECK(curves.front() == ThreadCurve{2, 0});
  CHECK_FALSE(calibrate_threads(std::vector{product(8, 4, 1), product(16, 1, 1)}, tests::knl()).has_value());
  CHECK_THROWS_AS(threaded_kernel_s(model, tests::knl()), sim::CheckFailed);
}

TEST_CASE("errors of curves by hand", "[thread_calibration]") {
  // Predicted 4 s on one thread and 2 s on two, where 2 s and 2 s were measured: times 100 % and 0 too long; twice as fast
  // instead of as fast.
  const std::vector<Measurement> rows{product(8, 1, 2), product(8, 2, 2)};
  const auto errors =
      thread_curve_errors(rows, thread_curves(rows), [](const Measurement& m) { return m.threads == 1 ? 4.0 : 2.0; });
  CHECK(errors.times.rows == 2);
  CHECK(errors.times.bias == Approx(std::sqrt(2.0) - 1));
  CHECK(errors.speedups.rows == 1);
  CHECK(errors.speedups.median == Approx(1));
}

TEST_CASE("the fit finds the shares that the curves were made with, whatever each kernel's level", "[thread_calibration]") {
  sim::Device real = tests::knl();
  real.threading.dispatch_share = 0.2;
  real.threading.serial_share = 0.004;
  const std::vector<Measurement> rows = curves_of(real);
  const auto fitted = calibrate_threads(rows, tests::knl());
  REQUIRE(fitted.has_value());
  CHECK(fitted->threading.dispatch_share == Approx(0.2).epsilon(0.05));
  CHECK(fitted->threading.serial_share == Approx(0.004).epsilon(0.05));
  for (const FittedParameter& p : fitted->parameters) CHECK(p.determined);
}

TEST_CASE("what the curves say nothing about keeps its value", "[thread_calibration]") {
  // Without any launch time there is no share of it to find.
  sim::Device cpu = tests::knl();
  cpu.efficiency.launch_s = 1e-15;
  const auto fitted = calibrate_threads(curves_of(cpu), cpu);
  REQUIRE(fitted.has_value());
  CHECK_FALSE(fitted->parameters[0].determined);
  CHECK(fitted->threading.dispatch_share == cpu.threading.dispatch_share);
}
