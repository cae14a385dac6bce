// Slurm's scheduler against schedules worked by hand, and what holds of it for all jobs.
#include "policies/queue/slurm.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "tests/policies/queue/jobs_by_hand.hpp"
#include "tests/sim/replay/toy_queues.hpp"

using namespace rehearse::policies;
using namespace toy;

namespace {

Job of_user(Job job, const std::string& user) {
  job.user = user;
  return job;
}

DeviceRow row(std::initializer_list<std::size_t> devices) {
  DeviceRow result;
  for (const std::size_t device : devices) result.insert(device);
  return result;
}

}  // namespace

TEST_CASE("neighbours: the shortest stretch that is long enough, else the longest first", "[slurm]") {
  const DeviceRow free = row({0, 1, 2, 5, 6, 63, 64, 65, 66});
  CHECK(free.neighbours(2).both(row({5, 6})).count() == 2);
  CHECK(free.neighbours(3).both(row({0, 1, 2})).count() == 3);
  // Six: the four from 63 on, then two of the stretch of two.
  CHECK(free.neighbours(6).both(row({63, 64, 65, 66, 5, 6})).count() == 6);
}

TEST_CASE("unreserved devices: as looking at each reservation anew finds them", "[slurm]") {
  rc::prop("at each date, in order", [] {
    const std::size_t devices = *rc::gen::inRange<std::size_t>(1, 70);
    const auto some = [devices] {
      DeviceRow result;
      for (std::size_t device = 0; device < devices; ++device)
        if (*rc::gen::inRange(0, 3) == 0) result.insert(device);
      return result;
    };
    Reservations reserved;
    for (int left = *rc::gen::inRange(0, 12); left > 0; --left) {
      const double start_s = *rc::gen::inRange(0, 20);
      const bool ends = *rc::gen::inRange(0, 5) > 0;
      reserved.add(
          {.start_s = start_s, .end_s = ends ? start_s + *rc::gen::inRange(0, 9) : rehearse::sim::kNever, .devices = some()});
    }
    const DeviceRow of = some();
    const double for_s = *rc::gen::inRange(0, 10);
    double from_s = *rc::gen::inRange(0, 10);
    UnreservedDevices moving(reserved, of, for_s);
    for (int moves = 0; moves < 6; ++moves, from_s += *rc::gen::inRange(0, 6)) {
      moving.move_to(from_s);
      DeviceRow usable = of;
      double next_s = rehearse::sim::kNever;
      for (const Reservation& other : reserved.all()) {
        if (other.start_s <= from_s + for_s && other.end_s > from_s) usable.remove(other.devices);
        for (const double date_s : {other.start_s, other.end_s})
          if (date_s > from_s) next_s = std::min(next_s, date_s);
      }
      RC_ASSERT(moving.count() == usable.count());
      RC_ASSERT(moving.devices().both(usable).count() == usable.count());
      RC_ASSERT(moving.devices().count() == usable.count());
      RC_ASSERT(moving.next_s() == next_s);
    }
  });
}

TEST_CASE("slurm: passes a second apart, and nobody passes the first in line", "[slurm]") {
  // 2 GPUs. a (2 GPUs) comes at 0.25 and is seen at 1: 1..3.5. b (2) comes at 2, and is seen at 4: 4..5. c (1) comes at 2.5, fits
  // nowhere before b, and is seen at 5 with b's end.
  World world = one_node(2);
  Slurm queue({});
  world.run({rigid("a", 0.25, 2, 2.5), rigid("b", 2, 2, 1), rigid("c", 2.5, 1, 1)}, queue);
  CHECK(world.keeper.of("a").start_s == 1);
  CHECK(world.keeper.of("b").start_s == 4);
  CHECK(world.keeper.of("c").start_s == 5);
}

