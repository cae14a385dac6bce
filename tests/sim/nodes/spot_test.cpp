#include <catch2/catch.hpp>

#include "sim/nodes/node_events.hpp"
#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;

namespace {

Cluster spot_cluster(Spot spot, std::optional<StepSeries> prices = {}) {
  Cluster cluster;
  Pool pool{.name = "spot", .nodes = 4};
  pool.spot = spot;
  pool.prices_usd_per_hour = std::move(prices);
  cluster.pools.push_back(std::move(pool));
  return cluster;
}

}  // namespace

TEST_CASE("nodes are away while the price is above the bid") {
  // Above 2 from 10 to 30 (two steps) and from 40 for ever.
  const Cluster cluster =
      spot_cluster({.bid_usd_per_hour = 2, .warning_s = 5}, StepSeries({{0, 1}, {10, 3}, {20, 4}, {30, 2}, {40, 9}}));
  NodeRevocations node(cluster, 0, 3, 1, 0);
  const auto first = node.next(), second = node.next();
  REQUIRE(first);
  CHECK(first->node == 3);
  CHECK(first->time_s == 10);
  CHECK(first->down_s == 20);
  CHECK(first->warned_s == 5);
  REQUIRE(second);
  CHECK(second->time_s == 40);
  CHECK(second->down_s == kNever);
  CHECK(!node.next());
}

TEST_CASE("a price that is above the bid from the beginning") {
  const Cluster cluster = spot_cluster({.bid_usd_per_hour = 2}, StepSeries({{5, 3}, {10, 1}}));
  NodeRevocations node(cluster, 0, 0, 1, 0);
  const auto first = node.next();
  REQUIRE(first);
  CHECK(first->time_s == 0);
  CHECK(first->down_s == 10);
}

TEST_CASE("nodes come and go as a recording of the available ones has it, the last ones first") {
  // Four nodes, then one from 100 to 150, none to 200, four again. Node 0 is away from 150 to 200, node 3 from 100 to 200.
  const RecordedCapacity recorded{.nodes = StepSeries({{0, 4}, {100, 1}, {150, 0}, {200, 4}})};
  Cluster cluster = spot_cluster({.warning_s = 5, .availability = recorded});
  const auto absences = [&](int node, int count) {
    NodeRevocations of(cluster, 0, node, 1, 0);
    std::vector<std::pair<double, double>> found;
    for (int i = 0; i < count; ++i)
      if (const auto next = of.next()) found.emplace_back(next->time_s, next->down_s);
    return found;
  };
  using Absences = std::vector<std::pair<double, double>>;
  CHECK(absences(0, 3) == Absences{{150, 50}});
  CHECK(absences(3, 3) == Absences{{100, 100}});
  // From 120 s on, anew every 300 s: node 3 is away at first, to 80, and again from 280 to 380.
  cluster.pools[0].spot->availability = RecordedCapacity{.nodes = recorded.nodes, .offset_s = 120, .repeat_s = 300};
  CHECK(absences(3, 3) == Absences{{0, 80}, {280, 100}, {580, 100}});
  CHECK(absences(0, 2) == Absences{{30, 50}, {330, 50}});
  // Never fewer than two: nodes 0 and 1 stay for ever. Never more: nodes 2 and 3 never come.
  cluster.pools[0].spot->availability = RecordedCapacity{.nodes = StepSeries({{0, 2}, {50, 2}}), .repeat_s = 60};
  CHECK(absences(1, 2).empty());
  CHECK(absences(2, 2) == Absences{{0, kNever}});
  // Away by price from 90 to 120 as well, and without a lap the last value holds.
  cluster.pools[0].prices_usd_per_hour = StepSeries({{0, 1}, {90, 3}, {120, 1}});
  cluster.pools[0].spot = Spot{.bid_usd_per_hour = 2, .warning_s = 5, .availability = recorded};
  CHECK(absences(3, 3) == Absences{{90, 110}});
  CHECK(absences(0, 3) == Absences{{90, 30}, {150, 50}});
}

TEST_CASE("nodes are taken away by themselves after exponential times, each by its own stream") {
  // 4,000 of a mean of 100 s: the mean is within 4 standard errors, 4 x 100/sqrt(4000) = 6.4.
  const Cluster cluster = spot_cluster({.mean_up_s = 100, .down_s = 10});
  NodeRevocations node(cluster, 0, 0, 7, 0), same(cluster, 0, 0, 7, 0), other(cluster, 0, 1, 7, 0);
  double back_s = 0, up_s = 0;
  for (int i = 0; i < 4000; ++i) {
    const Revocation revocation = *node.next();
    up_s += revocation.time_s - back_s;
    back_s = revocation.time_s + revocation.down_s;
    CHECK(revocation.time_s == same.next()->time_s);
    if (i == 0) CHECK(revocation.time_s != other.next()->time_s);
  }
  CHECK(std::abs(up_s / 4000 - 100) < 6.4);
}

TEST_CASE("a node that would be back when its price rises above the bid stays away, as one absence") {
  // Taken away by itself for 10 s; the price is above the bid from the end of these for 20 s.
  const Spot spot{.bid_usd_per_hour = 2, .mean_up_s = 100, .down_s = 10};
  Cluster cluster = spot_cluster(spot);
  const double away_s = NodeRevocations(cluster, 0, 0, 7, 0).next()->time_s;
  cluster.pools[0].prices_usd_per_hour = StepSeries({{0, 1}, {away_s + 10, 3}, {away_s + 30, 1}});
  NodeRevocations node(cluster, 0, 0, 7, 0);
  const Revocation both = *node.next();
  CHECK(both.time_s == away_s);
  CHECK(both.down_s == Approx(30));
  CHECK(node.next()->time_s > away_s + 30);
}

