#include <catch2/catch.hpp>

#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;

namespace {

World one_gpu() {
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  world.menus.menu.ranked = {choice(0, 1, 100)};
  return world;
}

}  // namespace

TEST_CASE("periodic checkpoints take time, money and energy") {
  // Start 5 s, 10 steps of 1 s with a checkpoint of 2 s after each 4: 4 + 2 + 4 + 2 + 2 = 14 s, to 19 s. 0.001 dollars a second.
  // Busy 200 W (half way) for 10 s, idle 100 W for 5 + 4 s.
  World world = one_gpu();
  world.checkpoints.interval_s = 4;
  Greedy queue;
  world.run({stepping("a", 0, 10)}, queue);
  const JobRecord& a = world.keeper.of("a");
  CHECK(a.end_s == 19);
  CHECK(a.checkpoints == 2);
  CHECK(a.time.train_s == Approx(10));
  CHECK(a.time.switch_s == Approx(9));
  CHECK(a.time.lost_s == 0);
  CHECK(a.cost.switch_usd == Approx(0.009));
  CHECK(a.cost.total() == Approx(0.019));
  CHECK(a.energy_j == Approx(200 * 10 + 100 * 9));
}

TEST_CASE("a job's own interval and length of a checkpoint go before the scenario's") {
  // 10 steps, 1 s after each 3: 3 checkpoints.
  World world = one_gpu();
  world.checkpoints.interval_s = 4;
  Job job = stepping("a", 0, 10);
  job.checkpoint_interval_s = 3;
  job.checkpoint_write_s = 1;
  Greedy queue;
  world.run({job}, queue);
  CHECK(world.keeper.of("a").end_s == 5 + 10 + 3);
}

TEST_CASE("a preemption writes a checkpoint, or loses what came after the last one") {
  // Preempted at 16 s: start to 5, 4 steps to 9, checkpoint to 11, 4 steps to 15, 1 s into the second checkpoint.
  // Resume: 2 s for a checkpoint of all 8 steps, to 18; start to 23, the last 2 steps to 25.
  World world = one_gpu();
  world.checkpoints.interval_s = 4;
  Greedy queue;
  queue.preempts = {{16, {"a"}}};
  world.run({stepping("a", 0, 10)}, queue);
  CHECK(world.keeper.of("a").end_s == 25);
  CHECK(world.keeper.of("a").time.lost_s == 0);
  CHECK(world.keeper.of("a").time.switch_s == Approx(5 + 2 + 1 + 2 + 5));

  // Lose: at 16 s the second checkpoint is not whole: 4 of 8 steps are lost. Start to 21, the last 6 steps with a checkpoint
  // after 4 of them: to 29.
  World second = one_gpu();
  second.checkpoints = {.interval_s = 4, .preemption = Preemption::lose};
  Greedy again;
  again.preempts = {{16, {"a"}}};
  second.run({stepping("a", 0, 10)}, again);
  const JobRecord& a = second.keeper.of("a");
  CHECK(a.end_s == 29);
  CHECK(a.preemptions == 1);
  CHECK(a.time.lost_s == Approx(4));
  CHECK(a.cost.lost_usd == Approx(0.004));
  CHECK(a.time.train_s == Approx(10));
  CHECK(a.time.switch_s == Approx(5 + 2 + 1 + 5 + 2));
  CHECK(a.device_s == Approx(a.time.held_s()));
}

TEST_CASE("training that is lost is trained again: accuracy and epochs are those of the kept epochs") {
  // Epochs of 1 step and an evaluation of 0.25 s; a checkpoint of 2 s after each 2 s. Preempted at 5 + 4.5 s: 2 s trained, 2 s
  // written, 0.5 s trained; the checkpoint is in the middle of epoch 2. Lost 0.5 s; then from there 3.25 - 2 s with no
  // checkpoint.
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  world.menus.menu.ranked = {choice(0, 1, 100)};
  world.checkpoints = {.interval_s = 2, .preemption = Preemption::lose};
  Job job{.name = "t", .profile = &profile(), .work = Work::train, .epochs = 2};
  Greedy queue;
  queue.preempts = {{9.25, {"t"}}};
  world.run({job}, queue);
  // 2.5 s in all: 2 kept (0.75 s into epoch 2 of 1.25 s: 0.6 of it), 0.25 lost, 0.4 of an epoch left with its evaluation.
  const JobRecord& t = world.keeper.of("t");
  CHECK(t.time.lost_s == Approx(0.25));
  CHECK(t.end_s == Approx(9.25 + 5 + 0.4 * 1 + 0.25));
  CHECK(t.accuracy == Approx(0.2));
}
