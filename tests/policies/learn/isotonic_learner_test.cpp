#include "policies/learn/isotonic_learner.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/base/random.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

struct Measured {
  int workers;
  double batch_size, samples, epochs, time_s, accuracy;
};

PastRun run_on(const std::string& instance, const Measured& m) {
  return {.model = "resnet50",
          .dataset = "cifar10",
          .instance = instance,
          .workers = m.workers,
          .batch_size = m.batch_size,
          .samples = m.samples,
          .epochs = m.epochs,
          .time_s = m.time_s,
          .accuracy = m.accuracy};
}

const sim::Profile kProfile{.model = "resnet50", .dataset = "cifar10"}, kNeverTrained{.model = "vgg16", .dataset = "cifar10"};

const IsotonicOptions kNoMargin{.margin_quantile = 0};

IsotonicEpochTimes time_predictor(const RunHistory& history, const IsotonicOptions& options) {
  return {history.on_instance(kProfile, "k80"), options};
}

IsotonicAccuracies accuracy_predictor(const RunHistory& history, const IsotonicOptions& options, bool asynchronous = false) {
  const auto learned = IsotonicLearner(options).accuracies(history.of(kProfile), asynchronous);
  REQUIRE(learned != nullptr);
  return dynamic_cast<const IsotonicAccuracies&>(*learned);
}

/// Time and accuracy that keep the order of both sets of features: worker-seconds rise with workers and samples and fall with
/// the batch; accuracy falls with the batch and rises with the epochs.
PastRun consistent_run(sim::Random& random) {
  Measured m{.workers = 1 + static_cast<int>(random.below(8)),
             .batch_size = 32.0 * static_cast<double>(1 + random.below(8)),
             .samples = 1000.0 * static_cast<double>(1 + random.below(5)),
             .epochs = static_cast<double>(1 + random.below(30))};
  m.time_s = m.epochs * m.samples * (0.01 + 0.3 / m.batch_size) * (1 + 0.05 * m.workers) / m.workers;
  m.accuracy = 0.9 * (1 - std::exp(-m.epochs / (3 + m.batch_size / 40)));
  return run_on("k80", m);
}

PlannedRun random_plan(sim::Random& random) {
  return {.workers = 1 + static_cast<int>(random.below(10)),
          .batch_size = random.uniform(16, 300),
          .samples = random.uniform(500, 6000)};
}

}  // namespace

TEST_CASE("time: worker-seconds an epoch, divided by the workers") {
  // One worker: 200 s / 2 epochs = 100 worker-seconds. Two: 240 / 4 x 2 = 120.
  const RunHistory history({run_on("k80", {1, 32, 1000, 2, 200, 0.5}), run_on("k80", {2, 32, 1000, 4, 240, 0.5})});
  const auto predictor = time_predictor(history, kNoMargin);
  const auto one = predictor.epoch_time_s({.workers = 1, .batch_size = 32, .samples = 1000});
  CHECK(one.expected == 100);
  CHECK(one.safe == 100);
  CHECK_FALSE(one.extrapolated);
  CHECK(predictor.epoch_time_s({.workers = 2, .batch_size = 32, .samples = 1000}).expected == 60);

  // Two workers at batch 64 need at most the 120 of batch 32; nothing bounds them from below but the fit's minimum, 100:
  // (100 + 120) / 2 / 2 = 55 expected, 120 / 2 = 60 at worst.
  const auto larger_batch = predictor.epoch_time_s({.workers = 2, .batch_size = 64, .samples = 1000});
  CHECK(larger_batch.expected == 55);
  CHECK(larger_batch.safe == 60);
  CHECK(larger_batch.extrapolated);
  // Four workers: beyond the data; the maximum, 120 worker-seconds, is all there is: 30 s.
  const auto more_workers = predictor.epoch_time_s({.workers = 4, .batch_size = 32, .samples = 1000});
  CHECK(more_workers.safe == 30);
  CHECK(more_workers.extrapolated);
}

