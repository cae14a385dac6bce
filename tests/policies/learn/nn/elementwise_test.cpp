#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "policies/learn/nn/arithmetic.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

using Each = void (*)(std::span<const double>, std::span<double>);

/// The largest error against `exact`, in units in the last place of the exact result.
double worst_error(Each each, long double (*exact)(long double), double reach) {
  sim::Random random(sim::stream_key(1, 0, "test", "elementwise"));
  std::vector<double> x(20'001), y(x.size());
  for (double& v : x) v = random.uniform(-reach, reach);
  each(x, y);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double expected = exact(x[i]);
    const double size = std::abs(static_cast<double>(expected));
    const double unit = std::nextafter(size, INFINITY) - size;
    worst = std::max(worst, static_cast<double>(std::abs(y[i] - expected)) / unit);
  }
  return worst;
}

double one(Each each, double x) {
  double y = 0;
  each({&x, 1}, {&y, 1});
  return y;
}

}  // namespace

TEST_CASE("exp, tanh and sigmoid are accurate") {
  for (const double reach : {1e-9, 1e-3, 0.3, 1.0, 3.0, 20.0, 700.0}) {
    INFO("numbers of up to " << reach);
    CHECK(worst_error(
              exp_each, [](long double x) { return expl(x); }, reach) <= 1);
    CHECK(worst_error(
              tanh_each, [](long double x) { return tanhl(x); }, reach) <= 3);
    CHECK(worst_error(
              sigmoid_each, [](long double x) { return 1 / (1 + expl(-x)); }, reach) <= 2);
  }
}

TEST_CASE("exp, tanh and sigmoid at the ends") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  CHECK(one(exp_each, 0.0) == 1);
  CHECK(one(exp_each, -kInfinity) == 0);
  CHECK(one(exp_each, -708.5) == 0);
  CHECK(one(exp_each, 709.5) == kInfinity);
  CHECK(one(exp_each, kInfinity) == kInfinity);
  CHECK(one(tanh_each, 20.5) == 1);
  CHECK(one(tanh_each, -kInfinity) == -1);
  CHECK(std::signbit(one(tanh_each, -0.0)));
  CHECK(one(tanh_each, 5e-324) == 5e-324);
  CHECK(one(sigmoid_each, 0.0) == 0.5);
  CHECK(one(sigmoid_each, kInfinity) == 1);
  CHECK((one(sigmoid_each, -kInfinity) >= 0 && one(sigmoid_each, -kInfinity) < 1e-300));
  for (const Each each : {Each(exp_each), Each(tanh_each), Each(sigmoid_each)}) CHECK(std::isnan(one(each, kNan)));
  double two[2] = {};
  CHECK_THROWS_AS(exp_each(two, std::span(two, 1)), sim::CheckFailed);
}

TEST_CASE("a number's result is the same wherever it stands") {
  sim::Random random(sim::stream_key(2, 0, "test", "elementwise"));
  for (const Each each : {Each(exp_each), Each(tanh_each), Each(sigmoid_each)}) {
    std::array<double, 23> x{}, y{};
    for (double& v : x) v = random.uniform(-5, 5);
    for (std::size_t first = 0; first < x.size(); ++first) {
      each(std::span(x).subspan(first), std::span(y).subspan(first));
      for (std::size_t i = first; i < x.size(); ++i)
        CHECK(std::bit_cast<std::uint64_t>(y[i]) == std::bit_cast<std::uint64_t>(one(each, x[i])));
    }
  }
}
