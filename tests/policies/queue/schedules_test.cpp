// Disciplines that start or stop one job after the other in an order, against schedules worked by hand.
#include <catch2/catch.hpp>

#include "policies/queue/durations.hpp"
#include "policies/queue/least_attained_service.hpp"
#include "policies/queue/line_orders.hpp"
#include "tests/policies/queue/jobs_by_hand.hpp"

using namespace rehearse::policies;
using namespace toy;

TEST_CASE("priority: the most urgent first, and at once", "[queue]") {
  // One GPU. low 0..3, cut by high (3..5); mid waits behind high, then 5..9; low's other 7 s: 9..16. Equal ones go by arrival.
  const std::vector<Job> jobs{with_priority(rigid("low", 0, 1, 10), 0), with_priority(rigid("mid", 1, 1, 4), 1),
                              with_priority(rigid("high", 3, 1, 2), 2)};
  World world = one_node(1);
  Priority polite({.preempt = false});  // low 0..10, then high 10..12, mid 12..16
  world.run(jobs, polite);
  CHECK(world.keeper.of("low").end_s == 10);
  CHECK(world.keeper.of("high").end_s == 12);
  CHECK(world.keeper.of("mid").end_s == 16);

  // Preempting: mid takes the GPU at 1, high at 3..5, mid's other 2 s 5..7, low's other 9 s 7..16.
  World second = one_node(1);
  Priority pressing;
  second.run(jobs, pressing);
  CHECK(second.keeper.of("high").end_s == 5);
  CHECK(second.keeper.of("mid").end_s == 7);
  CHECK(second.keeper.of("low").end_s == 16);
  CHECK(second.keeper.of("low").preemptions == 1);
  CHECK(second.keeper.of("mid").preemptions == 1);
  CHECK(second.keeper.of("high").preemptions == 0);
}

TEST_CASE("priority: of a job on two pools only its devices in the one count for who needs that one", "[queue]") {
  // 2 GPUs and 1. high holds one of the first pool until 6, both the other and the one of the second. Who needs two of the first
  // pool does not get them from both, which starts after 3 s and ends at 4.25.
  World world = two_pools(2);
  world.costs.start_s = 3;
  world.costs.checkpoint_s = 2;
  Priority queue;
  world.run({with_priority(in_pool(rigid("high", 0, 1, 6), 0), 2), on_two_pools("both", 0),
             with_priority(in_pool(rigid("needs two", 1, 2, 2), 0), 1)},
            queue);
  CHECK(world.keeper.of("both").preemptions == 0);
  CHECK(world.keeper.of("both").end_s == Approx(4.25));
  CHECK(world.keeper.of("needs two").start_s == Approx(6));
}

TEST_CASE("priority: who comes last gives way first, and no more than needed", "[queue]") {
  // 4 GPUs: a (2 GPUs, priority 2), b (1, priority 1), c (1, priority 0) run. d needs 1 at priority 3: c gives way, not b.
  // e needs 3 at priority 1.5: only b's and c's 2 GPUs are weaker, so nobody gives way.
  World world = one_node(4);
  Priority queue;
  world.run(
      {with_priority(rigid("a", 0, 2, 20), 2), with_priority(rigid("b", 0, 1, 20), 1), with_priority(rigid("c", 0, 1, 20), 0),
       with_priority(rigid("d", 5, 1, 4), 3), with_priority(rigid("e", 12, 3, 1), 1.5)},
      queue);
  CHECK(world.keeper.of("d").start_s == 5);
  CHECK(world.keeper.of("a").preemptions == 0);
  CHECK(world.keeper.of("b").preemptions == 0);
  CHECK(world.keeper.of("c").preemptions == 1);
  CHECK(world.keeper.of("c").end_s == 24);  // 5 s done, waits for d until 9, 15 s more
  CHECK(world.keeper.of("e").start_s == 20);
}

TEST_CASE("priority: with ageing an old job overtakes a more urgent young one", "[queue]") {
  // 3600 points an hour: 1 a second. old (0, submitted at 1) has as much as young (5, at 6); from there it is first.
  // running 0..10; young of 5 points at 5 s beats old, of 5 points at 7 s does not.
  for (const double submit_s : {5.0, 7.0}) {
    World world = one_node(1);
    Priority queue({.ageing_per_hour = 3600, .preempt = false});
    world.run({rigid("running", 0, 1, 10), rigid("old", 1, 1, 3), with_priority(rigid("young", submit_s, 1, 3), 5)}, queue);
    CHECK(world.keeper.of("old").start_s == (submit_s == 5 ? 13 : 10));
  }
}

