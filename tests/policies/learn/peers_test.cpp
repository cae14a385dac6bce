// What the peers of the isotonic learner make of past runs.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "policies/learn/boosted_learner.hpp"
#include "policies/learn/gaussian_learner.hpp"
#include "policies/learn/nearest_run.hpp"
#include "policies/learn/parametric.hpp"
#include "sim/base/random.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

constexpr double kSamples = 1000;

PastRun run(int workers, double batch, double epochs, double time_s, double accuracy = 0.5) {
  return {.model = "m",
          .dataset = "d",
          .instance = "i",
          .workers = workers,
          .batch_size = batch,
          .samples = kSamples,
          .epochs = epochs,
          .time_s = time_s,
          .accuracy = accuracy};
}

PlannedRun plan(int workers, double batch) { return {.workers = workers, .batch_size = batch, .samples = kSamples}; }

/// Runs on a grid of workers and batches by a law of step seconds.
template <class Law>
std::vector<PastRun> by_step_law(Law&& step_s) {
  std::vector<PastRun> runs;
  for (const int workers : {1, 2, 4, 8, 16})
    for (const double batch : {32.0, 64.0, 128.0, 256.0})
      runs.push_back(run(workers, batch, 2, 2 * kSamples / batch * step_s(workers, batch)));
  return runs;
}

}  // namespace

TEST_CASE("ernest recovers its own law") {
  // A step of B samples on n workers: 0.05 + 0.004 B/n + 0.02 log n + 0.001 n seconds.
  const auto law = [](double n, double batch) { return 0.05 + 0.004 * batch / n + 0.02 * std::log(n) + 0.001 * n; };
  const std::vector<PastRun> runs = by_step_law(law);
  const auto c = Ernest::coefficients(runs);
  CHECK(c[0] == Approx(0.05));
  CHECK(c[1] == Approx(0.004));
  CHECK(c[2] == Approx(0.02));
  CHECK(c[3] == Approx(0.001));
  // 32 workers at batch 512, beyond all runs: 1000/512 steps.
  const Prediction beyond = Ernest(0.8).epoch_times(runs)->epoch_time_s(plan(32, 512));
  CHECK(beyond.expected == Approx(kSamples / 512 * law(32, 512)));
  CHECK(beyond.safe == Approx(beyond.expected));  // what was held out was told exactly
  CHECK(beyond.extrapolated);
  // A step that gets faster than linearly has no term: no coefficient turns negative for its sake.
  for (const double one : Ernest::coefficients(by_step_law([](double n, double batch) { return batch / n / n; })))
    CHECK(one >= 0);
  CHECK(Ernest(0.8).epoch_times({}) == nullptr);
}

TEST_CASE("a law by which one worker takes no time at all has a finite margin") {
  // Without the last run ernest learns 0.02 log n and nothing else: 0 s for one worker, held to a millionth of the quickest
  // epoch.
  const auto step_s = [](int n) { return n > 1 ? 0.02 * std::log(n) : 3; };
  std::vector<PastRun> runs;
  for (const int workers : {2, 4, 8, 1}) runs.push_back(run(workers, 100, 2, 2 * kSamples / 100 * step_s(workers)));
  const Prediction alone = Ernest(0.8).epoch_times(runs)->epoch_time_s(plan(1, 100));
  const double quickest_s = 10 * step_s(2), taken_s = 10 * step_s(1);
  CHECK(alone.safe == Approx(alone.expected * (taken_s / (1e-6 * quickest_s))));
}

TEST_CASE("parametric recovers its own law") {
  // T_grad = 0.02 + 0.001 m, T_sync = 0.05 (n-1)/n + 0.002 (n-1), g = 3.
  const auto law = [](double n, double batch) {
    return std::cbrt(std::pow(0.02 + 0.001 * batch / n, 3) + std::pow(0.05 * (n - 1) / n + 0.002 * (n - 1), 3));
  };
  const auto times = Parametric(0.8).epoch_times(by_step_law(law));
  for (const int workers : {1, 3, 12, 32})
    for (const double batch : {48.0, 512.0})
      CHECK(times->epoch_time_s(plan(workers, batch)).expected == Approx(kSamples / batch * law(workers, batch)).epsilon(0.03));

  // Accuracy 0.92 - 0.9 (1 + p/4)^-1.2 at p = E (300 + 1)/(300 + B).
  const auto accuracy = [](double batch, double epochs) {
    return 0.92 - 0.9 * std::pow(1 + epochs * 301 / (300 + batch) / 4, -1.2);
  };
  std::vector<PastRun> runs;
  for (const double batch : {32.0, 128.0, 512.0, 2048.0})
    for (const double epochs : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0})
      runs.push_back(run(1, batch, epochs, 1, accuracy(batch, epochs)));
  const auto learned = Parametric(0.8).accuracies(runs, false);
  for (const double batch : {64.0, 1024.0})
    for (const double epochs : {3.0, 12.0, 48.0})
      CHECK(learned->accuracy(plan(1, batch), epochs).expected == Approx(accuracy(batch, epochs)).margin(0.01));
}

