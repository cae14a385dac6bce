// Strategies of the replay that pause and act when their nodes are taken away, by hand: a view of two pools of one instance, one
// of spot nodes, in which training takes 6000 s in 100 epochs on either.
#include "policies/staged/spot_strategy.hpp"

#include <catch2/catch.hpp>
#include <utility>

#include "tests/policies/configure/strategies.hpp"

namespace {

using namespace rehearse;
using policies::SpotRule;
using tests::configuration;

/// Pool 0 is on demand, pool 1 spot; `up` says whether it has its node.
struct FakeSight final : sim::Sight {
  double now = 0;
  bool up = true, on_demand_free = true;
  double now_s() const override { return now; }
  sim::PoolSight pool(sim::PoolId pool) const override {
    return {.nodes = 1, .devices = 1, .free_devices = pool == 0 ? on_demand_free : up, .mean_up_s = 7200, .down_s = 3600};
  }
  int queue_length() const override { return 0; }
  std::vector<sim::WaitingJob> waiting() const override { return {}; }
};

struct Asked {
  tests::RealWorld real{two_pools(), {{"resnet18", "cifar10"}}};
  sim::CostRules costs{.start_s = 60, .checkpoint_s = 60};
  policies::DataParallel place;
  policies::RecommendedThreads threads;
  sim::AloneRunner believed{real.cluster, costs, real.belief->models(), {.name = "t", .place = &place, .threads = &threads}};
  sim::Job job{.name = "j", .profile = &real.profile(), .work = sim::Work::train, .deadline_s = 15000};
  std::vector<sim::Configuration> candidates{configuration(0, 1, 128), configuration(1, 1, 128)};
  FakeSight sight;
  double spot_usd = 1;

