#include "policies/learn/isotonic.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "policies/learn/upper_set.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "tests/policies/draws.hpp"

using namespace rehearse;
using namespace rehearse::policies;
using rehearse::tests::whole;

namespace {

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

double weight_of(const IsotonicSamples& s, std::size_t row) { return s.weights.empty() ? 1 : s.weights[row]; }

std::vector<double> fitted(const IsotonicSamples& samples) {
  const auto fit = IsotonicFit::fit(samples);
  return {fit.fitted().begin(), fit.fitted().end()};
}

/// Reference 1, exact: f_i = max over upper sets U with i, min over lower sets L with i, of the mean over U and L (Robertson,
/// Wright, Dykstra, Order Restricted Statistical Inference, 1988, theorem 1.4.4). All subsets: for a few rows alone.
std::vector<double> by_max_min(const IsotonicSamples& s) {
  const std::size_t n = s.rows();
  std::vector<unsigned> uppers;
  for (unsigned set = 0; set < 1u << n; ++set) {
    bool closed = true;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if ((set >> i & 1u) != 0 && (set >> j & 1u) == 0 && is_below(s.features(i), s.features(j))) closed = false;
    if (closed) uppers.push_back(set);
  }
  std::vector<double> fit(n, -std::numeric_limits<double>::infinity());
  for (const unsigned upper : uppers) {
    std::vector<double> least(n, std::numeric_limits<double>::infinity());
    for (const unsigned complement : uppers) {
      const unsigned both = upper & ~complement;
      double sum = 0, total = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if ((both >> i & 1u) == 0) continue;
        sum += weight_of(s, i) * s.y[i];
        total += weight_of(s, i);
      }
      for (std::size_t i = 0; i < n; ++i)
        if ((both >> i & 1u) != 0) least[i] = std::min(least[i], sum / total);
    }
    for (std::size_t i = 0; i < n; ++i)
      if ((upper >> i & 1u) != 0) fit[i] = std::max(fit[i], least[i]);
  }
  return fit;
}

/// Reference 2, the quadratic programme itself: Hildreth's dual coordinate ascent over all comparable pairs (Naval Research
/// Logistics Quarterly 4, 1957) until a sweep moves nothing.
std::vector<double> by_hildreth(const IsotonicSamples& s) {
  struct Constraint {
    std::size_t low, high;
    double multiplier = 0;
  };
  std::vector<Constraint> constraints;
  for (std::size_t i = 0; i < s.rows(); ++i)
    for (std::size_t j = 0; j < s.rows(); ++j)
      if (i != j && is_below(s.features(i), s.features(j))) constraints.push_back({i, j});
  std::vector<double> fit = s.y;
  double largest = 1;
  for (const double y : s.y) largest = std::max(largest, std::abs(y));
  double moved = largest;
  for (int sweep = 0; sweep < 200'000 && moved > 1e-13 * largest; ++sweep) {
    moved = 0;
    for (Constraint& c : constraints) {
      const double a = 1 / weight_of(s, c.low), b = 1 / weight_of(s, c.high);
      const double step = std::max((fit[c.low] - fit[c.high]) / (a + b), -c.multiplier);
      c.multiplier += step;
      fit[c.low] -= step * a;
      fit[c.high] += step * b;
      moved = std::max(moved, std::abs(step) * std::max(a, b));
    }
  }
  RC_ASSERT(moved <= 1e-13 * largest);
  return fit;
}

std::vector<double> by_pooling(const std::vector<double>& y, const std::vector<double>& weights) {
  struct Block {
    double sum, weight;
    std::size_t rows;
  };
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < y.size(); ++i) {
    blocks.push_back({y[i] * weights[i], weights[i], 1});
    while (blocks.size() > 1) {
      const Block last = blocks.back();
      Block& previous = blocks[blocks.size() - 2];
      if (previous.sum / previous.weight < last.sum / last.weight) break;
      previous = {previous.sum + last.sum, previous.weight + last.weight, previous.rows + last.rows};
      blocks.pop_back();
    }
  }
  std::vector<double> fit;
  for (const Block& b : blocks) fit.insert(fit.end(), b.rows, b.sum / b.weight);
  return fit;
}

