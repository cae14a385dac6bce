// Bounds from monotonicity: what one measurement says of all others, by hand, and that the truth lies between them.
#include "policies/learn/envelopes.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/random.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

constexpr double kEpochSamples = 1000;

PastRun timed(int workers, double batch, double epoch_s) {
  return {.model = "m",
          .dataset = "d",
          .instance = "i",
          .workers = workers,
          .batch_size = batch,
          .samples = kEpochSamples,
          .epochs = 1,
          .time_s = epoch_s,
          .told = Told::steps};
}

/// A run whose accuracy is `of` after each of so many epochs.
template <class Accuracy>
PastRun trained(double batch, int epochs, Accuracy&& of) {
  PastRun run = timed(1, batch, epochs);
  run.told = Told::run;
  run.epochs = epochs;
  for (int e = 1; e <= epochs; ++e) run.curve.push_back(of(e));
  run.accuracy = run.curve.back();
  return run;
}

PastRun recipe(double batch, double epochs) {
  PastRun run = timed(1, batch, 1);
  run.told = Told::recipe;
  run.epochs = epochs;
  return run;
}

constexpr EnvelopeOptions kExact{.probability = 0.9, .time_noise = 0, .epoch_noise = 0};

/// Seconds of an epoch between these bounds.
LogBounds seconds(const TimeEnvelope& envelope, double workers, double batch) {
  const LogBounds of_sample = envelope.bounds(std::log(workers), std::log(batch));
  return {kEpochSamples * std::exp(of_sample.low), kEpochSamples * std::exp(of_sample.high)};
}

LogBounds epochs(const EpochEnvelope& envelope, double batch, double accuracy) {
  const LogBounds found = envelope.bounds(std::log(batch), accuracy);
  return {std::exp(found.low), std::exp(found.high)};
}

}  // namespace

TEST_CASE("one exact time bounds all others") {
  // 2 workers take 100 s an epoch with batch 64.
  const TimeEnvelope envelope(std::vector{timed(2, 64, 100)}, kExact);
  const auto check = [&](double workers, double batch, double low, double high) {
    const LogBounds found = seconds(envelope, workers, batch);
    CHECK(found.low == Approx(low));
    CHECK(found.high == Approx(high));
  };
  check(2, 64, 100, 100);
  check(2, 128, 50, 100);  // at best in proportion, at worst no shorter
  check(2, 32, 100, 200);
  check(4, 128, 25, 100);  // worker-seconds rise: 50 at least with batch 64, 25 with 128; with their share of it no slower: 100
  check(4, 64, 50, 200);   // from (4, 128), at most 100, to half the batch: 200
  check(1, 64, 50, 200);   // 200 worker-seconds at most; (2, 128) takes 50 at least, and one worker with 64 no less than that
  CHECK(kEpochSamples * std::exp(envelope.centre(std::log(2), std::log(64))) == Approx(100));
}

TEST_CASE("one time with relaxed orders, by hand") {
  const TimePoint point{.workers = 1, .batch = 3, .seconds = 2};
  const TimeSlack slack{.workers = 0.1, .batch = 0.2, .proportion = 0.3, .together = 0.4};
  CHECK(low_from(point, slack, 2, 3) == Approx(2 - 1 - 0.1));
  CHECK(low_from(point, slack, 0, 3) == Approx(2 - 0.4 - 1 - 0.3));
  CHECK(low_from(point, slack, 0, 2) == Approx(2 - 0.4));  // as much for each worker as was measured
  CHECK(low_from(point, slack, 1, 4) == Approx(2 - 1 - 0.3));
  CHECK(low_from(point, slack, 1, 2) == Approx(2 - 0.2));
  CHECK(low_from(point, slack, 1, 3) == 2);
  CHECK(high_from(point, slack, 2, 3) == Approx(2 + 0.4 + 1 + 0.3));
  CHECK(high_from(point, slack, 2, 4) == Approx(2 + 0.4));
  CHECK(high_from(point, slack, 2, 5) == Approx(2 + 0.4 + 0.2));
  CHECK(high_from(point, slack, 0, 3) == Approx(2 + 1 + 0.1));
  CHECK(high_from(point, slack, 1, 4) == Approx(2 + 0.2));
  CHECK(high_from(point, slack, 1, 2) == Approx(2 + 1 + 0.3));
  const TimePoint censored{.workers = 1, .batch = 3, .seconds = 2, .censored = true};
  CHECK(high_from(censored, slack, 1, 3) == kUnbounded);
  CHECK(low_from(censored, slack, 1, 3) == 2);
}

