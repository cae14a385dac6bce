#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "policies/learn/linear_regression.hpp"
#include "sim/base/random.hpp"

using namespace rehearse::policies;
namespace sim = rehearse::sim;

namespace {

using Terms = std::vector<LinearTerm>;

}  // namespace

// One weight, believed to be 0 give or take 2, read as 5 with a deviation of 1: v = 1 + 4 = 5, m = 4 x 5/5 = 4, S = 4 - 4 x 4/5 =
// 0.8. Read again as 5: v = 1.8, m = 4 + 0.8 x 1/1.8 = 4.444, S = 0.8 - 0.64/1.8 = 0.4444.
TEST_CASE("a Bayesian linear model by hand: one weight, read twice") {
  LinearModel model(std::vector<double>{2}, 1);
  const Terms x{{0, 1}};
  CHECK(model.measured_at(x).mean == 0);
  CHECK(model.measured_at(x).deviation == Approx(std::sqrt(5)));
  model.add(x, 5);
  CHECK(model.mean_of_weight(0) == Approx(4));
  CHECK(model.measured_at(x).deviation == Approx(std::sqrt(1.8)));
  model.add(x, 5);
  CHECK(model.mean_of_weight(0) == Approx(4 + 0.8 / 1.8));
  CHECK(model.measured_at(x).deviation == Approx(std::sqrt(1 + 0.8 - 0.64 / 1.8)));
}

// Weights 0 give or take 1, x = (1, 2), y = 3, r = 1: Sx = (1, 2), v = 1 + 1 + 4 = 6, m = (1, 2) 3/6 = (0.5, 1), S = I - (1,
// 2)(1, 2)'/6 = (5/6, -1/3; -1/3, 1/3). At (1, 0): 0.5 and 1 + 5/6; at (1, 1): 1.5 and 1 + 5/6 - 2/3 + 1/3 = 1.5.
TEST_CASE("a Bayesian linear model by hand: two weights, one reading") {
  LinearModel model(std::vector<double>{1, 1}, 1);
  model.add(Terms{{0, 1}, {1, 2}}, 3);
  CHECK(model.mean_of_weight(0) == Approx(0.5));
  CHECK(model.mean_of_weight(1) == Approx(1));
  CHECK(model.measured_at(Terms{{0, 1}}).deviation == Approx(std::sqrt(11.0 / 6)));
  CHECK(model.measured_at(Terms{{0, 1}, {1, 1}}).mean == Approx(1.5));
  CHECK(model.measured_at(Terms{{0, 1}, {1, 1}}).deviation == Approx(std::sqrt(1.5)));
}

// Believed to be 0 give or take sqrt(1 + 3) = 2. Above 0: the mean of half a normal variable, 2 sqrt(2/pi) = 1.596, of which 3/4
// go into the weight. Above 40, 20 deviations away: 40 + 2/20 = 40.1. Above -40 it says nothing.
TEST_CASE("a reading of which only a lower bound is known counts as what is believed beyond it") {
  const Terms x{{0, 1}};
  const auto weight_after = [&](double bound) {
    LinearModel model(std::vector<double>{std::sqrt(3)}, 1);
    model.add_above(x, bound);
    return model.mean_of_weight(0);
  };
  CHECK(weight_after(0) == Approx(0.75 * 2 * std::sqrt(2 / M_PI)));
  CHECK(weight_after(40) == Approx(0.75 * 40.1));
  CHECK(weight_after(-40) == Approx(0).margin(1e-12));
}

TEST_CASE("readings may come in any order, and none makes a linear model less sure") {
  rc::prop("of random readings", [](std::uint64_t seed) {
    sim::Random random(seed);
    std::vector<std::pair<Terms, double>> readings;
    for (int i = 0; i < 8; ++i)
      readings.emplace_back(Terms{{0, 1}, {1 + random.below(3), random.uniform(-2, 2)}}, random.uniform(-5, 5));
    const Terms asked{{0, 1}, {1, 0.5}, {3, -1}};
    const auto learned = [&] {
      LinearModel model(std::vector<double>{3, 1, 1, 2}, 0.3);
      double deviation = model.measured_at(asked).deviation;
      for (const auto& [x, y] : readings) {
        model.add(x, y);
        RC_ASSERT(model.measured_at(asked).deviation <= deviation * (1 + 1e-12));
        deviation = model.measured_at(asked).deviation;
      }
      return model.measured_at(asked);
    };
    const Gaussian forwards = learned();
    std::reverse(readings.begin(), readings.end());
    const Gaussian backwards = learned();
    RC_ASSERT(std::abs(forwards.mean - backwards.mean) < 1e-8);
    RC_ASSERT(std::abs(forwards.deviation - backwards.deviation) < 1e-8);
  });
}
