// The search for what to rent: what is tried, what it costs, how sure it is. A catalogue of two toy instances.
#include "policies/harness/rent.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "workloads/steps/graph_builder.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse;
using policies::Knowledge;
using policies::RentChoice;
using policies::Spread;

namespace {

struct Market {
  sim::Cluster cluster;
  sim::CostRules costs;
  std::vector<policies::RentPool> pools;
  sim::OpGraph graph = workloads::zoo_graph("resnet18", "cifar10");
  workloads::StepModel step{graph};
  workloads::MemoryModel memory{graph, workloads::Optimizer::momentum};
  policies::RentModel model{.step = step, .memory = memory, .model = "resnet18", .dataset = "cifar10", .forward_flops = 1e9};
  policies::RentRules rules;
  policies::PlanJob job{.samples = 50000, .batches = {{128, 30}, {512, 30}}};

  Market() {
    costs.billing = sim::Billing::node;
    add("one", 1, 1.0, 1.5e13, 16e9);
    add("eight", 8, 10.0, 1.5e13, 16e9);
  }
  void add(const char* name, int gpus, double usd_per_hour, double flops, double memory_bytes) {
    sim::Device device{.name = std::string("gpu-") + name,
                       .peak_fp32_flops = flops,
                       .peak_fp16_flops = 8 * flops,
                       .memory_bytes = memory_bytes,
                       .memory_bandwidth_bytes_per_s = 9e11,
                       .multiprocessors = 80,
                       .idle_w = 40,
                       .busy_w = 300};
    cluster.devices.push_back(device);
    sim::Instance instance{.name = name,
                           .gpus = {{static_cast<int>(cluster.devices.size()) - 1, gpus}},
                           .price_usd_per_hour = usd_per_hour,
                           .inside = {1e11, 5e-6},
                           .network = {1.25e9, 5e-5},
                           .storage_bandwidth_bytes_per_s = 1e9};
    cluster.instances.push_back(instance);
    cluster.pools.push_back({.name = name, .instance = static_cast<int>(cluster.instances.size()) - 1, .nodes = 16});
    pools.push_back({});
  }
  std::vector<RentChoice> choices(const policies::PlanLimits& limits = {}) const {
    return policies::RentSearch(cluster, costs, pools, model, rules).choices(job, limits);
  }
};

RentChoice of(const std::vector<RentChoice>& all, int pool, int workers, double batch, sim::Precision precision) {
  for (const RentChoice& one : all)
    if (one.plan.pool == pool && one.plan.workers == workers && one.plan.batch == batch && one.precision == precision) return one;
  throw std::runtime_error("no such choice");
}

}  // namespace

TEST_CASE("rent: every instance by powers of two, both batches, both precisions") {
  const Market market;
  const auto all = market.choices();
  // one: 1, 2, 4, 8, 16 nodes; eight: 1, 2, 4, 8 of a node, then 16, 32, 64, 128: 5 + 8 counts x 2 batches x 2 precisions.
  CHECK(all.size() == 13 * 4);
  CHECK_NOTHROW(of(all, 1, 128, 512, sim::Precision::fp16));
}

TEST_CASE("rent: TF32 and bf16 are tried where they are asked for and the device has them") {
  Market market;
  market.cluster.devices[0].peak_tf32_flops = 6e13;
  market.rules.precisions = {sim::Precision::fp32, sim::Precision::tf32, sim::Precision::bf16};
  const auto all = market.choices();
  const auto step_s = [&](sim::Precision precision) { return of(all, 0, 1, 512, precision).plan.step_s.expected; };
  CHECK(step_s(sim::Precision::tf32) < step_s(sim::Precision::fp32));
  CHECK(step_s(sim::Precision::bf16) < step_s(sim::Precision::tf32));  // half the bytes too
  CHECK_THROWS(of(all, 0, 1, 512, sim::Precision::fp16));              // nobody asked
  CHECK_THROWS(of(all, 1, 1, 512, sim::Precision::tf32));              // the other device has none
}

