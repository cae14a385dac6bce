#include "workloads/power.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/workloads/devices.hpp"
#include "workloads/step_model.hpp"
#include "workloads/zoo.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;
namespace tests = rehearse::tests;

namespace {

constexpr sim::PowerLaw kLaw{.running_w = 60,
                             .clock_w = 40,
                             .arithmetic_w = 200,
                             .memory_w = 100,
                             .voltage_floor = 0.5,
                             .voltage_slope = 1,
                             .lowest_clock = 0.1};

sim::Device gpu() {
  sim::Device device = tests::v100();
  device.power = kLaw;
  return device;
}

/// Twice a second of arithmetic and once two seconds of memory traffic, each with half a second of launches.
const std::vector<TimedParts> kOperations{{{.arithmetic_s = 1, .fixed_s = 0.5}, 2}, {{.memory_s = 2, .fixed_s = 0.5}, 1}};

}  // namespace

TEST_CASE("a clock slows arithmetic alone, and the core's energy goes with the voltage squared", "[power]") {
  // Full clock: 2 x 1.5 + 2.5 = 5.5 s; 40 x 5.5 + 200 x 2 + 100 x 2 = 820 J.
  CHECK(run_at(kOperations, kLaw, 1).time_s == Approx(5.5));
  CHECK(run_at(kOperations, kLaw, 1).dynamic_energy_j == Approx(820));
  // At 0.8, voltage 0.8: arithmetic takes 1.25 s, 6 s in all; 0.64 x (40 x 0.8 x 6 + 200 x 2) + 200 = 578.88 J.
  CHECK(run_at(kOperations, kLaw, 0.8).time_s == Approx(6));
  CHECK(run_at(kOperations, kLaw, 0.8).dynamic_energy_j == Approx(578.88));
  // At 0.25 the voltage is at its floor: 4 s of arithmetic, 11.5 s in all; 0.25 x (40 x 0.25 x 11.5 + 400) + 200 = 328.75 J.
  CHECK(run_at(kOperations, kLaw, 0.25).time_s == Approx(11.5));
  CHECK(run_at(kOperations, kLaw, 0.25).dynamic_energy_j == Approx(328.75));
  sim::PowerLaw steep = kLaw;
  steep.voltage_slope = 2;  // V(0.9) = 1 - 2 x 0.1 = 0.8: 2/0.9 + 3.5 s, 0.64 x (40 x (2 + 0.9 x 3.5) + 400) + 200
  CHECK(run_at(kOperations, steep, 0.9).dynamic_energy_j == Approx(0.64 * (40 * 5.15 + 400) + 200));
}

TEST_CASE("the clock that keeps a limit", "[power]") {
  // Free: 60 + 820/5.5 = 209.1 W. At 0.8: 60 + 578.88/6 = 156.48 W.
  CHECK(clock_under_limit(kOperations, gpu(), {}) == 1);
  CHECK(clock_under_limit(kOperations, gpu(), {.power_limit_w = 209.2}) == 1);
  CHECK(clock_under_limit(kOperations, gpu(), {.power_limit_w = 156.48}) == Approx(0.8).epsilon(1e-8));
  CHECK(clock_under_limit(kOperations, gpu(), {.power_limit_w = 50}) == kLaw.lowest_clock);  // cannot be kept
  // Half as much again at any clock.
  CHECK(clock_under_limit(kOperations, gpu(), {.power_factor = 1.5, .power_limit_w = 60 + 1.5 * 96.48}) ==
        Approx(0.8).epsilon(1e-8));
}

TEST_CASE("a device that was not measured draws its busy power while it computes", "[power]") {
  sim::Device device = tests::v100();
  device.idle_w = 40;
  device.busy_w = 300;
  const ComputeTime time = StepModel(zoo_graph("resnet50", "imagenet")).compute_time(device, {.batch = 64});
  CHECK(mean_power_w(time.dynamic_energy_j, time.total_s(), device) == Approx(300));
  CHECK(mean_power_w(time.dynamic_energy_j, 2 * time.total_s(), device) == Approx(170));  // and idles half of the time
}

TEST_CASE("a lower limit never makes a step faster nor its power higher, and is kept where it can be", "[power]") {
  const StepModel resnet(zoo_graph("resnet50", "imagenet"));
  rc::prop("limits", [&] {
    sim::Device device = tests::v100();
    const auto watts = [](int low, int high) { return *rc::gen::inRange(low, high); };
    device.power = sim::PowerLaw{.running_w = static_cast<double>(watts(20, 100)),
                                 .clock_w = static_cast<double>(watts(1, 100)),
                                 .arithmetic_w = static_cast<double>(watts(0, 300)),
                                 .memory_w = static_cast<double>(watts(0, 300)),
                                 .voltage_floor = watts(40, 100) / 100.0,
                                 .voltage_slope = watts(50, 300) / 100.0,
                                 .lowest_clock = 0.2};
    const double batch = watts(1, 128);
    const double high = watts(60, 400), low = high - watts(1, 50);
    const ComputeTime free = resnet.compute_time(device, {.batch = batch});
    const ComputeTime a = resnet.compute_time(device, {.batch = batch, .power_limit_w = high});
    const ComputeTime b = resnet.compute_time(device, {.batch = batch, .power_limit_w = low});
    RC_ASSERT(a.total_s() >= free.total_s());
    RC_ASSERT(b.total_s() >= a.total_s());
    RC_ASSERT(b.clock <= a.clock);
    const double drawn = mean_power_w(b.dynamic_energy_j, b.total_s(), device);
    RC_ASSERT(drawn <= low * (1 + 1e-6) || b.clock <= 0.2 + 1e-6);
    RC_ASSERT(b.clock == 1 || b.clock <= 0.2 + 1e-6 || drawn >= low * (1 - 1e-4));
  });
}