  static sim::Cluster two_pools() {
    sim::Cluster cluster = tests::real_cluster({{"on-demand", "v100", 1, 1, 3.6}, {"spot", "v100", 1, 1, 1.2}});
    cluster.pools[1].spot = sim::Spot{};
    cluster.pools[1].instance = cluster.pools[0].instance;
    return cluster;
  }
  sim::Menu menu(policies::Configure& strategy, std::span<const sim::StageSeen> seen = {}) {
    const std::function<sim::Prediction(const sim::Configuration&)> estimate = [this](const sim::Configuration& c) {
      const double usd = c.groups.front().pool == 0 ? 3.0 : spot_usd;
      return sim::Prediction{.time_s = 6060, .accuracy = 0.9, .cost_usd = usd, .epochs = 100};
    };
    const policies::ConfigureView view{.job = job,
                                       .cluster = real.cluster,
                                       .costs = costs,
                                       .now_s = sight.now,
                                       .candidates = candidates,
                                       .manual = candidates.front(),
                                       .estimate = estimate,
                                       .believed = &believed,
                                       .sight = &sight};
    return strategy.configure_again(view, seen, *real.belief);
  }
};

sim::StageSeen seen_on(int pool, double epochs, bool let_go = false) {
  return {.configuration = configuration(pool, 1, 128), .stages = 1, .epochs = epochs, .let_go = let_go};
}

int first_pool(const sim::Menu& menu) { return menu.ranked.front().configuration.groups.front().pool; }

TEST_CASE("uniform-progress in a replay: spot, waiting while ahead of an even pace, on demand when behind") {
  // Steps of 600 s: work 10, restart 1, deadline 0.95 x 15000 / 600 = 23; an even pace does 10/23 of a step in a step.
  Asked asked;
  policies::SpotStrategy strategy({.rule = SpotRule::uniform_progress});
  asked.sight.up = false;
  const sim::Menu waits = asked.menu(strategy);  // nothing is due yet
  CHECK(waits.pause.is_set());
  CHECK(waits.pause.wait_s == 600);
  CHECK(waits.pause.pool == 1);
  CHECK(waits.pause.workers == 1);
  CHECK(waits.asks_when_lost);
  asked.sight.now = 600;  // 10/23 of a step are due
  const sim::Menu late = asked.menu(strategy);
  CHECK(!late.pause.is_set());
  CHECK(first_pool(late) == 0);
  // Epochs of 60.6 s: ten of them in a step.
  CHECK(late.ranked.front().until_epochs == 10);
  // Two of ten steps are done after 3 steps, 1.3 are due; two restarts ahead 2.2 would be: it stays, then goes back to spot.
  asked.sight.up = true;
  asked.sight.now = 1800;
  const std::vector<sim::StageSeen> some{seen_on(0, 20)};
  CHECK(first_pool(asked.menu(strategy, some)) == 0);
  const std::vector<sim::StageSeen> more{seen_on(0, 30)};
  CHECK(first_pool(asked.menu(strategy, more)) == 1);
  // Its node is taken away, while it is ahead: it waits.
  asked.sight.up = false;
  const std::vector<sim::StageSeen> lost{seen_on(1, 30, true)};
  CHECK(asked.menu(strategy, lost).pause.is_set());
}

TEST_CASE("spot-greedy in a replay waits until two restarts of slack are left") {
  // Slack of 13 steps: of 10 steps of work none is done after 10 steps (slack 3), nor after 11 (slack 2).
  Asked asked;
  policies::SpotStrategy strategy({.rule = SpotRule::greedy});
  asked.sight.up = false;
  asked.sight.now = 6000;
  CHECK(asked.menu(strategy).pause.is_set());
  asked.sight.now = 6600;
  const sim::Menu menu = asked.menu(strategy);
  CHECK(!menu.pause.is_set());
  CHECK(first_pool(menu) == 0);
}

TEST_CASE("every rule takes spot when it is there and cheap, and on demand when there is no time") {
  for (const SpotRule rule : {SpotRule::uniform_progress, SpotRule::greedy, SpotRule::mean, SpotRule::programme}) {
    Asked asked;
    policies::SpotStrategy strategy({.rule = rule});
    CHECK(first_pool(asked.menu(strategy)) == 1);
    asked.sight.up = false;
    asked.sight.now = 13 * 600;
    const sim::Menu menu = asked.menu(strategy);
    CHECK(!menu.pause.is_set());
    CHECK(first_pool(menu) == 0);
  }
}

/// Wants the first candidate, and predicts it by the estimate.
class WantsFirst final : public policies::Configure {
 public:
  explicit WantsFirst(int pool) : pool_(pool) {}
  sim::Menu configure(const policies::ConfigureView& view, const workloads::Belief&) override {
    sim::Menu menu;
    for (const bool wanted : {true, false})
      for (const sim::Configuration& c : view.candidates)
        if ((c.groups.front().pool == pool_) == wanted)
          menu.ranked.push_back({.configuration = c, .predicted = view.estimate(c)});
    return menu;
  }
  sim::Menu configure_again(const policies::ConfigureView& view, std::span<const sim::StageSeen>,
                            const workloads::Belief& belief) override {
    return configure(view, belief);
  }

 private:
  int pool_;
};

TEST_CASE("a staged strategy that may wait pauses as long as what is free would still be in time") {
  Asked asked;
  policies::WaitsForPool strategy(std::make_unique<WantsFirst>(1));
  CHECK(!asked.menu(strategy).pause.is_set());
  CHECK(first_pool(asked.menu(strategy)) == 1);
  asked.sight.up = false;
  const sim::Menu waits = asked.menu(strategy);
  CHECK(waits.pause.pool == 1);
  CHECK(waits.pause.wait_s == Approx(0.95 * 15000 - 6060));
  CHECK(waits.asks_when_lost);
  asked.sight.now = 8100;  // 0.95 x 6900 - 6060 = 495 s; then a twentieth of that, which is no wait any more
  CHECK(asked.menu(strategy).pause.wait_s == Approx(495));
  asked.sight.now = 8595;
  CHECK(!asked.menu(strategy).pause.is_set());
  asked.sight.now = 9000;  // 6000 s are left
  CHECK(!asked.menu(strategy).pause.is_set());
  CHECK(first_pool(asked.menu(strategy)) == 0);
  asked.sight.now = 0;
  asked.spot_usd = 4;  // dearer than what is free
  CHECK(!asked.menu(strategy).pause.is_set());
  CHECK(first_pool(asked.menu(strategy)) == 0);
}

}  // namespace
