#include "workloads/training/convergence.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

using namespace rehearse::workloads;

namespace {

// Noise scale 1000 at 100 steps, 4000 at 300, doubling with four times the batch; 10,000 samples an epoch = 100 reference steps.
ConvergenceParameters simple() {
  return {.model = "m",
          .dataset = "d",
          .metric = "accuracy",
          .source = "test",
          .reference_batch = 100,
          .reference_learning_rate = 0.1,
          .reference_epochs = 10,
          .training_samples = 10000,
          .validation_samples = 1000,
          .start_accuracy = 0.1,
          .gap_batch = 200,
          .staleness_loss = 0.01,
          .noise = {{100, 1000, 0.5}, {300, 4000, 0.5}},
          .phases = {{0, 0.5, 100, 1.0, 0.01}, {300, 0.9, 200, 2.0, 0.02}}};
}

TrainingState at(double progress, double mean_batch = 100, double extra_workers = 0) {
  return {.progress = progress, .examples = 1, .log2_batch_examples = std::log2(mean_batch), .staleness_examples = extra_workers};
}

double real(double low, double high) { return low + (high - low) * *rc::gen::inRange(0, 1000001) * 1e-6; }

ConvergenceParameters random_parameters() {
  ConvergenceParameters c = simple();
  c.reference_batch = std::exp2(*rc::gen::inRange(3, 10));
  c.training_samples = c.reference_batch * real(20, 5000);
  c.reference_rate_fraction = real(0.2, 1.0);
  c.rate_exponent = *rc::gen::element(0.5, 1.0);
  const double epoch = c.training_samples / c.reference_batch;
  c.noise.clear();
  double progress = 0;
  for (int i = *rc::gen::inRange(1, 7); i > 0; --i) {
    progress += epoch * real(0.05, 8);
    c.noise.push_back({progress, std::exp(real(2, 11)), real(0, 0.8)});
  }
  return c;
}

}  // namespace

TEST_CASE("the noise scale is log-linear between knots, constant outside, and grows with the batch") {
  const auto c = simple();
  CHECK(noise_scale(c, {}, 200, 100) == Approx(2000));  // sqrt(1000 x 4000)
  CHECK(noise_scale(c, {}, 200, 400) == Approx(4000));  // x 4^0.5
  CHECK(noise_scale(c, {}, 0, 100) == Approx(1000));
  CHECK(noise_scale(c, {}, 9999, 100) == Approx(4000));
  CHECK(noise_scale(c, {.noise_scale_factor = 1.5}, 200, 100) == Approx(3000));
}

TEST_CASE("a step's gain, by hand") {
  CHECK(step_gain(1000, 400, 100) == Approx(22.0 / 7));  // 4 x 1100/1400
  CHECK(step_gain(1000, 100, 100) == 1.0);
  CHECK(step_gain(1e12, 400, 100) == Approx(4));  // noise alone: linear in the batch
  CHECK(step_gain(1e-9, 400, 100) == Approx(1));  // no noise: a bigger batch is no better
  // By the root of squares: the same ends. 8/3 sqrt(16 + 9)/sqrt(16 + 64) = 8/3 x 5/8.94427 = 1.49071, against 8/3 x 7/12.
  CHECK(step_gain(4, 8, 3, GainLaw::root_of_squares) == Approx(1.4907120));
  CHECK(step_gain(4, 8, 3) == Approx(14.0 / 9));
  CHECK(step_gain(4, 3, 3, GainLaw::root_of_squares) == 1.0);
  CHECK(step_gain(1e12, 400, 100, GainLaw::root_of_squares) == Approx(4));
  CHECK(step_gain(1e-9, 400, 100, GainLaw::root_of_squares) == Approx(1));
}

TEST_CASE("the response to the learning rate has its top at 1 and none from 2 on") {
  CHECK(rate_response(0.5) == 0.75);  // 2 x 0.5 - 0.25
  CHECK(rate_response(1.0) == 1.0);
  CHECK(rate_response(1.5) == 0.75);
  CHECK(rate_response(2.0) == 0.0);
  CHECK(rate_response(3.0) == 0.0);
  CHECK(rate_response(0.0) == 0.0);
}

TEST_CASE("the most useful rate is e_max / (1 + phi/B)") {
  auto c = simple();
  // Progress 0: phi = 1000 at batch 100, e* = 0.1; e_max = 0.1 (1 + 1000/100) = 1.1. With batch 400 and no batch exponent:
  // 1.1 / (1 + 1000/400) = 0.3142857.
  c.noise = {{100, 1000, 0.0}};
  CHECK(most_useful_rate(c, {}, 0, 100) == Approx(0.1));
  CHECK(most_useful_rate(c, {}, 0, 400) == Approx(1.1 / 3.5));
  c.reference_rate_fraction = 0.5;  // the reference rate is half of it
  CHECK(most_useful_rate(c, {}, 0, 100) == Approx(0.2));
}

