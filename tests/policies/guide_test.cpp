// The two strategies of docs/guide/cpp.md do what the page says.
#include <catch2/catch.hpp>

#include "docs/guide/policy/cheapest_believed.hpp"
#include "docs/guide/policy/smallest_first.hpp"
#include "tests/policies/configure/strategies.hpp"
#include "tests/sim/replay/toy.hpp"

using namespace rehearse::policies;

TEST_CASE("the guide's configure strategy takes the cheapest candidate that is believed to keep the limits", "[guide]") {
  // A deadline of 100 s: 1 is too late, however cheap; of the others 3 is the cheapest.
  rehearse::tests::MadeUp view;
  view.add(200, 0);
  view.add(90, 4);
  view.add(90, 1);
  CHECK(view.order(CheapestBelieved()) == std::vector<int>{3, 2, 1});
}

TEST_CASE("the guide's queue starts the job with the fewest GPUs first", "[guide]") {
  // Two GPUs. first holds both 0..10; large (2 GPUs) and small (1) wait, small goes 10..14, then large 14..19.
  toy::World world{.cluster = toy::cluster({{1, 2}})};
  SmallestFirst queue;
  world.run({toy::rigid("first", 0, 2, 10), toy::rigid("large", 1, 2, 5), toy::rigid("small", 2, 1, 4)}, queue);
  CHECK(world.keeper.of("first").end_s == 10);
  CHECK(world.keeper.of("small").end_s == 14);
  CHECK(world.keeper.of("large").end_s == 19);
}