TEST_CASE("nearest-run by hand") {
  const std::vector<PastRun> runs{run(1, 32, 1, 100, 0.4), run(4, 128, 4, 120, 0.7), run(4, 32, 16, 640, 0.9)};
  const auto times = NearestRun(0).epoch_times(runs);
  // (4, 256) is one doubling from (4, 128), whose epochs took 30 s; (1, 64) is one from (1, 32): 100 s.
  CHECK(times->epoch_time_s(plan(4, 256)).expected == Approx(30));
  CHECK(times->epoch_time_s(plan(1, 64)).expected == Approx(100));
  CHECK(times->epoch_time_s(plan(4, 256)).extrapolated);
  // (4, 64) is one doubling from both (4, 32), 40 s an epoch, and (4, 128): their mean. Twice the samples take twice as long.
  CHECK(times->epoch_time_s(plan(4, 64)).expected == Approx(35));
  CHECK(times->epoch_time_s({.workers = 4, .batch_size = 64, .samples = 2 * kSamples}).expected == Approx(70));
  // Accuracy by batch and epochs: (64, 8) lies sqrt(2) doublings from (128, 4) and from (32, 16), farther from (32, 1).
  const auto accuracies = NearestRun(0).accuracies(runs, false);
  CHECK(accuracies->accuracy(plan(1, 64), 8).expected == Approx(0.8));
  CHECK(accuracies->accuracy(plan(1, 64), 5).expected == Approx(0.7));
  // At batch 32 up to 3 epochs are nearest to (32, 1); 4 are two doublings from all three; 5 are nearest to (32, 16).
  CHECK(fewest_epochs(*accuracies, plan(1, 32), 0.85, 100) == 5);
  CHECK(NearestRun(0).accuracies(runs, true) == nullptr);
}

TEST_CASE("measured runs say what was measured and nothing else") {
  const std::vector<PastRun> runs{run(2, 64, 4, 40, 0.5), run(2, 64, 8, 120, 0.7), run(2, 32, 8, 80, 0.9)};
  const auto times = MeasuredRuns().epoch_times(runs);
  CHECK(times->epoch_time_s(plan(2, 64)).expected == Approx((10 + 15) / 2.0));
  CHECK(std::isnan(times->epoch_time_s(plan(4, 64)).expected));
  const auto accuracies = MeasuredRuns().accuracies(runs, false);
  CHECK(accuracies->accuracy(plan(2, 64), 8).expected == 0.7);
  CHECK(accuracies->accuracy(plan(2, 64), 7).expected == 0.5);
  CHECK(std::isnan(accuracies->accuracy(plan(2, 64), 3).expected));
  CHECK(std::isnan(accuracies->accuracy(plan(1, 64), 8).expected));
  CHECK(fewest_epochs(*accuracies, plan(2, 64), 0.6, 100) == 8);
  CHECK(fewest_epochs(*accuracies, plan(2, 64), 0.8, 100) == std::nullopt);
}

TEST_CASE("boosted trees keep the order that the isotonic fit has") {
  rc::prop("noisy runs", [](std::uint64_t seed) {
    sim::Random random(seed);
    std::vector<PastRun> runs;
    for (std::size_t i = 0, n = 1 + random.below(40); i < n; ++i)
      runs.push_back(run(1 + static_cast<int>(random.below(8)), random.uniform(16, 300),
                         1 + static_cast<double>(random.below(20)), random.uniform(10, 1000), random.uniform()));
    const BoostedLearner learner(0.8, {.rounds = 50});
    const auto times = learner.epoch_times(runs);
    const auto accuracies = learner.accuracies(runs, false);
    for (int pair = 0; pair < 30; ++pair) {
      const PlannedRun easy = plan(1 + static_cast<int>(random.below(8)), random.uniform(16, 300));
      PlannedRun hard = easy;
      hard.workers += static_cast<int>(random.below(3));
      hard.batch_size /= random.uniform(1, 2);
      RC_ASSERT(times->epoch_time_s(hard).safe * hard.workers >= times->epoch_time_s(easy).safe * easy.workers * (1 - 1e-12));
      const double epochs = random.uniform(1, 20);
      RC_ASSERT(accuracies->accuracy(easy, epochs + 1).safe >= accuracies->accuracy(easy, epochs).safe);
      RC_ASSERT(accuracies->accuracy(hard, epochs).safe >= accuracies->accuracy(easy, epochs).safe);
    }
  });
}