TEST_CASE("rent: money is that of whole nodes, and of the data that must be moved") {
  Market market;
  market.pools[1].extra_usd = 5;
  const auto all = market.choices();
  for (const RentChoice& one : all) {
    const double hourly = one.plan.pool == 0 ? 1.0 : 10.0;
    CHECK(one.plan.cost_usd.expected ==
          Approx(static_cast<double>(one.plan.nodes) * hourly * one.plan.time_s.expected / 3600 + (one.plan.pool == 1 ? 5 : 0)));
  }
}

TEST_CASE("rent: a deadline is missed with the share of the log-normal beyond it") {
  const Market market;
  const RentChoice free = of(market.choices(), 0, 1, 128, sim::Precision::fp32);
  CHECK(free.miss_probability == 0);
  // At exactly the upper end of its interval the deadline is missed by 10 of 100, and one second less keeps it no more.
  policies::PlanLimits limits{.deadline_s = free.plan.time_s.high};
  const RentChoice at = of(market.choices(limits), 0, 1, 128, sim::Precision::fp32);
  CHECK(at.miss_probability == Approx(0.1).epsilon(1e-6));
  CHECK(at.keeps_limits);
  limits.deadline_s -= 1;
  CHECK(!of(market.choices(limits), 0, 1, 128, sim::Precision::fp32).keeps_limits);
}

TEST_CASE("rent: what is known of a device narrows the interval; more nodes widen it") {
  for (const Spread spread : {Spread::worker, Spread::node, Spread::nodes})
    CHECK(policies::validated_error(Knowledge::model, spread).sigma <
          policies::validated_error(Knowledge::data_sheet, spread).sigma);
  for (const Knowledge known : {Knowledge::data_sheet, Knowledge::device, Knowledge::model}) {
    CHECK(policies::validated_error(known, Spread::worker).sigma < policies::validated_error(known, Spread::node).sigma);
    CHECK(policies::validated_error(known, Spread::node).sigma < policies::validated_error(known, Spread::nodes).sigma);
  }
}

TEST_CASE("rent: a batch that does not fit is trained in parts whose gradients are summed") {
  Market market;
  market.cluster.devices[0].memory_bytes = 1.6e9;
  const RentChoice parts = of(market.choices(), 0, 1, 512, sim::Precision::fp32);
  CHECK(parts.accumulation > 1);
  CHECK(parts.plan.memory_bytes.expected <= sim::kUsableMemory * 1.6e9);
  // The same samples in parts take no less time than at once.
  CHECK(parts.plan.step_s.expected >= of(Market().choices(), 0, 1, 512, sim::Precision::fp32).plan.step_s.expected);
}

TEST_CASE("rent: the bottleneck is what would shorten the step most") {
  Market market;
  market.cluster.instances[0].storage_bandwidth_bytes_per_s = 1e4;
  const auto graph = workloads::build_graph(workloads::zoo_entry("resnet18").build(workloads::dataset("cifar10")),
                                            {.stored_bytes_per_sample = 3072});
  const workloads::StepModel step(graph);
  const policies::RentModel model{.step = step, .memory = market.memory, .model = "resnet18", .dataset = "cifar10"};
  const policies::RentSearch search(market.cluster, market.costs, market.pools, model, market.rules);
  const auto all = search.choices(market.job, {});
  CHECK(search.bottleneck(of(all, 0, 1, 128, sim::Precision::fp32)) == policies::Bottleneck::input);
  market.cluster.instances[0].storage_bandwidth_bytes_per_s = 1e12;
  market.cluster.instances[0].network.bandwidth_bytes_per_s = 1e6;
  CHECK(search.bottleneck(of(search.choices(market.job, {}), 0, 4, 128, sim::Precision::fp32)) == policies::Bottleneck::network);
}

