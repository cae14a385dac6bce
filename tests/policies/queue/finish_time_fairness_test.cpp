#include "policies/queue/finish_time_fairness.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "tests/policies/queue/plain_finish_time_fairness.hpp"
#include "tests/policies/queue/random_world.hpp"

using namespace toy;
using rehearse::policies::FinishTime;
using rehearse::policies::FinishTimeFairness;

TEST_CASE("finish-time fairness: rho") {
  // 200 s shared. Alone 50 s on 4 devices; an equal part of 8 devices among 4 jobs is 2: 100 s.
  const FinishTime time{.elapsed_s = 100, .remaining_s = 100, .alone_s = 50, .devices = 4, .pool_devices = 8, .contention = 4};
  CHECK(time.rho() == 2);
  // A part of 8 is more than it can use: 50 s.
  FinishTime alone = time;
  alone.contention = 1;
  CHECK(alone.rho() == 4);
}

TEST_CASE("finish-time fairness: at the end of a lease the job that is worst off comes next") {
  // One device, leases of 20 s. long (100 s) comes at 0, short (10 s) at 1. At 20 there were (1 x 1 + 19 x 2)/20 = 1.95 jobs on
  // average since long came: rho = (20 + 80)/(100 x 1.95) = 0.51. Since short came there were 2: (19 + 10)/(10 x 2) = 1.45. short
  // runs 20..30, long goes on to 110.
  World world{.cluster = cluster({{1, 1}})};
  FinishTimeFairness queue({.lease_s = 20});
  world.run({rigid("long", 0, 1, 100), rigid("short", 1, 1, 10)}, queue);
  CHECK(world.keeper.of("short").start_s == 20);
  CHECK(world.keeper.of("short").end_s == 30);
  CHECK(world.keeper.of("long").end_s == Approx(110));
  CHECK(world.keeper.of("long").preemptions == 1);
}

TEST_CASE("finish-time fairness: who loses what it did in a lease has a longer one the next time") {
  // One device, two jobs of 12 s, leases of 1 s, and what is stopped is lost. Leases of 1, 2, 4, 8 and 16 s: each ends in its
  // fifth at the latest.
  World world{.cluster = cluster({{1, 1}})};
  world.checkpoints.preemption = Preemption::lose;
  FinishTimeFairness queue({.lease_s = 1});
  world.run({rigid("a", 0, 1, 12), rigid("b", 0, 1, 12)}, queue);
  for (const std::string name : {"a", "b"}) {
    CHECK(world.keeper.of(name).state == JobState::finished);
    CHECK(world.keeper.of(name).preemptions <= 4);
  }
}

TEST_CASE("finish-time fairness: the filter") {
  // One device, taken until 20. a (5 s) comes at 18, b (100 s) at 1. At 20: a's rho is (2 + 5)/(5 x 3) = 0.47, b's (19 +
  // 100)/(100 x N) with N = (17 x 2 + 2 x 3)/19 = 2.11: 0.57. With f = 0.8 only b is asked; with f = 0 both are, and a gains more
  // by a device now: a lease of 1000 s is longer in comparison with 7 s than with 119 s.
  for (const bool filtered : {true, false}) {
    World world{.cluster = cluster({{1, 1}})};
    FinishTimeFairness queue({.lease_s = 1000, .filter = filtered ? 0.8 : 0});
    world.run({rigid("first", 0, 1, 20), rigid("b", 1, 1, 100), rigid("a", 18, 1, 5)}, queue);
    CHECK(world.keeper.of("a").start_s == (filtered ? 120 : 20));
    CHECK(world.keeper.of("b").start_s == (filtered ? 20 : 25));
  }
}

TEST_CASE("finish-time fairness: every answer is valid, and every job ends") {
  rc::prop("any jobs, leases and filters", [](std::uint64_t seed) {
    RandomJobs made = random_jobs(seed, {.mixed_menus = *rc::gen::arbitrary<bool>()});
    FinishTimeFairness queue(
        {.lease_s = static_cast<double>(*rc::gen::inRange(8, 100)), .filter = *rc::gen::inRange(0, 11) / 10.0});
    run_random(made, queue);
  });
}

TEST_CASE("finish-time fairness: who cannot fit need not be asked") {
  const auto told = [](std::uint64_t seed, rehearse::sim::Queue& queue) {
    Keeper keeper;
    RandomJobs made = random_jobs(seed, {.jobs = 60});
    run_random(made, queue, &keeper);
    std::vector<std::string> lines = keeper.events;
    for (const Keeper::Row& row : keeper.jobs)
      lines.push_back(row.name + ' ' + std::to_string(row.record.start_s) + ' ' + std::to_string(row.record.end_s));
    return lines;
  };
  rc::prop("the same happens as if every job were asked anew at every decision", [&told](std::uint64_t seed) {
    const rehearse::policies::FinishTimeFairnessParameters parameters{.lease_s = static_cast<double>(*rc::gen::inRange(2, 60)),
                                                                      .filter = *rc::gen::inRange(0, 11) / 10.0};
    FinishTimeFairness queue(parameters);
    PlainFinishTimeFairness plain(parameters);
    RC_ASSERT(told(seed, queue) == told(seed, plain));
  });
}