/// Small whole features, so that duplicates, ties and violations are common; targets whole, real, or on a large offset.
IsotonicSamples arbitrary_samples(int most_rows) {
  IsotonicSamples s{.dimension = static_cast<std::size_t>(whole(1, 3))};
  const int rows = whole(1, most_rows);
  const bool weighted = *rc::gen::arbitrary<bool>();
  const double unit = *rc::gen::element(1.0, 0.37, 1e-3);
  const double offset = *rc::gen::element(0.0, 0.0, 1e4);
  for (int row = 0; row < rows; ++row) {
    for (std::size_t d = 0; d < s.dimension; ++d) s.x.push_back(whole(0, 3));
    s.y.push_back(offset + unit * whole(-6, 6));
    if (weighted) s.weights.push_back(*rc::gen::element(0.1, 1.0, 2.5, 40.0));
  }
  return s;
}

void assert_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  RC_ASSERT(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    RC_ASSERT(std::abs(found[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])));
}

}  // namespace

TEST_CASE("a violating pair is pooled, its upper neighbours are not") {
  // Points (0,0) (0,1) (1,0) (1,1), targets 1 5 2 3. (0,1) = 5 stands below (1,1) = 3: both become (5 + 3) / 2 = 4.
  // (1,0) = 2 stays: 1 <= 2 <= 4.
  CHECK(fitted({.dimension = 2, .x = {0, 0, 0, 1, 1, 0, 1, 1}, .y = {1, 5, 2, 3}}) == std::vector<double>{1, 4, 2, 4});
  // With weight 3 on the 5: (3 x 5 + 3) / 4 = 4.5.
  CHECK(fitted({.dimension = 2, .x = {0, 0, 0, 1, 1, 0, 1, 1}, .y = {1, 5, 2, 3}, .weights = {1, 3, 1, 1}}) ==
        std::vector<double>{1, 4.5, 2, 4.5});
}

