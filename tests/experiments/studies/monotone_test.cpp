#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "experiments/studies/workload_grid.hpp"

namespace {

using namespace rehearse::scenarios;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Expected to fall: 10 -> 8 does, 8 -> 8.2 rises by 2.5 %, 8.2 -> 5 falls, 5 -> 5 stays; 5 -> none -> 4 are no neighbours.
// Expected to rise: only 8 -> 8.2 and 5 -> 5 do; the worst step is 8.2 -> 5, a fall by 3.2/8.2 = 39 %.
TEST_CASE("the fraction of neighbours that go the expected way, worked by hand") {
  const std::vector<double> line{10, 8, 8.2, 5, 5, kNan, 4};
  MonotonePairs falls;
  count_pairs(line, Direction::falls, 0.02, falls);
  CHECK(falls.pairs == 4);
  CHECK(falls.exact == 3);
  CHECK(falls.tolerated == 3);
  CHECK(falls.worst_percent == Approx(2.5));
  CHECK(falls.exact_fraction() == 0.75);
  MonotonePairs tolerant;
  count_pairs(line, Direction::falls, 0.03, tolerant);
  CHECK(tolerant.tolerated_fraction() == 1);
  MonotonePairs rises;
  count_pairs(line, Direction::rises, 0.25, rises);
  CHECK(rises.exact == 2);
  CHECK(rises.tolerated == 3);  // 10 -> 8 falls by 20 %
  CHECK(rises.worst_percent == Approx(100 * 3.2 / 8.2));
  count_pairs(std::vector<double>{1, 2}, Direction::rises, 0, rises);  // a second line of the same grid
  CHECK(rises.pairs == 5);
  CHECK(rises.exact == 3);
}

TEST_CASE("without neighbours there is no fraction") {
  MonotonePairs none;
  count_pairs(std::vector<double>{3}, Direction::rises, 0, none);
  count_pairs(std::vector<double>{}, Direction::rises, 0, none);
  count_pairs(std::vector<double>{kNan, 2, kNan}, Direction::rises, 0, none);
  CHECK(none.pairs == 0);
  CHECK(std::isnan(none.exact_fraction()));
  CHECK(std::isnan(none.tolerated_fraction()));
}

}  // namespace