TEST_CASE("slurm: passes may lie apart by no whole number of seconds", "[slurm]") {
  // a comes at 0.25 and is seen in the pass at 1.0025, b at 200 in the 200th, at 200.5, c at 3007.6 in the 3,001st, at 3008.5025.
  World world = one_node(3);
  Slurm queue({.interval_s = 1.0025});
  world.run({rigid("a", 0.25, 1, 1), rigid("b", 200, 1, 1), rigid("c", 3007.6, 1, 1)}, queue);
  CHECK(world.keeper.of("a").start_s == Approx(1.0025).margin(1e-5));
  CHECK(world.keeper.of("b").start_s == Approx(200.5).margin(1e-5));
  CHECK(world.keeper.of("c").start_s == Approx(3008.5025).margin(1e-5));
}

TEST_CASE("slurm: passes and plans have phases of their own", "[slurm]") {
  // Passes at 0.75, 1.75, ...: a comes at 0.25 and is seen at 0.75; b at 1.8, and at 2.75.
  World world = one_node(2);
  Slurm queue({.phase_s = 10.75});
  world.run({rigid("a", 0.25, 1, 1), rigid("b", 1.8, 1, 1)}, queue);
  CHECK(world.keeper.of("a").start_s == 0.75);
  CHECK(world.keeper.of("b").start_s == 2.75);
  // Plans at 0.5, 1.5, ...: a has a GPU from 1 on, b wants two and waits; c, of 1 s, is short enough for the plan at 1.5.
  World other = one_node(2);
  Slurm planning({.backfill = true, .backfill_interval_s = 1, .backfill_phase_s = 0.5, .resolution_s = 1, .precision_s = 0});
  Job c = rigid("c", 1.25, 1, 1);
  c.walltime_s = 1;
  Job a = rigid("a", 0.25, 1, 9);
  a.walltime_s = 9;
  other.run({a, rigid("b", 1.1, 2, 1), c}, planning);
  CHECK(other.keeper.of("a").start_s == 0.5);
  CHECK(other.keeper.of("c").start_s == 1.5);
}

TEST_CASE("slurm: who overtakes must let go of what is reserved, on the devices that are reserved", "[slurm]") {
  // 4 GPUs, by number. a has 0 1 until 100, b 2 until 10 by its limit, and 3 is free. c wants 2: 2 and 3 from 10 on. d (1 GPU)
  // would run until 9 and starts on 3; e would until 12 and does not, though it starts at 10 + 5 = 15, when c is done.
  World world = one_node(4);
  Slurm queue({.backfill = true, .backfill_interval_s = 1, .resolution_s = 1, .precision_s = 0});
  world.run({with_walltime(rigid("a", 0, 2, 100), 100), with_walltime(rigid("b", 0, 1, 10), 10),
             with_walltime(rigid("c", 1, 2, 5), 5), with_walltime(rigid("d", 2, 1, 7), 7), with_walltime(rigid("e", 3, 1, 4), 9)},
            queue);
  CHECK(world.keeper.of("c").start_s == 10);
  CHECK(world.keeper.of("d").start_s == 2);
  CHECK(world.keeper.of("e").start_s == 15);
}

TEST_CASE("slurm: what is planned once at a date is not planned again at that date", "[slurm]") {
  // One GPU, a plan each 10 s. At 10 it goes to m, whose batch does not fit: m fails at once. The next plan finds it free, for y.
  World world = one_node(1);
  world.menus.menu.ranked = {choice(0, 1, 2000)};
  world.menus.menu.ranked[0].predicted.time_s = 5;
  Slurm queue({.interval_s = 1000, .backfill = true, .backfill_interval_s = 10, .resolution_s = 1, .precision_s = 0});
  Job m = with_walltime(rigid("m", 5, 1, 5), 5), y = with_walltime(rigid("y", 6, 1, 5), 5);
  m.profile = &profile();
  m.work = Work::steps;
  m.steps = 5;
  world.run({m, y}, queue);
  CHECK(world.keeper.of("m").reason == FailureReason::out_of_memory);
  CHECK(world.keeper.of("m").end_s == 10);
  CHECK(world.keeper.of("y").start_s == 20);
}