TEST_CASE("how far a measurement's noise widens its bounds") {
  // On each side two measurements may bind: each fails in a fourth of the rest. Quantiles of the normal distribution.
  const auto deviations = [](double probability) {
    return TimeEnvelope(std::vector{timed(2, 64, 100)}, {.probability = probability, .time_noise = 0.1}).deviations();
  };
  CHECK(deviations(0.9) == Approx(1.959964).epsilon(1e-6));   // 0.975
  CHECK(deviations(0.99) == Approx(2.807034).epsilon(1e-6));  // 0.9975
  CHECK(deviations(1) == Approx(5.026313).epsilon(1e-6));     // 1 - 1e-6 counts as certain: 1 - 2.5e-7
  CHECK(deviations(-1) == Approx(0.674490).epsilon(1e-6));    // no less than 0: 0.75
  const TimeEnvelope envelope(std::vector{timed(2, 64, 100)}, {.probability = 0.9, .time_noise = 0.1});
  CHECK(seconds(envelope, 2, 64).low == Approx(100 * std::exp(-0.1959964)));
  CHECK(seconds(envelope, 2, 64).high == Approx(100 * std::exp(0.1959964)));
}

TEST_CASE("the middle of epochs is the isotonic fit, in which each run counts") {
  // To half of its accuracy a run needs half of its epochs: twice 10 at batch 64, once 5 at batch 128. Fewer examples with the
  // larger batch break the order: both are fitted by the mean of the logarithms, the first counting twice.
  const auto line = [](int epochs) { return [epochs](int e) { return 1.0 * e / epochs; }; };
  const std::vector runs{trained(64, 20, line(20)), trained(64, 20, line(20)), trained(128, 10, line(10))};
  const EpochEnvelope envelope(runs, {.probability = 0.9, .time_noise = 0, .epoch_noise = 0.1});
  const double fitted = std::pow(10 * 10 * 5, 1 / 3.0);
  CHECK(std::exp(envelope.centre(std::log(64), 0.5)) == Approx(fitted));
  CHECK(std::exp(envelope.centre(std::log(128), 0.5)) == Approx(fitted));
}

TEST_CASE("times that refute an order relax it: an epoch that gets longer with the batch") {
  // A K80's steps of ResNet-18: 0.14 s with a batch of 64, 0.53 s with 128.
  const double at_64 = kEpochSamples / 64 * 0.14, at_128 = kEpochSamples / 128 * 0.53;
  REQUIRE(at_128 > at_64);
  const TimeEnvelope envelope(std::vector{timed(1, 64, at_64), timed(1, 128, at_128)}, kExact);
  CHECK(envelope.slack().batch == Approx(std::log(at_128 / at_64)));
  CHECK(envelope.slack().workers == 0);
  for (const auto& [batch, truth] : {std::pair(64.0, at_64), std::pair(128.0, at_128)}) {
    const LogBounds found = seconds(envelope, 1, batch);
    CHECK(found.low <= truth * (1 + 1e-9));
    CHECK(found.high >= truth * (1 - 1e-9));
  }
}

TEST_CASE("an order is refuted by no more than what noise does not explain") {
  // Both times are uncertain by 0.1: their quotient by 0.1 sqrt(2), and 1.959964 of it count as noise, a factor of 1.319. An
  // epoch gets longer with the batch by 1.3, which is less, and by 1.5.
  const auto slack = [](double longer) {
    return TimeEnvelope(std::vector{timed(1, 64, 100), timed(1, 128, longer * 100)}, {.probability = 0.9, .time_noise = 0.1})
        .slack();
  };
  CHECK(slack(1.3).batch == 0);
  CHECK(slack(1.5).batch == Approx(std::log(1.5) - 1.959964 * 0.1 * std::sqrt(2)));
}

TEST_CASE("what the order of batches explains is not the workers'") {
  // From batch 32 to 16 an epoch of one worker becomes shorter: by 2. Two with 64 take 15 s, so one with 32 no less, and one with
  // 16 no less but for that 2: 10 were measured.
  const TimeEnvelope envelope(std::vector{timed(1, 16, 10), timed(1, 32, 20), timed(2, 64, 15)}, kExact);
  CHECK(envelope.slack().batch == Approx(std::log(2)));
  CHECK(envelope.slack().together == 0);
  CHECK(envelope.slack().workers == 0);
  CHECK(envelope.slack().proportion == 0);
}

