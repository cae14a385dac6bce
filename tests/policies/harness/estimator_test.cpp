#include "policies/harness/estimator.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/random.hpp"
#include "tests/workloads/devices.hpp"
#include "workloads/generate/sweep.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

/// Rows of `groups` networks of four: five candidate terms, values of the first and third alone, times noise.
TermSamples made_up(int groups, double noise, std::uint64_t seed = 1) {
  TermSamples samples{Eigen::MatrixXd(4 * groups, 5), Eigen::VectorXd(4 * groups), {}};
  sim::Random random(seed);
  for (int i = 0; i < 4 * groups; ++i) {
    for (int c = 0; c < 5; ++c) samples.terms(i, c) = random.uniform(0.1, 10);
    samples.values[i] = (2 * samples.terms(i, 0) + 0.5 * samples.terms(i, 2)) * random.log_normal_factor(noise);
    samples.group.push_back(i / 4);
  }
  return samples;
}

std::vector<ProfiledStep> steps_of(const workloads::SweepSettings& settings, const sim::Device& device) {
  const auto networks = sweep_networks(settings);
  const std::vector<double> no_limit{1};
  std::vector<ProfiledStep> steps;
  for (const workloads::SweepRow& row : sweep_rows(networks, std::span(&device, 1), no_limit, settings))
    steps.push_back({.features = networks[static_cast<std::size_t>(row.network)].features,
                     .network = row.network,
                     .batch = row.batch,
                     .step_s = row.step_s,
                     .energy_j = row.energy_j,
                     .memory_bytes = row.memory_bytes});
  return steps;
}

sim::Device powered(sim::Device device) {
  device.idle_w = 50;
  device.busy_w = 250;
  return device;
}

}  // namespace

TEST_CASE("without noise the terms and their coefficients are found exactly") {
  const TermRegression fit = TermRegression::fit(made_up(10, 0));
  REQUIRE(fit.chosen().size() == 2);
  Eigen::VectorXd unit = Eigen::VectorXd::Zero(5);
  unit[0] = 1;
  CHECK(fit.expected(unit) == Approx(2));
  unit[0] = 0;
  unit[2] = 1;
  CHECK(fit.expected(unit) == Approx(0.5));
}

TEST_CASE("intervals hold four fifths of new values") {
  const TermRegression fit = TermRegression::fit(made_up(60, 0.2));
  const TermSamples fresh = made_up(500, 0.2, 99);
  int inside = 0;
  for (Eigen::Index i = 0; i < fresh.values.size(); ++i) {
    const Interval one = fit.predict(fresh.terms.row(i));
    CHECK(one.low <= one.expected);
    CHECK(one.expected <= one.high);
    inside += one.low <= fresh.values[i] && fresh.values[i] <= one.high;
  }
  // 2,000 values: the standard deviation of the share is 0.009, that of the 240 errors behind the quantiles about 0.03.
  CHECK(inside / 2000.0 == Approx(0.8).margin(0.08));
}

TEST_CASE("quantiles, by hand") {
  const std::vector<double> values{1, 2, 4, 8};
  CHECK(quantile_of_ascending(values, 0) == 1);
  CHECK(quantile_of_ascending(values, 1) == 8);
  CHECK(quantile_of_ascending(values, 0.5) == 3);  // half way from the second to the third
}

TEST_CASE("predictions scale with the values and do not hang on the order of rows") {
  rc::prop("a factor on all values is a factor on all predictions", [] {
    const int seed = *rc::gen::inRange(1, 1000);
    const double factor = *rc::gen::inRange(1, 1000) / 100.0;
    TermSamples samples = made_up(8, 0.3, static_cast<std::uint64_t>(seed));
    const TermRegression before = TermRegression::fit(samples);
    const Eigen::VectorXd at = samples.terms.row(3);
    samples.values *= factor;
    const TermRegression after = TermRegression::fit(samples);
    RC_ASSERT(std::abs(after.expected(at) / (factor * before.expected(at)) - 1) < 1e-9);
  });
}

TEST_CASE("structure clearly beats FLOPs alone on networks that were held out") {
  for (const workloads::SweepKind kind : {workloads::SweepKind::cnn, workloads::SweepKind::rnn}) {
    for (const sim::Device& device : {powered(tests::k80()), powered(tests::v100()), tests::knl()}) {
      const HeldOut h =
          held_out(steps_of({.kind = kind, .networks = 50, .noise = 0.03, .seed = 11}, device), device.peak_fp32_flops);
      INFO(device.name << ": median " << h.step_time.median << " beside " << h.flops_only.median << ", p90 " << h.step_time.p90
                       << " beside " << h.flops_only.p90 << ", covered " << h.coverage);
      CHECK(h.networks == 50);
      CHECK(h.step_time.median < h.flops_only.median / 2);
      CHECK(h.step_time.p90 < h.flops_only.p90 / 2);
      CHECK(h.memory.median < 0.05);
      CHECK(h.coverage > 0.65);
      CHECK(h.coverage < 0.95);
    }
  }
}

TEST_CASE("a whole training is steps times a step, after the start") {
  const StepEstimate step{.step_s = {2, 1, 4}, .energy_j = {300, 200, 500}};
  const TrainingEstimate all = whole_training(step, 10, 30);
  CHECK(all.time_s.expected == 50);
  CHECK(all.time_s.low == 40);
  CHECK(all.time_s.high == 70);
  CHECK(all.energy_j.expected == 3000);
  CHECK(all.energy_j.high == 5000);
}

TEST_CASE("utilisation is the FLOPs of forward and backward pass over time and peak") {
  const auto steps = steps_of({.networks = 30}, tests::v100());
  const Estimator estimator = Estimator::fit(steps, tests::v100().peak_fp32_flops);
  const StepEstimate e = estimator.predict(steps.front().features, steps.front().batch);
  CHECK(e.utilization.expected ==
        Approx(3 * steps.front().batch * steps.front().features.flops() / e.step_s.expected / 15.7e12).epsilon(1e-9));
  CHECK(e.utilization.low <= e.utilization.expected);
  CHECK(e.utilization.high <= 1);
}

TEST_CASE("calibration finds by how much a device's launches and work are slower") {
  const auto steps = steps_of({.networks = 40}, tests::v100());
  const Estimator estimator = Estimator::fit(steps, 1e12);
  std::vector<ProfiledStep> real(steps.begin(), steps.begin() + 60);
  for (ProfiledStep& step : real) {
    const double whole = estimator.step_time().expected(curve_terms(step.features, step.batch));
    const double fixed = estimator.step_time().expected(curve_terms(step.features, 0));
    step.step_s = 3 * fixed + 1.5 * (whole - fixed);
  }
  const Estimator calibrated = estimator.calibrated_to(real);
  for (const ProfiledStep& step : real)  // the priors pull a little towards 1
    CHECK(calibrated.predict(step.features, step.batch).step_s.expected == Approx(step.step_s).epsilon(0.05));
}