TEST_CASE("slurm: who can be planned only after another's reservation has one of its own", "[slurm]") {
  // 3 GPUs, by number. a has 0 1 until 10, and 2 is free. b wants 0 1 from 10 to 20. c wants all three: from 20 to 40, since b's
  // reservation leaves one until then. d (1 GPU) would run on 2 from 3 to 28, and starts when c is done.
  World world = one_node(3);
  Slurm queue({.backfill = true, .backfill_interval_s = 1, .resolution_s = 1, .precision_s = 0});
  world.run({with_walltime(rigid("a", 0, 2, 10), 10), with_walltime(rigid("b", 1, 2, 10), 10),
             with_walltime(rigid("c", 2, 3, 20), 20), with_walltime(rigid("d", 3, 1, 25), 25)},
            queue);
  CHECK(world.keeper.of("b").start_s == 10);
  CHECK(world.keeper.of("c").start_s == 20);
  CHECK(world.keeper.of("d").start_s == 40);
}

TEST_CASE("slurm: who would end just when a reservation begins does not start before it", "[slurm]") {
  // As above: c wants 2 and 3 from 10 on. d (1 GPU) would run on 3 from 2 until 10, and starts when c is done, at 15.
  World world = one_node(4);
  Slurm queue({.backfill = true, .backfill_interval_s = 1, .resolution_s = 1, .precision_s = 0});
  world.run({with_walltime(rigid("a", 0, 2, 100), 100), with_walltime(rigid("b", 0, 1, 10), 10),
             with_walltime(rigid("c", 1, 2, 5), 5), with_walltime(rigid("d", 2, 1, 7), 8)},
            queue);
  CHECK(world.keeper.of("d").start_s == 15);
}

TEST_CASE("slurm: ends that lie together are expected together, so that a reservation may be late", "[slurm]") {
  // 3 GPUs, by number: a has 0 until 20, b 1 until 50. c wants 2: on 0 and 2 from 20 on. But ends up to 60, the second multiple
  // of 30 s after a's, count together, and then it is on 0 and 1 from 50 on. So d, on 2 for 43 s, may start at 2; else after c,
  // at 25.
  for (const double precision_s : {0.0, 30.0}) {
    World world = one_node(3);
    Slurm queue({.backfill = true, .backfill_interval_s = 1, .resolution_s = 1, .precision_s = precision_s});
    world.run({with_walltime(rigid("a", 0, 1, 20), 20), with_walltime(rigid("b", 0, 1, 50), 50),
               with_walltime(rigid("c", 1, 2, 5), 5), with_walltime(rigid("d", 2, 1, 43), 43)},
              queue);
    CHECK(world.keeper.of("d").start_s == (precision_s == 0 ? 25 : 2));
  }
}

TEST_CASE("slurm: the interval in which ends lie together doubles until it reaches the next end", "[slurm]") {
  // 4 GPUs: 0 is free, a has 1 until 10, b 2 until 200, c 3 until 250. d wants 3. Ends up to 60 are a's, which do not suffice; up
  // to 90 and 150 there is none; up to 30 + 240 there are b's and c's, so that d is planned at 250, not at 200. e, on 0 from 2
  // until 232 by its limit, starts at once.
  World world = one_node(4);
  Slurm queue({.backfill = true, .backfill_interval_s = 1, .resolution_s = 1, .precision_s = 30});
  world.run(
      {with_walltime(rigid("a", 0, 1, 10), 10), with_walltime(rigid("b", 0, 1, 200), 200),
       with_walltime(rigid("c", 0, 1, 250), 250), with_walltime(rigid("d", 1, 3, 5), 5), with_walltime(rigid("e", 2, 1, 3), 230)},
      queue);
  CHECK(world.keeper.of("e").start_s == 2);
}

TEST_CASE("slurm: smaller tiers give way, those of the fewest devices first, and come back after a delay", "[slurm]") {
  // 4 GPUs: big (2), small (1) and other (1) run. urgent wants 1 at 5: small, of the fewest and the first of these, is stopped;
  // urgent starts as soon as it has let go, at once, and runs until 7. small may start again 20 s after it was stopped, at 25,
  // and begins anew: 25..125.
  World world = one_node(4);
  Slurm queue({.tiers = true, .preempt = true, .requeue_s = 20});
  world.checkpoints.preemption = Preemption::lose;
  world.run({with_priority(rigid("big", 0, 2, 100), 1), with_priority(rigid("small", 0, 1, 100), 1),
             with_priority(rigid("other", 0, 1, 100), 1), with_priority(rigid("urgent", 5, 1, 2), 2)},
            queue);
  CHECK(world.keeper.of("urgent").start_s == 5);
  CHECK(world.keeper.of("big").preemptions == 0);
  CHECK(world.keeper.of("small").preemptions == 1);
  CHECK(world.keeper.of("small").end_s == 125);
}