TEST_CASE("what pairs along one order do not explain is the workers' order, on top of what it has been relaxed by") {
  // From 1 to 2 workers 100 worker-seconds become 80: by 1.25. To 4 workers with half of the batch no less than 100 / 4 / 1.25 =
  // 20 would follow, and 10 were measured: by 2 more.
  const TimeEnvelope more(std::vector{timed(1, 64, 100), timed(2, 64, 40), timed(4, 32, 10)}, kExact);
  CHECK(more.slack().workers == Approx(std::log(2.5)));
  CHECK(more.slack().together == 0);
  // From 4 workers with batch 256 to 2 with 128 an epoch became shorter: by 1.25. One with 128 would take 10 / 1.25 at batch 64,
  // so 4 at least, and 2 were measured.
  const TimeEnvelope together(std::vector{timed(4, 256, 10), timed(2, 128, 8), timed(1, 128, 2)}, kExact);
  CHECK(together.slack().together == Approx(std::log(2.5)));
  CHECK(together.slack().workers == 0);
}

TEST_CASE("bounds hold the truth when it is monotone and measured exactly") {
  rc::prop("of times", [] {
    // Fixed work for each sample and for each step: n t rises, t falls with B at most in proportion and along both together.
    const double of_sample = *rc::gen::inRange(1, 1000) / 1000.0, of_step = *rc::gen::inRange(1, 10000) / 100.0;
    const double of_worker = *rc::gen::inRange(0, 100) / 100.0;
    const auto truth = [&](double n, double b) {
      return kEpochSamples * (of_sample / n + of_step / b + of_worker * of_step / b);
    };
    std::vector<PastRun> runs;
    for (const auto& [n, b] : *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<int, int>>>(
             rc::gen::pair(rc::gen::inRange(0, 6), rc::gen::inRange(0, 10)))))
      runs.push_back(timed(1 << n, std::exp2(b + 4), truth(std::exp2(n), std::exp2(b + 4))));
    const TimeEnvelope envelope(runs, kExact);
    for (int n = 0; n < 6; ++n) {
      for (int b = 4; b < 14; ++b) {
        const double t = truth(std::exp2(n), std::exp2(b));
        const LogBounds found = seconds(envelope, std::exp2(n), std::exp2(b));
        RC_ASSERT(found.low <= t * (1 + 1e-9));
        RC_ASSERT(found.high >= t * (1 - 1e-9));
        const double centre = kEpochSamples * std::exp(envelope.centre(n * std::log(2), b * std::log(2)));
        RC_ASSERT(centre >= found.low * (1 - 1e-9));
        RC_ASSERT(centre <= found.high * (1 + 1e-9));
      }
    }
  });
  rc::prop("of epochs", [] {
    // Examples to an accuracy rise as 1 + B/phi; accuracies as 1 - 1/(1 + e).
    const double phi = *rc::gen::inRange(1, 5000);
    const auto needed = [&](double b, double a) { return 4 * (a / (1 - a)) * (1 + b / phi) / (1 + 1 / phi); };
    std::vector<PastRun> runs;
    for (const int b : *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 10)))) {
      const double batch = std::exp2(b), scale = needed(batch, 0.5);
      runs.push_back(trained(batch, 400, [&](int e) { return (e / scale) / (1 + e / scale); }));
    }
    const EpochEnvelope envelope(runs, kExact);
    for (int b = 0; b < 10; ++b) {
      for (const double a : {0.5, 0.8, 0.9}) {
        const double e = needed(std::exp2(b), a);
        const LogBounds found = epochs(envelope, std::exp2(b), a);
        RC_ASSERT(found.low <= std::max(1.0, e) * 1.05);  // between two epochs a curve is taken to be straight
        RC_ASSERT(found.high >= e * 0.95);
      }
    }
  });
}

