#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "sim/base/random.hpp"
#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;

TEST_CASE("money at prices that change") {
  // A node of 2 GPUs at 3.6 dollars an hour until 10, then at 7.2: 0.0005 and 0.001 dollars a GPU-second. a holds both GPUs from
  // 0 to 30: 2 x (10 x 0.0005 + 20 x 0.001) = 0.05; b one GPU from 30 to 40: 10 x 0.001 = 0.01, the other idles: 0.01.
  World world{.cluster = cluster({{1, 2}})};
  world.cluster.pools[0].prices_usd_per_hour = StepSeries({{0, 3.6}, {10, 7.2}});
  Greedy queue;
  const ReplayTotals totals = world.run({rigid("a", 0, 2, 30), rigid("b", 0, 1, 10)}, queue);
  CHECK(world.keeper.of("a").cost.total() == Approx(0.05));
  CHECK(world.keeper.of("b").cost.total() == Approx(0.01));
  CHECK(totals.pools[0].idle_usd == Approx(0.01));
  CHECK(totals.pools[0].pool_usd == Approx(0.07));
  CHECK(world.keeper.stage_costs == std::vector{world.keeper.of("a").cost.total(), world.keeper.of("b").cost.total()});
}

TEST_CASE("carbon dioxide of power whose intensity changes") {
  // One GPU: busy 300 W for 10 s, half of it at 360 g/kWh, half at 720: 300 W x 5 s x (360 + 720) g / 3.6e6 J = 0.45 g.
  // Two nodes: the other idles at 100 W: 0.15 g.
  World world{.cluster = cluster({{2, 1}})};
  world.cluster.carbon_g_per_kwh = StepSeries({{0, 360}, {5, 720}});
  Greedy queue;
  const ReplayTotals totals = world.run({rigid("a", 0, 1, 10)}, queue);
  CHECK(world.keeper.of("a").co2_kg == Approx(0.45e-3));
  CHECK(totals.pools[0].idle_co2_kg == Approx(0.15e-3));
  CHECK(totals.pools[0].pool_co2_kg == Approx(0.6e-3));
}

TEST_CASE("what a job adds to the bill, by who pays for what") {
  // Nodes of 2 GPUs at 0.001 $/s, two of them. a: 1 GPU from 0 to 100; b: 1 GPU from 40 to 60, beside a.
  //   allocated  a 0.05, b 0.01: as much as each is charged
  //   node       a pays 0.08 alone and half of 0.02, b the other half; without a the bill would be 0.08 less, without b the same
  //   pool       two nodes for 100 s are 0.2, of them 0.14 idle, shared 5 to 1; a alone keeps both for 80 s
  struct Case {
    Billing billing;
    double a_usd, a_marginal_usd, b_usd, b_marginal_usd;
  };
  for (const Case& c : {Case{Billing::allocated, 0.05, 0.05, 0.01, 0.01}, Case{Billing::node, 0.09, 0.08, 0.01, 0},
                        Case{Billing::pool, 0.05 + 0.14 * 5 / 6, 0.16, 0.01 + 0.14 / 6, 0}}) {
    World world{.cluster = cluster({{2, 2}})};
    world.costs.billing = c.billing;
    Greedy queue;
    world.run({rigid("a", 0, 1, 100), rigid("b", 40, 1, 20)}, queue);
    CHECK(world.keeper.of("a").cost.total() == Approx(c.a_usd));
    CHECK(world.keeper.of("a").marginal_usd == Approx(c.a_marginal_usd));
    CHECK(world.keeper.of("b").cost.total() == Approx(c.b_usd));
    CHECK(world.keeper.of("b").marginal_usd == Approx(c.b_marginal_usd).margin(1e-12));
  }
}