TEST_CASE("shortest job first, and shortest remaining time first", "[queue]") {
  // One GPU. a 10 s at 0, b 5 s at 1, c 2 s at 2, d 4 s at 2.
  const std::vector<Job> jobs{rigid("a", 0, 1, 10), rigid("b", 1, 1, 5), rigid("c", 2, 1, 2), rigid("d", 2, 1, 4)};
  // SJF: a 0..10, c 10..12, d 12..16, b 16..21.
  World first = one_node(1);
  ShortestJob sjf;
  first.run(jobs, sjf);
  CHECK(first.keeper.of("a").end_s == 10);
  CHECK(first.keeper.of("c").end_s == 12);
  CHECK(first.keeper.of("d").end_s == 16);
  CHECK(first.keeper.of("b").end_s == 21);
  // SRTF: b takes over at 1 (5 < 9), c at 2 (2 < 4); d needs 4 as does b, which came before it: b 4..8, d 8..12, a 12..21.
  World second = one_node(1);
  ShortestJob srtf({.preempt = true});
  second.run(jobs, srtf);
  CHECK(second.keeper.of("c").end_s == 4);
  CHECK(second.keeper.of("b").end_s == 8);
  CHECK(second.keeper.of("d").end_s == 12);
  CHECK(second.keeper.of("a").end_s == 21);
  CHECK(second.keeper.of("b").preemptions == 1);
  CHECK(second.keeper.of("d").preemptions == 0);
}

TEST_CASE("shortest remaining time first: nobody is stopped who need not be", "[queue]") {
  // 8 GPUs: A 1 GPU 1000 s, B 7 GPUs 500 s, X 4 GPUs 10 s at 100. A has most left and is asked first, but B alone suffices.
  World world = one_node(8);
  ShortestJob srtf({.preempt = true});
  world.run({rigid("A", 0, 1, 1000), rigid("B", 0, 7, 500), rigid("X", 100, 4, 10)}, srtf);
  CHECK(world.keeper.of("A").preemptions == 0);
  CHECK(world.keeper.of("A").end_s == 1000);
  CHECK(world.keeper.of("B").end_s == 510);
  CHECK(world.keeper.of("X").end_s == 110);
}

TEST_CASE("priority: parts and whole GPUs, and nobody is stopped who need not be", "[queue]") {
  // 2 GPUs: low of a half on the first, whole of one on the second. X needs one GPU at 5: low, the weakest, alone makes room.
  // Y needs a half at 6, beside nobody: X runs until 15, and whole is stronger than low, which waits; so Y takes whole's GPU.
  World world = one_node(2);
  Priority queue;
  Job low = with_priority(rigid("low", 0, 1, 20), 0), half = with_priority(rigid("Y", 6, 1, 4), 3);
  low.gpu_fraction = half.gpu_fraction = 0.5;
  world.run({low, with_priority(rigid("whole", 0, 1, 20), 1), with_priority(rigid("X", 5, 1, 10), 4), half}, queue);
  CHECK(world.keeper.of("low").preemptions == 1);
  CHECK(world.keeper.of("whole").preemptions == 1);
  CHECK(world.keeper.of("X").start_s == 5);
  CHECK(world.keeper.of("Y").start_s == 6);
}

TEST_CASE("durations: the user's word, or the truth for oracles", "[queue]") {
  // The user gives a 3 s, so that it is before b, which in truth is shorter; after 3 s its limit ends it.
  const std::vector<Job> jobs{rigid("running", 0, 1, 10), with_walltime(rigid("a", 1, 1, 8), 3),
                              with_walltime(rigid("b", 1, 1, 5), 6)};
  World believing = one_node(1);
  ShortestJob user({.durations = Durations::Source::user});
  believing.run(jobs, user);
  CHECK(believing.keeper.of("a").start_s == 10);
  CHECK(believing.keeper.of("a").reason == FailureReason::walltime_stop);
  CHECK(believing.keeper.of("b").start_s == 13);
  World knowing = one_node(1);
  WithTruth<ShortestJob> oracle{ShortestJob({.durations = Durations::Source::user})};
  knowing.run(jobs, oracle);
  CHECK(knowing.keeper.of("b").start_s == 10);
}

