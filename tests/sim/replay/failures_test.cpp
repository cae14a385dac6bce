#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;

namespace {

std::vector<NodeEvent> first(NodeEvents& events, std::size_t stream, int count) {
  std::vector<NodeEvent> list;
  for (int i = 0; i < count; ++i) list.push_back(events.next(stream));
  return list;
}

}  // namespace

TEST_CASE("failures follow their law, and a node's dates are its own") {
  const Cluster small = cluster({{2, 1}}), large = cluster({{40, 4}, {3, 1}});
  NodeRules rules{
      .outages = {.law = FailureLaw::weibull, .mtbf_s = 1000, .shape = 0.7, .repair = RepairLaw::fixed, .repair_s = 50},
      .seed = 3};
  NodeEvents events(small, rules), again(large, rules);
  // Mean of 20,000 times up: deviation of one is 1.46 means (Weibull, shape 0.7), so 1.03 % of the mean; four of them are
  // allowed.
  double up_s = 0, last_s = 0;
  for (int i = 0; i < 20'000; ++i) {
    const NodeEvent fails = events.next(1), repaired = events.next(1);
    REQUIRE(fails.change == NodeChange::failed);
    up_s += fails.date_s - last_s;
    REQUIRE(repaired.date_s - fails.date_s == Approx(50).margin(1e-5));
    last_s = repaired.date_s;
    if (i > 20) continue;
    const NodeEvent same = again.next(1);
    again.next(1);
    CHECK(same.date_s == fails.date_s);
    CHECK(same.first_node == 1);
  }
  CHECK(up_s / 20'000 == Approx(1000).epsilon(0.042));
  rules.seed = 4;
  NodeEvents other(small, rules);
  CHECK(other.next(0).date_s != NodeEvents(small, {.outages = rules.outages, .seed = 3}).next(0).date_s);
}

TEST_CASE("measured outages that overlap are one; maintenance comes back") {
  const Cluster c = cluster({{2, 1}});
  const NodeRules rules{.measured = {{0, 1, 30, 10}, {0, 1, 5, 10}, {0, 1, 12, 8}},
                        .maintenance = {{.nodes = 2, .start_s = 100, .duration_s = 10, .announced_s = 20, .every_s = 50}}};
  NodeEvents events(c, rules);
  REQUIRE(events.streams() == 2);
  const std::vector<double> dates{5, 20, 30, 40, kNever};
  for (const double date_s : dates) CHECK(events.next(0).date_s == date_s);
  const std::vector<NodeEvent> windows = first(events, 1, 6);
  CHECK(windows[0].date_s == 80);
  CHECK(windows[1].date_s == 100);
  CHECK(windows[2].date_s == 110);
  CHECK(windows[3].date_s == 130);
  CHECK(windows[5].change == NodeChange::opened);
  CHECK(windows[5].date_s == 160);
  CHECK(windows[5].nodes == 2);
}

TEST_CASE("a node that fails takes its jobs back to their last checkpoint") {
  // Start 5 s, checkpoints of 2 s after each 4 steps. Node 0 fails at 12 s (to 9: 4 steps, to 11 checkpoint, 1 step lost) for 100
  // s; the job starts again on node 1 at 12 s: to 17 start, 4 steps to 21, checkpoint to 23, the last 2 steps to 25.
  World world{.cluster = cluster({{2, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  world.menus.menu.ranked = {choice(0, 1, 100)};
  world.checkpoints.interval_s = 4;
  world.nodes.measured = {{0, 0, 12, 100}};
  Greedy queue;
  world.run({stepping("a", 0, 10)}, queue);
  const JobRecord& a = world.keeper.of("a");
  CHECK(a.end_s == 25);
  CHECK(a.restarts == 1);
  CHECK(a.preemptions == 0);
  CHECK(a.time.lost_s == Approx(1));
  CHECK(a.time.train_s == Approx(10));
  CHECK(world.keeper.events == std::vector<std::string>{"a submitted", "a started", "a running", "a interrupted", "a started",
                                                        "a running", "a finished"});
}

TEST_CASE("a failure in the middle of a preemption's checkpoint loses it; while starting there is nothing to lose") {
  // Preempted at 8 s (3 steps), the checkpoint would end at 10 s; the node fails at 9 s and is up at 20 s. Nothing was saved:
  // start to 25 s; there it fails again at 22 s for 1 s; start to 28 s, 10 steps.
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  world.menus.menu.ranked = {choice(0, 1, 100)};
  world.nodes.measured = {{0, 0, 9, 11}, {0, 0, 22, 1}};
  Greedy queue;
  queue.preempts = {{8, {"a"}}};
  world.run({stepping("a", 0, 10)}, queue);
  CHECK(world.keeper.of("a").end_s == 38);
  CHECK(world.keeper.of("a").time.lost_s == Approx(3));
  CHECK(world.keeper.of("a").time.switch_s == Approx(5 + 1 + 2 + 5));
}

TEST_CASE("after too many restarts a job has failed") {
  World world{.cluster = cluster({{1, 2}})};
  world.nodes = {.measured = {{0, 0, 3, 1}, {0, 0, 6, 1}, {0, 0, 9, 1}}, .max_restarts = 1};
  Greedy queue;
  world.run({rigid("a", 0, 1, 10), rigid("b", 5, 1, 1)}, queue);
  CHECK(world.keeper.of("a").reason == FailureReason::node_failure);
  CHECK(world.keeper.of("a").end_s == 6);
  CHECK(world.keeper.of("a").restarts == 2);
  CHECK(world.keeper.of("b").end_s == 6);  // completions come before failures
  CHECK(world.keeper.of("b").restarts == 0);
}

TEST_CASE("a node down leaves its devices to nobody, and a failure at the date of a completion comes after it") {
  // Node 0 is down from 0 to 50: b waits for node 1. a ends at 10 on node 1, which fails at that date; both start again at 20.
  World world{.cluster = cluster({{2, 1}})};
  world.nodes.measured = {{0, 0, 0, 50}, {0, 1, 10, 10}};
  Greedy queue;
  world.run({rigid("a", 0, 1, 10), rigid("b", 0, 1, 10)}, queue);
  CHECK(world.keeper.of("a").end_s == 10);
  CHECK(world.keeper.of("a").restarts == 0);
  CHECK(world.keeper.of("b").start_s == 20);
  CHECK(world.keeper.of("b").restarts == 0);
}

TEST_CASE("maintenance: nothing new starts once it is announced, what runs writes a checkpoint when it begins") {
  // One node, away from 20 to 30, announced at 10. a starts at 0: 5 s start, 15 steps to 20, checkpoint to 22; starts again at
  // 30: to 35, 5 steps to 40. b (2 s, submitted at 12) would fit beside it, but waits to 30.
  World world{.cluster = cluster({{1, 2}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  world.menus.menu.ranked = {choice(0, 1, 100)};
  world.nodes.maintenance = {{.start_s = 20, .duration_s = 10, .announced_s = 10}};
  Greedy queue;
  world.run({stepping("a", 0, 20), rigid("b", 12, 1, 2)}, queue);
  CHECK(world.keeper.of("a").end_s == 40);
  CHECK(world.keeper.of("a").preemptions == 1);
  CHECK(world.keeper.of("a").time.lost_s == 0);
  CHECK(world.keeper.of("b").start_s == 30);
}

TEST_CASE("a slow node slows the whole of a synchronous job, and in part one whose workers do not wait") {
  // The slow spells of both nodes are drawn; the speed is 0.25 in them. Whatever they are: work = integral of the speed.
  const NodeRules rules{.slow = {.between_s = 20, .lasts_s = 10, .speed = 0.25}, .seed = 5};
  const auto end_of = [&](const Choice& wanted, bool mean) {
    World world{.cluster = cluster({{2, 1}})};
    world.menus.menu.ranked = {wanted};
    world.nodes = rules;
    Greedy queue;
    world.run({stepping("a", 0, 60)}, queue);
    NodeEvents events(world.cluster, rules);
    // By brute force, in steps of 1 ms: how much is trained until the recorded end.
    std::vector<NodeEvent> next{events.next(0), events.next(1)};
    std::vector<double> speed{1, 1};
    double work = 0;
    const double end_s = world.keeper.of("a").end_s;
    for (int ms = 0; ms * 1e-3 < end_s; ++ms) {
      for (std::size_t n = 0; n < 2; ++n)
        while (next[n].date_s <= ms * 1e-3) {
          speed[n] = next[n].change == NodeChange::slow ? 0.25 : 1;
          next[n] = events.next(n);
        }
      work += 1e-3 * (mean ? (speed[0] + speed[1]) / 2 : std::min(speed[0], speed[1]));
    }
    CHECK(work == Approx(60).margin(0.1));
    // The record has the mean of the speed: with it its course ends when the stage did.
    REQUIRE(world.keeper.stages.size() == 1);
    const auto& [stage, course_s] = world.keeper.stages.front();
    CHECK(stage.speed < 1);
    CHECK(stage.date_of(course_s) == Approx(end_s));
    return end_s;
  };
  Choice synchronous = choice(0, 2, 50), asynchronous = synchronous;
  asynchronous.configuration.sync = {.kind = SyncKind::servers_async, .servers = 1};
  const double slow_s = end_of(synchronous, false), mean_s = end_of(asynchronous, true);
  CHECK(slow_s > mean_s);
  CHECK(mean_s > 60);
}

TEST_CASE("how often a node fails: by its law, by what was measured of the pool, and when it is taken away") {
  Cluster of = cluster({{2, 1}, {1, 1}});
  CHECK(failure_rate(of, {}, 0) == 0);
  NodeRules rules{.outages = {.law = FailureLaw::weibull, .mtbf_s = 50, .shape = 2, .repair_s = 1}};
  CHECK(failure_rate(of, rules, 0) == Approx(0.02));
  // Two outages of the first pool's two nodes in the 100 s up to the end of the last: one in 100 s of each; of the second pool
  // one.
  rules.measured = {{.pool = 0, .node = 0, .time_s = 10, .down_s = 5},
                    {.pool = 1, .node = 0, .time_s = 40, .down_s = 5},
                    {.pool = 0, .node = 1, .time_s = 80, .down_s = 20}};
  CHECK(failure_rate(of, rules, 0) == Approx(0.02 + 2 / 100.0 / 2));
  CHECK(failure_rate(of, rules, 1) == Approx(0.02 + 1 / 100.0));
  of.pools[1].spot = Spot{.mean_up_s = 40};
  CHECK(failure_rate(of, rules, 1) == Approx(0.02 + 1 / 100.0 + 1 / 40.0));
}

TEST_CASE("what happens to nodes depends on no policy") {
  const auto events_under = [](bool preempts) {
    World world{.cluster = cluster({{3, 2}, {1, 1}})};
    world.nodes = {.outages = {.law = FailureLaw::exponential, .mtbf_s = 60, .repair_s = 10},
                   .slow = {.between_s = 30, .lasts_s = 5, .speed = 0.5},
                   .seed = 11};
    Greedy queue;
    if (preempts) queue.preempts = {{5, {"a"}}, {50, {"b"}}};
    std::vector<Job> jobs{rigid("a", 0, 2, 30), rigid("b", 1, 1, 400), rigid("c", 2, 2, 20)};
    if (preempts) jobs[1].pool = 1;
    world.run(jobs, queue);
    return world.keeper.node_events;
  };
  const std::vector<NodeEvent> one = events_under(false), other = events_under(true);
  const std::size_t both = std::min(one.size(), other.size());
  REQUIRE(both > 20);
  for (std::size_t i = 0; i < both; ++i) {
    CHECK(one[i].date_s == other[i].date_s);
    CHECK(one[i].change == other[i].change);
    CHECK(one[i].first_node == other[i].first_node);
  }
}

TEST_CASE("Young's and Daly's interval comes near the least time of a long job") {
  // 20 h of steps on 4 nodes, each failing every 10 h on average: failures every 2.5 h; a checkpoint takes 60 s. The mean over 30
  // seeds at Daly's interval is not above that at a fifth or five times of it.
  const auto mean_end = [](double factor) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      World world{.cluster = cluster({{4, 1}}), .costs = {.start_s = 60, .checkpoint_s = 60}};
      world.menus.menu.ranked = {choice(0, 4, 25)};
      world.nodes = {.outages = {.law = FailureLaw::exponential, .mtbf_s = 36000, .repair = RepairLaw::fixed, .repair_s = 1},
                     .max_restarts = 100000,
                     .seed = seed};
      world.checkpoints.young_daly = factor == 1;
      world.checkpoints.interval_s = factor * young_daly_interval_s(60, 9000);
      Greedy queue;
      world.run({stepping("a", 0, 72000)}, queue);
      sum += world.keeper.of("a").end_s;
    }
    return sum / 30;
  };
  const double best = mean_end(1);
  CHECK(best < mean_end(5));
  CHECK(best < mean_end(0.2));
}