TEST_CASE("rent: nothing beats a point of the front, and something beats all others") {
  rc::prop("front", [] {
    const auto points =
        *rc::gen::container<std::vector<std::pair<int, int>>>(rc::gen::pair(rc::gen::inRange(1, 20), rc::gen::inRange(1, 20)));
    std::vector<RentChoice> all;
    for (const auto& [usd, s] : points) {
      RentChoice one;
      one.plan.cost_usd.expected = usd;
      one.plan.time_s.expected = s;
      all.push_back(one);
    }
    const auto front = policies::pareto_front(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      bool is_beaten = false;
      for (const RentChoice& other : all)
        is_beaten = is_beaten || (other.plan.cost_usd.expected <= all[i].plan.cost_usd.expected &&
                                  other.plan.time_s.expected <= all[i].plan.time_s.expected &&
                                  (other.plan.cost_usd.expected < all[i].plan.cost_usd.expected ||
                                   other.plan.time_s.expected < all[i].plan.time_s.expected));
      const bool is_front = std::ranges::find(front, i) != front.end();
      if (is_front) RC_ASSERT(!is_beaten);
    }
    RC_ASSERT(front.empty() == all.empty());
  });
}

TEST_CASE("rent: on spot nodes that nobody takes away a training takes its own time; with more taken away it takes longer") {
  RentChoice choice;
  choice.plan.nodes = 2;
  choice.plan.time_s = {7200, 7200, 7200};
  choice.plan.cost_usd = {4, 4, 4};
  choice.start_s = 200;
  choice.checkpoint_interval_s = 600;
  policies::RentRules rules;
  rules.spot.mean_up_s = 1e15;
  const policies::PredictionError sure{.bias = 1, .sigma = 0};
  const auto calm = replay_on_spot(choice, rules, sure, 100, 7201, 1, 50);
  CHECK(calm.time_s == Approx(7200));
  CHECK(calm.cost_usd == Approx(4));
  CHECK(calm.miss_probability == 0);
  rules.spot.mean_up_s = 7200;
  const auto rough = replay_on_spot(choice, rules, sure, 100, 7201, 1, 200);
  CHECK(rough.time_s > 7200);
  CHECK(rough.cost_usd > 4);
  CHECK(rough.miss_probability > 0.5);
  // Nodes that stay cost what others cost, however unsure the step is: only the quantile is wider.
  rules.spot.mean_up_s = 1e12;
  const auto unsure = replay_on_spot(choice, rules, {.bias = 1, .sigma = 0.4}, 100, 7201, 1, 50);
  CHECK(unsure.time_s == Approx(7200));
  CHECK(unsure.cost_usd == Approx(4));
  CHECK(unsure.time_high_s > 1.2 * 7200);
  // Money is what is paid for that time, at 4 $ for 7200 s.
  CHECK(unsure.cost_high_usd == Approx(unsure.time_high_s / 1800));
  CHECK(unsure.cost_low_usd == Approx(unsure.time_low_s / 1800));
  CHECK(unsure.cost_low_usd < 4);
  CHECK(unsure.time_low_s < 7200);
}

// Two nodes, each away after 1,200 s in the mean: one of them after 600 s, as long as from checkpoint to checkpoint. e - 1 are
// lost for each checkpoint, 600 s up and 400 s until all is there again. Of 120 checkpoints that is drawn, of 1,200 reckoned.
TEST_CASE(
    "rent: of many lost spot nodes the mean is reckoned, as it is drawn of fewer; a training that gets nowhere never ends") {
  RentChoice choice;
  choice.plan.nodes = 2;
  choice.checkpoint_interval_s = 600;
  policies::RentRules rules;
  rules.spot.mean_up_s = 1200;
  rules.spot.down_s = 300;
  const policies::PredictionError sure{.bias = 1, .sigma = 0};
  const auto replayed = [&](double checkpoints) {
    const double time_s = 600 * checkpoints;
    choice.plan.time_s = {time_s, time_s, time_s};
    choice.plan.cost_usd = {time_s, time_s, time_s};
    return replay_on_spot(choice, rules, sure, 100, 1e9, 1, 400);
  };
  const double lost = std::exp(1.0) - 1;
  const auto drawn = replayed(120), reckoned = replayed(1200);
  CHECK(drawn.time_low_s < drawn.time_s);
  CHECK(drawn.time_s == Approx(120 * lost * 1000).epsilon(0.02));
  CHECK(drawn.cost_usd == Approx(120 * lost * 700).epsilon(0.02));
  CHECK(reckoned.time_s == Approx(1200 * lost * 1000));
  CHECK(reckoned.cost_usd == Approx(1200 * lost * 700));
  rules.spot.mean_up_s = 1;
  CHECK(std::isinf(replayed(120).time_s));
  CHECK(replayed(120).miss_probability == 1);
}

