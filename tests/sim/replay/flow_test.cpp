// From the devices to the first step, and from the last one to the end: phases that take time and are told.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;

namespace {

/// Data sets of 100 samples of 10 bytes take 5 s to copy; start-up 3 s, results 4 s.
World flowing(int nodes) {
  World world{.cluster = cluster({{nodes, 1}}),
              .costs = {.preload_bytes_per_s = 200, .collect_s = 4, .start_s = 3, .checkpoint_s = 2}};
  world.steps.store(10);
  world.menus.menu.ranked = {choice(0, 1, 100)};
  return world;
}

}  // namespace

TEST_CASE("data are copied, the job starts up and trains, results are fetched") {
  // 5 + 3 + 10 steps + 4 s, at 0.001 dollars a second and 100 W, 200 W in steps.
  World world = flowing(1);
  Greedy queue;
  world.run({stepping("a", 0, 10), rigid("b", 0, 1, 1)}, queue);
  const JobRecord& a = world.keeper.of("a");
  CHECK(a.end_s == 22);
  CHECK(a.time.switch_s == Approx(12));
  CHECK(a.time.train_s == Approx(10));
  CHECK(a.cost.switch_usd == Approx(0.012));
  CHECK(a.energy_j == Approx(12 * 100 + 10 * 200));
  CHECK(world.keeper.of("b").end_s == 23);  // of rigid jobs nothing is known
  CHECK(world.keeper.events == std::vector<std::string>{"a submitted", "b submitted", "a started", "a preloading",
                                                        "a starting_up", "a running", "a collecting", "a finished", "b started",
                                                        "b running", "b finished"});
}

TEST_CASE("a job waits for what is measured for it before it queues, and its deadline runs") {
  // 7 s of measurements, then 5 + 3 + 10 + 4: it ends at 29; the other one, which nothing is measured for, goes first.
  World world = flowing(1);
  world.menus.menu.wait_s = 7;
  Greedy queue;
  world.run({stepping("a", 0, 10), rigid("b", 0, 1, 1)}, queue);
  CHECK(world.keeper.of("b").end_s == 1);
  CHECK(world.keeper.of("a").start_s == 7);
  CHECK(world.keeper.of("a").end_s == 29);
  CHECK(world.keeper.events[2] == "b started");
  CHECK(std::count(world.keeper.events.begin(), world.keeper.events.end(), "a released") == 1);

  World stopped = flowing(1);
  stopped.menus.menu.wait_s = 7;
  Job job = stepping("a", 0, 10);
  job.deadline_s = 5;
  job.on_deadline = OnDeadline::stop;
  Greedy again;
  stopped.run({job, stepping("b", 1, 10)}, again);
  CHECK(stopped.keeper.of("a").reason == FailureReason::deadline_stop);
  CHECK(stopped.keeper.of("a").end_s == 5);
  CHECK(stopped.keeper.of("b").start_s == 8);
}

TEST_CASE("a node that fails while results are fetched takes them with it") {
  // Down from 20 to 21, in the middle of the results: all again, on the other node: 20 + 22.
  World world = flowing(2);
  world.nodes.measured = {{0, 0, 20, 1}};
  Greedy queue;
  world.run({stepping("a", 0, 10)}, queue);
  const JobRecord& a = world.keeper.of("a");
  CHECK(a.end_s == 42);
  CHECK(a.restarts == 1);
  CHECK(a.time.lost_s == Approx(10));
  CHECK(a.time.train_s == Approx(10));
}

TEST_CASE("a job that comes back copies its data again and reads its checkpoint") {
  // Preempted at 10 after 2 steps, checkpoint to 12; b to 13; then 5 + 3 + 1 (4 bytes for each of 25 parameters, 100 a second) +
  // 8 steps + 4.
  World world = flowing(1);
  world.steps.train_parameters(25);
  world.costs.restore_bytes_per_s = 100;
  Greedy queue;
  queue.preempts = {{10, {"a"}}};
  world.run({stepping("a", 0, 10), rigid("b", 1, 1, 1)}, queue);
  CHECK(world.keeper.of("a").end_s == 13 + 5 + 3 + 1 + 8 + 4);
  CHECK(std::count(world.keeper.events.begin(), world.keeper.events.end(), "a restoring") == 1);
}
