#include "policies/configure/manual.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/replay/decisions.hpp"
#include "tests/policies/configure/strategies.hpp"

using namespace rehearse::policies;
namespace sim = rehearse::sim;
using rehearse::tests::configuration;
using rehearse::tests::real_cluster;
using rehearse::tests::RealWorld;

namespace {

struct Rules {
  const RealWorld& real;
  sim::CostRules costs;
  DataParallel place;
  RecommendedThreads threads;

  explicit Rules(const RealWorld& of) : real(of) {}
  sim::AloneRunner runner() {
    return {real.cluster, costs, real.belief->models(), {.name = "manual", .place = &place, .threads = &threads}};
  }
  sim::Configuration answer(const sim::Job& job, const ManualRules& rules = {}) {
    sim::AloneRunner believed = runner();
    return rules.configuration(job, real.cluster, costs, *real.belief, believed);
  }
  double time_s(const sim::Job& job, const sim::Configuration& c) { return runner().run(job, {.configuration = c}).time_s; }
  double usd_per_sample(const sim::Job& job, const sim::Configuration& c) {
    const std::vector<sim::Plans> plans(1, {.threads = {.intra_op = 68}});
    return sim::usd_per_s(real.cluster, costs, c) *
           real.belief->models().step_times->timing(job, c, sim::empty_cluster_layout(real.cluster, c), plans).step_s /
           c.batch_size();
  }
};

sim::Job train(const RealWorld& real, std::string_view model = "resnet18") {
  return {.name = "j", .profile = &real.profile(model), .work = sim::Work::train, .epochs = 10};
}

const RealWorld& three_pools() {
  static const RealWorld real(real_cluster({{"slow", "k80", 8, 1, 0.9}, {"fast", "v100", 8, 4, 48}, {"cpu", "knl7250", 8, 0, 2}}),
                              {{"resnet18", "cifar10"}, {"resnet50", "imagenet"}});
  return real;
}

}  // namespace

TEST_CASE("manual: the publication's batch in the pool of median price a sample", "[manual]") {
  Rules rules(three_pools());
  const sim::Job job = train(rules.real);
  std::vector<std::pair<double, int>> prices;
  for (int pool = 0; pool < 3; ++pool) prices.emplace_back(rules.usd_per_sample(job, configuration(pool, 1, 128)), pool);
  std::sort(prices.begin(), prices.end());
  const sim::Configuration c = rules.answer(job);
  CHECK(c.batch_size() == 128);
  CHECK(c.groups[0].pool == prices[1].second);
  CHECK(c.workers() == 1);  // no deadline
  CHECK(c.learning_rate == 0);
  sim::Job named = job;
  for (named.pool = 0; named.pool < 3; ++named.pool) CHECK(rules.answer(named).groups[0].pool == named.pool);
}

// One V100 of the pool costs 48/4 = 12 $ an hour, a K80 0.90: 13 times the price for less than 13 times the speed.
TEST_CASE("manual: by habit the pool of least price, or of least time, for a sample", "[manual]") {
  Rules rules(three_pools());
  const sim::Job job = train(rules.real);
  std::vector<std::pair<double, int>> prices, times;
  for (int pool = 0; pool < 3; ++pool) {
    const sim::Configuration one = configuration(pool, 1, 128);
    prices.emplace_back(rules.usd_per_sample(job, one), pool);
    times.emplace_back(prices.back().first / sim::usd_per_s(rules.real.cluster, rules.costs, one), pool);
  }
  std::sort(prices.begin(), prices.end());
  std::sort(times.begin(), times.end());
  REQUIRE(times.front().second == 1);
  REQUIRE(prices.front().second != 1);
  REQUIRE(prices[1].second != prices.front().second);
  const auto pool_by = [&](PoolHabit habit) { return rules.answer(job, ManualRules({.pool_habit = habit}, {})).groups[0].pool; };
  CHECK(pool_by(PoolHabit::fastest) == 1);
  CHECK(pool_by(PoolHabit::cheapest) == prices.front().second);
  CHECK(pool_by(PoolHabit::median) == prices[1].second);
  CHECK(rules.answer(job, ManualRules({.pool = 0, .pool_habit = PoolHabit::fastest}, {})).groups[0].pool == 0);
}

TEST_CASE("manual: the fewest workers in 0.8 of the deadline, the fastest where none are", "[manual]") {
  Rules rules(three_pools());
  sim::Job job = train(rules.real);
  job.pool = 1;
  std::vector<double> times;
  for (const int workers : {1, 2, 4, 8, 16, 32}) times.push_back(rules.time_s(job, configuration(1, workers, 128 / workers)));
  REQUIRE(times[1] < times[0]);
  job.deadline_s = times[1] / 0.8 * (1 + 1e-12);
  CHECK(rules.answer(job) == configuration(1, 2, 64));
  job.deadline_s = times[0] / 0.8 * (1 + 1e-12);
  CHECK(rules.answer(job) == configuration(1, 1, 128));
  job.deadline_s = times[0] / 0.8 * (1 - 1e-12);
  CHECK(rules.answer(job) == configuration(1, 2, 64));
  job.deadline_s = 1;
  const auto fastest = std::min_element(times.begin(), times.end()) - times.begin();
  CHECK(rules.answer(job) == configuration(1, 1 << fastest, 128 >> fastest));
}

