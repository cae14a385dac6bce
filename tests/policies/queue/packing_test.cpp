#include "policies/queue/packing.hpp"

#include <catch2/catch.hpp>

#include "policies/queue/partitions.hpp"
#include "sim/base/errors.hpp"
#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;
using rehearse::policies::Packing;
using rehearse::policies::packing_score;
using rehearse::policies::PackingParameters;
using rehearse::policies::Partitioned;

namespace {

const Profile kLight{.model = "light"}, kHeavy{.model = "heavy"};

Job part(std::string name, const Profile* profile, double submit_s, double duration_s, double fraction = 0.5) {
  Job job = rigid(std::move(name), submit_s, 1, duration_s);
  job.profile = profile;
  job.gpu_fraction = fraction;
  return job;
}

/// light: speeds of 1 beside both: score 0. heavy: 0.8 beside light, 0.5 beside itself: mean 0.65, score 2.
World world_of(int nodes, int gpus) {
  World world{.cluster = cluster({{nodes, gpus}})};
  world.sharing.set("light", "light", 1);
  world.sharing.set("light", "heavy", 1);
  world.sharing.set("heavy", "light", 1.25);
  world.sharing.set("heavy", "heavy", 2);
  return world;
}

}  // namespace

TEST_CASE("packing: scores by the mean measured speed beside others") {
  CHECK(packing_score(1) == 0);
  CHECK(packing_score(0.95) == 0);
  CHECK(packing_score(0.94) == 1);
  CHECK(packing_score(0.85) == 1);
  CHECK(packing_score(0.84) == 2);
}

TEST_CASE("packing: the mean speed of a kind is over the pairs that were measured, of the pool or of any") {
  rehearse::sim::SharingRules rules;
  rules.set("heavy", "light", 1.25);
  rules.set("heavy", "heavy", 2);
  rules.set("light", "heavy", 4);
  rules.set("heavy", "third", 1, 5);
  const Job rigid_job = part("r", &kHeavy, 0, 1);
  CHECK(rules.mean_speed(rigid_job, 0) == Approx((0.8 + 0.5) / 2));
  CHECK(rules.mean_speed(rigid_job, 1) == Approx((0.8 + 0.5 + 0.2) / 3));
  const Profile unknown{.model = "unknown"};
  CHECK(rules.mean_speed(part("u", &unknown, 0, 1), 0) == 1);
  CHECK(rules.mean_speed(part("n", nullptr, 0, 1), 0) == 1);
}

TEST_CASE("packing: two jobs on a device whose scores sum to 2, until one has left") {
  // By service heavy (8 s) is first; light (10 s) goes beside it. heavy at 0.8 ends at 10, light, unhindered, too. A second heavy
  // one (4 s) that comes at 1 would have a score of 4 beside the first; at 10 it has the device.
  World world = world_of(1, 1);
  Packing queue({});
  world.run({part("light", &kLight, 0, 10), part("heavy", &kHeavy, 0, 8), part("other", &kHeavy, 1, 4)}, queue);
  CHECK(world.keeper.of("light").start_s == 0);
  CHECK(world.keeper.of("heavy").end_s == 10);
  CHECK(world.keeper.of("light").end_s == 10);
  CHECK(world.keeper.of("other").start_s == 10);
}

TEST_CASE("packing: nobody is put beside another when no sum of scores is small enough") {
  World world = world_of(1, 1);
  Packing queue({.most_score = -1});
  world.run({part("a", &kLight, 0, 10), part("b", &kLight, 0, 10)}, queue);
  CHECK(world.keeper.of("b").start_s == 10);
}