TEST_CASE("an optimizer that divides gradients by their size follows the noise by its square root") {
  auto c = simple();
  c.noise = {{100, 1000, 0.0}};
  c.rate_exponent = 0.5;
  // r = 22/7 at batch 400 (above): e* = 0.1 sqrt(22/7), and AdaScale's rate with it.
  CHECK(most_useful_rate(c, {}, 0, 400) == Approx(0.1 * std::sqrt(22.0 / 7)));
  CHECK(learning_rate(c, {}, {}, {.global_batch = 400}) == Approx(0.1 * std::sqrt(22.0 / 7)));
  CHECK(progress_per_example(c, {}, {}, {.global_batch = 400}) == Approx(22.0 / 2800));
  // fixed: x = sqrt(7/22) = 0.5640761, q = 2x - 7/22 = 0.8099703: more of a step is left than the 0.535 of plain gradients.
  CHECK(progress_per_example(c, {}, {}, {.global_batch = 400, .rule = LrRule::fixed}) == Approx(22.0 / 2800 * 0.8099703));
}

TEST_CASE("rules of the learning rate") {
  auto c = simple();
  c.noise = {{100, 1000, 0.0}};
  const auto rate = [&](LrRule rule, double batch, double examples = 0) {
    return learning_rate(c, {}, {.examples = examples}, {.global_batch = batch, .rule = rule});
  };
  CHECK(rate(LrRule::adascale, 400) == Approx(0.1 * 22 / 7));
  CHECK(rate(LrRule::sqrt, 400) == Approx(0.2));
  CHECK(rate(LrRule::fixed, 400) == Approx(0.1));
  // Warm-up over five epochs of 10,000: from 0.1 to 0.4, half way at 25,000 samples.
  CHECK(rate(LrRule::linear_warmup, 400, 0) == Approx(0.1));
  CHECK(rate(LrRule::linear_warmup, 400, 25000) == Approx(0.25));
  CHECK(rate(LrRule::linear_warmup, 400, 1e6) == Approx(0.4));
  CHECK(learning_rate(c, {}, {}, {.global_batch = 400, .learning_rate = 0.7}) == 0.7);
  for (const char* name : {"adascale", "linear-warmup", "sqrt", "fixed"}) CHECK(to_string(lr_rule(name).value()) == name);
  CHECK(!lr_rule("linear"));
}

TEST_CASE("progress a sample, by hand") {
  auto c = simple();
  c.noise = {{100, 1000, 0.0}};
  // adascale: r / B = 22/7 / 400.
  CHECK(progress_per_example(c, {}, {}, {.global_batch = 400}) == Approx(22.0 / 2800));
  CHECK(progress_per_example(c, {.examples_factor = 1.25}, {}, {.global_batch = 400}) == Approx(22.0 / 3500));
  // fixed: x = 7/22, q = 14/22 - (7/22)^2 = 0.5351240.
  CHECK(progress_per_example(c, {}, {}, {.global_batch = 400, .rule = LrRule::fixed}) == Approx(22.0 / 2800 * 0.5351240));
  // With headroom (fraction 1/2, q = 0.75): x = 7/44, q = 14/44 - (7/44)^2 = 0.2928719, over 0.75.
  c.reference_rate_fraction = 0.5;
  CHECK(progress_per_example(c, {}, {}, {.global_batch = 400, .rule = LrRule::fixed}) == Approx(22.0 / 2800 * 0.2928719 / 0.75));
  // Twice the reference rate is e* itself, and no better than the reference rate.
  CHECK(progress_per_example(c, {}, {}, {.global_batch = 100, .learning_rate = 0.2}) == Approx(0.01));
  // 3.5 times: x = 1.75, q = 3.5 - 3.0625 = 0.4375.
  CHECK(progress_per_example(c, {}, {}, {.global_batch = 100, .learning_rate = 0.35}) == Approx(0.01 * 0.4375 / 0.75));
}