TEST_CASE("bounds hold the truth at least as often as they say") {
  const auto truth = [](double n, double b) { return kEpochSamples * (0.02 / n + 1 / b); };
  sim::Random random(17);
  int held = 0, points = 0;
  for (int world = 0; world < 400; ++world) {
    std::vector<PastRun> runs;
    for (int i = 0; i < 6; ++i) {
      const double n = std::exp2(static_cast<double>(random.below(5))), b = std::exp2(5 + static_cast<double>(random.below(6)));
      runs.push_back(timed(static_cast<int>(n), b, truth(n, b) * random.log_normal_factor(0.05)));
    }
    const TimeEnvelope envelope(runs, {.probability = 0.8, .time_noise = 0.05});
    for (int n = 0; n < 5; ++n)
      for (int b = 5; b < 11; ++b) {
        const double t = truth(std::exp2(n), std::exp2(b));
        const LogBounds found = seconds(envelope, std::exp2(n), std::exp2(b));
        held += found.low <= t * (1 + 1e-9) && found.high >= t * (1 - 1e-9);
        ++points;
      }
  }
  CHECK(held >= 0.8 * points);
}

TEST_CASE("of runs that were cut off the longest says how long it takes at least") {
  const auto cut = [](double epoch_s) {
    PastRun run = timed(2, 64, epoch_s);
    run.censored = true;
    return run;
  };
  const TimeEnvelope envelope(std::vector{cut(60), cut(100), cut(80)}, kExact);
  CHECK(seconds(envelope, 2, 64).low == Approx(100));
  CHECK(std::isinf(seconds(envelope, 2, 64).high));
}

TEST_CASE("the publication's recipe bounds the epochs until a run refutes it") {
  // 100 epochs at batch 128: no more at smaller batches, at most in proportion at larger ones, no promise beyond twice the batch.
  const EpochEnvelope alone(std::vector{recipe(128, 100)}, kExact);
  CHECK(epochs(alone, 128, 0.9).high == Approx(100));
  CHECK(epochs(alone, 32, 0.9).high == Approx(100));
  CHECK(epochs(alone, 256, 0.9).high == Approx(200));
  CHECK(std::isinf(epochs(alone, 512, 0.9).high));
  // A run of 100 epochs at batch 64 that ends at 0.85 has not reached 0.9: nobody knows then.
  const auto short_of = [](int e) { return 0.85 * e / 100; };
  const EpochEnvelope refuted(std::vector{recipe(128, 100), trained(64, 100, short_of)}, kExact);
  CHECK(std::isinf(epochs(refuted, 128, 0.9).high));
  CHECK(epochs(refuted, 64, 0.9).low == Approx(100));
  CHECK(epochs(refuted, 32, 0.9).low == Approx(50));
  CHECK(epochs(refuted, 64, 0.425).high == Approx(50));
}

TEST_CASE("a learner of bounds: limits against the upper ones and their margins, money by the centre") {
  const EnvelopeLearner learner(kExact, {.time = 0.1, .epochs = 0.25});
  const auto times = learner.epoch_times(std::vector{timed(2, 64, 100)});
  const Prediction epoch = times->epoch_time_s({.workers = 2, .batch_size = 64, .samples = 2 * kEpochSamples});
  CHECK(epoch.expected == Approx(200));
  CHECK(epoch.safe == Approx(220));
  const auto accuracies = learner.accuracies(std::vector{trained(64, 100, [](int e) { return e / 100.0; })}, false);
  const PlannedRun run{.workers = 2, .batch_size = 64, .samples = kEpochSamples};
  CHECK(accuracies->expected_epochs(run, 0.4, 100) == 40);
  CHECK(accuracies->fewest_epochs(run, 0.4, 100) == 50);
  CHECK(accuracies->fewest_epochs(run, 0.4, 49) == std::nullopt);
  CHECK(accuracies->accuracy(run, 50).safe == Approx(0.4).margin(1e-5));
  CHECK(accuracies->accuracy(run, 50).smooth == Approx(0.5).margin(1e-5));
}

TEST_CASE("what a recipe's epochs reach is no more than all") {
  // 100 epochs at batch 128, whatever accuracy is wanted.
  const auto accuracies = EnvelopeLearner(kExact, {.time = 0, .epochs = 0}).accuracies(std::vector{recipe(128, 100)}, false);
  const PlannedRun run{.workers = 1, .batch_size = 128, .samples = kEpochSamples};
  CHECK(accuracies->accuracy(run, 101).safe == Approx(1).margin(1e-5));
  CHECK(accuracies->accuracy(run, 99).safe == Approx(0).margin(1e-5));
}
