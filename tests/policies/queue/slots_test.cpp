// Elastic jobs in slots of time: plans by hand, and for any cluster.
#include "policies/queue/slots.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "sim/base/random.hpp"
#include "tests/sim/replay/toy.hpp"

using namespace toy;
using rehearse::policies::devices_at;
using rehearse::policies::plan_in_slots;
using rehearse::policies::SlotDiscipline;
using rehearse::policies::SlotJob;
using rehearse::policies::SlotPlan;
using rehearse::policies::Slots;
using rehearse::policies::SlotSteps;
using rehearse::policies::without;

namespace {

/// By (devices, seconds of all that is left).
SlotJob elastic(std::vector<std::pair<int, double>> sizes, double deadline_s) {
  SlotJob job{.deadline_s = deadline_s};
  for (const auto& [devices, left_s] : sizes) job.sizes.push_back({static_cast<int>(job.sizes.size()), devices, left_s});
  return job;
}

Job due(Job job, double deadline_s) {
  job.deadline_s = deadline_s;
  return job;
}

SlotSteps random_steps(Random& random) {
  SlotSteps steps;
  double date_s = 0;
  for (std::uint64_t n = random.below(6); n > 0; --n) {
    steps.push_back({date_s, static_cast<int>(random.below(9))});
    date_s += 10 * static_cast<double>(1 + random.below(12));
  }
  steps.push_back({date_s, 8});
  return steps;
}

SlotJob random_job(Random& random) {
  std::vector<std::pair<int, double>> sizes;
  double left_s = random.uniform(20, 600);
  for (int devices = 1; devices <= 8; devices *= 2) {
    sizes.emplace_back(devices, left_s);
    left_s *= random.uniform(0.5, 0.99);
  }
  return elastic(sizes, random.uniform(-50, 700));
}

}  // namespace

TEST_CASE("slots: the minimum satisfactory share, worked by hand") {
  const SlotSteps four{{0, 4}};
  // One device takes 100 s, two 60 s. Due at 100: one; at 70: two, up to 60.
  CHECK(plan_in_slots(elastic({{1, 100}, {2, 60}}, 100), four, 10).steps == SlotSteps{{0, 1}});
  const SlotPlan two = plan_in_slots(elastic({{1, 100}, {2, 60}}, 70), four, 10);
  CHECK(two.steps == SlotSteps{{0, 2}});
  CHECK(two.finish_s == 60);
  CHECK(two.until_s == 60);
  CHECK(without(four, two) == SlotSteps{{0, 2}, {60, 4}});
  // Due at 65, to the slot's end at 70: 65 s with two are enough, and the last slot is kept whole.
  CHECK(plan_in_slots(elastic({{1, 100}, {2, 63}}, 65), four, 10).until_s == 70);
  // One is free up to 40, then two. Due at 80: 0.4 of the work, then 36 of 60 s.
  const SlotPlan grows = plan_in_slots(elastic({{1, 100}, {2, 60}}, 80), {{0, 1}, {40, 2}}, 10);
  CHECK(grows.steps == SlotSteps{{0, 1}, {40, 2}});
  CHECK(grows.finish_s == 76);
  CHECK(grows.until_s == 80);
  // Two from 50 on do all of it by 110: before that the next smaller size, which does a quarter; 45 s are left.
  const SlotPlan back = plan_in_slots(elastic({{1, 200}, {2, 60}}, 110), {{0, 2}, {50, 3}}, 10);
  CHECK(back.steps == SlotSteps{{0, 1}, {50, 2}});
  CHECK(back.finish_s == 95);
  CHECK(back.until_s == 100);
}

TEST_CASE("slots: late jobs take what they can, and jobs without a deadline what nobody has planned") {
  const SlotPlan late = plan_in_slots(elastic({{1, 100}}, 30), {{0, 4}}, 10);
  CHECK(devices_at(late.steps, 0) == 1);
  CHECK(late.finish_s == 100);
  const SlotPlan any = plan_in_slots(elastic({{1, 100}, {2, 60}}, kNever), {{0, 2}, {50, 4}}, 10);
  CHECK(any.steps == SlotSteps{{0, 0}, {50, 1}});
  CHECK(any.finish_s == 150);
}

