#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "policies/learn/upper_set.hpp"
#include "sim/base/errors.hpp"
#include "tests/policies/draws.hpp"

using namespace rehearse;
using namespace rehearse::policies;
using rehearse::tests::whole;

namespace {

/// Distinct points on a small grid, in lexicographic order: many are comparable, many tie in a coordinate.
std::vector<std::vector<double>> grid_points(std::size_t dimension, int most) {
  const int drawn = whole(1, most);
  std::set<std::vector<double>> points;
  for (int i = 0; i < drawn; ++i) {
    std::vector<double> point;
    for (std::size_t d = 0; d < dimension; ++d) point.push_back(whole(0, 4));
    points.insert(point);
  }
  return {points.begin(), points.end()};
}

std::vector<double> flat(const std::vector<std::vector<double>>& points) {
  std::vector<double> all;
  for (const auto& p : points) all.insert(all.end(), p.begin(), p.end());
  return all;
}

}  // namespace

TEST_CASE("covers of a square: the diagonal is implied") {
  // (0,0) < (0,1) < (1,1) and (0,0) < (1,0) < (1,1); (0,0) < (1,1) follows.
  const std::vector<double> points{0, 0, 0, 1, 1, 0, 1, 1};
  auto covers = cover_relations(2, points);
  REQUIRE(covers.size() == 4);
  for (const Cover c : {Cover{0, 1}, Cover{0, 2}, Cover{1, 3}, Cover{2, 3}})
    CHECK(std::count(covers.begin(), covers.end(), c) == 1);
}

TEST_CASE("covers are the pairs with nothing between them") {
  rc::prop("covers against the definition", [] {
    const auto dimension = static_cast<std::size_t>(whole(1, 3));
    const auto points = grid_points(dimension, 100);  // over 64: more than one word of the bitsets
    const auto covers = cover_relations(dimension, flat(points));
    std::set<std::pair<std::size_t, std::size_t>> found;
    for (const Cover& c : covers) found.emplace(c.lower, c.upper);
    RC_ASSERT(found.size() == covers.size());

    const auto strictly_below = [&](std::size_t i, std::size_t j) { return i != j && is_below(points[i], points[j]); };
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t j = 0; j < points.size(); ++j) {
        bool direct = strictly_below(i, j);
        for (std::size_t k = 0; k < points.size() && direct; ++k) direct = !(strictly_below(i, k) && strictly_below(k, j));
        RC_ASSERT(direct == found.contains({i, j}));
      }
    }
  });
}

TEST_CASE("the heaviest upper set of a chain is its heaviest tail") {
  // 0 < 1 < 2 < 3 with weights 4, -3, 2, -1: tails weigh 2, -2, 1, -1 and 0 (empty).
  const std::vector<std::int64_t> weights{4, -3, 2, -1};
  const std::vector<Cover> covers{{0, 1}, {1, 2}, {2, 3}};
  const UpperSet set = heaviest_upper_set(weights, covers);
  CHECK(set.weight == 2);
  CHECK(set.contains == std::vector<bool>{true, true, true, true});
}

TEST_CASE("the heaviest upper set against all subsets") {
  rc::prop("brute force", [] {
    const auto points = grid_points(2, 11);
    const std::size_t n = points.size();
    const auto covers = cover_relations(2, flat(points));
    const std::int64_t unit = *rc::gen::element<std::int64_t>(1, std::int64_t{1} << 52);
    std::vector<std::int64_t> weights;
    for (std::size_t i = 0; i < n; ++i) weights.push_back(unit * whole(-20, 20));

    const auto is_upper = [&](auto&& contains) {
      return std::ranges::all_of(covers, [&](const Cover& c) { return !contains(c.lower) || contains(c.upper); });
    };
    std::int64_t best = 0;
    for (unsigned subset = 0; subset < 1u << n; ++subset) {
      if (!is_upper([&](std::int32_t i) { return (subset >> i & 1u) != 0; })) continue;
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += (subset >> i & 1u) != 0 ? weights[i] : 0;
      best = std::max(best, sum);
    }
    const UpperSet set = heaviest_upper_set(weights, covers);
    RC_ASSERT(set.weight == best);
    RC_ASSERT(is_upper([&](std::int32_t i) { return set.contains[static_cast<std::size_t>(i)]; }));
  });
}

TEST_CASE("weights that a cut could overflow on are refused") {
  const std::int64_t quarter = std::int64_t{1} << 60;
  CHECK_NOTHROW(heaviest_upper_set(std::vector<std::int64_t>{quarter, -quarter}, {}));
  CHECK_THROWS_AS(heaviest_upper_set(std::vector<std::int64_t>{quarter, -quarter, 1}, {}), sim::CheckFailed);
  CHECK_THROWS_AS(heaviest_upper_set(std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()}, {}), sim::CheckFailed);
}

TEST_CASE("the heaviest upper set of nothing, and of one point") {
  CHECK(cover_relations(2, {}).empty());
  CHECK(heaviest_upper_set({}, {}).weight == 0);
  CHECK(cover_relations(2, std::vector<double>{1, 2}).empty());
  CHECK(heaviest_upper_set(std::vector<std::int64_t>{5}, {}).contains == std::vector<bool>{true});
  CHECK(heaviest_upper_set(std::vector<std::int64_t>{-5}, {}).weight == 0);
}
