#include "policies/harness/recommend.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/workloads/real_world.hpp"
#include "workloads/layers/structure.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

const sim::Cluster& cluster() {
  static const sim::Cluster pools = tests::real_cluster({{"old", "k80", 3, 2, 0.9}, {"new", "v100", 2, 4, 12}});
  return pools;
}

const EstimatorSet& estimators() {
  static const EstimatorSet set(cluster(), {.networks = 30});
  return set;
}

const Recommender& recommender() {
  static const sim::CostRules costs;
  static const Recommender one(cluster(), costs, estimators());
  return one;
}

PlanJob job() {
  return {.features =
              structure_features(make_network(workloads::CnnStructure{.conv_layers = 12, .filters = 64, .layers_per_pool = 3})),
          .samples = 50000,
          .evaluation_samples = 10000,
          .batches = {{32, 40}, {128, 42}, {512, 55}, {2048, 110}}};
}

}  // namespace

TEST_CASE("samples that come slowly from storage hold up a plan") {
  // 64 samples of 100 kB over a storage of 1 MB/s take 6.4 s, and no step computes as long.
  sim::Cluster slow = cluster();
  for (sim::Instance& instance : slow.instances) instance.storage_bandwidth_bytes_per_s = 1e6;
  const sim::CostRules costs;
  const Recommender one(slow, costs, estimators());
  PlanJob large = job();
  const PlanChoice choice{.pool = 0, .workers = 1, .batch = 64, .epochs = 1};
  const auto without = one.evaluate(large, choice);
  large.sample_bytes = 1e5;
  const auto with = one.evaluate(large, choice);
  REQUIRE((with && without));
  CHECK(without->step_s.high < 6.4);
  CHECK(with->step_s.expected == Approx(6.4));
  CHECK(with->time_s.expected > without->time_s.expected);
  slow.instances[static_cast<std::size_t>(slow.pools[0].instance)].storage_bandwidth_bytes_per_s = 0;  // not known
  CHECK(one.evaluate(large, choice)->step_s.expected == without->step_s.expected);
}

TEST_CASE("where no network of the sweep fits a device's memory nothing is planned on it") {
  sim::Cluster small = cluster();
  std::ranges::find(small.devices, "k80", &sim::Device::name)->memory_bytes = 1e6;
  const EstimatorSet some(small, {.networks = 30});
  CHECK(some.of_pool(0).empty());
  const sim::CostRules costs;
  const Recommendation r = Recommender(small, costs, some).recommend(job(), {}, Goal::cost);
  REQUIRE(r.best);
  CHECK(r.best->pool == 1);
}

TEST_CASE("the recommendation equals brute force over all choices") {
  rc::prop("least energy, money or time", [] {
    PlanLimits limits;
    limits.deadline_s = std::exp2(*rc::gen::inRange(6, 18));
    limits.cost_usd = std::exp2(*rc::gen::inRange(-3, 8));
    limits.pool = *rc::gen::inRange(-1, 2);
    limits.workers = *rc::gen::inRange(0, 9);
    limits.free_devices = {*rc::gen::inRange(0, 7), *rc::gen::inRange(0, 9)};
    const Goal goal = static_cast<Goal>(*rc::gen::inRange(0, 3));
    const Recommendation r = recommender().recommend(job(), limits, goal);
    // Every pool, number of workers (all are tried, there being no more than 8), batch and power limit.
    double least = std::numeric_limits<double>::infinity();
    for (int pool = 0; pool < 2; ++pool)
      for (int workers = 1; workers <= (pool == 0 ? 6 : 8); ++workers)
        for (const BatchOption& option : job().batches)
          for (const EstimatorSet::Limited& limited : estimators().of_pool(pool)) {
            const auto one = recommender().evaluate(job(), {.pool = pool,
                                                            .workers = workers,
                                                            .batch = option.batch,
                                                            .power_limit_w = limited.power_limit_w,
                                                            .epochs = option.epochs});
            if (!one || one->time_s.high > limits.deadline_s || one->cost_usd.high > limits.cost_usd) continue;
            if ((limits.pool >= 0 && limits.pool != pool) || (limits.workers > 0 && limits.workers != workers)) continue;
            if (workers > limits.free_devices[static_cast<std::size_t>(pool)]) continue;
            least = std::min(least, one->by(goal));
          }
    RC_ASSERT(r.best.has_value() == std::isfinite(least));
    if (r.best) RC_ASSERT(r.best->by(goal) == least);
    for (const PlanChoice& other : r.alternatives) {
      RC_ASSERT(keeps(limits, other));
      RC_ASSERT(other.by(goal) >= least);
      RC_ASSERT(other.pool != r.best->pool || other.workers != r.best->workers);
    }
    for (const LimitCost& cost : r.costs) RC_ASSERT(!r.best || cost.without.by(goal) < least);
  });
}

