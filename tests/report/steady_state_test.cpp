#include <catch2/catch.hpp>
#include <vector>

#include "report/statistics.hpp"
#include "sim/base/random.hpp"

using namespace rehearse::report;

TEST_CASE("MSER-5 by hand") {
  // Ten means of five: 8, 0, 2, 0, 2, 0, 2, 0, 2, 0. Without the first: mean 8/9, squares 4 x (10/9)^2 + 5 x (8/9)^2 = 80/9, over
  // 81: 0.110. With all: mean 1.6, squares 80 - 10 x 1.6^2 = 54.4, over 100: 0.544. Without two: 8, over 64: 0.125.
  std::vector<double> y;
  for (const double batch : {8, 0, 2, 0, 2, 0, 2, 0, 2, 0}) y.insert(y.end(), 5, batch);
  CHECK(mser5(y) == 5);
  y.insert(y.end(), 4, 1e6);  // not a whole mean: left out
  CHECK(mser5(y) == 5);
}

TEST_CASE("what grows for ever has no steady state, nor has what is short") {
  std::vector<double> growing;
  for (int i = 0; i < 500; ++i) growing.push_back(i);
  CHECK(!mser5(growing));
  CHECK(!mser5(std::vector<double>(49, 1.0)));
  CHECK(mser5(std::vector<double>(50, 1.0)) == 0);
}

TEST_CASE("MSER-5 leaves out a queue that is empty at first") {
  // Waits that grow from 0 to about 10 over the first 200 jobs, with noise, then stay there.
  rehearse::sim::Random random(11);
  std::vector<double> y;
  for (int i = 0; i < 2000; ++i) y.push_back(std::min(10.0, i / 20.0) + random.normal());
  const auto first = mser5(y);
  REQUIRE(first);
  CHECK(*first > 100);
  CHECK(*first < 400);
}