TEST_CASE("accuracy by phases, by hand") {
  const auto c = simple();
  CHECK(accuracy(c, {}, TrainingState{}) == 0.1);
  CHECK(accuracy(c, {}, at(100)) == Approx(0.3));    // 0.5 - 0.4/2
  CHECK(accuracy(c, {}, at(300)) == Approx(0.4));    // 0.5 - 0.4/4
  CHECK(accuracy(c, {}, at(500)) == Approx(0.775));  // 0.9 - (0.9 - 0.4)/2^2
  CHECK(accuracy_ceiling(c, {}, at(0)) == Approx(0.9));
  CHECK(accuracy(c, {.ceiling_offset = 0.04}, at(100)) == Approx(0.32));  // 0.54 - 0.44/2
  // Mean batch 800: two doublings beyond 200, losses 0.01 x 4 and 0.02 x 4.
  CHECK(accuracy(c, {}, at(100, 800)) == Approx(0.28));  // 0.46 - 0.36/2
  CHECK(accuracy_ceiling(c, {}, at(0, 800)) == Approx(0.82));
  // Five asynchronous workers: four beyond the first, 0.01 each.
  CHECK(accuracy_ceiling(c, {}, at(0, 100, 4)) == Approx(0.86));
  // A phase whose ceiling is below where it starts teaches nothing; it takes nothing away either.
  CHECK(accuracy_ceiling(c, {}, at(0, 1 << 20)) == Approx(0.1));
}

TEST_CASE("one evaluation's deviation") {
  CHECK(evaluation_deviation(0.5, 10000) == Approx(0.005));  // sqrt(0.25/10000)
  CHECK(evaluation_deviation(0.9, 1e9) == 0.002);
  CHECK(evaluation_deviation(0.0, 100) == 0.002);
}

TEST_CASE("training at constant noise: closed form, and bookkeeping of the mean batch") {
  auto c = simple();
  c.noise = {{100, 1000, 0.0}};
  TrainingState s;
  advance(c, {}, s, {.global_batch = 400, .asynchronous_workers = 3}, 28000);
  CHECK(s.progress == Approx(220));  // 70 steps x 22/7
  advance(c, {}, s, {.global_batch = 100}, 28000);
  CHECK(s.progress == Approx(500));
  CHECK(s.examples == 56000);
  CHECK(s.log2_batch_examples / s.examples == Approx(std::log2(200)));  // geometric mean of 100 and 400
  CHECK(s.staleness_examples / s.examples == Approx(1));
}

TEST_CASE("growing noise: closed form under adascale") {
  // dE = B0 (1 + (B - B0)/(phi + B0)) dp with phi = 1000 e^(s p), s = ln 4 / 200 from p = 100 to 300, here from 0 to 200:
  // integral of dp/(phi + B0) = (1/B0) (p - (1/s) ln((phi(p) + B0)/(1000 + B0))).
  auto c = simple();
  c.noise = {{0, 1000, 0.0}, {200, 4000, 0.0}};
  const double s = std::log(4.0) / 200;
  const double integral = (200 - std::log(4100.0 / 1100) / s) / 100;
  const double examples = 100 * (200 + 1500 * integral);
  TrainingState state;
  advance(c, {}, state, {.global_batch = 1600}, examples);
  CHECK(state.progress == Approx(200).epsilon(1e-5));
}

TEST_CASE("a rate of twice the most useful one diverges, and teaches nothing until a copy is restored") {
  auto c = simple();
  TrainingState s;
  advance(c, {}, s, {.global_batch = 100, .learning_rate = 0.199}, 10000);
  CHECK(!s.diverged);
  const TrainingState checkpoint = s;
  advance(c, {}, s, {.global_batch = 100, .learning_rate = 0.2}, 10000);
  CHECK(s.diverged);
  CHECK(s.progress == checkpoint.progress);
  CHECK(s.examples == 20000);
  advance(c, {}, s, {.global_batch = 100}, 10000);
  CHECK(s.progress == checkpoint.progress);
  s = checkpoint;
  advance(c, {}, s, {.global_batch = 100}, 10000);
  CHECK(s.progress > checkpoint.progress);
}

TEST_CASE("epochs to a target") {
  const auto c = simple();
  // At the reference batch an epoch is 100 steps: accuracy 0.3 after one, 0.3667 after two, 0.4 after three, then
  // 0.9 - 0.5/1.5^2 = 0.678 after four and 0.775 after five.
  const auto epochs = [&](double target, ConvergenceErrors errors = {}) {
    return epochs_to_target(c, errors, {.global_batch = 100}, target, 100);
  };
  CHECK(epochs(0.2999).epochs == 1);
  CHECK(epochs(0.35).epochs == 2);
  CHECK(epochs(0.67).epochs == 4);
  CHECK(epochs(0.77).epochs == 5);
  CHECK(epochs(0.77, {.examples_factor = 1.2}).epochs == 6);  // 500 steps need 6 epochs
  const auto never = epochs(0.91);
  CHECK(!never.epochs);
  CHECK(never.above_ceiling);
  const auto late = epochs_to_target(c, {}, {.global_batch = 100}, 0.77, 4);
  CHECK(!late.epochs);
  CHECK(!late.above_ceiling);
  const auto wild = epochs_to_target(c, {}, {.global_batch = 100, .learning_rate = 1}, 0.77, 50);
  CHECK(!wild.epochs);
  CHECK(wild.diverged);
}