TEST_CASE("time: the smoothed midpoint, by hand") {
  // Worker-seconds 100 with one worker, 120 with two, at batch 32. Around two workers, factors 0.71, 1 and 1.41 of workers and
  // batch. Workers 1.41: between 100 and the most, 110. Workers 2: 120 at batches up to 32; above, where the one of batch 32 is
  // no longer a bound from below, 110. Workers 2.83: at batches up to 32 at least 120, which is the most; above, 110.
  const RunHistory history({run_on("k80", {1, 32, 1000, 2, 200, 0.5}), run_on("k80", {2, 32, 1000, 4, 240, 0.5})});
  const auto predictor = time_predictor(history, kNoMargin);
  CHECK(predictor.epoch_time_s({.workers = 2, .batch_size = 32, .samples = 1000}).smooth ==
        Approx((3 * 110 + (2 * 120 + 110) + (2 * 120 + 110)) / 9.0 / 2));
  // Around four, all of 2.83, 4 and 5.66 workers are more than two: 120 at batches up to 32; above, 110. With 707 samples instead
  // of 1000 nothing would bound it from below.
  CHECK(predictor.epoch_time_s({.workers = 4, .batch_size = 32, .samples = 1000}).smooth ==
        Approx(3 * (2 * 120 + 110) / 9.0 / 4));
}

TEST_CASE("time: runs that break the order are pooled") {
  // 120 worker-seconds with one worker, 100 with two: both 110.
  const RunHistory history({run_on("k80", {1, 32, 1000, 1, 120, 0.5}), run_on("k80", {2, 32, 1000, 1, 50, 0.5})});
  const auto predictor = time_predictor(history, kNoMargin);
  CHECK(predictor.epoch_time_s({.workers = 1, .batch_size = 32, .samples = 1000}).expected == 110);
  CHECK(predictor.epoch_time_s({.workers = 2, .batch_size = 32, .samples = 1000}).expected == 55);
}

TEST_CASE("time: the margin is a quantile of relative leave-one-out residuals") {
  // 100 left out: the rest says 120, 100/120 - 1 = -1/6. 120 left out: the rest says 100, 120/100 - 1 = 0.2.
  // Rank ceil(0.8 x 2) = 2: 0.2. Two workers: 120 / 2 x 1.2 = 72.
  const RunHistory history({run_on("k80", {1, 32, 1000, 2, 200, 0.5}), run_on("k80", {2, 32, 1000, 4, 240, 0.5})});
  const auto predictor = time_predictor(history, {});
  CHECK(predictor.margin() == Approx(0.2));
  const auto two = predictor.epoch_time_s({.workers = 2, .batch_size = 32, .samples = 1000});
  CHECK(two.expected == 60);
  CHECK(two.safe == Approx(72));
  // At the median the rank is 1: -1/6, but a margin never loosens the envelope.
  CHECK(time_predictor(history, {.margin_quantile = 0.5}).margin() == 0);
}

TEST_CASE("time: the thesis learns seconds on workers and the batch of one worker") {
  // One worker, batch 32: 100 s. Two workers, batch 64 = 32 each: 60 s.
  const RunHistory history({run_on("k80", {1, 32, 1000, 1, 100, 0.5}), run_on("k80", {2, 64, 1000, 1, 60, 0.5})});
  const auto predictor = time_predictor(history, {.features = RunFeatures::thesis, .margin_quantile = 0});
  CHECK(predictor.epoch_time_s({.workers = 1, .batch_size = 32, .samples = 1000}).expected == 100);
  CHECK(predictor.epoch_time_s({.workers = 2, .batch_size = 64, .samples = 1000}).expected == 60);
  // Two workers with 16 each take at least the 60 s of 32 each; at most the fit's maximum, 100.
  const auto smaller = predictor.epoch_time_s({.workers = 2, .batch_size = 32, .samples = 1000});
  CHECK(smaller.expected == 80);
  CHECK(smaller.safe == 100);
  CHECK(smaller.extrapolated);
}

