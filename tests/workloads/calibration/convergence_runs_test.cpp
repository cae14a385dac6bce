#include "workloads/calibration/convergence_runs.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "workloads/calibration/convergence_fit.hpp"

using namespace rehearse::workloads;

namespace {

constexpr double kSamples = 10000;

ConvergencePoint target(double batch, double metric, double epoch, Reading reading = Reading::reached) {
  return {.model = "m", .dataset = "cifar100", .batch = batch, .epoch = epoch, .metric = metric, .reading = reading};
}

}  // namespace

TEST_CASE("what runs say of a target is taken together", "[convergence calibration]") {
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

TEST_CASE("an unknown dataset's size is the median of examples over epochs", "[convergence calibration]") {
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

TEST_CASE("noise scales are clipped by a running median, by hand", "[convergence calibration]") {
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

TEST_CASE("AdaScale's steps from measured noise scales, by hand", "[convergence calibration]") {
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

TEST_CASE("the first reading at a target, by hand", "[convergence calibration]") {
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
          "[convergence calibration]") {
  std::vector<ConvergencePoint> points{target(8, 0.6, 40),  target(16, 0.6, 19),  target(32, 0.6, 16),
                                       target(64, 0.6, 18), target(64, 0.65, 90), target(128, 0.6, 21)};
  CHECK(reference_batch_of(pairs_of(points)[0]) == 8);
  // 16 epochs are the fewest to 0.6, which all reach; 18 is within a quarter of that, 21 is not.
  for (ConvergencePoint& p : points) p.learning_rate = 0.1;
  CHECK(reference_batch_of(pairs_of(points)[0]) == 64);
}