TEST_CASE("parameters with mistakes are told apart") {
  CHECK(mistakes_in(simple()).empty());
  const auto broken = [](auto change) {
    auto c = simple();
    change(c);
    return mistakes_in(c).size();
  };
  CHECK(broken([](auto& c) { c.reference_batch = NAN; }) == 1);
  CHECK(broken([](auto& c) { c.noise.clear(); }) == 1);
  CHECK(broken([](auto& c) { c.noise[1].progress = c.noise[0].progress; }) == 1);
  CHECK(broken([](auto& c) { c.phases[0].start_progress = 1; }) == 1);
  CHECK(broken([](auto& c) { c.phases[1].ceiling = 1.5; }) == 1);
  CHECK(broken([](auto& c) { c.reference_rate_fraction = 0, c.gap_batch = -1; }) == 2);
  CHECK(broken([](auto& c) { c.rate_exponent = 1.5; }) == 1);
}

TEST_CASE("advance agrees with a fine integration to 1e-4") {
  rc::prop("midpoint rule in 10,000 steps", [] {
    const ConvergenceParameters c = random_parameters();
    const ConvergenceErrors errors{.noise_scale_factor = real(0.5, 2), .examples_factor = real(0.8, 1.2)};
    const auto rule = *rc::gen::element(LrRule::adascale, LrRule::linear_warmup, LrRule::sqrt);
    const StepSetting setting{.global_batch = c.reference_batch * std::exp2(*rc::gen::inRange(0, 8)), .rule = rule};
    const double examples = c.training_samples * real(0.5, 12);
    const int pieces = *rc::gen::element(1, 7);

    const double most = 1.9 / c.reference_rate_fraction;  // stays clear of divergence, where the smallest error decides
    TrainingState fine;
    const double h = examples / 10000;
    for (int i = 0; i < 10000; ++i) {
      TrainingState middle = fine;
      middle.progress += h / 2 * progress_per_example(c, errors, fine, setting);
      middle.examples += h / 2;
      const double rate = learning_rate(c, errors, fine, setting);
      const double useful = c.reference_rate_fraction * most_useful_rate(c, errors, fine.progress, setting.global_batch);
      RC_PRE(rate < most * useful);
      fine.progress += h * progress_per_example(c, errors, middle, setting);
      fine.examples += h;
    }
    TrainingState coarse;
    for (int i = 0; i < pieces; ++i) advance(c, errors, coarse, setting, examples / pieces);
    RC_ASSERT(std::abs(coarse.progress / fine.progress - 1) < 1e-4);
  });
}

TEST_CASE("what holds for all parameters") {
  rc::prop("accuracy never falls with progress", [] {
    ConvergenceParameters c = simple();
    for (auto& phase : c.phases) phase.ceiling = real(0, 1), phase.scale = real(1, 1000), phase.exponent = real(0.2, 8);
    const double batch = std::exp2(real(4, 14));
    const ConvergenceErrors errors{.ceiling_offset = real(-0.05, 0.05)};
    double before = 0;
    for (double p = 0; p < 1500; p += 7) {
      const double a = accuracy(c, errors, at(p, batch));
      RC_ASSERT(a >= before - 1e-15);
      RC_ASSERT(a <= accuracy_ceiling(c, errors, at(p, batch)) + 1e-15);
      before = a;
    }
  });
  rc::prop("under adascale the reference batch makes one step of progress a step; a larger one needs more examples", [] {
    const ConvergenceParameters c = random_parameters();
    const double examples = c.training_samples * real(0.1, 20);
    TrainingState reference, larger;
    advance(c, {}, reference, {.global_batch = c.reference_batch}, examples);
    advance(c, {}, larger, {.global_batch = c.reference_batch * real(1.01, 100)}, examples);
    RC_ASSERT(std::abs(reference.progress / (examples / c.reference_batch) - 1) < 1e-12);
    RC_ASSERT(larger.progress < reference.progress);
  });
  rc::prop("examples_factor stretches the examples", [] {
    const ConvergenceParameters c = random_parameters();
    const StepSetting setting{.global_batch = c.reference_batch * 8};
    const double examples = c.training_samples * real(0.1, 20), factor = real(0.5, 2);
    TrainingState plain, stretched;
    advance(c, {}, plain, setting, examples);
    advance(c, {.examples_factor = factor}, stretched, setting, examples * factor);
    RC_ASSERT(std::abs(stretched.progress / plain.progress - 1) < 1e-4);
  });
}
