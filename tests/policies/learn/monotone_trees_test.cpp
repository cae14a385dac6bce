#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "policies/learn/boosted_learner.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"

using namespace rehearse;
using namespace rehearse::policies;

TEST_CASE("one tree at full rate is exact on a step") {
  // 1 up to x = 2, 5 from x = 3 on: one split, halfway.
  const auto step = MonotoneTrees::fit({.x = {0, 1, 2, 3, 4}, .y = {1, 1, 1, 5, 5}}, {.rounds = 1, .rate = 1, .depth = 1});
  const auto at = [&](double x) { return step.predict(std::vector<double>{x}); };
  CHECK(at(-9) == Approx(1));
  CHECK(at(2.49) == Approx(1));
  CHECK(at(2.51) == Approx(5));
  CHECK(at(99) == Approx(5));
  // A tenth of what is left 200 times leaves 0.9^200 of it.
  const auto slow = MonotoneTrees::fit({.x = {0, 1, 2, 3, 4}, .y = {1, 1, 1, 5, 5}}, {.depth = 1});
  CHECK(slow.predict(std::vector<double>{0}) == Approx(1).margin(4 * std::pow(0.9, 200)));
  // Two features, four steps: 0, 1, 2, 4 in the corners, two rows each.
  const auto corners =
      MonotoneTrees::fit({.dimension = 2, .x = {0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1}, .y = {0, 0, 1, 1, 2, 2, 4, 4}},
                         {.rounds = 400, .depth = 2});
  CHECK(corners.predict(std::vector<double>{0, 1}) == Approx(1).margin(1e-6));
  CHECK(corners.predict(std::vector<double>{1, 1}) == Approx(4).margin(1e-6));
}

TEST_CASE("what falls is not learned, and leaves keep their rows") {
  // Falling targets: no split may raise what is above, so the mean stays.
  const auto falling = MonotoneTrees::fit({.x = {0, 1, 2, 3}, .y = {4, 3, 2, 1}}, {.least_rows = 1});
  CHECK(falling.predict(std::vector<double>{0}) == 2.5);
  CHECK(falling.predict(std::vector<double>{3}) == 2.5);
  // Leaves of at least two rows cannot tell a single one apart: its neighbour shares its value.
  const auto coarse = MonotoneTrees::fit({.x = {0, 1, 2, 3}, .y = {0, 0, 0, 8}}, {.rounds = 1, .rate = 1});
  CHECK(coarse.predict(std::vector<double>{2}) == coarse.predict(std::vector<double>{3}));
  CHECK(coarse.predict(std::vector<double>{3}) == Approx(4));
  CHECK_THROWS_AS(MonotoneTrees::fit({}, {}), sim::CheckFailed);
}

TEST_CASE("never falls when no feature falls") {
  rc::prop("noisy data, any options", [](std::uint64_t seed) {
    sim::Random random(seed);
    IsotonicSamples samples{.dimension = 1 + random.below(3)};
    for (std::size_t row = 0, rows = 1 + random.below(40); row < rows; ++row) {
      double sum = 0;
      for (std::size_t d = 0; d < samples.dimension; ++d) {
        samples.x.push_back(static_cast<double>(random.below(6)));
        sum += samples.x.back();
      }
      samples.y.push_back(sum + random.normal(0, 3));
    }
    const auto trees = MonotoneTrees::fit(samples, {.rounds = 1 + static_cast<int>(random.below(60)),
                                                    .rate = random.uniform(0.05, 1),
                                                    .depth = 1 + static_cast<int>(random.below(4)),
                                                    .least_rows = 1 + static_cast<int>(random.below(3))});
    for (int pair = 0; pair < 100; ++pair) {
      std::vector<double> x, above;
      for (std::size_t d = 0; d < samples.dimension; ++d) {
        x.push_back(random.uniform(-1, 7));
        above.push_back(x.back() + (random.below(2) == 0 ? 0 : random.uniform(0, 3)));
      }
      RC_ASSERT(trees.predict(x) <= trees.predict(above));
    }
  });
}