TEST_CASE("two groups of a job on one node are one tenant of it") {
  // 10 steps of 1 s on one node of 2 GPUs at 0.001 $/s, a worker of another batch on each: the job is alone, and without it there
  // is no bill.
  for (const Billing billing : {Billing::allocated, Billing::node, Billing::pool}) {
    World world{.cluster = cluster({{1, 2}})};
    world.costs.billing = billing;
    Choice both = choice(0, 1, 100);
    both.configuration.groups.push_back({.pool = 0, .workers = 1, .batch_per_worker = 50});
    world.menus.menu.ranked = {both};
    Greedy queue;
    const ReplayTotals totals = world.run({stepping("a", 0, 10)}, queue);
    CHECK(totals.pools[0].pool_usd == Approx(0.01));
    CHECK(world.keeper.of("a").cost.total() == Approx(0.01));
    CHECK(world.keeper.of("a").marginal_usd == Approx(0.01));
  }
}

TEST_CASE("a rented node is paid for from its boot on") {
  // Nodes of one GPU at 0.001 $/s boot in 20 s. a waits for its node and pays for it: 30 s; b comes at 40, when the node has been
  // given back: 30 s again.
  World world{.cluster = cluster({{4, 1}})};
  world.costs.billing = Billing::node;
  world.cluster.pools[0].autoscale = Autoscale{.boot_s = 20, .idle_s = 0};
  Greedy queue;
  const ReplayTotals totals = world.run({rigid("a", 0, 1, 10), rigid("b", 40, 1, 10)}, queue);
  CHECK(world.keeper.of("a").end_s == 30);
  CHECK(world.keeper.of("b").end_s == 70);
  CHECK(world.keeper.of("a").cost.total() == Approx(0.03));
  CHECK(world.keeper.of("a").cost.switch_usd == Approx(0.02));
  CHECK(totals.pools[0].pool_usd == Approx(0.06));
}

TEST_CASE("an autoscaled pool: boots are waited for and paid, idle nodes go") {
  // Nodes of one GPU at 0.001 dollars a second boot in 20 s and go after 50 idle ones. a: 0 to 30 (20 boot, 10 run). b comes at
  // 40, the node is still warm: 40 to 50. c comes at 200: the node went at 100, it boots again: 200 to 230. There are 100 s of
  // the node, and 30 of it again: 0.13 dollars, of them the jobs' 30 + 10 + 30.
  World world{.cluster = cluster({{4, 1}})};
  world.cluster.pools[0].autoscale = Autoscale{.boot_s = 20, .idle_s = 50};
  Greedy queue;
  const ReplayTotals totals = world.run({rigid("a", 0, 1, 10), rigid("b", 40, 1, 10), rigid("c", 200, 1, 10)}, queue);
  CHECK(world.keeper.of("a").end_s == 30);
  CHECK(world.keeper.of("b").end_s == 50);
  CHECK(world.keeper.of("c").end_s == 230);
  CHECK(world.keeper.of("a").cost.total() == Approx(0.03));
  CHECK(world.keeper.of("a").cost.switch_usd == Approx(0.02));
  CHECK(totals.pools[0].pool_usd == Approx(0.13));
  CHECK(totals.pools[0].idle_usd == Approx(0.06));
  CHECK(totals.pools[0].idle_energy_j == Approx(60 * 100));
}

TEST_CASE("a queue's date after the last end costs nothing") {
  // a boots for 20 s and runs for 10: 30 s of a node at 0.001 $/s. The queue wishes to be woken at 1,000, long after the node
  // would have gone, and after the price has changed.
  struct Late final : Queue {
    Greedy inner;
    void decide(const QueueView& view, QueueAnswer& answer) override {
      inner.decide(view, answer);
      if (view.now_s < 1000) answer.wake_at_s = 1000;
    }
  };
  for (const bool has_prices : {false, true}) {
    World world{.cluster = cluster({{4, 1}})};
    world.cluster.pools[0].autoscale = Autoscale{.boot_s = 20, .idle_s = 50};
    if (has_prices) world.cluster.pools[0].prices_usd_per_hour = StepSeries({{0, 3.6}, {500, 7.2}});
    Late queue;
    const ReplayTotals totals = world.run({rigid("a", 0, 1, 10)}, queue);
    CHECK(totals.last_end_s == 30);
    CHECK(totals.pools[0].pool_usd == Approx(0.03));
    CHECK(totals.pools[0].idle_usd == Approx(0).margin(1e-12));
    CHECK(totals.pools[0].idle_device_s == Approx(0).margin(1e-9));
  }
}