TEST_CASE("a preempted modelled job checkpoints, and the devices wait for whom they were taken for", "[queue]") {
  // 10 s to checkpoint, 5 s to start. low starts at 0 and runs from 5; high comes at 20: checkpoint until 30; other, of lower
  // priority, comes at 25 and must not take the GPU. high starts at 30.
  static const rehearse::sim::Profile profile{.model = "toy", .dataset = "tenths"};
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 10}};
  world.menus.menu.ranked = {choice(0, 1, 50)};
  const auto training = [](std::string name, double submit_s, double priority) {
    return Job{.name = std::move(name),
               .profile = &profile,
               .submit_s = submit_s,
               .work = Work::train,
               .epochs = 12,
               .priority = priority};
  };
  Priority queue;
  world.run({training("low", 0, 0), training("high", 20, 2), training("other", 25, 1)}, queue);
  CHECK(world.keeper.of("high").start_s == 30);
  CHECK(world.keeper.of("other").start_s == world.keeper.of("high").end_s);
  CHECK(world.keeper.of("low").preemptions == 1);
  CHECK(world.keeper.of("other").preemptions == 0);
  // A job that is starting is left alone until it runs: first starts at 0, second comes at 2, the checkpoint begins at 5.
  World starting{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 10}};
  starting.menus.menu.ranked = {choice(0, 1, 50)};
  Priority again;
  starting.run({training("first", 0, 0), training("second", 2, 1)}, again);
  CHECK(starting.keeper.of("second").start_s == 15);
}

TEST_CASE("earliest deadline first", "[queue]") {
  // One GPU. a due at 30, b at 12, c at 9; d without a deadline.
  const std::vector<Job> jobs{rigid("d", 0, 1, 6), with_deadline(rigid("a", 1, 1, 5), 29), with_deadline(rigid("b", 2, 1, 4), 10),
                              with_deadline(rigid("c", 3, 1, 3), 6)};
  // Without preemption: d 0..6, c 6..9, b 9..13 (late), a 13..18.
  World first = one_node(1);
  EarliestDeadline polite({.preempt = false});
  first.run(jobs, polite);
  CHECK(first.keeper.of("c").end_s == 9);
  CHECK(first.keeper.of("b").end_s == 13);
  CHECK(first.keeper.of("a").end_s == 18);
  // With: d 0..1, a 1..2, b 2..3, c 3..6, b 6..9, a 9..13, d 13..18: all in time.
  World second = one_node(1);
  EarliestDeadline pressing;
  second.run(jobs, pressing);
  CHECK(second.keeper.of("c").end_s == 6);
  CHECK(second.keeper.of("b").end_s == 9);
  CHECK(second.keeper.of("a").end_s == 13);
  CHECK(second.keeper.of("d").end_s == 18);
}

TEST_CASE("those who make others give way one by one may be a thousand at one date", "[queue]") {
  // Of the waiting jobs the first alone stops others, and starts in the next round: as many rounds as urgent jobs, and one.
  std::vector<Job> jobs;
  for (int i = 0; i < 1100; ++i) jobs.push_back(with_deadline(rigid("a" + std::to_string(i), 0, 1, 100), 1000));
  for (int i = 0; i < 1100; ++i) jobs.push_back(with_deadline(rigid("urgent" + std::to_string(i), 5, 1, 10), 20));
  World world = one_node(1100);
  EarliestDeadline queue;
  world.run(jobs, queue);
  for (int i = 0; i < 1100; ++i) CHECK(world.keeper.of("urgent" + std::to_string(i)).start_s == 5);
}

TEST_CASE("earliest deadline first, each at its quickest size", "[queue]") {
  // 4 GPUs; a job takes 40 s on 1 GPU, 20 s on 2, and as long on 4 as on 2. At their first entries a and b run side by side,
  // until 40; at their quickest on 2 GPUs each, until 20.
  static const rehearse::sim::Profile profile{.model = "toy", .dataset = "tenths"};
  for (const bool quickest : {false, true}) {
    World world = one_node(4);
    world.menus.menu.ranked = {choice(0, 1, 10), choice(0, 4, 5), choice(0, 2, 10)};
    for (const auto& [entry, seconds] : {std::pair{0, 40.0}, {1, 20.0}, {2, 20.0}})
      world.menus.menu.ranked[static_cast<std::size_t>(entry)].predicted.time_s = seconds;
    const auto training = [](std::string name, double deadline_s) {
      return Job{.name = std::move(name), .profile = &profile, .work = Work::train, .epochs = 5, .deadline_s = deadline_s};
    };
    EarliestDeadline queue({.quickest = quickest});
    world.run({training("a", 100), training("b", 50)}, queue);
    CHECK(world.keeper.of("a").workers == (quickest ? 2 : 1));
    CHECK(world.keeper.of("b").start_s == 0);
    CHECK(world.keeper.of("b").workers == (quickest ? 2 : 1));
  }
}

