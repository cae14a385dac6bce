#include "policies/search/pareto.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/policies/draws.hpp"

using namespace rehearse::policies;
using rehearse::tests::whole;

namespace {

using Points = std::vector<Objectives>;

/// On a small grid: many tie in an objective, some are equal.
Points grid_points(std::size_t objectives, int most, int side) {
  Points points(static_cast<std::size_t>(whole(0, most)));
  for (Objectives& point : points)
    for (std::size_t k = 0; k < objectives; ++k) point.push_back(whole(0, side));
  return points;
}

/// By the definition: whoever nobody left dominates is the next front.
std::vector<std::vector<std::size_t>> peeled(const Points& points) {
  std::vector<std::vector<std::size_t>> fronts;
  std::vector<bool> gone(points.size());
  for (std::size_t left = points.size(); left > 0;) {
    std::vector<std::size_t>& front = fronts.emplace_back();
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool is_best = !gone[i];
      for (std::size_t j = 0; j < points.size() && is_best; ++j) {
        bool no_larger = !gone[j], smaller = false;
        for (std::size_t k = 0; k < points[i].size(); ++k) {
          no_larger &= points[j][k] <= points[i][k];
          smaller |= points[j][k] < points[i][k];
        }
        is_best = !(no_larger && smaller);
      }
      if (is_best) front.push_back(i);
    }
    for (const std::size_t i : front) gone[i] = true;
    left -= front.size();
  }
  return fronts;
}

/// Unit cells of the grid that some point dominates.
double counted_volume(const Points& points, std::size_t objectives, int side) {
  double cells = 0;
  const int count = static_cast<int>(std::pow(side, objectives));
  for (int cell = 0; cell < count; ++cell) {
    Objectives corner;
    for (int rest = cell; corner.size() < objectives; rest /= side) corner.push_back(rest % side);
    const bool is_in = std::any_of(points.begin(), points.end(), [&](const Objectives& p) {
      for (std::size_t k = 0; k < objectives; ++k)
        if (p[k] > corner[k]) return false;
      return true;
    });
    cells += is_in ? 1 : 0;
  }
  return cells;
}

}  // namespace

TEST_CASE("equal points do not dominate each other") {
  CHECK(dominates(Objectives{1, 2}, Objectives{1, 3}));
  CHECK_FALSE(dominates(Objectives{1, 3}, Objectives{1, 2}));
  CHECK_FALSE(dominates(Objectives{1, 2}, Objectives{1, 2}));
  CHECK_FALSE(dominates(Objectives{1, 3}, Objectives{2, 2}));
  CHECK(pareto_front(Points{{1, 2}, {2, 1}, {1, 2}, {2, 2}}) == std::vector<std::size_t>{0, 1, 2});
}

TEST_CASE("non-dominated sorting peels front after front") {
  rc::prop("against the definition", [] {
    const auto objectives = static_cast<std::size_t>(whole(1, 4));
    const Points points = grid_points(objectives, 40, 4);
    const auto fronts = peeled(points);
    RC_ASSERT(non_dominated_fronts(points) == fronts);
    RC_ASSERT(pareto_front(points) == (fronts.empty() ? std::vector<std::size_t>{} : fronts[0]));
  });
}

TEST_CASE("a hypervolume by hand") {
  // Below (5, 5): (1, 4) has 4 x 1, (2, 2) has 3 x 3 of which 3 x 1 counted: 4 + 6 = 10; (4, 1) has 1 x 4 of which 1 x 3 counted:
  // 11. (2, 3) is dominated, (5, 0) and (6, 6) are not below the corner.
  CHECK(hypervolume(Points{{4, 1}, {1, 4}, {2, 2}, {2, 3}, {5, 0}, {6, 6}, {2, 2}}, Objectives{5, 5}) == 11);
  CHECK(hypervolume(Points{}, Objectives{1, 1, 1}) == 0);
  // 2 x 2 x 2 + 3 x 1 x 1 - 2 x 1 x 1
  CHECK(hypervolume(Points{{1, 1, 1}, {0, 2, 2}}, Objectives{3, 3, 3}) == 9);
}

TEST_CASE("hypervolumes are exact for one to four objectives") {
  rc::prop("against counted cells", [] {
    const auto objectives = static_cast<std::size_t>(whole(1, 4));
    const int side = 5;
    const Points points = grid_points(objectives, 14, side);
    RC_ASSERT(hypervolume(points, Objectives(objectives, side)) == counted_volume(points, objectives, side));
  });
}

TEST_CASE("a hypervolume is the same to the last digit whatever the points' order, and whichever dominated ones are there") {
  rc::prop("", [](std::vector<std::uint8_t> numbers) {
    const auto objectives = static_cast<std::size_t>(whole(1, 4));
    Points points;
    for (std::size_t i = 0; i + objectives <= numbers.size(); i += objectives) {
      Objectives& point = points.emplace_back();
      for (std::size_t k = 0; k < objectives; ++k) point.push_back(numbers[i + k] / 300.0);
    }
    const Objectives reference(objectives, 1);
    Points others(points.rbegin(), points.rend());
    for (const Objectives& point : points) {
      others.push_back(point);
      for (double& number : others.back()) number = (1 + number) / 2;
    }
    RC_ASSERT(hypervolume(points, reference) == hypervolume(others, reference));
  });
}

TEST_CASE("one point, and none, are fronts too") {
  CHECK(non_dominated_fronts(Points{}).empty());
  CHECK(non_dominated_fronts(Points{{1, 2}}) == std::vector<std::vector<std::size_t>>{{0}});
  CHECK(hypervolume(Points{{1, 2}}, Objectives{3, 3}) == 2);
}

TEST_CASE("crowding distances by hand") {
  // Ranges 4 and 8. The middle point: (4 - 0) / 4 + (8 - 0) / 8 = 2; the ends are infinite.
  const Points points{{0, 8}, {9, 9}, {1, 2}, {4, 0}};
  const std::vector<double> distances = crowding_distances(points, std::vector<std::size_t>{0, 2, 3});
  CHECK(std::isinf(distances[0]));
  CHECK(distances[1] == 2);
  CHECK(std::isinf(distances[2]));
  CHECK(crowding_distances(points, std::vector<std::size_t>{}).empty());
}

TEST_CASE("the knee lies furthest below the line through the ends") {
  // Scaled: (0, 1), (0.1, 0.2), (0.5, 0.1), (1, 0): sums 1, 0.3, 0.6, 1.
  CHECK(knee_point(Points{{0, 20}, {1, 4}, {5, 2}, {10, 0}}) == 1);
  CHECK(knee_point(Points{{3, 3}}) == 0);
  CHECK(knee_point(Points{{3, 3}, {3, 3}}) == 0);
}