TEST_CASE("slurm: what was stopped does not start before the job for which it was", "[slurm]") {
  // One GPU, and no tiers in the order: a came first and is first in line again when urgent, at 5, has stopped it. Without a
  // delay it would start at once, for urgent to stop it again. It may from the next date on: urgent 5..7, a anew 7..17.
  World world = one_node(1);
  Slurm queue({.preempt = true, .requeue_s = 0});
  world.checkpoints.preemption = Preemption::lose;
  world.run({with_priority(rigid("a", 0, 1, 10), 1), with_priority(rigid("urgent", 5, 1, 2), 2)}, queue);
  CHECK(world.keeper.of("urgent").start_s == 5);
  CHECK(world.keeper.of("a").preemptions == 1);
  CHECK(world.keeper.of("a").end_s == 17);
}

TEST_CASE("slurm: of those that hold equally many of the wanted devices the first gives way", "[slurm]") {
  // 5 GPUs: a on 0, b on 1, c on 2 to 4. Urgent wants 4 and would have 0 to 3: c goes first, which came last; a and b hold one of
  // these each, and one of them is enough.
  World world = one_node(5);
  Slurm queue({.tiers = true, .preempt = true, .requeue_s = 20});
  world.run({with_priority(rigid("a", 0, 1, 100), 1), with_priority(rigid("b", 0, 1, 100), 1),
             with_priority(rigid("c", 0, 3, 100), 1), with_priority(rigid("urgent", 5, 4, 2), 2)},
            queue);
  CHECK(world.keeper.of("urgent").start_s == 5);
  CHECK(world.keeper.of("a").preemptions == 1);
  CHECK(world.keeper.of("b").preemptions == 0);
  CHECK(world.keeper.of("c").preemptions == 1);
}

TEST_CASE("slurm: of small jobs first, and of users those who have used least", "[slurm]") {
  // 2 GPUs, a until 10. Then wide (2) came before narrow (1): narrow is first, 10..20, and wide waits for both GPUs.
  World world = one_node(2);
  Slurm by_size({.weight_size = 1, .favor_small = true});
  world.run({rigid("a", 0, 2, 10), rigid("wide", 1, 2, 1), rigid("narrow", 2, 1, 10)}, by_size);
  CHECK(world.keeper.of("narrow").start_s == 10);
  CHECK(world.keeper.of("wide").start_s == 20);

  // 1 GPU. ann's first job runs 0..7; usage is reckoned every 5 s: at 5 she has used 5 device-seconds, bob nothing. Her second
  // came before his, and starts after it.
  World second = one_node(1);
  Slurm by_share({.weight_fair_share = 1, .calc_s = 5});
  second.run({of_user(rigid("ann-1", 0, 1, 7), "ann"), of_user(rigid("ann-2", 1, 1, 10), "ann"),
              of_user(rigid("bob-1", 2, 1, 10), "bob")},
             by_share);
  CHECK(second.keeper.of("bob-1").start_s == 7);
  CHECK(second.keeper.of("ann-2").start_s == 17);

  // The same, reckoned every 50 s: what ann has used by 9 and 10 counts at 50. Until then their jobs go by arrival.
  World third = one_node(1);
  Slurm seldom({.weight_fair_share = 1, .calc_s = 50});
  third.run({of_user(rigid("ann-1", 0, 1, 7), "ann"), of_user(rigid("cat-1", 1, 1, 10), "cat"),
             of_user(rigid("ann-2", 9, 1, 10), "ann"), of_user(rigid("bob-1", 10, 1, 10), "bob")},
            seldom);
  CHECK(third.keeper.of("ann-2").start_s == 17);
  CHECK(third.keeper.of("bob-1").start_s == 27);

  // Reckoned at 0 and at 5: ann's first, which runs 0..4, is charged nothing, bob's, 4..7, a second. So ann's second, the last
  // to come, is before bob's.
  World fourth = one_node(1);
  Slurm while_running({.weight_fair_share = 1, .calc_s = 5});
  fourth.run({of_user(rigid("ann-1", 0, 1, 4), "ann"), of_user(rigid("bob-1", 1, 1, 3), "bob"),
              of_user(rigid("bob-2", 2, 1, 10), "bob"), of_user(rigid("ann-2", 3, 1, 10), "ann")},
             while_running);
  CHECK(fourth.keeper.of("ann-2").start_s == 7);
  CHECK(fourth.keeper.of("bob-2").start_s == 17);

  // 2 GPUs. At 5 ann's first has run for 5 s and bob's, which came at 4, for one: at 7, when ann's ends, it is bob's turn again,
  // though ann's second came before his.
  World fifth = one_node(2);
  Slurm late({.weight_fair_share = 1, .calc_s = 5});
  fifth.run({of_user(rigid("ann-1", 0, 1, 7), "ann"), of_user(rigid("bob-1", 4, 1, 30), "bob"),
             of_user(rigid("ann-2", 4.5, 1, 10), "ann"), of_user(rigid("bob-2", 4.6, 1, 10), "bob")},
            late);
  CHECK(fifth.keeper.of("bob-2").start_s == 7);
  CHECK(fifth.keeper.of("ann-2").start_s == 17);
}