TEST_CASE("least attained service: a job leaves the first level when it has had its share", "[queue]") {
  // One GPU, level 1 from 4 device-seconds on. a (10 s) runs 0..4, then is in level 1. b (6 s) comes at 2 and waits in level 0:
  // it takes the GPU at 4, reaches level 1 at 8; a, which came first, goes on 8..14 to its end; b's other 2 s: 14..16.
  World world = one_node(1);
  LeastAttainedService queue({.levels = 2, .threshold_device_s = 4});
  world.run({rigid("a", 0, 1, 10), rigid("b", 2, 1, 6)}, queue);
  CHECK(world.keeper.of("a").end_s == 14);
  CHECK(world.keeper.of("b").start_s == 4);
  CHECK(world.keeper.of("b").end_s == 16);
  // Service counts devices: with 2 GPUs for each job, 4 device-seconds are 2 s.
  World wide = one_node(2);
  LeastAttainedService again({.levels = 2, .threshold_device_s = 4});
  wide.run({rigid("a", 0, 2, 10), rigid("b", 1, 2, 6)}, again);
  CHECK(wide.keeper.of("b").start_s == 2);
}

TEST_CASE("least attained service: a job that waited long enough goes back to the first level", "[queue]") {
  // Level 1 from 2 device-seconds on. long runs 0..2; then a stream of 2 s jobs, one each 2 s, keeps level 0 busy. It has run 2
  // s, so with promote_after 3 it is in level 0 again at 8, and before all that come later than it: it goes on at once.
  std::vector<Job> jobs{rigid("long", 0, 1, 3)};
  for (int i = 1; i <= 10; ++i) jobs.push_back(rigid("short" + std::to_string(i), 2 * i, 1, 2));
  World never = one_node(1);
  LeastAttainedService hard({.levels = 2, .threshold_device_s = 2});
  never.run(jobs, hard);
  CHECK(never.keeper.of("long").end_s == 23);
  World promoted = one_node(1);
  LeastAttainedService fair({.levels = 2, .threshold_device_s = 2, .promote_after = 3});
  promoted.run(jobs, fair);
  CHECK(promoted.keeper.of("long").end_s == 9);
}

TEST_CASE("levels and the Gittins index by hand", "[queue]") {
  // Levels begin at 0, 10, 100.
  ServiceLevels levels(3, 10, 10);
  CHECK(levels.level_of(9.9) == 0);
  CHECK(levels.level_of(10) == 1);
  CHECK(levels.level_of(1e9) == 2);
  // Jobs ended at 5, 5, 50 and 200; the quantum is 10. Of four that get beyond 4, 2 end by 14; they and the others have had 5 + 5
  // + 10 + 10: 2/30, for all service below 5. Beyond 49: 1 by 59 of 2, in 50 + 10: 1/60. Beyond 199: 1 in 200.
  GittinsIndex index(10);
  CHECK_FALSE(index.renew());
  CHECK(index.of(3) < index.of(2));  // where nothing is known, less service is better
  for (const double service : {5.0, 5.0, 50.0, 200.0}) index.learn(service);
  CHECK(index.renew());
  CHECK(index.of(0) == Approx(2.0 / 30));
  CHECK(index.of(4.9) == Approx(2.0 / 30));
  CHECK(index.of(5) == Approx(1.0 / 60));
  CHECK(index.of(199) == Approx(1.0 / 200));
  CHECK(index.of(200) < 0);
  CHECK(index.changes_at(0) == 5);
  CHECK(index.changes_at(5) == 50);
  CHECK(index.changes_at(200) == kNever);
  // With 40 known, two more are a twentieth.
  for (int i = 0; i < 36; ++i) index.learn(7);
  CHECK(index.renew());
  index.learn(7);
  CHECK_FALSE(index.renew());
  index.learn(7);
  CHECK(index.renew());
}

