#include "policies/queue/gavel.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/policies/queue/random_world.hpp"

using namespace toy;
using rehearse::policies::Gavel;
using rehearse::policies::GavelObjective;

namespace {

Job training(std::string name, double epochs) {
  return {.name = std::move(name), .profile = &toy_profile(), .work = Work::train, .epochs = epochs};
}

}  // namespace

TEST_CASE("gavel: two jobs on two pools have half of the time on each, in rounds") {
  // Pool 0: 1.25 s an epoch for both (batch 100). Pool 1: x 2.25 s (batch 50), y 4.5 s (batch 25). Half and half is 1 for both,
  // and more for one is less for the other. Round 1: x on pool 0, 8 epochs; y on pool 1, 2 epochs and 1/4.5. Round 2, at 10: who
  // had nothing of a pool comes first: x on pool 1, 4 epochs of 2.25 s, ends at 19; y on pool 0, 3.5/4.5 + 0.25 s, then 7 x 1.25
  // s.
  World world{.cluster = cluster({{1, 1}, {1, 1}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
  MenuOfJob menus;
  menus.menus["x"].ranked = {predicted_choice(0, 1, 100, 12), predicted_choice(1, 1, 50, 12)};
  menus.menus["y"].ranked = {predicted_choice(0, 1, 100, 10), predicted_choice(1, 1, 25, 10)};
  Gavel queue({.round_s = 10});
  world.run({training("x", 12), training("y", 10)}, queue, &menus);
  CHECK(world.keeper.of("x").end_s == Approx(19));
  CHECK(world.keeper.of("x").reconfigurations == 1);
  CHECK(world.keeper.of("y").end_s == Approx(19 + 3.5 / 4.5));
  CHECK(world.keeper.of("y").reconfigurations == 1);
}

TEST_CASE("gavel, makespan: the longest job always runs") {
  // 4 hours of work on 2 devices: 2 hours. First come, first served would need 3: one and one hour, then two.
  World world{.cluster = cluster({{1, 2}})};
  Gavel queue({.objective = GavelObjective::makespan});
  const ReplayTotals totals = world.run({rigid("a", 0, 1, 3600), rigid("b", 0, 1, 3600), rigid("c", 0, 1, 7200)}, queue);
  CHECK(totals.last_end_s == 7200);
  CHECK(world.keeper.of("c").preemptions == 0);
}

TEST_CASE("gavel, cost: where a dollar does most, but for deadlines") {
  // A device-second costs 0.001 dollars in pool 0, 0.0005 in pool 1 (a node of two). 8 epochs: 10 s or 18 s, 0.010 or 0.009
  // dollars. Max-min starts the third job in pool 0; for least cost it waits for pool 1, unless it must end within 11 s.
  struct Case {
    GavelObjective objective;
    double deadline_s, start_s, usd;
  };
  for (const Case& c : {Case{GavelObjective::max_min, kNever, 0, 0.01}, Case{GavelObjective::cost, kNever, 18, 0.009},
                        Case{GavelObjective::cost, 11, 0, 0.01}}) {
    World world{.cluster = cluster({{1, 1}, {1, 2}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
    world.menus.menu.ranked = {predicted_choice(0, 1, 100, 8), predicted_choice(1, 1, 50, 8)};
    std::vector<Job> jobs{training("a", 8), training("b", 8), training("c", 8)};
    jobs[2].deadline_s = c.deadline_s;
    Gavel queue({.objective = c.objective});
    world.run(jobs, queue);
    double start_s = 0, usd = 0;  // of the last to start, and of the dearest
    for (const Keeper::Row& row : world.keeper.jobs) {
      start_s = std::max(start_s, row.record.start_s);
      usd = std::max(usd, row.record.cost.total());
    }
    CHECK(start_s == c.start_s);
    CHECK(usd == Approx(c.usd));
    CHECK(world.keeper.of("c").end_s <= c.deadline_s);
  }
}

TEST_CASE("gavel, cost: a pool of which no node is there has nothing to give, until one is") {
  // The cheap pool's only node is away from 0 to 15: the first job runs in the other one, for 10 s; the second, at 20 with a
  // round, in the cheap one.
  World world{.cluster = cluster({{1, 1}, {1, 2}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
  world.nodes.measured = {{1, 0, 0, 15}};
  world.menus.menu.ranked = {predicted_choice(0, 1, 100, 8), predicted_choice(1, 1, 50, 8)};
  std::vector<Job> jobs{training("a", 8), training("b", 8)};
  jobs[0].submit_s = 1;
  jobs[1].submit_s = 18;
  Gavel queue({.objective = GavelObjective::cost, .round_s = 5});
  world.run(jobs, queue);
  CHECK(world.keeper.of("a").pool == 0);
  CHECK(world.keeper.of("a").end_s < 20);
  CHECK(world.keeper.of("b").pool == 1);
}

TEST_CASE("gavel, cost: of two deadlines the nearer one gets the quick pool") {
  // Both are cheapest in pool 1, 18 s. b has 100 s; a, with 12 s, needs a share of 0.625 on pool 0, where it takes 10 s, and is
  // there in the first round, the larger share being due first.
  World world{.cluster = cluster({{1, 1}, {1, 2}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
  world.menus.menu.ranked = {predicted_choice(0, 1, 100, 8), predicted_choice(1, 1, 50, 8)};
  std::vector<Job> jobs{training("b", 8), training("a", 8)};
  jobs[0].deadline_s = 100;
  jobs[1].deadline_s = 12;
  Gavel queue({.objective = GavelObjective::cost});
  world.run(jobs, queue);
  CHECK(world.keeper.of("a").end_s == Approx(10));
  CHECK(world.keeper.of("b").pool == 1);
}

TEST_CASE("gavel, cost: a deadline that is just over asks for nothing any more") {
  // a has until 10 s and takes 25 s on one GPU; at 10, with a round, b comes.
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
  world.menus.menu.ranked = {predicted_choice(0, 1, 100, 20)};
  std::vector<Job> jobs{training("a", 20), training("b", 20)};
  jobs[0].deadline_s = 10;
  jobs[1].submit_s = 10;
  Gavel queue({.objective = GavelObjective::cost, .round_s = 10});
  world.run(jobs, queue);
  CHECK(std::max(world.keeper.of("a").end_s, world.keeper.of("b").end_s) == Approx(50));
}

TEST_CASE("gavel, cost: a deadline that is just over does not cost another job its own") {
  // Until 10 s a has all of pool 0, where it takes 25 s. At 10, with a round, c comes: it is cheapest in pool 1 in 18 s, has 12,
  // and gets pool 0, where it takes 10. Did what a has missed still count, nothing of anybody's need could be had.
  World world{.cluster = cluster({{1, 1}, {1, 2}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
  MenuOfJob menus;
  menus.menus["a"].ranked = {predicted_choice(0, 1, 100, 20), predicted_choice(1, 1, 50, 20)};
  menus.menus["c"].ranked = {predicted_choice(0, 1, 100, 8), predicted_choice(1, 1, 50, 8)};
  std::vector<Job> jobs{training("a", 20), training("c", 8)};
  jobs[0].deadline_s = 10;
  jobs[1].submit_s = 10;
  jobs[1].deadline_s = 12;
  Gavel queue({.objective = GavelObjective::cost, .round_s = 10});
  world.run(jobs, queue, &menus);
  CHECK(world.keeper.of("c").pool == 0);
  CHECK(world.keeper.of("c").end_s == Approx(20));
}

TEST_CASE("gavel, cost: one that is not aware of speeds holds deadlines against the mean over a job's pools") {
  // c and d, in pool 1 alone, take 18 s and have 19: both devices, nearly all of the time. a takes 10 or 18 s, 14 in the mean,
  // and has 15: the tenth of pool 1 that is left does not do, and pool 0, though dearer, is its place.
  World world{.cluster = cluster({{1, 1}, {1, 2}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
  MenuOfJob menus;
  menus.menus["a"].ranked = {predicted_choice(0, 1, 100, 8), predicted_choice(1, 1, 50, 8)};
  menus.menus["c"].ranked = menus.menus["d"].ranked = {predicted_choice(1, 1, 50, 8)};
  std::vector<Job> jobs{training("a", 8), training("c", 8), training("d", 8)};
  jobs[0].deadline_s = 15;
  jobs[1].deadline_s = jobs[2].deadline_s = 19;
  Gavel queue({.objective = GavelObjective::cost, .aware = false});
  world.run(jobs, queue, &menus);
  CHECK(world.keeper.of("a").pool == 0);
  CHECK(world.keeper.of("a").end_s == Approx(10));
  CHECK(world.keeper.of("d").end_s == Approx(18));
}

TEST_CASE("gavel, cost: nodes that are rented are whole ones") {
  // As above by the device, pool 1 is cheaper: half of a node of two. A job that pays for the whole node pays 0.001 dollars a
  // second on either, and is done in 10 s instead of 18 in pool 0.
  for (const auto& [billing, pool] : {std::pair{Billing::allocated, 1}, {Billing::node, 0}}) {
    World world{.cluster = cluster({{1, 1}, {1, 2}}), .costs = {.billing = billing, .start_s = 0, .checkpoint_s = 0}};
    world.menus.menu.ranked = {predicted_choice(0, 1, 100, 8), predicted_choice(1, 1, 50, 8)};
    Gavel queue({.objective = GavelObjective::cost});
    world.run({training("a", 8)}, queue);
    CHECK(world.keeper.of("a").pool == pool);
  }
}

TEST_CASE("gavel: devices that come free between rounds are filled, or wait for the next one") {
  // One GPU, rounds of 60 s: a 0..10; b, there since 1, follows at 10, or at 60.
  for (const bool fills : {true, false}) {
    World world{.cluster = cluster({{1, 1}})};
    Gavel queue({.round_s = 60, .fills = fills});
    world.run({rigid("a", 0, 1, 10), rigid("b", 1, 1, 10)}, queue);
    CHECK(world.keeper.of("b").start_s == (fills ? 10 : 60));
  }
}

TEST_CASE("gavel: one that is not aware of speeds chooses alike whichever pool is quicker") {
  // 8 epochs of a job alone: 10 s or 18 s. Aware it is on the quicker pool, wherever that is.
  for (const bool aware : {true, false}) {
    std::vector<int> pools;
    for (const bool swapped : {true, false}) {
      World world{.cluster = cluster({{1, 1}, {1, 1}}), .costs = {.start_s = 0, .checkpoint_s = 0}};
      world.menus.menu.ranked = {predicted_choice(0, 1, swapped ? 50 : 100, 8), predicted_choice(1, 1, swapped ? 100 : 50, 8)};
      Gavel queue({.aware = aware});
      world.run({training("a", 8)}, queue);
      pools.push_back(world.keeper.of("a").pool);
    }
    CHECK((pools[0] == pools[1]) == !aware);
    if (aware) CHECK(pools == std::vector<int>{1, 0});
  }
}

TEST_CASE("gavel: rounds shorter than a start-up do not move jobs for ever") {
  // x and y as above, half of the time on each pool: every round swaps them, as soon as they have started.
  for (const double start_s : {3.0, 5.5, 40.0}) {
    World world{.cluster = cluster({{1, 1}, {1, 1}}), .costs = {.start_s = start_s, .checkpoint_s = 0}};
    MenuOfJob menus;
    menus.menus["x"].ranked = {predicted_choice(0, 1, 100, 12), predicted_choice(1, 1, 50, 12)};
    menus.menus["y"].ranked = {predicted_choice(0, 1, 100, 10), predicted_choice(1, 1, 25, 10)};
    Gavel queue({.round_s = 1});
    CHECK_NOTHROW(world.run({training("x", 12), training("y", 10)}, queue, &menus));
    for (const std::string name : {"x", "y"}) {
      const auto& row = world.keeper.of(name);
      INFO(name << ": ends at " << row.end_s << ", moved " << row.reconfigurations << " times");
      CHECK(row.state == JobState::finished);
      CHECK(row.reconfigurations > 2);
      // In vain as often as twice the rounds that it stays for make more than a start-up; then a second's work each time at
      // least.
      CHECK(row.reconfigurations <= std::ceil(std::log2(start_s + 1)) + 45);
    }
  }
}

TEST_CASE("gavel: rounds shorter than what a job needs to keep anything do not stop jobs for ever") {
  // x and y share one GPU in turn, a second each, and need more to start up, or lose what no checkpoint keeps: each stays for
  // twice as long the next time, until it gets somewhere.
  for (const double start_s : {1.5, 40.0}) {
    for (const auto preemption : {Preemption::resume, Preemption::lose}) {
      World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = start_s, .checkpoint_s = 3}};
      world.checkpoints.preemption = preemption;
      world.menus.menu.ranked = {predicted_choice(0, 1, 100, 12)};
      Gavel queue({.round_s = 1});
      CHECK_NOTHROW(world.run({training("x", 12), training("y", 12)}, queue));
      for (const std::string name : {"x", "y"}) CHECK(world.keeper.of(name).state == JobState::finished);
    }
  }
}

TEST_CASE("gavel: every answer is valid, and every job ends") {
  rc::prop("all objectives, rounds of any length", [](std::uint64_t seed) {
    RandomJobs made = random_jobs(seed, {.mixed_menus = *rc::gen::arbitrary<bool>()});
    const auto objective = static_cast<GavelObjective>(*rc::gen::inRange(0, 4));
    Gavel queue({.objective = objective,
                 .round_s = static_cast<double>(*rc::gen::inRange(8, 60)),
                 .fills = *rc::gen::arbitrary<bool>(),
                 .aware = *rc::gen::arbitrary<bool>()});
    run_random(made, queue);
  });
}