TEST_CASE("time: too few runs are joined by the richest other instance's, scaled") {
  const RunHistory history({run_on("k80", {4, 32, 1000, 1, 60, 0.5}),  // 240 worker-seconds
                            run_on("v100", {1, 32, 1000, 1, 10, 0.5}), run_on("p100", {1, 32, 1000, 1, 50, 0.5}),
                            run_on("p100", {2, 32, 1000, 1, 30, 0.5})});
  std::string asked;
  RunHistory::TimeRatio ratio = [&](const std::string& from, const std::string& to) {
    asked = from + " to " + to;
    return 3.0;
  };
  const auto gathered = [&](const char* instance, std::size_t enough) {
    return history.on_instance_or_borrowed(kProfile, instance, enough, ratio);
  };
  const IsotonicEpochTimes predictor(gathered("k80", 2).runs, kNoMargin);
  CHECK(asked == "p100 to k80");
  // One worker: 3 x 50 = 150 s. Two: 3 x 30 = 90 s. Four: the own run's 60 s.
  CHECK(predictor.epoch_time_s({.workers = 1, .batch_size = 32, .samples = 1000}).expected == 150);
  CHECK(predictor.epoch_time_s({.workers = 2, .batch_size = 32, .samples = 1000}).expected == 90);
  CHECK(predictor.epoch_time_s({.workers = 4, .batch_size = 32, .samples = 1000}).expected == 60);
  CHECK(gathered("k80", 2).borrowed);

  CHECK_FALSE(gathered("k80", 1).borrowed);  // now one is enough
  CHECK(gathered("k80", 1).runs.size() == 1);
  // An instance without any run: p100, the richest of three, lends again.
  REQUIRE(gathered("a100", 1).runs.size() == 2);
  CHECK(gathered("a100", 1).runs[0].time_s == 150);
  CHECK(history.on_instance_or_borrowed(kProfile, "a100", 1, {}).runs.empty());  // no ratio, nothing borrowed
  CHECK(history.on_instance_or_borrowed(kNeverTrained, "k80", 1, ratio).runs.empty());
  CHECK(IsotonicLearner(kNoMargin).epoch_times({}) == nullptr);
  ratio = [](const std::string&, const std::string&) { return 0.0; };
  CHECK_THROWS_AS(gathered("a100", 1), sim::CheckFailed);
}

TEST_CASE("runs of another precision, rate rule, dataset or model are no past runs of a profile") {
  const PastRun own = run_on("k80", {1, 32, 1000, 2, 200, 0.5});
  PastRun half = own, fixed = own, elsewhere = own, other = own;
  half.precision = sim::Precision::fp16;
  fixed.lr_rule = sim::LrRule::fixed;
  elsewhere.dataset = "imagenet";
  other.model = "vgg16";
  for (PastRun* run : {&half, &fixed, &elsewhere, &other}) run->time_s = 1;
  const RunHistory history({half, fixed, own, elsewhere, other});
  CHECK(history.of(kProfile).size() == 1);
  REQUIRE(history.on_instance(kProfile, "k80").size() == 1);
  CHECK(history.on_instance(kProfile, "k80").front().time_s == 200);
  sim::Profile in_fp16 = kProfile;
  in_fp16.precision = sim::Precision::fp16;
  CHECK(history.on_instance(in_fp16, "k80").front().precision == sim::Precision::fp16);
  // Nor do they lend to another instance.
  const auto ratio = [](const std::string&, const std::string&) { return 2.0; };
  CHECK(history.on_instance_or_borrowed(kProfile, "v100", 10, ratio).runs.size() == 1);
  CHECK(RunHistory({half, fixed, elsewhere, other}).on_instance_or_borrowed(kProfile, "v100", 10, ratio).runs.empty());
}

TEST_CASE("of equally rich instances the first by name lends") {
  const RunHistory history({run_on("v100", {1, 32, 1000, 1, 10, 0.5}), run_on("p100", {1, 32, 1000, 1, 50, 0.5})});
  CHECK(history.richest_other_instance(kProfile, "k80") == "p100");
  CHECK(history.richest_other_instance(kProfile, "p100") == "v100");
  CHECK(history.richest_other_instance(kNeverTrained, "k80").empty());
}

