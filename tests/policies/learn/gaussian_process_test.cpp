#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "policies/learn/gaussian_learner.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

/// The integral of f(y) times the normal density, by Simpson's rule over ten deviations either side.
template <class F>
double expectation(const Gaussian& value, F&& f) {
  constexpr int kSteps = 20'000;
  const double low = value.mean - 10 * value.deviation, width = 20 * value.deviation / kSteps;
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double y = low + i * width, z = (y - value.mean) / value.deviation;
    const double weight = i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * f(y) * std::exp(-z * z / 2);
  }
  return sum * width / 3 / (value.deviation * std::sqrt(2 * std::numbers::pi));
}

}  // namespace

TEST_CASE("two points by the closed form") {
  // Values 1 and 3 at 0 and 2, mean 1, length 2, deviation 0.5, noise 0.2 of it: K = 0.25 [[1.04, k], [k, 1.04]] with k the
  // kernel at distance 1 length. At x = 1, half a length from both, k* = 0.25 (h, h). The inverse of [[a, k], [k, a]] applied to
  // (0, 2) is
  // (-2k, 2a)/(a^2 - k^2); h times the sum of both is 2h (a - k)/(a^2 - k^2) = 2h/(a + k).
  const double s = std::sqrt(5.0), k = (1 + s + 5.0 / 3) * std::exp(-s), h = (1 + s / 2 + 5.0 / 12) * std::exp(-s / 2), a = 1.04;
  const GaussianProcess process({.x = {0, 2}, .y = {1, 3}}, {.length = 2, .deviation = 0.5, .noise = 0.2, .mean = 1});
  const std::vector<double> middle{1}, far{1e6};
  CHECK(process.at(middle).mean == Approx(1 + 2 * h / (a + k)));
  // Variance: 0.25 (1 - (h, h) [[a, k], [k, a]]^-1 (h, h)) = 0.25 (1 - 2 h^2/(a + k)).
  CHECK(process.at(middle).deviation == Approx(0.5 * std::sqrt(1 - 2 * h * h / (a + k))));
  CHECK(process.at(far).mean == Approx(1));
  CHECK(process.at(far).deviation == Approx(0.5));
  // log N((0, 2); 0, K): -(0, 2) K^-1 (0, 2)/2 - log det K / 2 - log 2 pi; the first is 4 a/(a^2 - k^2)/0.25, det = 0.0625 (a^2 -
  // k^2).
  const double det = a * a - k * k;
  CHECK(process.log_likelihood() ==
        Approx(-4 * a / det / 0.25 / 2 - std::log(0.0625 * det) / 2 - std::log(2 * std::numbers::pi)));
  CHECK(matern52(0) == 1);
  CHECK_THROWS_AS(GaussianProcess({}, {}), sim::CheckFailed);
  CHECK_THROWS_AS(GaussianProcess({.x = {0}, .y = {1}}, {.noise = 0}), sim::CheckFailed);
}

TEST_CASE("without noise it runs through its points, and it never knows less than its prior") {
  rc::prop("random points", [](std::uint64_t seed) {
    sim::Random random(seed);
    GaussianSamples samples{.dimension = 2};
    for (int i = 0; i < 8; ++i) {
      samples.x.insert(samples.x.end(), {i + random.uniform(-0.3, 0.3), random.uniform(0, 3)});
      samples.y.push_back(random.normal(5, 2));
    }
    const GaussianProcess process(samples, {.length = 1, .deviation = 2, .noise = 1e-5, .mean = 5});
    for (std::size_t i = 0; i < samples.y.size(); ++i) {
      RC_ASSERT(std::abs(process.at(samples.features(i)).mean - samples.y[i]) < 1e-4);
      RC_ASSERT(process.at(samples.features(i)).deviation < 1e-3);
    }
    const std::vector<double> anywhere{random.uniform(-5, 15), random.uniform(-5, 8)};
    RC_ASSERT(process.at(anywhere).deviation <= 2);
  });
}

TEST_CASE("the likeliest kernel: smooth data get a long length and little noise, noise the contrary") {
  sim::Random random(7);
  GaussianSamples smooth, noisy;
  for (int i = 0; i < 24; ++i) {
    smooth.x.push_back(i / 2.0);
    noisy.x.push_back(i / 2.0);
    smooth.y.push_back(std::sin(i / 8.0));
    noisy.y.push_back(random.normal());
  }
  CHECK(GaussianProcess::fit(smooth).kernel().length >= 2);
  CHECK(GaussianProcess::fit(smooth).kernel().noise == 0.03);
  // The deviation is the likeliest given the rest: none nearby is likelier.
  const GaussianProcess fitted = GaussianProcess::fit(noisy);
  for (const double factor : {0.9, 1.1}) {
    Kernel other = fitted.kernel();
    other.deviation *= factor;
    CHECK(GaussianProcess(noisy, other).log_likelihood() < fitted.log_likelihood());
  }
  CHECK(GaussianProcess::fit({.x = {1, 2}, .y = {3, 3}}).at(std::vector<double>{1.5}).mean == Approx(3));
}

// Noise is one of 0.03, 0.1 and 0.3, times the factor: points on a line take the least, points that jump the most.
TEST_CASE("a factor on the noise that a Gaussian process may believe in") {
  GaussianSamples line{.dimension = 1}, jumps{.dimension = 1};
  for (int i = 0; i < 12; ++i) {
    line.x.push_back(i);
    line.y.push_back(0.5 * i);
    jumps.x.push_back(i);
    jumps.y.push_back(i % 2);
  }
  for (const double factor : {0.5, 1.0, 2.0}) {
    CHECK(GaussianProcess::fit(line, factor).kernel().noise == Approx(0.03 * factor));
    const double noise = GaussianProcess::fit(jumps, factor).kernel().noise / factor;
    CHECK((noise == Approx(0.03) || noise == Approx(0.1) || noise == Approx(0.3)));
  }
}

TEST_CASE("expected improvement and probability against the integral") {
  for (const double best : {-1.0, 0.0, 2.0}) {
    for (const Gaussian value : {Gaussian{0, 1}, Gaussian{2.5, 0.7}, Gaussian{-4, 3}}) {
      INFO(best << " " << value.mean);
      const double improvement = expectation(value, [&](double y) { return std::max(0.0, best - y); });
      CHECK(expected_improvement(best, value) == Approx(improvement).margin(1e-6));
      // The step of an indicator costs Simpson's rule one interval.
      CHECK(probability_at_most(best, value) ==
            Approx(expectation(value, [&](double y) { return y <= best ? 1.0 : 0.0; })).margin(1e-3));
    }
  }
  CHECK(expected_improvement(3, {1, 0}) == 2);
  CHECK(expected_improvement(1, {3, 0}) == 0);
  CHECK(probability_at_most(1, {1, 0}) == 1);
  CHECK(probability_at_most(0.9, {1, 0}) == 0);
  CHECK(normal_quantile(0.5) == Approx(0).margin(1e-9));
  CHECK(normal_quantile(0.975) == Approx(1.9599639845400545).epsilon(1e-15));
  CHECK_THROWS_AS(normal_quantile(1), sim::CheckFailed);
}
