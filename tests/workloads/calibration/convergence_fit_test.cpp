#include "workloads/calibration/convergence_fit.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "workloads/calibration/convergence_validation.hpp"

using namespace rehearse::workloads;

namespace {

constexpr double kSamples = 10000;

// 10,000 samples of a dataset that the program does not know: 100 steps an epoch at the reference batch.
ConvergenceParameters truth() {
  return {.model = "m",
          .dataset = "d",
          .metric = "accuracy",
          .source = "test",
          .reference_batch = 100,
          .reference_learning_rate = 0.1,
          .reference_epochs = 60,
          .training_samples = kSamples,
          .validation_samples = 1000,
          .gap_batch = 400,
          .noise = {{100, 300, 0.3}, {6000, 6000, 0.3}},
          .phases = {{0, 0.9, 600, 1.0, 0.004}}};
}

/// Sixty epochs' worth of progress, one row each, without measuring errors.
void add_run(std::vector<ConvergencePoint>& points, const ConvergenceParameters& c, double batch, bool all_measured) {
  TrainingState state;
  for (int row = 1; row <= 60; ++row) {
    while (state.progress < row * 100.0) advance(c, {}, state, {.global_batch = batch}, kSamples / 50);
    points.push_back({.model = c.model,
                      .dataset = c.dataset,
                      .batch = batch,
                      .epoch = state.examples / kSamples,
                      .metric = accuracy(c, {}, state),
                      .examples = state.examples});
    if (!all_measured) continue;
    points.back().progress = state.progress;
    points.back().noise_scale = noise_scale(c, {}, state.progress, batch);
  }
}

MeasuredPair made_up(const ConvergenceParameters& c, bool all_measured) {
  std::vector<ConvergencePoint> points;
  for (const double batch : {100, 200, 400, 800, 1600}) add_run(points, c, batch, all_measured);
  return pairs_of(points).front();
}

double real(double low, double high) { return low + (high - low) * *rc::gen::inRange(0, 1000001) * 1e-6; }

ConvergencePoint target(double batch, double metric, double epoch, Reading reading = Reading::reached) {
  return {.model = "m", .dataset = "cifar100", .batch = batch, .epoch = epoch, .metric = metric, .reading = reading};
}

}  // namespace

TEST_CASE("a fit recovers the noise scale and the curve of complete measurements", "[convergence calibration]") {
  rc::prop("at batches in between", [] {
    ConvergenceParameters c = truth();
    const double growth = real(1, 40), exponent = real(0.05, 0.7);
    c.noise = {{100, real(50, 800), exponent}, {6000, c.noise[0].noise_scale * growth, exponent}};
    c.phases = {{0, real(0.5, 0.98), real(200, 1500), real(0.6, 2), real(0.0005, 0.01)}};
    const FittedConvergence fitted = fit_convergence(made_up(c, true), 100);
    RC_ASSERT(mistakes_in(fitted.parameters).empty());
    for (const double progress : {300, 1000, 3000})
      for (const double batch : {150, 600, 1200}) {
        const double ratio = noise_scale(fitted.parameters, {}, progress, batch) / noise_scale(c, {}, progress, batch);
        RC_ASSERT(std::abs(std::log(ratio)) < 0.25);
        const TrainingState state{.progress = progress, .examples = 1, .log2_batch_examples = std::log2(batch)};
        RC_ASSERT(std::abs(accuracy(fitted.parameters, {}, state) - accuracy(c, {}, state)) < 0.01);
      }
  });
}

TEST_CASE("curves alone tell a held-back batch too", "[convergence calibration]") {
  const PairErrors errors = hold_out_batches(made_up(truth(), false));
  REQUIRE(errors.batches.size() == 5);
  CHECK(!errors.batches[0].inner);
  CHECK(errors.batches[2].inner);
  CHECK(errors.metric_error(true) < 0.003);
  CHECK(errors.examples_error(true) < 0.03);
  CHECK(errors.batches[2].examples_errors.size() > 40);
  CHECK(errors.batches[2].steps.empty());
}

TEST_CASE("what is held back is not looked at", "[convergence calibration]") {
  // One batch's metrics 0.1 lower: what is predicted of it stays, so that its bias is 0.1 higher.
  MeasuredPair pair = made_up(truth(), true);
  const PairErrors before = hold_out_batches(pair);
  for (ConvergenceRun& run : pair.runs)
    if (run.batch == 400)
      for (ConvergencePoint& p : run.points) p.metric -= 0.1;
  const PairErrors after = hold_out_batches(pair);
  CHECK(after.batches[2].metric_bias == Approx(before.batches[2].metric_bias + 0.1).epsilon(1e-9));
  CHECK(after.batches[1].metric_bias != before.batches[1].metric_bias);
}

TEST_CASE("a fixed rate's U is recovered from epochs to targets, and so is never", "[convergence calibration]") {
  ConvergenceParameters c = truth();
  c.dataset = "cifar100";
  c.training_samples = 50000;
  c.validation_samples = 10000;
  c.start_accuracy = 0.01;
  c.reference_batch = 128;
  c.reference_rate_fraction = 0.5;
  c.rate_exponent = 0.5;
  c.noise = {{300, 500, 0.3}, {30000, 3000, 0.3}};
  c.phases = {{0, 0.70, 4000, 2, 0.002}};
  c.gap_batch = 64;
  std::vector<ConvergencePoint> points;
  for (double batch = 16; batch <= 4096; batch *= 2) {
    const auto accuracies = epoch_accuracies(c, setting_of(batch, 0.1), 2000, 0.65);
    for (int percent = 20; percent <= 70; percent += 5) {
      const FirstPassage passage = first_passage(accuracies, 2000, percent / 100.0, 10000);
      const bool never = passage.never > 0.5;
      points.push_back(target(batch, percent / 100.0, never ? kNotMeasured : std::round(passage.mean_epochs),
                              never ? Reading::never : Reading::reached));
      points.back().learning_rate = 0.1;
      points.back().adaptive = true;
    }
  }
  const MeasuredPair pair = pairs_of(points).front();
  const FittedConvergence fitted = fit_convergence(pair, reference_batch_of(pair));
  CHECK(fitted.parameters.rate_exponent == 0.5);
  const PairErrors errors = compare(pair, fitted.parameters, pair.batches());
  for (const TargetError& t : errors.targets) {
    INFO(t.batch << " to " << t.measured.target);
    REQUIRE(t.measured.is_reached() == std::isfinite(t.predicted_epochs));
    if (t.measured.mean_epochs > 5) CHECK(t.predicted_epochs == Approx(t.measured.mean_epochs).epsilon(0.15));
  }
}

TEST_CASE("a fit says what it cannot see", "[convergence calibration]") {
  std::vector<ConvergencePoint> points;
  add_run(points, truth(), 100, false);
  const FittedConvergence fitted = fit_convergence(pairs_of(points).front(), 100);
  REQUIRE(!fitted.warnings.empty());
  CHECK(fitted.warnings[0].find("only one batch size") == 0);
  // At the reference batch alone a step is worth one step, whatever the noise scale.
  for (const auto& p : fitted.fitted)
    if (p.name.ends_with("samples") || p.name == "batch_exponent") CHECK(!p.determined);
  // Nothing but targets that no run reached.
  const ConvergencePoint never[] = {target(32, 0.7, kNotMeasured, Reading::never)};
  CHECK(mistakes_in(fit_convergence(pairs_of(never).front(), 32).parameters).empty());
}
