#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "sim/base/random.hpp"
#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;

namespace {

Profile toy_profile{.model = "toy", .dataset = "tenths"};

/// Four nodes of one GPU, cards of 10 bytes a second, racks of two with uplinks of 2 x 10 / 4 = 5; a step of 1 s sends 4 bytes.
World shared_world(double oversubscription = 4) {
  World world{.cluster = cluster({{4, 1}})};
  world.cluster.instances[0].network.bandwidth_bytes_per_s = 10;
  world.cluster.network = Network{.oversubscription = oversubscription, .nodes_per_rack = 2};
  world.steps.network_bytes = 4;
  world.menus.menu.ranked = {choice(0, 2, 25)};
  return world;
}

Job steps(std::string name, double submit_s, double count) {
  return {.name = std::move(name), .profile = &toy_profile, .submit_s = submit_s, .work = Work::steps, .steps = count};
}

/// Starts each job on the nodes that are given for it.
class OnNodes final : public Queue {
 public:
  std::map<std::string, std::vector<int>> nodes;
  void decide(const QueueView& view, QueueAnswer& answer) override {
    for (const JobSlot slot : view.queued) {
      Start start{.job = slot, .entry = 0, .nodes = {{}}};
      for (const int node : nodes.at(view.jobs[slot].job.name)) start.nodes[0].push_back({node, 1});
      answer.starts.push_back(start);
    }
  }
};

}  // namespace

TEST_CASE("a job that shares an uplink passes more slowly, and only while it does") {
  // a alone: 4 bytes a step of 1 s over an uplink of 5: full speed. From 10 to b's end both get 2.5 of 4 bytes a second: a step
  // takes max(1, 4/2.5) = 1.6 s. b does its 20 steps in 32 s, until 42. By then a has done 10 + 32/1.6 = 30 of its 50 steps; the
  // other 20 take 20 s: it ends at 62.
  World world = shared_world();
  OnNodes queue;
  queue.nodes = {{"a", {0, 2}}, {"b", {1, 3}}};
  SECTION("fast") {}
  SECTION("simgrid") { world.network_solver = NetworkSolver::simgrid; }
  world.run({steps("a", 0, 50), steps("b", 10, 20)}, queue);
  CHECK(world.keeper.of("b").end_s == 42);
  CHECK(world.keeper.of("a").end_s == 62);
  // Two of four nodes at 0.001 dollars a node-second, for as long as they are held.
  CHECK(world.keeper.of("a").cost.total() == Approx(62 * 0.002));
  // Watts of a GPU: 100 + 200 x 0.5 = 200 at full speed; at speed 1/1.6 the fraction is 0.25 + (0.5 - 0.25)/1.6.
  const double slow_w = 100 + 200 * (0.25 + 0.25 / 1.6);
  CHECK(world.keeper.of("b").energy_j == Approx(2 * 32 * slow_w));
  CHECK(world.keeper.of("a").energy_j == Approx(2 * (30 * 200 + 32 * slow_w)));
}

TEST_CASE("jobs that read from one file system share it") {
  // Each step of 1 s reads 6 bytes of a file system that gives 8 a second. a alone: 6 of 8. With b both get 4: a step takes 1.5
  // s. b's 20 steps from 10 to 40; a has done 10 + 20 of its 50 by then and ends at 60. Neither crosses nodes.
  World world{.cluster = cluster({{2, 1}})};
  world.cluster.instances[0].network.bandwidth_bytes_per_s = 10;
  world.cluster.storage_bandwidth_bytes_per_s = 8;
  world.steps.input_bytes = 6;
  world.menus.menu.ranked = {choice(0, 1, 25)};
  SECTION("fast") {}
  SECTION("simgrid") { world.network_solver = NetworkSolver::simgrid; }
  SECTION("with a network beside it that has room") { world.cluster.network = Network{}; }
  Greedy queue;
  world.run({steps("a", 0, 50), steps("b", 10, 20)}, queue);
  CHECK(world.keeper.of("b").end_s == 40);
  CHECK(world.keeper.of("a").end_s == 60);
}

TEST_CASE("a job goes as fast as the scarcer of network and file system lets it") {
  // Uplinks of 5 give both jobs 2.5 of 4 bytes; the file system of 8 gives 4 of 8: half speed.
  World world = shared_world();
  world.cluster.storage_bandwidth_bytes_per_s = 8;
  world.steps.input_bytes = 8;
  OnNodes queue;
  queue.nodes = {{"a", {0, 2}}, {"b", {1, 3}}};
  world.run({steps("a", 0, 10), steps("b", 0, 10)}, queue);
  CHECK(world.keeper.of("a").end_s == 20);
  CHECK(world.keeper.of("b").end_s == 20);
}

