// Disciplines that plan ahead (EASY, conservative backfilling, admission by deadlines), against schedules worked by hand.
#include <catch2/catch.hpp>

#include "policies/queue/backfill_queue.hpp"
#include "policies/queue/deadline_admission.hpp"
#include "policies/queue/planned_devices.hpp"
#include "tests/policies/queue/jobs_by_hand.hpp"

using namespace rehearse::policies;
using namespace toy;

namespace {

/// Two stages: some epochs with a batch of 100, which may last longer than predicted, then with one of 50, which do not.
class TwoStages final : public Configurator {
 public:
  explicit TwoStages(double predicted_s = 15, double epochs = 4) : predicted_s_(predicted_s), epochs_(epochs) {}
  Menu configure(const Job&, double) override { return menu(100, predicted_s_, epochs_); }
  Menu configure_again(const Job&, std::span<const StageSeen>, double) override { return menu(50, 27, kNever); }

 private:
  static Menu menu(int batch, double time_s, double until_epochs) {
    Choice c = choice(0, 1, batch);
    c.predicted.time_s = time_s;
    c.predicted.epochs = 12;
    c.until_epochs = until_epochs;
    return {.ranked = {c}};
  }
  double predicted_s_, epochs_;
};

}  // namespace

TEST_CASE("EASY: who overtakes does not delay the first in line", "[queue]") {
  // 4 GPUs. a: 3 GPUs 0..10. b needs 2: reserved for 10, and then leaves 2 over. c, 1 GPU for 20 s, fits into what is left over:
  // 2..22. At 10 b starts beside it. d, 1 GPU, 5 s, comes at 6: nothing is free; 10..15 beside b and c. e waits: 4 GPUs from 22
  // on.
  World world = one_node(4);
  Easy easy;
  world.run({rigid("a", 0, 3, 10), rigid("b", 1, 2, 8), rigid("c", 2, 1, 20), rigid("e", 5, 4, 1), rigid("d", 6, 1, 5)}, easy);
  CHECK(world.keeper.of("b").start_s == 10);
  CHECK(world.keeper.of("c").start_s == 2);
  CHECK(world.keeper.of("d").start_s == 10);
  CHECK(world.keeper.of("e").start_s == 22);
}

TEST_CASE("EASY: a job's next stage may end at another date than was noted at its start", "[queue]") {
  // 2 GPUs. a: 12 epochs of 1.25 s, to end at 15; from 5 on the other 8 take 2.25 s each, to end at 23. b needs both: reserved
  // for
  // 23. c, 12 s, comes at 7 and overtakes. d, 20 s, would end at 39, when c's GPU is free at 19: it waits for b, 23..28.
  static const Profile profile{.model = "toy", .dataset = "toy"};
  World world = one_node(2);
  TwoStages stages;
  Easy easy;
  world.run({{.name = "a", .profile = &profile, .work = Work::train, .epochs = 12},
             rigid("b", 6, 2, 5),
             rigid("c", 7, 1, 12),
             rigid("d", 8, 1, 20)},
            easy, &stages);
  CHECK(world.keeper.of("a").end_s == Approx(23));
  CHECK(world.keeper.of("c").start_s == 7);
  CHECK(world.keeper.of("b").start_s == Approx(23));
  CHECK(world.keeper.of("d").start_s == Approx(28));
}

TEST_CASE("EASY and conservative backfilling agree where nobody is delayed", "[queue]") {
  // 4 GPUs. a: 2 GPUs 0..10. b needs 4: 10..14. c needs 3: after b, 14..19. d: 2 GPUs for 12 s would end at 16 and is
  // in b's way: nobody lets it before. e: 1 GPU for 7 s: ends in time: 5..12? No, 12 > 10: it is in b's way too.
  // f: 2 GPUs for 4 s: 6..10 in both.
  const std::vector<Job> jobs{rigid("a", 0, 2, 10), rigid("b", 1, 4, 4), rigid("c", 2, 3, 5),
                              rigid("d", 3, 2, 12), rigid("e", 5, 1, 7), rigid("f", 6, 2, 4)};
  World first = one_node(4);
  Easy easy;
  first.run(jobs, easy);
  CHECK(first.keeper.of("f").start_s == 6);
  CHECK(first.keeper.of("b").start_s == 10);
  CHECK(first.keeper.of("c").start_s == 14);
  // 14: c holds 3 of 4. d needs 2 and is first: reserved for 19, leaves 2 over; e takes the one that is free: 14..21.
  CHECK(first.keeper.of("e").start_s == 14);
  CHECK(first.keeper.of("d").start_s == 19);
  World second = one_node(4);
  Conservative conservative;
  second.run(jobs, conservative);
  CHECK(second.keeper.of("f").start_s == 6);
  CHECK(second.keeper.of("b").start_s == 10);
  CHECK(second.keeper.of("c").start_s == 14);
  CHECK(second.keeper.of("d").start_s == 19);
  CHECK(second.keeper.of("e").start_s == 14);
}

