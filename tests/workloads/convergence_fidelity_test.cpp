#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "workloads/fidelity/convergence_passage.hpp"
#include "workloads/fidelity/convergence_validation.hpp"

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

TEST_CASE("what runs say of a target is taken together", "[convergence fidelity]") {
  // Two of three runs reach 0.6, after 10 and 14 epochs; one of two reaches 0.7, none 0.8.
  const ConvergencePoint points[] = {target(32, 0.6, 10),
                                     target(32, 0.6, 14),
                                     target(32, 0.6, kNotMeasured, Reading::never),
                                     target(32, 0.7, 30),
                                     target(32, 0.7, kNotMeasured, Reading::never),
                                     target(32, 0.8, kNotMeasured, Reading::never),
                                     target(64, 0.6, 8)};
  const auto pairs = pairs_of(points);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs[0].training_samples == 50000);
  CHECK(pairs[0].batches() == std::vector<double>{32, 64});
  REQUIRE(pairs[0].settings.size() == 2);
  const auto& targets = pairs[0].settings[0].targets;
  REQUIRE(targets.size() == 3);
  CHECK(targets[0].mean_epochs == Approx(12));
  CHECK(targets[0].is_reached());
  CHECK(targets[1].is_reached());  // as many as not
  CHECK(!targets[2].is_reached());
  CHECK(without_batch(pairs[0], 32).batches() == std::vector<double>{64});
  CHECK(only_batch(pairs[0], 32).batches() == std::vector<double>{32});
}

TEST_CASE("an unknown dataset's size is the median of examples over epochs", "[convergence fidelity]") {
  std::vector<ConvergencePoint> points;
  for (const double examples : {990, 2000, 3030})
    points.push_back({.model = "m",
                      .dataset = "mine",
                      .batch = 10,
                      .epoch = static_cast<double>(points.size() + 1),
                      .metric = 0.5,
                      .examples = examples});
  // 990/1, 2000/2, 3030/3: 990, 1000, 1010.
  CHECK(pairs_of(points)[0].training_samples == 1000);
}

TEST_CASE("noise scales are clipped by a running median, by hand", "[convergence fidelity]") {
  ConvergenceRun run{.batch = 400};
  for (const double phi : {100.0, 1e9, 300.0, HUGE_VAL, 200.0, kNotMeasured}) run.points.push_back({.noise_scale = phi});
  const auto clipped = clipped_noise_scales(run);
  // Windows of two to either side, without what is no number: {100, 1e9, 300}; {100, 1e9, 300}; {100, 1e9, 300, 200}: 250; ...
  CHECK(clipped[0] == Approx(300));
  CHECK(clipped[1] == Approx(300));
  CHECK(clipped[2] == Approx(250));
  CHECK(clipped[3] == Approx(300));  // {1e9, 300, 200}
  CHECK(clipped[4] == Approx(250));  // {300, 200}
  CHECK(clipped[5] == Approx(200));
  for (int i = 0; i < 3; ++i) run.points.push_back({.noise_scale = HUGE_VAL});
  CHECK(clipped_noise_scales(run).back() == Approx(200));
}

TEST_CASE("AdaScale's steps from measured noise scales, by hand", "[convergence fidelity]") {
  // Batch 400 against 100 at a noise scale of 1000: a step is worth 22/7, so that the 100 steps of an epoch's progress take
  // 100 x 7/22 = 31.82. Measured are 35 of them after the fifth epoch, 30 before it, which do not count: 31.82 / 35 = 0.9091.
  ConvergenceRun run{.batch = 400};
  double examples = 0;
  for (int epoch = 1; epoch <= 12; ++epoch)
    run.points.push_back({.examples = examples += 400 * (epoch <= 5 ? 30 : 35), .noise_scale = 1000, .progress = 100.0 * epoch});
  StepCheck check = check_steps(run, 100, kSamples);
  CHECK(check.epochs == 7);
  CHECK(check.predicted_over_measured == Approx(100 * 7.0 / 22 / 35));
  CHECK(check.worst == Approx(1 - 100 * 7.0 / 22 / 35));
  // A reading that is no number, or a thousand times off, gives way to the median around it.
  run.points[8].noise_scale = HUGE_VAL;
  run.points[10].noise_scale = 1e6;
  CHECK(check_steps(run, 100, kSamples).predicted_over_measured == Approx(check.predicted_over_measured));
  run.points.resize(5);
  CHECK(check_steps(run, 100, kSamples).epochs == 0);
}

TEST_CASE("the first reading at a target, by hand", "[convergence fidelity]") {
  // One evaluation's deviation is 0.002: of 0.5 none reaches 0.6, of 0.6 every second, of 0.7 all. Mean 1/2 x 2 + 1/2 x 3.
  const FirstPassage passage = first_passage({0.5, 0.6, 0.7}, 10, 0.6, 1e9);
  CHECK(passage.mean_epochs == Approx(2.5));
  CHECK(passage.never == Approx(0).margin(1e-6));
  const FirstPassage short_run = first_passage({0.5, 0.6, 0.7}, 2, 0.6, 1e9);
  CHECK(short_run.never == Approx(0.5));
  CHECK(short_run.mean_epochs == Approx(2));
  // A curve flat at 0.5, a deviation of sqrt(0.25/100) = 0.05, a target one deviation above: each epoch's reading reaches it with
  // 0.158655, so that the mean of many epochs is 1/0.158655.
  const FirstPassage lucky = first_passage(std::vector<double>(400, 0.5), 400, 0.55, 100);
  CHECK(lucky.mean_epochs == Approx(1 / 0.158655).epsilon(1e-4));
  CHECK(first_passage({0.5}, 1000, 0.9, 1e9).mean_epochs == Approx(2));  // where the curve ends early, the next one does
}

TEST_CASE("the reference batch is the smallest, or where rates are given the largest that is about the best",
          "[convergence fidelity]") {
  std::vector<ConvergencePoint> points{target(8, 0.6, 40),  target(16, 0.6, 19),  target(32, 0.6, 16),
                                       target(64, 0.6, 18), target(64, 0.65, 90), target(128, 0.6, 21)};
  CHECK(reference_batch_of(pairs_of(points)[0]) == 8);
  // 16 epochs are the fewest to 0.6, which all reach; 18 is within a quarter of that, 21 is not.
  for (ConvergencePoint& p : points) p.learning_rate = 0.1;
  CHECK(reference_batch_of(pairs_of(points)[0]) == 64);
}

TEST_CASE("a fit recovers the noise scale and the curve of complete measurements", "[convergence fidelity]") {
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

TEST_CASE("curves alone tell a held-back batch too", "[convergence fidelity]") {
  const PairErrors errors = hold_out_batches(made_up(truth(), false));
  REQUIRE(errors.batches.size() == 5);
  CHECK(!errors.batches[0].inner);
  CHECK(errors.batches[2].inner);
  CHECK(errors.metric_error(true) < 0.003);
  CHECK(errors.examples_error(true) < 0.03);
  CHECK(errors.batches[2].examples_errors.size() > 40);
  CHECK(errors.batches[2].steps.empty());
}

TEST_CASE("what is held back is not looked at", "[convergence fidelity]") {
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

TEST_CASE("a fixed rate's U is recovered from epochs to targets, and so is never", "[convergence fidelity]") {
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

TEST_CASE("a fit says what it cannot see", "[convergence fidelity]") {
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
