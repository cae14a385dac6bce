#include "policies/harness/rate_finder.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/random.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

/// A best rate of `best` at the reference batch of 128; noise scale 1,000.
workloads::ConvergenceParameters training(double best, double fraction = 1) {
  return {.model = "m",
          .dataset = "d",
          .reference_batch = 128,
          .reference_learning_rate = best * fraction,
          .reference_rate_fraction = fraction,
          .reference_epochs = 90,
          .training_samples = 50000,
          .validation_samples = 10000,
          .start_accuracy = 0.1,
          .noise = {{.progress = 0, .noise_scale = 1000}},
          .phases = {{.start_progress = 0, .ceiling = 0.95, .scale = 3000, .exponent = 1}}};
}

}  // namespace

TEST_CASE("the best rate is found within a factor of two, under noise") {
  for (const double best : {0.01, 0.1, 1.0})
    for (const double fraction : {1.0, 0.7})
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        INFO("best " << best << ", fraction " << fraction << ", seed " << seed);
        const auto found = find_rate(simulated_ramp(training(best, fraction), {.batch = 128, .random_key = seed}));
        REQUIRE(found);
        CHECK(found->rate > best / 2);
        CHECK(found->rate < best * 2);
        CHECK(found->low < found->rate);
        CHECK(found->rate < found->high);
        CHECK(found->rise > 0);
      }
}

TEST_CASE("the rate rises about linearly with the batch, then flattens") {
  const auto c = training(0.1);
  const auto found = [&](double batch) { return find_rate(simulated_ramp(c, {.batch = batch, .noise = 0.001}))->rate; };
  // e* goes with 1/(1 + 1000/B): from 32 to 128 by 3.66, from 8,192 to 32,768 by 1.09.
  const double small = found(128) / found(32), large = found(32768) / found(8192);
  CHECK(small > 2.5);
  CHECK(small < 5.2);
  CHECK(large > 0.75);
  CHECK(large < 1.5);
  for (const double batch : {32.0, 128.0, 512.0, 2048.0, 8192.0, 32768.0}) {
    const double best = most_useful_rate(c, {}, 0, batch);
    CHECK(found(batch) > best / 2);
    CHECK(found(batch) < best * 2);
  }
}

TEST_CASE("nothing is found where nothing rises") {
  std::vector<RampPoint> flat;
  sim::Random random(1);
  for (int i = 0; i < 100; ++i) flat.push_back({1e-4 * std::pow(1.1, i), random.normal(0.1, 0.01)});
  int found = 0;
  for (std::size_t n = 20; n <= 100; n += 20) found += find_rate(std::span(flat).first(n)).has_value();
  CHECK(found <= 1);  // three standard errors, looked for where it is steepest
  CHECK(!find_rate(std::span(flat).first(5)));
  CHECK(!find_rate({}));
}
