// What was measured nearby says how wrong a prediction is.
#include "policies/harness/nearby_errors.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/random.hpp"

using namespace rehearse;
using policies::NearbyErrors;
using policies::PredictionError;
using policies::StepSetting;

TEST_CASE("nearby errors: what all rows are off by is believed beside them, and not far away") {
  std::vector<StepSetting> settings;
  std::vector<double> errors;
  for (const double batch : {8, 16, 32, 64, 128, 256}) {
    settings.push_back({.batch_per_worker = batch});
    errors.push_back(std::log(1.3));
  }
  const NearbyErrors nearby(settings, errors, 0.16);
  const PredictionError beside = nearby.at({.batch_per_worker = 48});
  CHECK(beside.bias == Approx(1.3).epsilon(0.02));
  CHECK(beside.sigma < 0.08);
  // 2^40 samples away nothing is known: no bias, and the deviation of amplitudes that explain the rows.
  const PredictionError far = nearby.at({.batch_per_worker = 1e14});
  CHECK(far.bias == Approx(1).epsilon(0.01));
  CHECK(far.sigma > 3 * beside.sigma);
}

TEST_CASE("nearby errors: a turn between batches is followed, workers and power limits are apart") {
  std::vector<StepSetting> settings;
  std::vector<double> errors;
  for (const double batch : {8, 12, 16, 24, 32, 48, 64, 96, 128})
    for (const double watts : {100.0, 200.0}) {
      settings.push_back({.batch_per_worker = batch, .power_limit_w = watts});
      errors.push_back(batch < 32 ? -0.5 : watts < 150 ? 0.5 : 0.2);
    }
  const NearbyErrors nearby(settings, errors, 0.16);
  CHECK(nearby.at({.batch_per_worker = 10, .power_limit_w = 200}).bias == Approx(std::exp(-0.5)).epsilon(0.1));
  CHECK(nearby.at({.batch_per_worker = 80, .power_limit_w = 100}).bias == Approx(std::exp(0.5)).epsilon(0.1));
  CHECK(nearby.at({.batch_per_worker = 80, .power_limit_w = 200}).bias == Approx(std::exp(0.2)).epsilon(0.1));
}

TEST_CASE("nearby errors: intervals of left-out rows of drawn curves cover what they promise") {
  // A curve of random height and bend in the batch, a measurement's scatter of 3 %; half of the rows are known.
  int covered = 0, rows = 0;
  for (std::uint64_t drawn = 0; drawn < 40; ++drawn) {
    sim::Random random(sim::stream_key(drawn, 0, "nearby", "test"));
    const double height = 0.3 * random.normal(), slope = 0.2 * random.normal(), bend = 0.05 * random.normal();
    std::vector<StepSetting> known, others;
    std::vector<double> errors, left;
    for (int i = 0; i < 24; ++i) {
      const double doubling = 3 + 0.25 * i, x = doubling - 6;
      const double error = height + slope * x + bend * x * x + 0.03 * random.normal();
      (i % 2 == 0 ? known : others).push_back({.batch_per_worker = std::exp2(doubling)});
      (i % 2 == 0 ? errors : left).push_back(error);
    }
    const NearbyErrors nearby(known, errors, 0.16);
    for (std::size_t i = 0; i < others.size(); ++i) {
      const PredictionError e = nearby.at(others[i]);
      covered += std::abs(left[i] - std::log(e.bias)) <= 1.645 * e.sigma ? 1 : 0;
      ++rows;
    }
  }
  CHECK(covered >= 0.85 * rows);
  CHECK(covered <= 0.97 * rows);
}

// f(d) = 1 - e^(-2 d / 3) is what d doublings forget: f(1) = 0.4866, f(2) = 0.7364. Half way between two batches that differ by
// four times a factor's deviation is 0.15 sqrt(f(1) f(1) / f(2)) = 0.0851; one doubling beyond the last 0.15 sqrt(f(1)) = 0.1046.
TEST_CASE("nearby errors: what a device was fitted to says less of the batches in between") {
  const std::vector<StepSetting> settings{{.batch_per_worker = 8}, {.batch_per_worker = 32}, {.batch_per_worker = 128}};
  const std::vector<double> errors{0.001, -0.001, 0.001};
  const NearbyErrors apart(settings, errors, 0.16), fitted(settings, errors, 0.16, true);
  const auto added = [&](double batch) {
    const double with = fitted.at({.batch_per_worker = batch}).sigma, without = apart.at({.batch_per_worker = batch}).sigma;
    return std::sqrt(std::max(0.0, with * with - without * without));
  };
  CHECK(added(16) == Approx(0.0851).epsilon(0.002));
  CHECK(added(256) == Approx(0.1046).epsilon(0.002));
  CHECK(added(32) == Approx(0).margin(1e-6));
  CHECK(fitted.at({.batch_per_worker = 16}).bias == apart.at({.batch_per_worker = 16}).bias);
}

// Rows of which none says anything of another: left out, each is its error over what a process believes far away.
TEST_CASE("nearby errors: rows that are off by more than was believed widen the interval, ten by their largest") {
  const auto far_sigma = [](const std::vector<double>& errors) {
    std::vector<StepSetting> settings;
    for (std::size_t i = 0; i < errors.size(); ++i)
      settings.push_back({.batch_per_worker = std::exp2(20 * static_cast<double>(i))});
    return NearbyErrors(settings, errors, 0.16).at({.batch_per_worker = 1e300}).sigma;
  };
  std::vector<double> even(12, 0.01), one_wild = even;
  for (std::size_t i = 1; i < even.size(); i += 2) even[i] = one_wild[i] = -0.01;
  one_wild.back() = 0.5;
  CHECK(far_sigma(one_wild) > 3 * far_sigma(even));
  CHECK(far_sigma({0.01, -0.01, 0.5}) > far_sigma({0.01, -0.01, 0.01}));
}

TEST_CASE("nearby errors: one row, equal rows and many rows are all right") {
  rc::prop("any rows", [] {
    const auto count = *rc::gen::inRange<std::size_t>(1, 60);
    std::vector<StepSetting> settings;
    std::vector<double> errors;
    for (std::size_t i = 0; i < count; ++i) {
      settings.push_back({.batch_per_worker = static_cast<double>(*rc::gen::inRange(1, 5)), .workers = *rc::gen::inRange(1, 3)});
      errors.push_back(0.001 * *rc::gen::inRange(-2000, 2000));
    }
    const PredictionError error = NearbyErrors(settings, errors, 0.16).at({.batch_per_worker = 2});
    RC_ASSERT(std::isfinite(error.bias) && error.bias > 0);
    RC_ASSERT(std::isfinite(error.sigma) && error.sigma > 0);
  });
}
