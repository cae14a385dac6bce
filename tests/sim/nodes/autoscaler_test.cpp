#include "sim/nodes/autoscaler.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace rehearse::sim;

TEST_CASE("nodes come with jobs and go when they are idle") {
  Pool pool{.name = "p", .nodes = 3};
  pool.autoscale = Autoscale{.min_nodes = 1, .boot_s = 120, .idle_s = 50};
  Autoscaler scaler(pool);
  CHECK(scaler.nodes_up() == 1);
  const std::vector<NodeShare> first{{0, 2}, {1, 1}}, second{{1, 1}};
  CHECK(scaler.take(first) == 1);  // node 0 is always there
  CHECK(scaler.take(second) == 0);
  CHECK(scaler.nodes_up() == 2);
  scaler.give_back(100, first);
  CHECK(scaler.next_release_s() == kNever);  // node 1 is still held
  scaler.give_back(130, second);
  CHECK(scaler.next_release_s() == 180);
  CHECK(scaler.take(second) == 0);  // warm
  CHECK(scaler.next_release_s() == kNever);
  scaler.give_back(170, second);
  CHECK(scaler.next_release_s() == 220);
  scaler.release();
  CHECK(scaler.nodes_up() == 1);
  CHECK(scaler.take(second) == 1);
}