TEST_CASE("the margin is a quantile of what was wrong with runs that were held out") {
  // Two runs, so two folds, each told by the other alone, whose seconds are taken: 100 for 120, 120 for 100.
  // Errors 120/100 - 1 = 0.2 and 100/120 - 1: at 0.8 of two the larger.
  const std::vector<PastRun> runs{run(1, 32, 1, 100, 0.6), run(1, 64, 1, 120, 0.5)};
  const Prediction time = NearestRun(0.8).epoch_times(runs)->epoch_time_s(plan(1, 64));
  CHECK(time.expected == Approx(120));
  CHECK(time.safe == Approx(144));
  // Accuracy 0.6 was said where 0.5 was reached: 0.1 too much.
  CHECK(NearestRun(0.8).accuracies(runs, false)->accuracy(plan(1, 32), 1).safe == Approx(0.5));
  CHECK(NearestRun(0.5).epoch_times(runs)->epoch_time_s(plan(1, 64)).safe == Approx(120));  // never looser than the guess
}

TEST_CASE("a censored run counts where the others leave its bound unmet") {
  PastRun cut = run(1, 64, 1, 600, 0.7);
  cut.censored = true;
  const std::vector<PastRun> runs{run(1, 32, 1, 500, 0.6), cut};
  // Without it (1, 64) would be said to take the 500 s of batch 32, less than the 600 seen, and to reach 0.6, less than the 0.7.
  CHECK(NearestRun(0).epoch_times(runs)->epoch_time_s(plan(1, 64)).expected == Approx(600));
  CHECK(NearestRun(0).accuracies(runs, false)->accuracy(plan(1, 64), 1).expected == Approx(0.7));
  cut.time_s = 400;
  cut.accuracy = 0.5;
  const std::vector<PastRun> met{runs[0], cut};
  CHECK(NearestRun(0).epoch_times(met)->epoch_time_s(plan(1, 64)).expected == Approx(500));
  CHECK(NearestRun(0).accuracies(met, false)->accuracy(plan(1, 64), 1).expected == Approx(0.6));
  const std::vector<PastRun> alone{cut};
  CHECK(NearestRun(0).epoch_times(alone)->epoch_time_s(plan(1, 64)).expected == Approx(400));
}

TEST_CASE("Gaussian processes of runs: near what was measured, unsure far away, pessimistic where limits are held") {
  std::vector<PastRun> runs;
  for (const int workers : {1, 2, 4, 8})
    for (const double batch : {32.0, 64.0, 128.0})
      runs.push_back(run(workers, batch, batch / 32, batch / 32 * (100 + 2 * workers) / workers, 0.5 + batch / 1000));
  const GaussianLearner learner(0.8);
  const auto times = learner.epoch_times(runs);
  for (const PastRun& r : runs) CHECK(times->epoch_time_s(planned(r)).expected == Approx(r.time_s / r.epochs).epsilon(0.05));
  const Prediction near = times->epoch_time_s(plan(2, 96)), far = times->epoch_time_s(plan(2, 1e7));
  CHECK(far.safe / far.expected > near.safe / near.expected);
  CHECK(near.safe >= near.expected);
  CHECK(GaussianLearner(0.5).epoch_times(runs)->epoch_time_s(plan(2, 96)).safe == Approx(near.expected));
  const auto accuracies = learner.accuracies(runs, false);
  CHECK(accuracies->accuracy(plan(1, 64), 2).expected == Approx(0.564).margin(0.01));
  // More epochs than any run had: as many as the longest.
  CHECK(accuracies->accuracy(plan(1, 64), 400).expected == accuracies->accuracy(plan(1, 64), 4).expected);
  CHECK(accuracies->accuracy(plan(1, 64), 400).extrapolated);
  CHECK(learner.accuracies(runs, true) == nullptr);
}