// The same training: e - 1 nodes are lost for each of 120 checkpoints, 1,000 s each, of which 700 s are paid for. A step that is
// slower by a factor takes that much longer, as nothing else does here.
TEST_CASE("rent: what spot nodes are reckoned to take is what draws tend to") {
  RentChoice choice;
  choice.plan.nodes = 2;
  choice.checkpoint_interval_s = 600;
  choice.plan.time_s = {72000, 72000, 72000};
  choice.plan.cost_usd = {72, 72, 72};
  policies::RentRules rules;
  rules.spot.mean_up_s = 1200;
  rules.spot.down_s = 300;
  const double lost = 120 * (std::exp(1.0) - 1), slower = std::exp(1.2815516 * 0.2);
  const policies::PredictionError error{.bias = 1, .sigma = 0.2};
  const auto reckoned = expected_on_spot(choice, rules, error, 100, 1000 * lost * slower);
  CHECK(reckoned.time_s == Approx(1000 * lost));
  CHECK(reckoned.cost_usd == Approx(0.7 * lost));
  CHECK(reckoned.time_high_s == Approx(1000 * lost * slower));
  CHECK(reckoned.time_low_s == Approx(1000 * lost / slower));
  CHECK(reckoned.cost_high_usd == Approx(0.7 * lost * slower));
  CHECK(reckoned.miss_probability == Approx(0.1).epsilon(1e-6));
  const auto drawn = replay_on_spot(choice, rules, error, 100, 1000 * lost * slower, 1, 400);
  CHECK(drawn.time_s == Approx(reckoned.time_s).epsilon(0.02));
  CHECK(drawn.cost_usd == Approx(reckoned.cost_usd).epsilon(0.02));
  CHECK(drawn.time_high_s == Approx(reckoned.time_high_s).epsilon(0.06));
  CHECK(expected_on_spot(choice, rules, error, 100, std::numeric_limits<double>::infinity()).miss_probability == 0);
}

TEST_CASE("rent: a worker that was timed for another choice is the same worker") {
  Market market;
  market.rules.power_limits = true;
  const auto all = market.choices();
  for (const int workers : {1, 4, 16}) {
    const auto alone = market.choices({.workers = workers});
    REQUIRE(!alone.empty());
    for (const RentChoice& one : alone) {
      const auto same = [&](const RentChoice& other) {
        return other.plan.pool == one.plan.pool && other.plan.workers == workers && other.plan.batch == one.plan.batch &&
               other.precision == one.precision && other.plan.power_limit_w == one.plan.power_limit_w;
      };
      const auto found = std::ranges::find_if(all, same);
      REQUIRE(found != all.end());
      CHECK(found->plan.step_s.expected == one.plan.step_s.expected);
      CHECK(found->plan.energy_j.expected == one.plan.energy_j.expected);
    }
  }
}

TEST_CASE("rent: Young's interval between checkpoints, by hand") {
  // Young: sqrt(2 x 5 s x 3600 s) = 189.7 s.
  CHECK(policies::young_interval_s(5, 3600) == Approx(189.7366596));
}