TEST_CASE("revocations never overlap, whatever makes them") {
  std::vector<StepSeries::Step> steps;
  for (int i = 0; i < 201; ++i) steps.push_back({50.0 * i, i % 3 == 1 ? 3.0 : 1.0});
  const Cluster cluster = spot_cluster({.bid_usd_per_hour = 2, .mean_up_s = 60, .down_s = 30}, StepSeries(steps));
  NodeRevocations node(cluster, 0, 0, 3, 0);
  double back_s = 0;
  for (int i = 0; i < 500; ++i) {
    const Revocation revocation = *node.next();
    CHECK(revocation.time_s >= back_s);
    CHECK(revocation.down_s > 0);
    back_s = revocation.time_s + revocation.down_s;
    // Back only while the price is not above the bid.
    CHECK(cluster.pools[0].prices_usd_per_hour->at(back_s) <= 2);
  }
}

namespace {

/// A node of one GPU that is away from 10 to 40.
World dear_world(double warning_s) {
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  world.menus.menu.ranked = {choice(0, 1, 100)};
  world.cluster.pools[0].prices_usd_per_hour = StepSeries({{0, 3.6}, {10, 36}, {40, 3.6}});
  world.cluster.pools[0].spot = Spot{.bid_usd_per_hour = 10, .warning_s = warning_s};
  return world;
}

}  // namespace

TEST_CASE("a warning that is long enough saves a job's work") {
  // Start to 5, warned at 6 after 1 step, checkpoint to 8. Back at 40: start to 45, 9 steps to 54. The node is there for 10 + 14
  // s at 0.001 dollars a second, held for 8 + 14 of them.
  World world = dear_world(4);
  Greedy queue;
  const ReplayTotals totals = world.run({stepping("a", 0, 10)}, queue);
  const JobRecord& a = world.keeper.of("a");
  CHECK(a.end_s == 54);
  CHECK(a.preemptions == 1);
  CHECK(a.restarts == 0);
  CHECK(a.time.lost_s == 0);
  CHECK(a.cost.total() == Approx(0.022));
  CHECK(totals.pools[0].pool_usd == Approx(0.024));
  CHECK(totals.pools[0].idle_energy_j == Approx(2 * 100));
}

TEST_CASE("a warning that is shorter than a checkpoint saves nothing, and jobs train on") {
  // 5 steps to 10, lost; again from 40: to 45 start, 10 steps to 55.
  World world = dear_world(1);
  Greedy queue;
  world.run({stepping("a", 0, 10)}, queue);
  const JobRecord& a = world.keeper.of("a");
  CHECK(a.end_s == 55);
  CHECK(a.preemptions == 0);
  CHECK(a.restarts == 1);
  CHECK(a.time.lost_s == Approx(5));
}

TEST_CASE("nothing starts on a node that was warned") {
  World world = dear_world(4);
  Greedy queue;
  world.run({rigid("a", 7, 1, 1)}, queue);
  CHECK(world.keeper.of("a").start_s == 40);
}

TEST_CASE("jobs that wait for nodes which have gone for good have failed, those that waited for them too") {
  World world = dear_world(1);
  world.cluster.pools[0].prices_usd_per_hour = StepSeries({{0, 3.6}, {10, 36}});
  Job a = stepping("a", 0, 10), b = rigid("b", 0, 1, 1);
  a.is_awaited = true;
  b.after = {"a"};
  b.after_failed = AfterFailed::run;
  Greedy queue;
  world.run({a, b}, queue);
  for (const char* name : {"a", "b"}) {
    CHECK(world.keeper.of(name).reason == FailureReason::node_failure);
    CHECK(world.keeper.of(name).end_s == 10);
  }
}

TEST_CASE("an autoscaled pool's nodes that are taken away boot again, its first ones are offered again") {
  // Two nodes at 0.001 dollars a second, the first always there; both away from 10 to 40. Node 0 is there from 0 to 10 and 40 to
  // 60. b takes node 1 at 0: boots to 3, runs to 8; it goes with the price at 10. c takes node 0 at 50, d boots node 1 to 53.
  World world{.cluster = cluster({{2, 1}})};
  world.cluster.pools[0].prices_usd_per_hour = StepSeries({{0, 3.6}, {10, 36}, {40, 3.6}});
  world.cluster.pools[0].spot = Spot{.bid_usd_per_hour = 10, .warning_s = 0};
  world.cluster.pools[0].autoscale = Autoscale{.min_nodes = 1, .boot_s = 3, .idle_s = 1000};
  Greedy queue;
  const ReplayTotals totals =
      world.run({rigid("a", 0, 1, 9), rigid("b", 0, 1, 5), rigid("c", 50, 1, 10), rigid("d", 50, 1, 7)}, queue);
  CHECK(world.keeper.of("b").end_s == 8);
  CHECK(world.keeper.of("c").end_s == 60);
  CHECK(world.keeper.of("d").end_s == 60);
  CHECK(totals.pools[0].pool_usd == Approx(0.001 * (10 + 20 + 10 + 10)));
}