TEST_CASE("slots: more now, the share from then on") {
  // Two up to 20 do a third; nothing is free up to 60; then one does the rest in 66.7 s. 40 + 70 device-seconds.
  const SlotJob job = elastic({{1, 100}, {2, 60}}, 200);
  const SlotPlan plan = plan_in_slots(job, {{0, 4}, {20, 0}, {60, 4}}, 10, job.sizes[1]);
  CHECK(plan.steps == SlotSteps{{0, 2}, {20, 0}, {60, 1}});
  CHECK(plan.finish_s == 127);
  CHECK(plan.until_s == 130);
  CHECK(plan.device_s() == 110);
}

TEST_CASE("slots: no plan takes more than is free, and a size that is enough throughout is in time") {
  rc::prop("plans of random jobs", [] {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const SlotSteps free = random_steps(random);
    const SlotJob job = random_job(random);
    const SlotPlan plan = plan_in_slots(job, free, 10);
    RC_ASSERT(plan.finish_s <= plan.until_s);
    for (const auto& step : without(free, plan)) RC_ASSERT(step.devices >= 0);
    int least = 8;
    for (const auto& step : free)
      if (step.from_s < job.deadline_s) least = std::min(least, step.devices);
    for (const auto& size : job.sizes)
      if (size.devices <= least && std::ceil(size.left_s) <= job.deadline_s) RC_ASSERT(plan.finish_s <= job.deadline_s + 1);
  });
}

TEST_CASE("slots: admission keeps deadlines, and plans anew at the ends of slots") {
  // One GPU. b, due at 182, could begin at 100 at the soonest: rejected at once. c comes within the slot of that plan and waits
  // for its end at 22: a is planned up to 22 + 80 = 102, though it ends at 100.
  World world{.cluster = cluster({{1, 1}})};
  Slots queue({.slot_s = 10});
  world.run({due(rigid("a", 0, 1, 100), 100), due(rigid("b", 12, 1, 100), 170), due(rigid("c", 15, 1, 50), 300)}, queue);
  CHECK(world.keeper.of("a").end_s == 100);
  CHECK(world.keeper.of("b").reason == FailureReason::rejected);
  CHECK(world.keeper.of("b").end_s == 12);
  CHECK(world.keeper.of("c").start_s == 102);
  CHECK(world.keeper.of("c").end_s == 152);
}

TEST_CASE("slots: who ends before its time leaves its devices at the end of that slot") {
  // a is believed to take 1,000 s and takes 110: 100 steps of 1 s, 40 evaluations of 0.25 s. b, for which all was planned anew at
  // 23, waits to the end of the slot, 23 + 4 x 23 = 115.
  World world{.cluster = cluster({{1, 1}})};
  const Profile profile{.model = "toy", .dataset = "tenths"};
  Choice long_one = choice(0, 1, 1);
  long_one.predicted.time_s = 1000;
  long_one.predicted.epochs = 1;
  Slots queue({.slot_s = 23});
  world.menus.menu.ranked = {long_one};
  world.run({{.name = "a", .profile = &profile, .work = Work::train, .epochs = 1},
             {.name = "b", .profile = &profile, .submit_s = 1, .work = Work::train, .epochs = 1}},
            queue);
  CHECK(world.keeper.of("a").end_s == 110);
  CHECK(world.keeper.of("b").start_s == 115);
}

TEST_CASE("slots: jobs that come together are admitted together or not at all") {
  World world{.cluster = cluster({{1, 1}})};
  Slots queue({.slot_s = 10});
  world.run({due(rigid("a", 0, 1, 100), 100), due(rigid("b", 0, 1, 100), 150), rigid("c", 0, 1, 20)}, queue);
  CHECK(world.keeper.of("a").reason == FailureReason::rejected);
  CHECK(world.keeper.of("b").reason == FailureReason::rejected);
  CHECK(world.keeper.of("c").end_s == 20);
}

TEST_CASE("slots: the earliest deadline is first, from the next slot on") {
  // One GPU. b, due at 25, comes at 5 and waits for the slot's end: a 0..10, b 10..20, a 20..40.
  World world{.cluster = cluster({{1, 1}})};
  Slots queue({.discipline = SlotDiscipline::edf_largest, .slot_s = 10});
  world.run({due(rigid("a", 0, 1, 30), 100), due(rigid("b", 5, 1, 10), 20)}, queue);
  CHECK(world.keeper.of("b").end_s == 20);
  CHECK(world.keeper.of("a").end_s == 40);
  CHECK(world.keeper.of("a").preemptions == 1);
}