TEST_CASE("rent: checkpoints on spot nodes are as often as any of the nodes goes") {
  Market market;
  market.pools[0].is_spot = market.pools[1].is_spot = true;
  market.model.checkpoint_bytes = 5e9;  // 5 s at 1e9 bytes/s
  market.rules.spot.mean_up_s = 86400;
  const auto all = market.choices();
  const auto interval_s = [&](int pool, int workers) {
    return of(all, pool, workers, 512, sim::Precision::fp32).checkpoint_interval_s;
  };
  // All stop when one of n is lost, after 86,400 s / n in the mean: sqrt(2 x 5 s x 86,400 s) = 929.5 s of one node.
  CHECK(interval_s(0, 1) == Approx(929.5160031));
  CHECK(interval_s(0, 4) == Approx(464.7580015));   // of four: sqrt(2 x 5 s x 21,600 s)
  CHECK(interval_s(1, 8) == Approx(929.5160031));   // eight workers of one node
  CHECK(interval_s(1, 32) == Approx(464.7580015));  // of four nodes
}

TEST_CASE("rent: the measurement that is worth most is that of a pool that may turn out cheaper") {
  Market market;
  const auto all = market.choices();
  const RentChoice& chosen = of(all, 1, 8, 512, sim::Precision::fp16);
  const auto worth = worth_measuring(all, market.pools, chosen, {});
  REQUIRE(worth);
  CHECK(worth->pool == 0);
  CHECK(worth->usd > 0);
  market.pools[0].knowledge = Knowledge::model;  // nothing is left to be learnt of it
  CHECK(!worth_measuring(all, market.pools, chosen, {}));
}

TEST_CASE("rent: a spot node's price by hand, over any time and round its end") {
  // 1 $ for 100 s, 4 $ for 50 s, 2 $ for the mean of both, 75 s: (100 + 200 + 150) / 225 = 2 $ in the mean.
  const policies::SpotPrices prices({1000, 1100, 1150}, {1, 4, 2});
  CHECK(prices.length_s() == Approx(225));
  CHECK(prices.mean() == Approx(2));
  CHECK(prices.mean_between(50, 100) == Approx((50 * 1 + 50 * 4) / 100.0));
  CHECK(prices.mean_between(200, 50) == Approx((25 * 2 + 25 * 1) / 50.0));
  CHECK(prices.mean_between(10, 450) == Approx(2));
  // Sorted: 100 s of 1 $, 75 s of 2 $, 50 s of 4 $.
  CHECK(prices.quantile(0.4) == 1);
  CHECK(prices.quantile(0.5) == 2);
  CHECK(prices.quantile(0.9) == 4);
}

TEST_CASE("rent: trainings on spot nodes pay what a series says, and go when they would have gone without it") {
  RentChoice choice;
  choice.plan.nodes = 2;
  choice.plan.time_s = {7200, 7200, 7200};
  choice.plan.cost_usd = {4, 4, 4};
  choice.start_s = 200;
  choice.checkpoint_interval_s = 600;
  const policies::RentRules rules{.spot = {.mean_up_s = 7200}};
  const policies::PredictionError error{.bias = 1, .sigma = 0.2};
  const auto replayed = [&](const policies::SpotPrices& prices) {
    return replay_on_spot(choice, rules, error, 100, 9000, 1, 200, prices);
  };
  const auto flat = replayed(policies::SpotPrices({0, 3600}, {3, 3})), none = replayed({});
  CHECK(flat.time_s == none.time_s);
  CHECK(flat.cost_usd == Approx(none.cost_usd));
  CHECK(flat.cost_high_usd == Approx(none.cost_high_usd));
  // Twice as dear every other month: the mean stays, and what a training of hours pays is a matter of when it begins.
  std::vector<double> dates, usd;
  for (int month = 0; month < 24; ++month) {
    dates.push_back(month * 30 * 86400.0);
    usd.push_back(month % 2 == 0 ? 2 : 4);
  }
  const auto moving = replayed(policies::SpotPrices(dates, usd));
  CHECK(moving.time_s == none.time_s);
  CHECK(moving.miss_probability == none.miss_probability);
  CHECK(moving.cost_usd == Approx(none.cost_usd).epsilon(0.05));
  CHECK(moving.cost_high_usd > 1.15 * none.cost_high_usd);
  CHECK(moving.cost_low_usd < 0.85 * none.cost_low_usd);
}