TEST_CASE("conservative: reservations move up when a job ends before its walltime", "[queue]") {
  // 2 GPUs. a says 20 s and takes 10. b needs 2: reserved for 20; c, 2 GPUs, for 25. At 10 both move: 10..15, 15..17.
  World world = one_node(2);
  Conservative queue;
  world.run(
      {with_walltime(rigid("a", 0, 1, 10), 20), with_walltime(rigid("b", 1, 2, 5), 5), with_walltime(rigid("c", 2, 2, 2), 2)},
      queue);
  CHECK(world.keeper.of("b").start_s == 10);
  CHECK(world.keeper.of("c").start_s == 15);
}

TEST_CASE("a second reservation that EASY breaks and conservative backfilling keeps", "[queue]") {
  // 4 GPUs. a: 2 GPUs 0..10. b needs 3: 10..20, leaving 1 over. c needs 4: 20..25 is its reservation. d: 1 GPU for 100 s, at 3.
  // EASY starts d at once, as it fits beside b, and c waits for it until 103. Conservative backfilling starts d after c.
  const std::vector<Job> jobs{rigid("a", 0, 2, 10), rigid("b", 1, 3, 10), rigid("c", 2, 4, 5), rigid("d", 3, 1, 100)};
  World first = one_node(4);
  Easy easy;
  first.run(jobs, easy);
  CHECK(first.keeper.of("d").start_s == 3);
  CHECK(first.keeper.of("c").start_s == 103);
  World second = one_node(4);
  Conservative conservative;
  second.run(jobs, conservative);
  CHECK(second.keeper.of("c").start_s == 20);
  CHECK(second.keeper.of("d").start_s == 25);
}

TEST_CASE("admission: a deadline that cannot be kept is rejected, one that is admitted is kept", "[queue]") {
  // 2 GPUs. a: 2 GPUs 0..10, due at 10. b: 1 GPU for 5 s due at 16: reserved 10..15. c: 2 GPUs for 5 s due at 15: needs all from
  // 10 to 15, b then from 15 to 20: too late, so c is rejected. d: 1 GPU for 5 s due at 15 fits beside b. e, without a deadline:
  // after both.
  World world = one_node(2);
  DeadlineAdmission queue;
  world.run({with_deadline(rigid("a", 0, 2, 10), 10), with_deadline(rigid("b", 1, 1, 5), 15),
             with_deadline(rigid("c", 2, 2, 5), 13), with_deadline(rigid("d", 3, 1, 5), 12), rigid("e", 4, 1, 3)},
            queue);
  CHECK(world.keeper.of("c").reason == FailureReason::rejected);
  CHECK(world.keeper.of("c").end_s == 2);
  CHECK(world.keeper.of("b").start_s == 10);
  CHECK(world.keeper.of("d").start_s == 10);
  CHECK(world.keeper.of("e").start_s == 15);
}

TEST_CASE("admission: jobs without a deadline that start together are in nobody's way together", "[queue]") {
  // 4 GPUs. a: 2 GPUs 0..10. b: 3 GPUs for 5 s, due at 16: reserved 10..15. r, 1 GPU for 20 s, leaves three of them and starts at
  // once; s, the same, would leave two, and waits for b.
  World world = one_node(4);
  DeadlineAdmission queue;
  world.run({rigid("a", 0, 2, 10), with_deadline(rigid("b", 1, 3, 5), 15), rigid("r", 2, 1, 20), rigid("s", 2, 1, 20)}, queue);
  CHECK(world.keeper.of("r").start_s == 2);
  CHECK(world.keeper.of("s").start_s == 15);
  CHECK(world.keeper.of("b").start_s == 10);
}

TEST_CASE("admission: a job's next stage may end at another date than was noted at its start", "[queue]") {
  // 1 GPU. a: to end at 15; from 5 on, in its second stage, at 23. b, 5 s, is due at 22: it would be admitted for 15. c, 5 s, is
  // due at 29: 23..28.
  static const Profile profile{.model = "toy", .dataset = "toy"};
  World world = one_node(1);
  TwoStages stages;
  DeadlineAdmission queue;
  world.run({{.name = "a", .profile = &profile, .work = Work::train, .epochs = 12},
             with_deadline(rigid("b", 6, 1, 5), 16),
             with_deadline(rigid("c", 7, 1, 5), 22)},
            queue, &stages);
  CHECK(world.keeper.of("b").reason == FailureReason::rejected);
  CHECK(world.keeper.of("b").end_s == 6);
  CHECK(world.keeper.of("c").start_s == Approx(23));
}