TEST_CASE("packing: a job goes on the device of the one that bears it, not on any with room") {
  // Two devices: heavy ones a (5 s) and light b (9 s) are put together at once, so that the other device is c's, heavy too (11
  // s). At 1 the heavy d (8 s) bears neither a nor c, and there is no third on the first device, until a has left at 5/0.8
  // = 6.25.
  World world = world_of(2, 1);
  Packing queue({});
  world.run({part("a", &kHeavy, 0, 5, 0.25), part("b", &kLight, 0, 9, 0.25), part("c", &kHeavy, 0, 11, 0.25),
             part("d", &kHeavy, 1, 8, 0.25)},
            queue);
  CHECK(world.keeper.of("a").end_s == 6.25);
  CHECK(world.keeper.of("c").start_s == 0);
  CHECK(world.keeper.of("c").end_s == 11);
  CHECK(world.keeper.of("d").start_s == 6.25);
  // b ends at 9: 2.75 s at 0.8, 2.2 s of the 8; the rest alone.
  CHECK(world.keeper.of("d").end_s == Approx(9 + 8 - 2.2));
}

TEST_CASE("a queue may name the shared device that a job goes on, and only one that has room") {
  // a has 0.75 of the one device: b, of 0.25, may go beside it, c, of 0.5, may not; nor may anybody go on a device that is not
  // open.
  struct Naming final : Queue {
    NodeShare on;
    void decide(const QueueView& view, QueueAnswer& answer) override {
      for (const JobSlot slot : view.queued) {
        answer.starts.push_back({.job = slot, .entry = 0});
        if (view.jobs[slot].job.name != "a") answer.starts.back().nodes = {{on}};
      }
    }
  };
  const auto run = [](double fraction, const NodeShare& on) {
    World world = world_of(1, 2);
    Naming queue;
    queue.on = on;
    world.run({part("a", &kLight, 0, 10, 0.75), part("b", &kLight, 1, 10, fraction)}, queue);
    return world.keeper.of("b").start_s;
  };
  CHECK(run(0.25, {.node = 0, .devices = 1, .shared_device = 0}) == 1);
  CHECK_THROWS_AS(run(0.5, {.node = 0, .devices = 1, .shared_device = 0}), rehearse::sim::PolicyError);
  CHECK_THROWS_AS(run(0.25, {.node = 0, .devices = 1, .shared_device = 7}), rehearse::sim::PolicyError);
  CHECK_THROWS_AS(run(0.25, {.node = 0, .devices = 1}), rehearse::sim::PolicyError);
}

TEST_CASE("packing: a long job is not put beside one of less than half its service") {
  // 4 s and 9 s: the second waits; 8 s would not.
  for (const double long_s : {8.0, 9.0}) {
    World world = world_of(1, 1);
    Packing queue({});
    world.run({part("short", &kLight, 0, 4), part("long", &kLight, 0, long_s)}, queue);
    CHECK(world.keeper.of("long").start_s == (long_s > 8 ? 4 : 0));
  }
}

TEST_CASE("packing: a partition's jobs keep to its quota, and have devices of their own") {
  // Two nodes of a device, of which ann may have one: her second job waits, though the other is free and the first leaves room.
  Partitioned queue({{.name = "ann's", .users = {"ann"}, .quota = {{"pool0", 1}}}},
                    [] { return std::make_unique<Packing>(PackingParameters{}); });
  World world = world_of(2, 1);
  Job a = part("a", &kLight, 0, 5), b = part("b", &kLight, 0, 5);
  a.user = b.user = "ann";
  world.run({a, b}, queue);
  CHECK(std::max(world.keeper.of("a").start_s, world.keeper.of("b").start_s) == 5);
}

TEST_CASE("packing: least service first, and whoever finds a node that holds it starts") {
  // Two nodes of 4: x (3 devices, 2 s) and y (3, 2 s) take one each. z (2, 1 s) finds two
  // devices, but not on one node; w (1, 9 s), which needs more than z, passes it.
  World world{.cluster = cluster({{2, 4}})};
  Packing queue({});
  world.run({rigid("x", 0, 3, 2), rigid("y", 0, 3, 2), rigid("z", 0.5, 2, 1), rigid("w", 0.5, 1, 9)}, queue);
  CHECK(world.keeper.of("z").start_s == 2);
  CHECK(world.keeper.of("w").start_s == 0.5);
}