TEST_CASE("accuracy: falls with the global batch, rises with the epochs") {
  const RunHistory history({run_on("k80", {1, 32, 1000, 1, 10, 0.5}), run_on("v100", {2, 32, 1000, 4, 40, 0.8}),
                            run_on("k80", {1, 128, 1000, 4, 20, 0.7})});
  const auto predictor = accuracy_predictor(history, kNoMargin);
  // Batch 64: at least the 0.7 of batch 128 and at most the 0.8 of batch 32, after 4 epochs.
  const auto between = predictor.accuracy({.workers = 1, .batch_size = 64}, 4);
  CHECK(between.expected == Approx(0.75));
  CHECK(between.safe == 0.7);
  CHECK_FALSE(between.extrapolated);

  const PlannedRun batch_64{.workers = 1, .batch_size = 64}, batch_32{.workers = 1, .batch_size = 32};
  CHECK(fewest_epochs(predictor, batch_64, 0.7, 100) == 4);
  CHECK(fewest_epochs(predictor, batch_64, 0.7, 4) == 4);
  CHECK(fewest_epochs(predictor, batch_64, 0.7, 3) == std::nullopt);
  CHECK(fewest_epochs(predictor, batch_64, 0.75, 100) == std::nullopt);
  CHECK(fewest_epochs(predictor, batch_32, 0.8, 100) == 4);
  CHECK(fewest_epochs(predictor, batch_32, 0.5, 100) == 1);
  CHECK(fewest_epochs(predictor, batch_32, 0.5, 0) == std::nullopt);
}

TEST_CASE("accuracy: the margin is a quantile of absolute leave-one-out residuals") {
  // (batch, epochs): (32, 1) = 0.5 left out: nothing lies below, the rest's minimum is 0.7: 0.7 - 0.5 = 0.2.
  // (32, 4) = 0.8: the rest says max(0.5, 0.7): -0.1. (128, 4) = 0.7: nothing below, the minimum is 0.5: -0.2.
  // Rank ceil(0.8 x 3) = 3: 0.2. Rank ceil(0.5 x 3) = 2: -0.1, so 0.
  const RunHistory history({run_on("k80", {1, 32, 1000, 1, 10, 0.5}), run_on("k80", {1, 32, 1000, 4, 40, 0.8}),
                            run_on("k80", {1, 128, 1000, 4, 20, 0.7})});
  const auto predictor = accuracy_predictor(history, {});
  CHECK(predictor.margin() == Approx(0.2));
  CHECK(predictor.accuracy({.workers = 1, .batch_size = 32}, 4).safe == Approx(0.6));
  CHECK(accuracy_predictor(history, {.margin_quantile = 0.5}).margin() == 0);
}

TEST_CASE("accuracy: asynchronous runs are learned apart, on their workers") {
  auto one = run_on("k80", {1, 32, 1000, 4, 10, 0.8}), four = run_on("k80", {4, 8, 1000, 4, 10, 0.6});
  one.asynchronous = four.asynchronous = true;
  const RunHistory history({one, four, run_on("k80", {4, 128, 1000, 4, 10, 0.75})});
  // Two workers: between the 0.6 of four and the 0.8 of one, whatever the batch.
  const auto predictor = accuracy_predictor(history, kNoMargin, true);
  const PlannedRun two{.workers = 2, .batch_size = 4096, .asynchronous = true};
  CHECK(predictor.accuracy(two, 4).expected == Approx(0.7));
  CHECK_FALSE(predictor.accuracy(two, 4).extrapolated);
  CHECK(accuracy_predictor(history, kNoMargin).accuracy({.workers = 1, .batch_size = 128}, 4).expected == 0.75);

  const std::vector<PastRun> synchronous{run_on("k80", {4, 128, 1000, 4, 10, 0.75})};
  CHECK(IsotonicLearner(kNoMargin).accuracies(synchronous, true) == nullptr);
  CHECK(IsotonicLearner(kNoMargin).accuracies({}, false) == nullptr);
}

