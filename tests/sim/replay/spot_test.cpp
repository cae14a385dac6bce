#include "sim/replay/spot.hpp"

#include <catch2/catch.hpp>

using namespace rehearse::sim;

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
  NodeRevocations node(spot_cluster({.bid_usd_per_hour = 2}, StepSeries({{5, 3}, {10, 1}})), 0, 0, 1, 0);
  const auto first = node.next();
  REQUIRE(first);
  CHECK(first->time_s == 0);
  CHECK(first->down_s == 10);
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