TEST_CASE("admission: a job of two pools starts once both have room, be its deadline kept or not", "[queue]") {
  // The second pool is held until 10.
  for (const double deadline_s : {kNever, 50.0, 5.0}) {
    World world = two_pools(1);
    DeadlineAdmission queue;
    world.run({in_pool(rigid("holds", 0, 1, 10), 1), with_deadline(on_two_pools("both", 1), deadline_s)}, queue);
    CHECK(world.keeper.of("both").start_s == Approx(10));
  }
}

TEST_CASE("admission: who could never start while a node was away starts when it is back", "[queue]") {
  // 2 nodes of 1 GPU. a: to end at 3; in truth its first stage lasts until 10, and its second until 19. b needs both, admitted
  // for 3..8. A node is away from 3.5 to 5.5. At 4, a is expected to go on until 5, and b would never start; from 5.5 on one GPU
  // is free, as that plan says, but of the node that is back.
  TwoStages stages(3, 8);
  static const Profile profile{.model = "toy", .dataset = "toy"};
  World world{.cluster = cluster({{2, 1}})};
  world.nodes.measured = {{.pool = 0, .node = 1, .time_s = 3.5, .down_s = 2}};
  DeadlineAdmission queue;
  world.run({{.name = "a", .profile = &profile, .work = Work::train, .epochs = 12}, with_deadline(rigid("b", 1, 2, 5), 8)}, queue,
            &stages);
  CHECK(world.keeper.of("a").end_s == Approx(19));
  CHECK(world.keeper.of("b").start_s == Approx(19));
}

TEST_CASE("admission: a job that outruns its prediction is asked about ever less often", "[queue]") {
  // Expected to end at 1, it takes 10,000 s: planned anew after a second up to 11, then whenever it is a tenth later: some 90
  // times.
  class Counted final : public Queue {
   public:
    void decide(const QueueView& view, QueueAnswer& answer) override {
      ++decisions;
      inner_.decide(view, answer);
    }
    int decisions = 0;

   private:
    DeadlineAdmission inner_;
  } queue;
  static const Profile profile{.model = "toy", .dataset = "toy"};
  World world = one_node(1);
  world.menus.menu.ranked = {choice(0, 1, 100)};
  world.menus.menu.ranked[0].predicted.time_s = 1;
  world.run({{.name = "a", .profile = &profile, .work = Work::train, .epochs = 8000}, with_deadline(rigid("b", 0.5, 1, 5), 8)},
            queue);
  CHECK(world.keeper.of("b").start_s == Approx(10000));
  CHECK(queue.decisions > 50);
  CHECK(queue.decisions < 150);
}

TEST_CASE("admission: the minimum satisfactory share is the fewest workers that keep the deadline", "[queue]") {
  // Predicted 40 s on 1, 20 s on 2, 10 s on 4 workers. Due in 25 s: 2 workers; a second such job takes the other 2; a third is
  // rejected: it could start at 20 and end at 30 with 4. In this world training takes 5 epochs of (1 + 0.25) s or so, so that
  // devices come back early, and one that is due in 50 s takes 1 worker.
  static const rehearse::sim::Profile profile{.model = "toy", .dataset = "tenths"};
  World world = one_node(4);
  world.menus.menu.ranked = {choice(0, 4, 25), choice(0, 2, 50), choice(0, 1, 100)};
  world.menus.menu.ranked[0].predicted.time_s = 10;
  world.menus.menu.ranked[1].predicted.time_s = 20;
  world.menus.menu.ranked[2].predicted.time_s = 40;
  const auto training = [](std::string name, double submit_s, double deadline_s) {
    return Job{.name = std::move(name),
               .profile = &profile,
               .submit_s = submit_s,
               .work = Work::train,
               .epochs = 5,
               .deadline_s = deadline_s};
  };
  DeadlineAdmission queue;
  world.run({training("a", 0, 25), training("b", 1, 25), training("c", 2, 25), training("d", 20, 50)}, queue);
  CHECK(world.keeper.of("a").workers == 2);
  CHECK(world.keeper.of("b").workers == 2);
  CHECK(world.keeper.of("c").reason == FailureReason::rejected);
  CHECK(world.keeper.of("d").workers == 1);
}

TEST_CASE("a profile of free devices by hand", "[queue]") {
  Availability available;
  available.reset(10, 4);
  available.add(20, 30, -3);  // 4 until 20, 1 until 30, then 4
  CHECK(available.earliest(10, {10, 4}) == 10);
  CHECK(available.earliest(10, {11, 4}) == 30);
  CHECK(available.earliest(10, {100, 1}) == 10);
  CHECK(available.earliest(12, {5, 2}) == 12);
  CHECK(available.earliest(10, {5, 5}) == kNever);
  available.add(10, 20, -2);
  available.add(20, 30, 3);
  available.advance(15);
  CHECK(available.free_now() == 2);
  CHECK(available.earliest(0, {1, 2}) == 15);
  CHECK(available.earliest(0, {1, 3}) == 20);
}