TEST_CASE("accuracy: the thesis learns on the batch of one worker, all runs together") {
  auto asynchronous = run_on("k80", {4, 256, 1000, 4, 10, 0.6});  // 64 each
  asynchronous.asynchronous = true;
  const RunHistory history({run_on("k80", {2, 64, 1000, 4, 10, 0.8}), asynchronous});  // 32 each
  const auto predictor = accuracy_predictor(history, {.features = RunFeatures::thesis, .margin_quantile = 0});
  // Eight workers with 48 each: between 0.6 and 0.8.
  CHECK(predictor.accuracy({.workers = 8, .batch_size = 384}, 4).expected == Approx(0.7));
}

TEST_CASE("the safety margin's rank") {
  std::vector<double> residuals{10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
  CHECK(safety_margin(residuals, 0.8) == 8);  // 0.8 x 10
  CHECK(safety_margin(residuals, 0.81) == 9);
  CHECK(safety_margin(residuals, 1) == 10);
  CHECK(safety_margin(residuals, 0.05) == 1);
  CHECK(safety_margin(residuals, 0) == 0);
  CHECK(safety_margin({}, 0.8) == 0);
  CHECK(safety_margin({-3}, 0.8) == 0);
  CHECK_THROWS_AS(safety_margin(residuals, 1.5), sim::CheckFailed);
}

TEST_CASE("leaving out predicts each sample from the others alone") {
  // Rows 1, 2, 4 at x = 1, 2, 3. The upper envelope without row 1 is 2; without row 2, 4; without row 3 the maximum, 2.
  const IsotonicSamples samples{.x = {1, 2, 3}, .y = {1, 2, 4}};
  const auto upper = [](const IsotonicFit& fit, std::span<const double> x, double) { return fit.upper(x); };
  CHECK(leave_one_out(samples, upper) == std::vector<double>{2, 4, 2});
  CHECK(leave_one_out({.x = {1}, .y = {1}}, upper).empty());

  // Weights and what was cut short go with their rows; what was cut short itself is not predicted.
  const IsotonicSamples cut{
      .x = {1, 2, 3, 4}, .y = {2, 1, 0, 4}, .weights = {1, 2, 3, 4}, .censored = {true, false, false, false}};
  const auto sum = [](const IsotonicFit& fit, std::span<const double>, double) {
    return std::accumulate(fit.fitted().begin(), fit.fitted().end(), 0.0);
  };
  const auto sum_of = [&](const IsotonicSamples& rest) { return sum(IsotonicFit::fit(rest), {}, 0); };
  const IsotonicSamples without_2{.x = {1, 3, 4}, .y = {2, 0, 4}, .weights = {1, 3, 4}, .censored = {true, false, false}};
  const IsotonicSamples without_3{.x = {1, 2, 4}, .y = {2, 1, 4}, .weights = {1, 2, 4}, .censored = {true, false, false}};
  const IsotonicSamples without_4{.x = {1, 2, 3}, .y = {2, 1, 0}, .weights = {1, 2, 3}, .censored = {true, false, false}};
  CHECK(leave_one_out(cut, sum) == std::vector<double>{sum_of(without_2), sum_of(without_3), sum_of(without_4)});

  IsotonicSamples many{.x = std::vector<double>(250), .y = std::vector<double>(250)};
  for (std::size_t i = 0; i < 250; ++i) many.x[i] = many.y[i] = static_cast<double>(i);
  const auto itself = [](const IsotonicFit&, std::span<const double>, double y) { return y; };
  const auto left_out = leave_one_out(many, itself);  // rows 0, 2, 5, 7, ..., 247
  REQUIRE(left_out.size() == kMostLeftOut);
  CHECK(left_out[1] == 2);
  CHECK(left_out[2] == 5);
  CHECK(left_out.back() == 247);
}

TEST_CASE("a lower floor never takes more epochs, and the answer is the fewest") {
  rc::prop("floors", [](std::uint64_t key) {
    sim::Random random(key);
    std::vector<PastRun> runs;
    for (std::size_t i = 0, n = 1 + random.below(40); i < n; ++i) {
      runs.push_back(consistent_run(random));
      runs.back().accuracy = std::clamp(runs.back().accuracy + random.normal(0, 0.05), 0.0, 1.0);
    }
    const auto predictor = accuracy_predictor(RunHistory(runs), {});
    const PlannedRun plan = random_plan(random);
    const int cap = 40;
    int fewest_so_far = 0;
    for (double floor = 0; floor <= 1; floor += 0.02) {
      const auto found = fewest_epochs(predictor, plan, floor, cap);
      int first = 1;
      while (first <= cap && predictor.accuracy(plan, first).safe < floor) ++first;
      RC_ASSERT(found.value_or(cap + 1) == first);
      RC_ASSERT(first >= fewest_so_far);
      fewest_so_far = first;
    }
  });
}

TEST_CASE("runs that keep the order are learned by heart, and more of them only narrow the envelopes") {
  rc::prop("growing history", [](std::uint64_t key) {
    sim::Random random(key);
    std::vector<PastRun> runs;
    for (std::size_t i = 0, n = 2 + random.below(30); i < n; ++i) runs.push_back(consistent_run(random));
    const auto before = time_predictor(RunHistory(runs), kNoMargin);
    for (std::size_t i = 0, n = 1 + random.below(30); i < n; ++i) runs.push_back(consistent_run(random));
    const RunHistory history(runs);
    const auto after = time_predictor(history, kNoMargin);
    const auto accuracy = accuracy_predictor(history, kNoMargin);

    for (const PastRun& run : runs) {
      const PlannedRun plan{.workers = run.workers, .batch_size = run.batch_size, .samples = run.samples};
      RC_ASSERT(std::abs(after.epoch_time_s(plan).safe * run.epochs / run.time_s - 1) < 1e-9);
      RC_ASSERT(std::abs(accuracy.accuracy(plan, run.epochs).safe - run.accuracy) < 1e-9);
    }
    for (int pair = 0; pair < 50; ++pair) {
      const PlannedRun plan = random_plan(random);
      if (!before.epoch_time_s(plan).extrapolated)
        RC_ASSERT(after.epoch_time_s(plan).safe <= before.epoch_time_s(plan).safe * (1 + 1e-9));
      PlannedRun harder = plan;  // more samples, a smaller batch, more workers: no fewer worker-seconds
      harder.samples += random.uniform(0, 1000);
      harder.batch_size -= random.uniform(0, 15);
      harder.workers += static_cast<int>(random.below(3));
      const auto easy = after.epoch_time_s(plan), hard = after.epoch_time_s(harder);
      RC_ASSERT(hard.expected * harder.workers >= easy.expected * plan.workers * (1 - 1e-12));
      RC_ASSERT(hard.safe * harder.workers >= easy.safe * plan.workers * (1 - 1e-12));
      RC_ASSERT(easy.expected <= easy.safe * (1 + 1e-12));
    }
  });
}

TEST_CASE("a history with mistakes is refused, every mistake named") {
  auto bad = run_on("", {0, -1, std::numeric_limits<double>::quiet_NaN(), 1, std::numeric_limits<double>::infinity(), 76.1});
  try {
    RunHistory({run_on("k80", {1, 32, 1000, 1, 10, 0.5}), bad});
    FAIL("nothing thrown");
  } catch (const sim::InputError& error) {
    std::vector<std::string> columns;
    for (const sim::Mistake& m : error.mistakes()) {
      CHECK(m.line == 2);
      columns.push_back(m.pointer);
    }
    CHECK(columns == std::vector<std::string>{"instance", "workers", "batch_size", "samples", "time_s", "accuracy"});
    CHECK(std::string(error.what()).find("accuracy: expected a number from 0 to 1, found 76.1") != std::string::npos);
  }
  CHECK(mistakes_in(run_on("k80", {1, 32, 1000, 1, 10, 0.5})).empty());
}