TEST_CASE("manual: a job that is to end soon gets the fastest within 0.8 of its money", "[manual]") {
  Rules rules(three_pools());
  sim::Job job = train(rules.real);
  job.pool = 1;
  job.objective = sim::Objective::min_time;
  std::vector<double> times, costs;
  for (const int workers : {1, 2, 4, 8, 16, 32}) {
    const sim::Configuration c = configuration(1, workers, 128 / workers);
    times.push_back(rules.time_s(job, c));
    costs.push_back(times.back() * sim::usd_per_s(rules.real.cluster, rules.costs, c));
  }
  const auto answer = [](std::ptrdiff_t power) { return configuration(1, 1 << power, 128 >> power); };
  const auto fastest = std::min_element(times.begin(), times.end()) - times.begin();
  REQUIRE(fastest > 1);
  CHECK(rules.answer(job) == answer(fastest));
  job.deadline_s = 1e9;  // no reason to be slow
  CHECK(rules.answer(job) == answer(fastest));
  // Two workers are faster than one, cost more, and all others cost more still.
  REQUIRE(times[1] < times[0]);
  REQUIRE(std::is_sorted(costs.begin(), costs.end()));
  job.cost_limit_usd = costs[1] / 0.8 * (1 + 1e-12);
  CHECK(rules.answer(job) == answer(1));
  job.cost_limit_usd = costs[0] / 0.8 * (1 - 1e-12);  // nothing is cheap enough: the cheapest
  CHECK(rules.answer(job) == answer(0));
  job.cost_limit_usd = sim::kNever;
  job.objective = sim::Objective::max_accuracy;  // of the publication's batch: as cheap as for min-cost
  CHECK(rules.answer(job) == answer(0));
}

TEST_CASE("manual: the batch is halved until some power of two of workers holds it", "[manual]") {
  // ResNet-50's 200 images on one K80: the largest of 200, 100, 50, 25, ... that fits.
  const RealWorld real(real_cluster({{"slow", "k80", 1, 1, 0.9}}), {{"resnet50", "imagenet"}});
  Rules rules(real);
  const int largest = real.models.of(real.profile()).memory.largest_batch(real.cluster.devices[0]);
  REQUIRE(largest < 200);
  double expected = 200;
  while (expected > largest) expected = std::floor(expected / 2);
  CHECK(rules.answer(train(real, "resnet50")) == configuration(0, 1, static_cast<int>(expected)));
  // With two of them nothing is halved that two can hold.
  const RealWorld two(real_cluster({{"slow", "k80", 2, 1, 0.9}}), {{"resnet50", "imagenet"}});
  REQUIRE(largest >= 100);
  CHECK(Rules(two).answer(train(two, "resnet50")) == configuration(0, 2, 100));
}

TEST_CASE("manual: what the scenario sets goes before the rules, by model before for all", "[manual]") {
  Rules rules(three_pools());
  const sim::Job job = train(rules.real);
  const ManualOverride all{.pool = 2, .workers = 4, .batch_size = 256, .learning_rate = 0.5};
  const sim::Configuration c = rules.answer(job, ManualRules(all, {}));
  CHECK(c.groups == configuration(2, 4, 64).groups);
  CHECK(c.learning_rate == 0.5);
  const ManualRules by_model(all, {{"resnet18", {.workers = 2}}});
  CHECK(rules.answer(job, by_model).workers() == 2);
  CHECK(rules.answer(job, by_model).batch_size() == 128);  // all of the model's own, nothing of the others'
  CHECK(rules.answer(train(rules.real, "resnet50"), by_model).groups[0].pool == 2);
  const ManualRules servers({.workers = 4, .sync = sim::Sync{sim::SyncKind::servers_async, 2}}, {});
  CHECK(rules.answer(job, servers).sync.servers == 2);
  sim::Job named = job;
  named.pool = 0;  // the job's own words go before the scenario's
  CHECK(rules.answer(named, ManualRules(all, {})).groups[0].pool == 0);
}

TEST_CASE("manual: a traced job keeps its GPUs and its batch", "[manual]") {
  Rules rules(three_pools());
  sim::Job job = train(rules.real);
  job.gpus = 8;
  CHECK(rules.answer(job).workers() == 8);
  job.gpus = 16;  // pools of 8 cannot have it: the V100s' 32
  CHECK(rules.answer(job) == configuration(1, 16, 8));
  job = {.name = "s", .profile = &rules.real.profile(), .work = sim::Work::steps, .gpus = 4, .steps = 100, .batch_size = 96};
  CHECK(rules.answer(job).workers() == 4);
  CHECK(rules.answer(job).batch_size() == 96);
  job.batch_size = 99;  // in four equal parts it is 100: three workers share it
  CHECK(rules.answer(job).workers() == 3);
  CHECK(rules.answer(job).batch_size() == 99);
}

TEST_CASE("manual: whatever the job, the replay takes the answer", "[manual]") {
  Rules rules(three_pools());
  rc::prop("valid menus", [&](std::uint64_t seed) {
    sim::Random random(seed);
    sim::Job job = train(rules.real, random.below(2) == 0 ? "resnet18" : "resnet50");
    if (random.below(2) == 0) job.deadline_s = random.uniform(1, 1e5);
    if (random.below(3) == 0) job.pool = static_cast<int>(random.below(3));
    if (random.below(2) == 0) job.gpus = 1 + static_cast<int>(random.below(9));
    if (random.below(2) == 0) {
      job.work = sim::Work::steps;
      job.steps = 1000;
      job.batch_size = 1 + static_cast<double>(random.below(300));
    }
    ManualOverride set;
    if (random.below(3) == 0) set.workers = 1 + static_cast<int>(random.below(9));
    const sim::Configuration c = rules.answer(job, ManualRules(set, {}));
    sim::validate_menu(rules.real.cluster, job, {.ranked = {{.configuration = c}}});
  });
}