TEST_CASE("duplicates are merged into their weighted mean") {
  // Rows at x = 1: (2 x 4 + 1 x 1) / 3 = 3, with weight 3. Row at x = 2: 1, weight 1. Pooled: (3 x 3 + 1) / 4 = 2.5.
  CHECK(fitted({.x = {1, 2, 1}, .y = {4, 1, 1}, .weights = {2, 1, 1}}) == std::vector<double>{2.5, 2.5, 2.5});
  // Rounding does not add up: 0 once and 0.1 a hundred thousand times.
  std::vector<double> tenths(100'001, 0.1);
  tenths[0] = 0;
  CHECK(fitted({.x = std::vector<double>(tenths.size(), 1), .y = tenths})[0] == Approx(1e4 / 100'001).epsilon(1e-14));
  // Apart, when the order allows: 3 <= 7.
  CHECK(fitted({.x = {1, 2, 1}, .y = {4, 7, 1}, .weights = {2, 1, 1}}) == std::vector<double>{3, 7, 3});
  CHECK(fitted({.x = {0.0, -0.0}, .y = {1, 3}}) == std::vector<double>{2, 2});
}

TEST_CASE("censored rows are lower bounds") {
  // One axis. Rows 1 and 3 measured 10 and 20; row 2 was cut at 14: it lies anywhere in [14, 20]. Nothing is paid.
  const auto open = IsotonicFit::fit({.x = {1, 2, 3}, .y = {10, 14, 20}, .censored = {false, true, false}});
  CHECK(std::vector<double>{open.fitted().begin(), open.fitted().end()} == std::vector<double>{10, 14, 20});
  const std::vector<double> two{2}, between{1.5}, above{2.5};
  CHECK(open.lower(two) == 14);
  CHECK(open.upper(two) == 20);
  CHECK(open.upper(between) == 20);  // its 14 is no upper bound
  CHECK(open.lower(between) == 10);
  CHECK(open.lower(above) == 14);
  // Cut at 26 instead, above what row 3 allows: the two share (26 + 20) / 2 = 23, as if 26 had been measured.
  CHECK(fitted({.x = {1, 2, 3}, .y = {10, 26, 20}, .censored = {false, true, false}}) == std::vector<double>{10, 23, 23});
  // Cut at 12 between measured 30 and 30: it lies at 30, and pulls nobody down.
  CHECK(fitted({.x = {1, 2, 3, 4}, .y = {0, 30, 12, 30}, .censored = {false, false, true, false}}) ==
        std::vector<double>{0, 30, 30, 30});
  // Bounds 8 and 6 below a measured 4: the 8 and the 4 share 6, and the 6 is content.
  CHECK(fitted({.x = {1, 1, 2}, .y = {8, 6, 4}, .censored = {true, true, false}}) == std::vector<double>{6, 6, 6});
  // Beyond all measured rows a bound is met by itself, and is the most that is known.
  const auto beyond = IsotonicFit::fit({.x = {1, 2}, .y = {10, 50}, .censored = {false, true}});
  CHECK(beyond.fitted()[1] == 50);
  CHECK(beyond.upper(two) == 50);
  CHECK(beyond.extrapolated(two));
  CHECK(fitted({.x = {2, 1}, .y = {5, 7}, .censored = {true, true}}) == std::vector<double>{7, 7});  // nothing but bounds
}

namespace {

/// The loss of a fit in which the rows of `tied` were fitted to their targets and every other takes the most that it may.
double censored_loss(const IsotonicSamples& s, const std::vector<std::size_t>& tied, const std::vector<double>& fit) {
  double loss = 0;
  for (std::size_t row = 0; row < s.rows(); ++row) {
    double value = kInfinity;
    for (std::size_t i = 0; i < tied.size(); ++i)
      if (is_below(s.features(row), s.features(tied[i]))) value = std::min(value, fit[i]);
    if (s.censored[row] && value >= s.y[row]) continue;
    loss += weight_of(s, row) * (value - s.y[row]) * (value - s.y[row]);
  }
  return loss;
}

/// The quadratic programme with one-sided losses, by its active sets: at the optimum the censored rows below their bound are as
/// measured ones, the others are not there. All subsets are tried, each by the exact formula.
double least_censored_loss(const IsotonicSamples& s) {
  double least = kInfinity;
  for (unsigned set = 0; set < 1u << s.rows(); ++set) {
    IsotonicSamples part{.dimension = s.dimension};
    std::vector<std::size_t> tied;
    for (std::size_t row = 0; row < s.rows(); ++row) {
      if (s.censored[row] ? (set >> row & 1u) == 0 : (set >> row & 1u) != 0) continue;  // a measured row is in, once
      tied.push_back(row);
      part.x.insert(part.x.end(), s.features(row).begin(), s.features(row).end());
      part.y.push_back(s.y[row]);
      part.weights.push_back(weight_of(s, row));
    }
    least = std::min(least, censored_loss(s, tied, tied.empty() ? std::vector<double>{} : by_max_min(part)));
  }
  return least;
}

}  // namespace

TEST_CASE("censored rows: no monotone fit has a smaller loss") {
  rc::prop("small cases, against all active sets", [] {
    auto samples = arbitrary_samples(6);
    for (std::size_t row = 0; row < samples.rows(); ++row) samples.censored.push_back(*rc::gen::arbitrary<bool>());
    const auto fit = IsotonicFit::fit(samples);
    double loss = 0;
    for (std::size_t row = 0; row < samples.rows(); ++row) {
      const double found = fit.fitted()[row], target = samples.y[row];
      if (!samples.censored[row] || found < target) loss += weight_of(samples, row) * (found - target) * (found - target);
      RC_ASSERT(fit.lower(samples.features(row)) <= fit.upper(samples.features(row)));
      for (std::size_t other = 0; other < samples.rows(); ++other)
        if (is_below(samples.features(row), samples.features(other))) RC_ASSERT(found <= fit.fitted()[other]);
    }
    const double least = least_censored_loss(samples);
    RC_ASSERT(std::abs(loss - least) <= 1e-9 * std::max(1.0, least));
  });
}

TEST_CASE("envelopes between and outside the samples") {
  const auto fit = IsotonicFit::fit({.dimension = 2, .x = {1, 1, 2, 2, 1, 3}, .y = {10, 20, 40}});
  const auto at = [&](double a, double b) {
    const std::vector<double> x{a, b};
    return std::vector<double>{fit.lower(x), fit.predict(x), fit.upper(x), fit.extrapolated(x) ? 1.0 : 0.0};
  };
  CHECK(at(1, 1) == std::vector<double>{10, 10, 10, 0});
  CHECK(at(1.5, 1.5) == std::vector<double>{10, 15, 20, 0});  // above (1,1), below (2,2)
  CHECK(at(1, 2.5) == std::vector<double>{10, 25, 40, 0});    // above (1,1), below (1,3)
  CHECK(at(0, 0) == std::vector<double>{10, 10, 10, 1});      // nothing below: the minimum
  CHECK(at(3, 3) == std::vector<double>{40, 40, 40, 1});      // nothing above: the maximum
  CHECK(at(3, 2) == std::vector<double>{20, 30, 40, 1});      // above (2,2), nothing above it
  CHECK(at(0, 4) == std::vector<double>{10, 25, 40, 1});      // neither
  CHECK(at(-kInfinity, kInfinity) == std::vector<double>{10, 25, 40, 1});
}

TEST_CASE("equals the exact max-min formula") {
  rc::prop("small cases", [] {
    const auto samples = arbitrary_samples(7);
    assert_near(fitted(samples), by_max_min(samples), 1e-12);
  });
}

TEST_CASE("equals the quadratic programme") {
  rc::prop("middling cases", [] {
    const auto samples = arbitrary_samples(14);
    assert_near(fitted(samples), by_hildreth(samples), 1e-9);
  });
}

TEST_CASE("equals pool-adjacent-violators in one dimension") {
  rc::prop("chains, by their one feature and by the general way", [](std::uint64_t key) {
    sim::Random random(key);
    IsotonicSamples s, twice{.dimension = 2};
    const std::size_t rows = 1 + random.below(300);
    const bool exponential = random.below(2) == 0;  // splits off a few at a time
    for (std::size_t i = 0; i < rows; ++i) {
      const double trend = static_cast<double>(i) / 50;
      s.x.push_back(static_cast<double>(i));
      s.y.push_back((exponential ? std::exp(3 * trend) : trend) * random.log_normal_factor(0.5));
      s.weights.push_back(random.uniform(0.01, 3));
      twice.x.insert(twice.x.end(), {s.x.back(), s.x.back()});
    }
    twice.y = s.y;
    twice.weights = s.weights;
    const std::vector<double> expected = by_pooling(s.y, s.weights);
    assert_near(fitted(s), expected, 1e-9);
    assert_near(fitted(twice), expected, 1e-9);
  });
}

TEST_CASE("weights far apart stay exact") {
  // x = 1, 2 weigh 1e5 and pool to 0.5; x = 3, 4 weigh 1 and pool to (0.9 + 0.7) / 2; x = 5 stays.
  const auto f = fitted({.x = {1, 2, 3, 4, 5}, .y = {1, 0, 0.9, 0.7, 0.8 + 1e-9}, .weights = {1e5, 1e5, 1, 1, 1}});
  const std::vector<double> expected{0.5, 0.5, 0.8, 0.8, 0.8 + 1e-9};
  for (std::size_t i = 0; i < f.size(); ++i) CHECK(std::abs(f[i] - expected[i]) < 1e-12);
}

TEST_CASE("constant, monotone and unordered data are left as they are") {
  rc::prop("constant", [](std::vector<int> xs) {
    RC_PRE(!xs.empty());
    IsotonicSamples s{.x = {xs.begin(), xs.end()}, .y = std::vector<double>(xs.size(), 0.1)};
    RC_ASSERT(fitted(s) == s.y);
  });
  rc::prop("monotone: any sum of rising functions", [](std::uint64_t key) {
    sim::Random random(key);
    IsotonicSamples s{.dimension = 3};
    for (std::size_t row = 0; row < 60; ++row) {
      double y = 0;
      for (int d = 0; d < 3; ++d) {
        s.x.push_back(random.uniform());
        y += std::exp(8 * s.x.back());
      }
      s.y.push_back(y);
    }
    RC_ASSERT(fitted(s) == s.y);
  });
  rc::prop("antichain", [](std::vector<double> y) {
    RC_PRE(!y.empty());
    IsotonicSamples s{.dimension = 2, .y = y};
    for (std::size_t i = 0; i < y.size(); ++i) {
      s.x.push_back(static_cast<double>(i));
      s.x.push_back(-static_cast<double>(i));
    }
    RC_ASSERT(fitted(s) == y);
  });
}

TEST_CASE("never violates the order, at the samples and between them") {
  rc::prop("pairs of points, one above the other", [](std::uint64_t key) {
    sim::Random random(key);
    IsotonicSamples s{.dimension = 1 + random.below(4)};
    const std::size_t rows = 1 + random.below(80);
    const bool last_bits = random.below(2) == 0;  // targets that differ by rounding alone
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t d = 0; d < s.dimension; ++d) s.x.push_back(static_cast<double>(random.below(6)));
      s.y.push_back(last_bits ? 0.7 + 0x1p-53 * static_cast<double>(random.below(4)) : random.normal());
      s.weights.push_back(random.uniform(0.1, 2));
    }
    const auto fit = IsotonicFit::fit(s);
    for (std::size_t i = 0; i < rows; ++i) {
      RC_ASSERT(fit.lower(s.features(i)) == fit.fitted()[i]);
      RC_ASSERT(fit.upper(s.features(i)) == fit.fitted()[i]);
      RC_ASSERT(!fit.extrapolated(s.features(i)));
    }
    for (int pair = 0; pair < 200; ++pair) {
      std::vector<double> x, above;
      for (std::size_t d = 0; d < s.dimension; ++d) {
        x.push_back(random.uniform(-1, 7));
        above.push_back(x.back() + (random.below(2) == 0 ? 0 : random.uniform(0, 3)));
      }
      RC_ASSERT(fit.lower(x) <= fit.lower(above));
      RC_ASSERT(fit.predict(x) <= fit.predict(above));
      RC_ASSERT(fit.upper(x) <= fit.upper(above));
      RC_ASSERT(fit.lower(x) <= fit.predict(x));
      RC_ASSERT(fit.predict(x) <= fit.upper(x));
    }
  });
}

TEST_CASE("scaling y by a power of two scales the fit, bit for bit") {
  rc::prop("scale", [] {
    const auto samples = arbitrary_samples(30);
    auto scaled = samples;
    const double factor = std::ldexp(1.0, whole(-200, 200));
    for (double& y : scaled.y) y *= factor;
    auto expected = fitted(samples);
    for (double& f : expected) f *= factor;
    RC_ASSERT(fitted(scaled) == expected);
  });
}

TEST_CASE("a large offset moves the fit by rounding alone") {
  // Near 2^30 a double's last bit is 2^-22 and the targets are exact; of the fit, the mean's rounding and one more bit are
  // allowed.
  rc::prop("offset", [](std::uint64_t key) {
    sim::Random random(key);
    IsotonicSamples s{.dimension = 2};
    for (int row = 0; row < 60; ++row) {
      for (std::size_t d = 0; d < s.dimension; ++d) s.x.push_back(random.uniform());
      s.y.push_back(0x1p-22 * static_cast<double>(random.below(64)));
    }
    const auto near = fitted(s);
    for (double& y : s.y) y += 0x1p30;
    const auto far = fitted(s);
    for (std::size_t i = 0; i < near.size(); ++i) RC_ASSERT(std::abs(far[i] - 0x1p30 - near[i]) <= 2 * 0x1p-22);
  });
}

TEST_CASE("what cannot be fitted is refused") {
  const auto refuse = [](const IsotonicSamples& s) { CHECK_THROWS_AS(IsotonicFit::fit(s), sim::CheckFailed); };
  refuse({});
  refuse({.dimension = 0, .y = {1}});
  refuse({.x = {1, 2}, .y = {1}});
  refuse({.x = {1, 2}, .y = {1, 2}, .weights = {1}});
  refuse({.x = {kNaN}, .y = {1}});
  refuse({.x = {1}, .y = {kNaN}});
  refuse({.x = {1}, .y = {kInfinity}});
  refuse({.x = {1}, .y = {1}, .weights = {kNaN}});
  refuse({.x = {1}, .y = {1}, .weights = {0}});
  refuse({.x = {1, 2}, .y = {1, 2}, .weights = {1, 1e10}});
  refuse({.x = {1, 2}, .y = {1.7e308, -1.7e308}});
  const auto fit = IsotonicFit::fit({.x = {1}, .y = {1}});
  CHECK_THROWS_AS(fit.lower(std::vector<double>{kNaN}), sim::CheckFailed);
  CHECK_THROWS_AS(fit.upper(std::vector<double>{1, 2}), sim::CheckFailed);
}