TEST_CASE("Gittins: when nearly all jobs are long, the one that has run longest is next to end", "[queue]") {
  // Past jobs all end at 12 device-seconds: a, which has had 2 when b arrives, has the same index, and came first. a goes on.
  std::vector<Job> jobs;
  for (int i = 0; i < 5; ++i) jobs.push_back(rigid("past" + std::to_string(i), 100.0 * i, 1, 12));
  jobs.push_back(rigid("a", 1000, 1, 12));
  jobs.push_back(rigid("b", 1002, 1, 12));
  World gittins = one_node(1);
  LeastAttainedService index({.gittins = true});
  gittins.run(jobs, index);
  CHECK(gittins.keeper.of("a").end_s == 1012);
  World attained = one_node(1);
  LeastAttainedService least({.levels = 2, .threshold_device_s = 4});
  attained.run(jobs, least);
  CHECK(attained.keeper.of("b").start_s == 1004);
}

TEST_CASE("Gittins: each job is ranked by its own service, not by a level", "[queue]") {
  // Three jobs are known to end at 10 device-seconds, one at 1000; the quantum is 5. Below 10 the index is 3/(3 x 10 + 5), from
  // there on 1/1000. long has had 10 at the date 10; at the next decision, when third comes at 12, short takes its device.
  World world = one_node(1);
  LeastAttainedService index(
      {.gittins = true, .quantum_device_s = 5, .services = {{"a", 10.0}, {"b", 10.0}, {"c", 10.0}, {"d", 1000.0}}});
  world.run({rigid("long", 0, 1, 30), rigid("short", 5, 1, 10), rigid("third", 12, 1, 5)}, index);
  CHECK(world.keeper.of("short").start_s == 12);
  CHECK(world.keeper.of("short").end_s == 22);
  CHECK(world.keeper.of("third").end_s == 27);
  CHECK(world.keeper.of("long").end_s == 45);
}

TEST_CASE("fit-first: whoever fits passes the first in line", "[queue]") {
  // 4 GPUs. a holds 3 until 10; b needs all 4. Strict: c, of 1 GPU, waits behind b: b 10..15, c 15..35. Fit-first: c 2..22,
  // b 22..27.
  const std::vector<Job> jobs{rigid("a", 0, 3, 10), rigid("b", 1, 4, 5), rigid("c", 2, 1, 20)};
  World strict = one_node(4);
  Fifo fifo;
  strict.run(jobs, fifo);
  CHECK(strict.keeper.of("b").start_s == 10);
  CHECK(strict.keeper.of("c").start_s == 15);
  World passing = one_node(4);
  Fifo fit_first({.line = {.overtaking = Overtaking::fit_first}});
  passing.run(jobs, fit_first);
  CHECK(passing.keeper.of("c").start_s == 2);
  CHECK(passing.keeper.of("b").start_s == 22);
}

TEST_CASE("fit-first with preemption: who passed gives way again", "[queue]") {
  // 4 GPUs. a (4 GPUs, 10 s) is cut at 1 by b (2, 3 s). c (2, 20 s) comes at 2; before it a waits, of 9 s, which does not fit.
  // Strict: c waits: a 4..13, c 13..33. Fit-first: c runs 2..4, when a takes all, 4..13, then c's other 18 s: 13..31.
  const std::vector<Job> jobs{rigid("a", 0, 4, 10), rigid("b", 1, 2, 3), rigid("c", 2, 2, 20)};
  World first = one_node(4);
  ShortestJob strict({.preempt = true});
  first.run(jobs, strict);
  CHECK(first.keeper.of("a").end_s == 13);
  CHECK(first.keeper.of("c").end_s == 33);
  World second = one_node(4);
  ShortestJob fit_first({.preempt = true, .line = {.overtaking = Overtaking::fit_first}});
  second.run(jobs, fit_first);
  CHECK(second.keeper.of("c").start_s == 2);
  CHECK(second.keeper.of("a").end_s == 13);
  CHECK(second.keeper.of("c").end_s == 31);
  CHECK(second.keeper.of("c").preemptions == 1);
}

