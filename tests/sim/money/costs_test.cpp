#include "sim/money/costs.hpp"

#include <catch2/catch.hpp>

using namespace rehearse::sim;

namespace {

/// One node of four GPUs, 100 W idle and 300 W busy each; the host 80 and 200 W.
Cluster four_gpus() {
  Cluster c;
  c.devices.push_back({.name = "gpu", .kind = DeviceKind::gpu, .idle_w = 100, .busy_w = 300});
  c.instances.push_back({.name = "node", .gpus = {{0, 4}}, .price_usd_per_hour = 3.6, .host_idle_w = 80, .host_busy_w = 200});
  c.pools.push_back({.name = "pool", .instance = 0, .nodes = 1});
  return c;
}

}  // namespace

TEST_CASE("a worker draws what its device draws, and its part of the host") {
  const Cluster c = four_gpus();
  CHECK(worker_idle_w(c, 0) == Approx(100 + 80 / 4));
  CHECK(worker_busy_w(c, 0) == Approx(300 + 200 / 4));
  CHECK(worker_usd_per_s(c, 0) == Approx(3.6 / 3600 / 4));
}

TEST_CASE("two workers at half of the power between idle and busy, with and without a limit, whole and shared") {
  const Cluster c = four_gpus();
  Configuration two{.groups = {{.pool = 0, .workers = 2}}};
  CHECK(power_w(c, two, 0) == Approx(2 * 120));
  CHECK(power_w(c, two, 0.5) == Approx(2 * (120 + 0.5 * 230)));
  // A device draws 200 W there: a limit of 150 takes 50 off, one of 250 nothing.
  two.power_limit_w = 150;
  CHECK(power_w(c, two, 0.5) == Approx(2 * (235 - 50)));
  two.power_limit_w = 250;
  CHECK(power_w(c, two, 0.5) == Approx(2 * 235));
  // A limit below a watt is one as well: nothing is left beyond idle.
  two.power_limit_w = 0.5;
  CHECK(power_w(c, two, 0.5) == Approx(2 * 120));
  // No limit takes a worker below idle.
  two.power_limit_w = 90;
  CHECK(power_w(c, two, 0) == Approx(2 * 120));
  // A quarter of a device: a quarter of what it draws idle, and all that it draws beyond that.
  two.power_limit_w = 0;
  two.share = {.fraction = 0.25, .parts = 2};
  CHECK(power_w(c, two, 0.5) == Approx(2 * (0.25 * 120 + 0.5 * 230)));
}

TEST_CASE("what a worker costs from one date to another, and in the mean of a second, at one price and at prices that change") {
  Cluster c = four_gpus();
  const Configuration two{.groups = {{.pool = 0, .workers = 2}}};
  CHECK(worker_usd(c, 0, 10, 30) == Approx(20 * 3.6 / 3600 / 4));
  CHECK(mean_usd_per_s(c, {}, two, 10, 30) == Approx(2 * 3.6 / 3600 / 4));
  CHECK(mean_usd_per_s(c, {}, two, 10, 10) == Approx(2 * 3.6 / 3600 / 4));
  // 3.60 an hour until 20, then 7.20: ten seconds of each.
  c.pools[0].prices_usd_per_hour = StepSeries({{0, 3.6}, {20, 7.2}});
  CHECK(worker_usd(c, 0, 10, 30) == Approx(10 * (3.6 + 7.2) / 3600 / 4));
  CHECK(mean_usd_per_s(c, {}, two, 10, 30) == Approx(2 * 5.4 / 3600 / 4));
  CHECK(mean_usd_per_s(c, {}, two, 10, 10) == 0);
  // A server beside them, at 0.36 an hour, whatever the workers cost.
  Configuration served = two;
  served.sync.servers = 1;
  CHECK(mean_usd_per_s(c, {.parameter_server_usd_per_hour = 0.36}, served, 10, 30) == Approx(2 * 5.4 / 3600 / 4 + 0.36 / 3600));
}

TEST_CASE("a job that names a pool gets that one or none, another the first that is large enough") {
  Cluster c = four_gpus();
  c.pools.push_back({.name = "larger", .instance = 0, .nodes = 2});
  const auto pool_of = [&](int gpus, PoolId pool) { return rigid_pool({.gpus = gpus, .pool = pool}, c); };
  for (const PoolId named : {0, 1}) CHECK(pool_of(4, named) == named);
  CHECK(pool_of(5, 0) == std::nullopt);
  CHECK(pool_of(5, 1) == 1);
  const Job unnamed{.gpus = 4};
  CHECK(rigid_pool(unnamed, c) == 0);
  CHECK(pool_of(5, unnamed.pool) == 1);
  CHECK(pool_of(9, unnamed.pool) == std::nullopt);
}

TEST_CASE("an instance without GPUs is one worker") {
  Cluster c = four_gpus();
  c.instances.push_back({.name = "host"});
  c.pools.push_back({.name = "hosts", .instance = 1, .nodes = 1});
  CHECK(workers_per_node(c, 0) == 4);
  CHECK(workers_per_node(c, 1) == 1);
}

TEST_CASE("a job waits for its nodes to boot where it needs more than are there for it") {
  Cluster c = four_gpus();
  c.pools[0].nodes = 4;
  c.pools[0].autoscale = Autoscale{.min_nodes = 1, .boot_s = 90};
  const auto workers = [](int count) { return Configuration{.groups = {{.pool = 0, .workers = count}}}; };
  CHECK(boot_seconds(c, nullptr, workers(4)) == 0);  // the node that is always there
  CHECK(boot_seconds(c, nullptr, workers(5)) == 90);
  const Configuration held = workers(7);  // on two nodes
  CHECK(boot_seconds(c, &held, workers(8)) == 0);
  CHECK(boot_seconds(c, &held, workers(9)) == 90);
  c.pools[0].autoscale.reset();
  CHECK(boot_seconds(c, nullptr, workers(16)) == 0);
}

TEST_CASE("what a job of a trace is predicted to take and to cost is what its row says") {
  const Cluster c = four_gpus();
  Job job{.work = Work::rigid, .gpus = 2, .duration_s = 1800};
  const auto usd = [&](Billing billing) {
    const Menu menu = rigid_menu(job, c, {.billing = billing});
    REQUIRE(menu.ranked.size() == 1);
    CHECK(menu.ranked[0].predicted.time_s == 1800);
    return menu.ranked[0].predicted.cost_usd;
  };
  CHECK(usd(Billing::allocated) == Approx(3.6 * 0.5 * 2 / 4));  // two of the node's four for half an hour
  CHECK(usd(Billing::node) == Approx(3.6 * 0.5));
  job.gpus = 1;
  job.gpu_fraction = 0.25;
  CHECK(usd(Billing::allocated) == Approx(3.6 * 0.5 / 4 * 0.25));
}