TEST_CASE("money, energy and carbon balance over random prices, intensities and pools") {
  rc::check([](std::uint64_t seed) {
    Random random(seed);
    const auto series = [&](double most) {
      std::vector<StepSeries::Step> steps{{0, most * random.uniform()}};
      while (steps.size() < 10) steps.push_back({steps.back().time_s + 1 + 60 * random.uniform(), most * random.uniform()});
      return StepSeries(steps);
    };
    World world{.cluster = cluster({{4, 2}, {3, 1}})};
    world.costs.billing = static_cast<Billing>(random.below(3));
    const bool rents = world.costs.billing == Billing::node;
    if (rents && random.below(2) == 0) world.costs.minimum_node_s = 100 * random.uniform();
    world.cluster.carbon_g_per_kwh = series(800);
    for (Pool& pool : world.cluster.pools) {
      if (random.below(3) > 0) pool.prices_usd_per_hour = series(10);
      if (random.below(2) > 0)
        pool.autoscale = Autoscale{.min_nodes = rents ? 0 : static_cast<int>(random.below(3)),
                                   .boot_s = 30 * random.uniform(),
                                   .idle_s = rents ? 0 : 60 * random.uniform()};
    }
    std::vector<Job> jobs;
    double date_s = 0;
    for (int j = 0; j < 20; ++j) {
      date_s += 40 * random.uniform();
      jobs.push_back(rigid("j" + std::to_string(j), date_s, 1 + static_cast<int>(random.below(4)), 1 + 50 * random.uniform()));
      if (jobs.back().gpus <= 3 && random.below(2) == 0) jobs.back().pool = 1;
    }
    Greedy queue;
    world.samples = true;
    const ReplayTotals totals = world.run(jobs, queue);  // checks that jobs + idle = pool
    double usd = totals.parameter_servers_usd, kg = 0, marginal_usd = 0, bill_usd = 0, pools_usd = 0, pools_kg = 0;
    for (const Keeper::Row& row : world.keeper.jobs) {
      const JobRecord& r = row.record;
      usd += r.cost.total(), kg += r.co2_kg;
      // What a job adds to a node's bill is of its share of it.
      RC_ASSERT(r.marginal_usd >= -1e-12);
      if (rents) RC_ASSERT(r.marginal_usd <= r.cost.total() * (1 + 1e-9) + 1e-12);
      marginal_usd += r.marginal_usd;
      if (world.costs.billing == Billing::allocated)
        RC_ASSERT(std::abs(r.marginal_usd - r.cost.total()) <= 1e-9 * r.marginal_usd);
    }
    for (const PoolTotals& pool : totals.pools) {
      pools_usd += pool.pool_usd - (world.costs.billing == Billing::allocated ? pool.idle_usd : 0);
      pools_kg += pool.pool_co2_kg - pool.idle_co2_kg;
      RC_ASSERT(pool.idle_usd >= -1e-12);
      if (rents) RC_ASSERT(pool.idle_usd == 0);
      bill_usd += pool.pool_usd;
    }
    // Under pool billing, the idle money of a pool that no job used stays its own.
    if (world.costs.billing == Billing::pool)
      for (const PoolTotals& pool : totals.pools) pools_usd -= pool.jobs_usd > 0 ? 0 : pool.idle_usd;
    RC_ASSERT(marginal_usd <= bill_usd * (1 + 1e-9));  // at no time two jobs are alone somewhere
    RC_ASSERT(std::abs(usd - pools_usd) <= 1e-9 * (1e-9 + pools_usd));
    RC_ASSERT(std::abs(kg - pools_kg) <= 1e-9 * pools_kg);
  });
}
