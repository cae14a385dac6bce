#include "report/statistics.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace rehearse::report;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("Student's t interval by hand") {
  // 1, 2, 3: mean 2, variance (1 + 0 + 1) / 2 = 1, standard error 1 / sqrt(3); t(2, 97.5 %) = 4.30265273.
  const Estimate three = estimate(std::vector<double>{1, 2, 3});
  CHECK(three.mean == 2);
  CHECK(three.ci95_low == Approx(2 - 4.30265273 / std::sqrt(3.0)).epsilon(1e-8));
  CHECK(three.ci95_high == Approx(2 + 4.30265273 / std::sqrt(3.0)).epsilon(1e-8));
  // 0, 2: variance 2, standard error 1; t(1, 97.5 %) = 12.7062047.
  const Estimate two = estimate(std::vector<double>{0, 2});
  CHECK(two.ci95_low == Approx(1 - 12.7062047).epsilon(1e-8));
  CHECK(two.ci95_high == Approx(1 + 12.7062047).epsilon(1e-8));
  const Estimate equal = estimate(std::vector<double>{5, 5, 5});
  CHECK(equal.ci95_low == 5);
  CHECK(equal.ci95_high == 5);
}

TEST_CASE("too few values have no interval, undefined ones do not count") {
  const Estimate none = estimate({});
  CHECK(std::isnan(none.mean));
  CHECK(std::isnan(none.ci95_low));
  const Estimate one = estimate(std::vector<double>{7});
  CHECK(one.mean == 7);
  CHECK(std::isnan(one.ci95_low));
  CHECK(std::isnan(one.ci95_high));
  const Estimate left = estimate(std::vector<double>{kNan, 7, kNan});
  CHECK(left.mean == 7);
  CHECK(std::isnan(left.ci95_high));
  const Estimate pair = estimate(std::vector<double>{0, kNan, 2});
  CHECK(pair.mean == 1);
  CHECK(pair.ci95_high == Approx(13.7062047).epsilon(1e-8));
  CHECK(std::isnan(estimate(std::vector<double>{kNan}).mean));
}

TEST_CASE("quantiles lie linearly between order statistics") {
  // Positions p (n - 1): 0.95 x 3 = 2.85, that is 3 + 0.85 (4 - 3).
  CHECK(quantile(std::vector<double>{4, 1, 3, 2}, 0.95) == Approx(3.85));
  CHECK(quantile(std::vector<double>{4, 1, 3, 2}, 0.5) == Approx(2.5));
  CHECK(quantile(std::vector<double>{30, 10, 20}, 0.25) == Approx(15));
  CHECK(quantile(std::vector<double>{4, 1, 3, 2}, 0) == 1);
  CHECK(quantile(std::vector<double>{4, 1, 3, 2}, 1) == 4);
  CHECK(quantile(std::vector<double>{9}, 0.3) == 9);
  CHECK(std::isnan(quantile({}, 0.5)));
}

TEST_CASE("a quantile is what sorting gives") {
  rc::prop("against a sorted copy", [](std::vector<int> whole, unsigned percent) {
    RC_PRE(!whole.empty());
    const std::vector<double> values(whole.begin(), whole.end());
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const double p = percent % 101 / 100.0;
    const double position = p * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(position));
    const double high = sorted[std::min(below + 1, sorted.size() - 1)];
    const double expected = sorted[below] + (high - sorted[below]) * (position - std::floor(position));
    RC_ASSERT(quantile(values, p) == expected);
  });
}

TEST_CASE("the mean of nothing is undefined") {
  CHECK(std::isnan(mean({})));
  CHECK(mean(std::vector<double>{1, 2, 6}) == 3);
}