TEST_CASE("pending behind running: who waits in a level takes nothing from those that run there", "[queue]") {
  // 2 GPUs, level 1 from 4 device-seconds on. big (2 GPUs, 10 s) is in level 1 from 2 on. At 3 small (1, 20 s) and one (1, 3 s)
  // take its GPUs, at 6 two (1, 3 s) follows one. At 7 small comes into level 1, behind big, which does not fit beside two. At 9
  // there is a GPU for big and small: by arrival big takes both, 9..16, and small has its other 14 s 16..30. Pending behind
  // running: small goes on to 23, then big has its other 7 s.
  const std::vector<Job> jobs{rigid("big", 0, 2, 10), rigid("small", 3, 1, 20), rigid("one", 3, 1, 3), rigid("two", 5, 1, 3)};
  for (const bool behind : {false, true}) {
    World world = one_node(2);
    LeastAttainedService queue(
        {.threshold_device_s = 4,
         .line = {.overtaking = Overtaking::fit_first, .order = behind ? TieOrder::running_first : TieOrder::arrival}});
    world.run(jobs, queue);
    CHECK(world.keeper.of("small").end_s == (behind ? 23 : 30));
    CHECK(world.keeper.of("big").end_s == (behind ? 30 : 16));
  }
}

TEST_CASE("by first service: who was served stands before who came earlier and never was", "[queue]") {
  // 2 GPUs, one level. a (1 GPU) until 5, b (2 GPUs) waits from 1 on, c (1 GPU, 10 s) passes it at 2. At 5 b takes c's GPU by
  // arrival, 5..8; by service c goes on to 12 and b follows.
  const std::vector<Job> jobs{rigid("a", 0, 1, 5), rigid("b", 1, 2, 3), rigid("c", 2, 1, 10)};
  for (const bool service : {false, true}) {
    World world = one_node(2);
    LeastAttainedService queue(
        {.threshold_device_s = 1e6,
         .line = {.overtaking = Overtaking::fit_first, .order = service ? TieOrder::service : TieOrder::arrival}});
    world.run(jobs, queue);
    CHECK(world.keeper.of("b").start_s == (service ? 12 : 5));
    CHECK(world.keeper.of("c").end_s == (service ? 12 : 15));
  }
}

TEST_CASE("consolidated-strict: a job waits for the fewest nodes, as long as its patience lasts", "[queue]") {
  // 2 nodes of 4 GPUs; a and b hold 3 on each. c needs 2: 1 is free on each node. a ends at 10. d (5 GPUs) needs a whole node and
  // one GPU: b ends at 20.
  const std::vector<Job> jobs{rigid("a", 0, 3, 10), rigid("b", 0, 3, 20), rigid("c", 1, 2, 5), rigid("d", 2, 5, 1)};
  struct Case {
    LineOptions line;
    double c_s, d_s;
  };
  for (const Case& at :
       {Case{{}, 1, 10}, Case{{.fewest_nodes = true}, 10, 15}, Case{{.fewest_nodes = true, .patience_s = 4}, 5, 10}}) {
    World world{.cluster = cluster({{2, 4}})};
    Fifo queue({.line = at.line});
    world.run(jobs, queue);
    CHECK(world.keeper.of("c").start_s == at.c_s);
    CHECK(world.keeper.of("d").start_s == at.d_s);
  }
}

TEST_CASE("shortest service first counts devices, and running jobs by what is left of it", "[queue]") {
  // 4 GPUs. wide (4 GPUs, 10 s: 40) runs; at 8 it has 8 device-seconds left, fewer than slim's (1 GPU, 9 s), more than slender's
  // (1 GPU, 7 s), which takes its devices; by time neither would: 9 and 7 s against 2.
  for (const double seconds : {9.0, 7.0}) {
    World world = one_node(4);
    ShortestJob queue({.preempt = true, .measure = JobMeasure::service});
    world.run({rigid("wide", 0, 4, 10), rigid("other", 8, 1, seconds)}, queue);
    CHECK(world.keeper.of("other").start_s == (seconds == 9 ? 10 : 8));
  }
}

TEST_CASE("the free devices that the next job cannot use are counted", "[queue]") {
  // 2 nodes of 4. a and b, 3 GPUs each, lie spread: on both nodes 2 + 1 and 1 + 2, so each node has 1 free. c needs 3: both free
  // GPUs are on nodes with fewer than 3 free: all of them are unusable. When it starts nobody waits.
  World world{.cluster = cluster({{2, 4}}), .samples = true};
  Priority queue({.line = {.placement = Placement::spread}});
  world.run({rigid("a", 0, 3, 10), rigid("b", 0, 3, 12), rigid("c", 1, 3, 1)}, queue);
  const auto at = [&](double time_s) {
    double last = -1;
    for (const PoolSample& sample : world.keeper.samples)
      if (sample.time_s == time_s) last = sample.fragmentation;
    return last;
  };
  CHECK(at(0) == 0);
  CHECK(at(1) == 1);
  CHECK(at(10) == 0);
}
