#include "workloads/calibration/power_calibration.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/workloads/devices.hpp"
#include "workloads/calibration/energy.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;
namespace tests = rehearse::tests;

namespace {

constexpr sim::PowerLaw kTruth{.running_w = 55,
                               .clock_w = 60,
                               .launch_w = 60,
                               .arithmetic_w = 150,
                               .memory_w = 70,
                               .voltage_floor = 0.7,
                               .voltage_slope = 1.2,
                               .lowest_clock = 0.2};

/// Steps of three models over batch sizes and power limits.
std::vector<Measurement> made_up(const sim::Device& truth) {
  std::vector<Measurement> rows;
  for (const auto& [model, dataset] : {std::pair{"resnet50", "imagenet"}, {"deepspeech2", "librispeech-960h"}, {"bert", "squad"}})
    for (const double batch : {8, 16, 32, 64})
      for (const double limit : {100, 125, 150, 200, 250})
        rows.push_back({.model = model,
                        .dataset = dataset,
                        .device = "v100",
                        .batch_per_worker = batch,
                        .power_limit_w = limit,
                        .source = "test"});
  const MeasurementModel model(rows);
  for (Measurement& m : rows) {
    m.step_s = model.step_s(m, {.device = truth});
    m.power_w = model.power_w(m, {.device = truth});
  }
  return rows;
}

sim::Device start() {
  sim::Device device = tests::v100();
  device.idle_w = 40;
  device.busy_w = 300;
  return device;
}

}  // namespace

TEST_CASE("a power law that made the measurements is found again", "[energy]") {
  sim::Device truth = start();
  truth.power = kTruth;
  const std::vector<Measurement> rows = made_up(truth);
  const std::vector<Site> sites(rows.size(), {.device = start()});
  const MeasurementModel model(rows);
  const DeviceCalibration c = calibrate_device(rows, sites, model);
  REQUIRE(c.power);
  const Site fitted{.device = calibrated(start(), c)};
  std::vector<Compared> watts, seconds;
  for (const Measurement& m : rows) {
    watts.push_back({model.power_w(m, fitted), m.power_w});
    seconds.push_back({model.step_s(m, fitted), m.step_s});
  }
  CHECK(summarise(watts).p90 < 0.03);
  CHECK(summarise(seconds).p90 < 0.05);
  CHECK(c.power->law.running_w == Approx(55).epsilon(0.2));
  CHECK(c.power->law.voltage_floor == Approx(0.7).epsilon(0.1));
  for (const FittedParameter& p : c.power->parameters) CHECK(p.relative_sd <= p.prior_sd);
}

TEST_CASE("without power there is nothing to fit, and efficiency comes from the least limited rows", "[energy]") {
  sim::Device truth = start();
  truth.power = kTruth;
  std::vector<Measurement> rows = made_up(truth);
  const std::vector<std::size_t> free = least_limited(rows);
  CHECK(free.size() == 12);  // 3 models x 4 batch sizes
  for (const std::size_t i : free) CHECK(rows[i].power_limit_w == 250);
  rows[0].power_limit_w = 0;  // none at all is the highest
  const std::vector<std::size_t> with_unlimited = least_limited(rows);
  CHECK(std::find(with_unlimited.begin(), with_unlimited.end(), 0) != with_unlimited.end());
  CHECK(with_unlimited.size() == 12);

  for (Measurement& m : rows) {
    m.power_limit_w = 0;
    m.power_w = kNotMeasured;
  }
  const std::vector<Site> sites(rows.size(), {.device = start()});
  CHECK_FALSE(calibrate_device(rows, sites, MeasurementModel(rows)).power);
}

TEST_CASE("rank correlation, by hand and against the formula without ties", "[energy]") {
  const double a[] = {1, 2, 3, 4}, b[] = {10, 20, 40, 30};
  CHECK(rank_correlation(a, b) == Approx(1 - 6.0 * 2 / (4 * 15)));  // 1 - 6 sum d^2 / (n (n^2 - 1))
  // Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: covariance 4.5 of 4.5 and 5.
  const double tied[] = {1, 2, 2, 3};
  CHECK(rank_correlation(tied, a) == Approx(4.5 / std::sqrt(4.5 * 5)));
  CHECK(std::isnan(rank_correlation(std::vector<double>{1}, std::vector<double>{2})));
  CHECK(std::isnan(rank_correlation(std::vector<double>{1, 1}, std::vector<double>{1, 2})));
  rc::prop("only the order counts", [&] {
    const auto values = *rc::gen::container<std::vector<int>>(5, rc::gen::inRange(-50, 50));
    std::vector<double> x(values.begin(), values.end()), y, shuffled = x;
    for (const double one : x) y.push_back(std::exp(one / 10));
    std::reverse(shuffled.begin(), shuffled.end());
    const double direct = rank_correlation(x, shuffled);
    if (!std::isnan(direct)) RC_ASSERT(std::abs(rank_correlation(y, shuffled) - direct) < 1e-12);
    if (!std::isnan(direct)) RC_ASSERT(std::abs(rank_correlation(x, x) - 1) < 1e-12);
  });
}

TEST_CASE("the order of settings, by hand", "[energy]") {
  // Joules a sample, step_s x power_w / batch: 2, 3, 4; predicted 3, 2, 5: the two cheapest change places.
  std::vector<Measurement> rows;
  std::vector<Predicted> predicted;
  for (const auto& [measured_s, predicted_s] : {std::pair{0.2, 0.3}, {0.3, 0.2}, {0.4, 0.5}}) {
    rows.push_back({.model = "m", .dataset = "d", .device = "gpu", .batch_per_worker = 10, .step_s = measured_s, .power_w = 100});
    predicted.push_back({.model_s = predicted_s, .power_w = 100});
  }
  CHECK(sample_energy(rows[0], predicted[0]).measured_j == Approx(2));
  CHECK(sample_energy(rows[0], predicted[0]).predicted_j == Approx(3));
  const auto orders = setting_orders(rows, predicted);
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].best == 3);
  CHECK(orders[0].correlation == Approx(0.5));  // 1 - 6 x 2/24
  CHECK(orders[0].spread == Approx(1));         // 4 J over 2 J
  CHECK(orders[0].regret == Approx(0.5));       // the second is chosen
  predicted[0].power_w = kNotMeasured;
  CHECK(setting_orders(rows, predicted).empty());  // two settings have no order to speak of
}