TEST_CASE("relaxing the deadline never raises the energy") {
  double before = std::numeric_limits<double>::infinity();
  int found = 0;
  for (double deadline_s = 30; deadline_s < 1e6; deadline_s *= 1.3) {
    const Recommendation r = recommender().recommend(job(), {.deadline_s = deadline_s}, Goal::energy);
    if (!r.best) {
      CHECK(found == 0);
      CHECK(r.soonest->time_s.high > deadline_s);
      continue;
    }
    ++found;
    CHECK(r.best->time_s.high <= deadline_s);
    CHECK(r.best->energy_j.expected <= before);
    before = r.best->energy_j.expected;
  }
  CHECK(found > 5);
}

TEST_CASE("time and money of a choice, from its step") {
  const auto one = recommender().evaluate(job(), {.pool = 0, .workers = 1, .batch = 128, .power_limit_w = 0, .epochs = 42});
  REQUIRE(one);
  // 50,000 / 128 = 390.6: 391 steps an epoch; 10,000 / 128: 79 forward passes, a third of a step each; 30 s of start.
  const double step_s = one->step_s.expected;  // of a lone worker: nothing is exchanged
  CHECK(one->time_s.expected == Approx(30 + 42 * (391 + 79.0 / 3) * step_s));
  // A node of two K80 costs 0.9 $ an hour.
  CHECK(one->cost_usd.expected == Approx(one->time_s.expected * 0.45 / 3600));
  CHECK(one->energy_j.low <= one->energy_j.expected);
  CHECK(one->energy_j.expected <= one->energy_j.high);
}

TEST_CASE("by the node a choice pays for its idle devices, in money and in power") {
  static const sim::CostRules rent{.billing = sim::Billing::node, .minimum_node_s = 1e7};
  const Recommender renting(cluster(), rent, estimators());
  const PlanChoice three{.pool = 1, .workers = 3, .batch = 512, .epochs = 55},
      six{.pool = 1, .workers = 6, .batch = 512, .epochs = 55};
  const auto by_device = recommender().evaluate(job(), three), by_node = renting.evaluate(job(), three);
  REQUIRE(by_device);
  REQUIRE(by_node);
  // Three of the four V100s of a node: one node, of which one GPU idles. At 12 $ an hour it is paid for 1e7 s at least.
  CHECK(by_node->nodes == 1);
  CHECK(by_node->time_s.expected == by_device->time_s.expected);
  CHECK(by_node->cost_usd.expected == Approx(12.0 / 3600 * std::max(1e7, by_node->time_s.expected)));
  CHECK(by_node->energy_j.expected ==
        Approx(by_device->energy_j.expected + by_node->time_s.expected * sim::worker_idle_w(cluster(), 1)));
  CHECK(renting.evaluate(job(), six)->nodes == 2);
}

TEST_CASE("workers share the batch and pay for the exchange") {
  const auto step_s = [&](int workers, double batch) {
    return recommender().evaluate(job(), {.pool = 1, .workers = workers, .batch = batch, .epochs = 42})->step_s.expected;
  };
  CHECK(step_s(4, 512) < step_s(1, 512));
  CHECK(step_s(4, 512) > step_s(1, 128));
  CHECK(step_s(8, 1024) > step_s(4, 512));  // over two nodes
}

TEST_CASE("what nothing keeps is answered with the soonest and the cheapest") {
  const Recommendation r = recommender().recommend(job(), {.deadline_s = 1, .cost_usd = 1e-6}, Goal::energy);
  CHECK(!r.best);
  REQUIRE(r.soonest);
  REQUIRE(r.cheapest);
  CHECK(recommender().recommend(job(), {.deadline_s = r.soonest->time_s.high}, Goal::energy).best);
  CHECK(recommender().recommend(job(), {.cost_usd = r.cheapest->cost_usd.high}, Goal::energy).best);
}

TEST_CASE("a network too large for every device has no choice") {
  PlanJob large = job();
  large.batches = {{1 << 20, 1}};
  const Recommendation r = recommender().recommend(large, {}, Goal::energy);
  CHECK(!r.best);
  CHECK(!r.soonest);
}
