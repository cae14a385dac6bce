#include <catch2/catch.hpp>

#include "sim/base/errors.hpp"
#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;

namespace {

Job after(Job job, std::vector<std::string> names) {
  job.after = std::move(names);
  return job;
}

Job awaited(Job job) {
  job.is_awaited = true;
  return job;
}

}  // namespace

TEST_CASE("a time limit ends a job as failed, unless it ends at that date") {
  // 10 s at most: a runs 10 s and finishes; b has 12 s; c holds devices 0..6 and again from 20 (node down meanwhile): 4 s more.
  World world{.cluster = cluster({{2, 1}, {1, 1}})};
  Job a = rigid("a", 0, 1, 10), b = rigid("b", 0, 1, 12), c = rigid("c", 0, 1, 11);
  a.walltime_s = b.walltime_s = c.walltime_s = 10;
  c.pool = 1;
  world.nodes.measured = {{1, 0, 6, 14}};
  Greedy queue;
  world.run({a, b, c}, queue);
  CHECK(world.keeper.of("a").state == JobState::finished);
  CHECK(world.keeper.of("b").reason == FailureReason::walltime_stop);
  CHECK(world.keeper.of("b").end_s == 10);
  CHECK(world.keeper.of("b").cost.total() == Approx(0.01));
  CHECK(world.keeper.of("c").reason == FailureReason::walltime_stop);
  CHECK(world.keeper.of("c").end_s == 24);
}

TEST_CASE("the time limit of a job that ended at once ends no other") {
  // a does not fit into memory at 0 s; b, in its place, runs 1..21, beyond a's limit of 10 s.
  World world{.cluster = cluster({{1, 1}})};
  world.menus.menu.ranked = {choice(0, 1, 2000)};
  Job a = stepping("a", 0, 5);
  a.walltime_s = 10;
  Greedy queue;
  world.run({a, rigid("b", 1, 1, 20)}, queue);
  CHECK(world.keeper.of("a").reason == FailureReason::out_of_memory);
  CHECK(world.keeper.of("b").end_s == 21);
}

TEST_CASE("a job queues when those that it waits for have ended") {
  // b waits for a (to 10) and for c, which comes later (to 25); then 5 s.
  World world{.cluster = cluster({{4, 1}})};
  Greedy queue;
  world.run({awaited(rigid("a", 0, 1, 10)), after(rigid("b", 1, 1, 5), {"a", "c"}), awaited(rigid("c", 20, 1, 5)),
             after(rigid("d", 30, 1, 1), {"a"})},
            queue);
  CHECK(world.keeper.of("b").start_s == 25);
  CHECK(world.keeper.of("b").end_s == 30);
  CHECK(world.keeper.of("d").start_s == 30);  // what has ended before is not waited for
}

TEST_CASE("when a job fails, those that wait for it fail in turn, or run all the same") {
  World world{.cluster = cluster({{4, 1}})};
  Job stopped = awaited(rigid("stopped", 0, 1, 10));
  stopped.walltime_s = 4;
  Job runs = after(rigid("runs", 0, 1, 1), {"stopped"});
  runs.after_failed = AfterFailed::run;
  std::vector<Job> jobs{stopped, runs};
  std::string before = "stopped";
  for (int i = 0; i < 50'000; ++i) {
    const std::string name = std::to_string(i);
    jobs.push_back(awaited(after(rigid(name, 1, 1, 1), {before})));
    before = name;
  }
  jobs.push_back(after(rigid("late", 9, 1, 1), {"49999", "runs"}));
  Greedy queue;
  const ReplayTotals totals = world.run(jobs, queue);
  CHECK(world.keeper.of("runs").start_s == 4);
  CHECK(world.keeper.of("49999").reason == FailureReason::dependency_failed);
  CHECK(world.keeper.of("49999").end_s == 4);
  CHECK(world.keeper.of("late").end_s == 9);
  CHECK(world.keeper.of("late").cost.total() == 0);
  CHECK(totals.finished == 1);
}

TEST_CASE("a job that waits for itself waits forever, also while nodes fail") {
  World world{.cluster = cluster({{4, 1}})};
  Greedy queue;
  const std::vector<Job> jobs{awaited(after(rigid("a", 0, 1, 10), {"a"}))};
  CHECK_THROWS_WITH(world.run(jobs, queue), Catch::Matchers::Contains("leaves 1 jobs waiting forever"));
  world.nodes.outages = {.law = FailureLaw::exponential, .mtbf_s = 100, .repair_s = 10};
  Greedy second;
  CHECK_THROWS_WITH(world.run(jobs, second), Catch::Matchers::Contains("leaves 1 jobs waiting forever"));
}

TEST_CASE("a deadline ends a job that is held back") {
  World world{.cluster = cluster({{4, 1}})};
  Job b = after(rigid("b", 1, 1, 5), {"a"});
  b.deadline_s = 3;
  b.on_deadline = OnDeadline::stop;
  Greedy queue;
  world.run({awaited(rigid("a", 0, 1, 10)), b}, queue);
  CHECK(world.keeper.of("b").reason == FailureReason::deadline_stop);
  CHECK(world.keeper.of("b").end_s == 4);
}
