#include "policies/configure/yardsticks.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "tests/policies/configure/strategies.hpp"

using namespace rehearse::policies;
using rehearse::tests::MadeUp;

namespace {

/// A deadline of 100 s: 1 is too late; 2 to 5 are feasible, cheapest first 4, 2, 5, 3.
void add_five(MadeUp& view) {
  view.add(200, 0);
  view.add(90, 2);
  view.add(90, 4);
  view.add(90, 1);
  view.add(90, 3);
}

}  // namespace

TEST_CASE("the median choice is feasible and of median cost", "[yardsticks]") {
  MadeUp view;
  add_five(view);
  CHECK(view.order(MedianFeasible()) == std::vector<int>{2, 4, 5, 3, 1});  // the lower of the two in the middle
  view.add(95, 2.5);
  CHECK(view.order(MedianFeasible()).front() == 6);
}

TEST_CASE("the random choice is feasible, any of them, by its own stream", "[yardsticks]") {
  MadeUp view;
  add_five(view);
  std::map<int, int> first;
  for (view.key = 0; view.key < 400; ++view.key) {
    const std::vector<int> order = view.order(RandomFeasible());
    REQUIRE(order.size() == 5);
    CHECK(order.back() == 1);
    CHECK(order == view.order(RandomFeasible()));
    ++first[order.front()];
  }
  for (const int name : {2, 3, 4, 5}) CHECK(first[name] > 60);  // 100 +- 9
}

TEST_CASE("where nothing is feasible, yardsticks rank by the least violation", "[yardsticks]") {
  MadeUp view;
  view.add(300, 1);
  view.add(150, 5);
  view.add(200, 2);
  CHECK(view.order(MedianFeasible()) == std::vector<int>{2, 3, 1});
  CHECK(view.order(RandomFeasible()) == std::vector<int>{2, 3, 1});
}