TEST_CASE("slurm: every job ends, and no plan delays the first in line", "[slurm]") {
  rc::prop("all end, whatever is set", [] {
    const auto jobs = *rc::gen::container<std::vector<std::tuple<int, int, int, int>>>(
        rc::gen::tuple(rc::gen::inRange(0, 40), rc::gen::inRange(1, 7), rc::gen::inRange(1, 30), rc::gen::inRange(0, 3)));
    const bool preempt = *rc::gen::arbitrary<bool>(), tiers = *rc::gen::arbitrary<bool>(), backfill = *rc::gen::arbitrary<bool>();
    const double requeue_s = *rc::gen::element(0.0, 3.0);
    std::vector<Job> listed;
    int date_s = 0;
    for (const auto& [gap, gpus, length, tier] : jobs)
      listed.push_back(
          with_priority(with_walltime(rigid(std::to_string(listed.size()), date_s += gap, gpus, length), length + tier), tier));
    if (listed.empty()) return;
    World world = one_node(7);
    Slurm queue({.backfill = backfill,
                 .backfill_interval_s = 1,
                 .resolution_s = 1,
                 .precision_s = 0,
                 .tiers = tiers,
                 .preempt = preempt,
                 .requeue_s = requeue_s,
                 .weight_fair_share = backfill ? 0.0 : 1.0,
                 .calc_s = 7});
    world.run(listed, queue);
    for (const Job& job : listed) RC_ASSERT(world.keeper.of(job.name).state == JobState::finished);
  });
  // Limits that are the lengths: a plan of all jobs in front of it is kept, so that the first in line starts when it would alone.
  rc::prop("the first that waits is not delayed", [] {
    const int length = *rc::gen::inRange(5, 40), gpus = *rc::gen::inRange(2, 8);
    std::vector<Job> listed{with_walltime(rigid("runs", 0, 4, length), length), with_walltime(rigid("first", 1, gpus, 5), 5)};
    const auto others =
        *rc::gen::container<std::vector<std::pair<int, int>>>(rc::gen::pair(rc::gen::inRange(1, 8), rc::gen::inRange(1, 60)));
    for (const auto& [wanted, lasts] : others)
      listed.push_back(with_walltime(rigid("o" + std::to_string(listed.size()), 2, wanted, lasts), lasts));
    World world = one_node(7);
    Slurm queue({.backfill = true, .backfill_interval_s = 1, .resolution_s = 1, .precision_s = 0});
    world.run(listed, queue);
    RC_ASSERT(world.keeper.of("first").start_s == (gpus <= 3 ? 1 : length));
  });
}