TEST_CASE("jobs within racks of their own do not slow each other down") {
  World world = shared_world(40);  // uplinks of half a byte a second
  OnNodes queue;
  queue.nodes = {{"a", {0, 1}}, {"b", {2, 3}}};
  world.run({steps("a", 0, 50), steps("b", 10, 20)}, queue);
  CHECK(world.keeper.of("a").end_s == 50);
  CHECK(world.keeper.of("b").end_s == 30);
}

TEST_CASE("epochs of a job that is slowed down end where its steps do") {
  // An epoch of 100 samples: 2 steps and an evaluation of 0.25 s (40 samples, batches of 50). Nodes 0 and 2 alone over an uplink
  // of 20/16 = 1.25 bytes a second: 4 bytes a step, so all takes 3.2 times as long. 0.3 after 3 epochs: 6.75 x 3.2 = 21.6.
  World world = shared_world(16);
  OnNodes queue;
  queue.nodes = {{"t", {0, 2}}};
  Job job{.name = "t", .profile = &toy_profile, .submit_s = 0, .work = Work::train, .target_accuracy = 0.3};
  world.run({job}, queue);
  CHECK(world.keeper.of("t").end_s == Approx(21.6).epsilon(1e-7));
  CHECK(world.keeper.of("t").accuracy == Approx(0.3));
}

TEST_CASE("what a preempted job had done under changing speeds is kept") {
  // As in the first case, but a is preempted at 26: 10 + 16/1.6 = 20 steps done; b then is alone and has 10 of its 20 left: ends
  // at
  // 36. a starts again at 40 (checkpoints take no time here), its 30 steps end at 70.
  class Preempting final : public Queue {
   public:
    void decide(const QueueView& view, QueueAnswer& answer) override {
      for (const JobSlot slot : view.queued) {
        if (view.now_s == 26) continue;
        const int first = view.jobs[slot].job.name == "a" ? 0 : 1;
        answer.starts.push_back({.job = slot, .entry = 0, .nodes = {{{first, 1}, {first + 2, 1}}}});
        if (first == 0) a_ = slot;
      }
      if (view.now_s == 26 && !preempted_) answer.preempts = {a_}, preempted_ = true;
      if (view.now_s == 40 && preempted_ && !again_) {
        answer.starts.push_back({.job = a_, .entry = 0, .nodes = {{{0, 1}, {2, 1}}}});
        again_ = true;
      }
      answer.wake_at_s = view.now_s < 26 ? 26 : view.now_s < 40 ? 40 : kNever;
    }

   private:
    JobSlot a_ = 0;
    bool preempted_ = false, again_ = false;
  };
  World world = shared_world();
  Preempting queue;
  world.run({steps("a", 0, 50), steps("b", 10, 20)}, queue);
  CHECK(world.keeper.of("b").end_s == 36);
  CHECK(world.keeper.of("a").end_s == 70);
}

TEST_CASE("a job alone keeps its closed form; the balance holds when jobs share") {
  rc::check([](std::uint64_t seed) {
    Random random(seed);
    World alone{.cluster = cluster({{4, 1}})}, networked = shared_world(1 + 3 * random.uniform());
    alone.menus.menu.ranked = {choice(0, 2, 25)};
    const double count = 1 + static_cast<double>(random.below(1000));
    Greedy first, second;
    alone.run({steps("a", 0, count)}, first);
    networked.run({steps("a", 0, count)}, second);
    RC_ASSERT(alone.keeper.of("a").end_s == networked.keeper.of("a").end_s);
    RC_ASSERT(alone.keeper.of("a").energy_j == networked.keeper.of("a").energy_j);

    World busy = shared_world(1 + 30 * random.uniform());
    std::vector<Job> jobs;
    double date_s = 0;
    for (int j = 0; j < 12; ++j) {
      date_s += 30 * random.uniform();
      jobs.push_back(steps("j" + std::to_string(j), date_s, 1 + static_cast<double>(random.below(50))));
    }
    Greedy third;
    const ReplayTotals totals = busy.run(jobs, third);  // checks its balance
    RC_ASSERT(totals.finished == 12u);
    for (const Keeper::Row& row : busy.keeper.jobs) {
      const double length_s = row.record.end_s - row.record.start_s;
      for (const Job& job : jobs)
        if (job.name == row.name) RC_ASSERT(length_s >= job.steps);
    }
  });
}
