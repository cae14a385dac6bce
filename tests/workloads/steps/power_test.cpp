#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/workloads/devices.hpp"
#include "workloads/steps/op_time.hpp"
#include "workloads/steps/step_model.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;
namespace tests = rehearse::tests;

namespace {

constexpr sim::PowerLaw kLaw{.running_w = 60,
                             .clock_w = 40,
                             .launch_w = 20,
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

/// A second of arithmetic, three quarters of one at the peak, besides which half a second of traffic is hidden; half to launch
/// it.
constexpr OpParts kProduct{.arithmetic_s = 1, .memory_s = 0.5, .fixed_s = 0.5, .peak_s = 0.75};

}  // namespace

TEST_CASE("a clock slows arithmetic alone, and the core's energy goes with the voltage squared", "[power]") {
  // Full clock: 1.5 s; 40 x 1 + 20 x 0.5 + 200 x 0.75 + 100 x 0.5 = 250 J.
  CHECK(run_at(kProduct, kLaw, 1, {}).time_s == Approx(1.5));
  CHECK(run_at(kProduct, kLaw, 1, {}).dynamic_energy_j == Approx(250));
  // At 0.8, voltage 0.8: 1.25 s of arithmetic, 1.75 s in all; 0.64 x (0.8 x (40 x 1.25 + 20 x 0.5) + 150) + 50 = 176.72 J.
  CHECK(run_at(kProduct, kLaw, 0.8, {}).time_s == Approx(1.75));
  CHECK(run_at(kProduct, kLaw, 0.8, {}).dynamic_energy_j == Approx(176.72));
  // At 0.25 the voltage is at its floor: 4.5 s; 0.25 x (0.25 x (40 x 4 + 20 x 0.5) + 150) + 50 = 98.125 J.
  CHECK(run_at(kProduct, kLaw, 0.25, {}).time_s == Approx(4.5));
  CHECK(run_at(kProduct, kLaw, 0.25, {}).dynamic_energy_j == Approx(98.125));
  sim::PowerLaw steep = kLaw;
  steep.voltage_slope = 2;  // V(0.9) = 1 - 2 x 0.1 = 0.8: 1/0.9 s of arithmetic
  CHECK(run_at(kProduct, steep, 0.9, {}).dynamic_energy_j == Approx(0.64 * (40 + 0.9 * 10 + 150) + 50));
  // A world in which it takes twice as long does no more arithmetic: 40 x 2 + 20 x 1 + 150 + 50. A model's own factor is on all.
  CHECK(run_at(kProduct, kLaw, 1, {.time_factor = 2}).dynamic_energy_j == Approx(300));
  CHECK(run_at(kProduct, kLaw, 1, {.power_factor = 1.5}).dynamic_energy_j == Approx(375));
  // Waiting for a fifth of the time: the rest takes four fifths.
  const OpParts waiting =
      op_parts(work_of(zoo_graph("resnet50", "imagenet").ops.front()), gpu(), {.batch = 8, .wait_share = 0.2});
  const OpParts busy = op_parts(work_of(zoo_graph("resnet50", "imagenet").ops.front()), gpu(), {.batch = 8});
  CHECK(duration_s(waiting, 1) == Approx(duration_s(busy, 1)));
  CHECK(waiting.arithmetic_s == Approx(0.8 * busy.arithmetic_s));
  CHECK(waiting.fixed_s == Approx(0.8 * busy.fixed_s + 0.2 * duration_s(busy, 1)));
}

TEST_CASE("the clock that keeps a limit", "[power]") {
  // Without the launch, free: 60 + 240 W. At 0.8: 1.25 s and 0.64 x (0.8 x 40 x 1.25 + 150) + 50 = 171.6 J, 60 + 137.28 W.
  CHECK(clock_under_limit(kProduct, kLaw, {}) == 1);
  CHECK(clock_under_limit(kProduct, kLaw, {.power_limit_w = 300.1}) == 1);
  CHECK(clock_under_limit(kProduct, kLaw, {.power_limit_w = 197.28}) == Approx(0.8).epsilon(1e-8));
  CHECK(clock_under_limit(kProduct, kLaw, {.power_limit_w = 50}) == kLaw.lowest_clock);  // cannot be kept
  // Half as much again at any clock.
  CHECK(clock_under_limit(kProduct, kLaw, {.power_factor = 1.5, .power_limit_w = 60 + 1.5 * 137.28}) ==
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

TEST_CASE("a lower limit never makes a step faster, nor its power higher where it can be kept", "[power]") {
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
    const auto step_of = [&](double limit_w) { return resnet.compute_time(device, {.batch = batch, .power_limit_w = limit_w}); };
    const auto drawn_w = [&](const ComputeTime& step) { return mean_power_w(step.dynamic_energy_j, step.total_s(), device); };
    const ComputeTime free = step_of(0), a = step_of(high), b = step_of(low);
    RC_ASSERT(a.total_s() >= free.total_s());
    RC_ASSERT(b.total_s() >= a.total_s());
    // Nothing runs below the lowest clock: more than the limit is drawn there alone, and of two forms of a product that both draw
    // more the quicker one is taken. One form draws less and less, whether it keeps the limit or not.
    device.efficiency.fast_forms = 0;
    RC_ASSERT(drawn_w(step_of(low)) <= drawn_w(step_of(high)) * (1 + 1e-6));
    device.efficiency.fast_forms = 1;
    device.power->lowest_clock = 1e-3;
    if (device.power->running_w + device.power->memory_w < low - 10) {
      RC_ASSERT(drawn_w(step_of(low)) <= low * (1 + 1e-6));
      RC_ASSERT(drawn_w(step_of(low)) <= drawn_w(step_of(high)) * (1 + 1e-6));
    }
  });
}
