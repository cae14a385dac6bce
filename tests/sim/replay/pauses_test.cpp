// Jobs that wait outside of the queue, and what can be seen meanwhile; by hand in the toy world: an epoch is 1.25 s on any
// devices, a node of one GPU costs 0.001 dollars a second.
#include <catch2/catch.hpp>
#include <functional>
#include <utility>

#include "sim/base/errors.hpp"
#include "tests/sim/replay/auditor.hpp"

namespace {

using namespace toy;

Choice until_epoch(double epochs, Choice choice) {
  choice.until_epochs = epochs;
  return choice;
}

/// Four epochs: a tenth for each reaches the target.
Job trains_four(std::string name) {
  return {.name = std::move(name), .profile = &profile(), .work = Work::train, .target_accuracy = 0.4};
}

/// Asks functions; keeps the sight.
class Asked final : public Configurator {
 public:
  std::function<Menu(const Job&, double)> first = [](const Job&, double) { return Menu{.ranked = {choice(0, 1, 100)}}; };
  std::function<Menu(std::span<const StageSeen>, double)> again;
  const Sight* sight = nullptr;
  void look(const Sight& now) override { sight = &now; }
  Menu configure(const Job& job, double now_s) override { return first(job, now_s); }
  Menu configure_again(const Job&, std::span<const StageSeen> seen, double now_s) override { return again(seen, now_s); }
};

TEST_CASE("a job that pauses writes a checkpoint, holds nothing, and starts again") {
  // 5 + 2.5 s to the stage's end at 7.5, checkpoint to 9.5; paused until 27.5, 20 s after the answer. Start 5 s, two epochs: 35.
  // Held for 9.5 + 7.5 s at 0.001 dollars.
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  Asked asked;
  asked.first = [](const Job&, double) { return Menu{.ranked = {until_epoch(2, choice(0, 1, 100))}}; };
  std::vector<double> dates, elapsed;
  asked.again = [&](std::span<const StageSeen> seen, double now_s) {
    CHECK(seen.size() == 1);
    dates.push_back(now_s);
    elapsed.push_back(seen.back().elapsed_s);
    if (dates.size() == 1) return Menu{.pause = {.wait_s = 20}};
    CHECK(asked.sight->pool(0).free_devices == 1);
    return Menu{.ranked = {choice(0, 1, 100)}};
  };
  Greedy queue;
  const ReplayTotals totals = world.run({trains_four("t")}, queue, &asked);
  CHECK(dates == std::vector<double>{7.5, 27.5});
  CHECK(elapsed == std::vector<double>{7.5, 27.5});
  const JobRecord& job = world.keeper.of("t");
  CHECK(job.end_s == Approx(35));
  CHECK(job.cost.total() == Approx(0.017));
  CHECK(job.cost.switch_usd == Approx(0.012));
  CHECK(job.accuracy == Approx(0.4));
  CHECK(job.preemptions == 0);
  CHECK(totals.pools[0].idle_usd == Approx(0.018));
  CHECK(world.keeper.events == std::vector<std::string>{"t submitted", "t started", "t running", "t paused", "t resumed",
                                                        "t started", "t running", "t finished"});
}

TEST_CASE("a job may pause before it has begun") {
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  Asked asked;
  asked.first = [](const Job&, double now_s) {
    return Menu{.ranked = {choice(0, 1, 100)}, .pause = {.wait_s = now_s < 30 ? 30 - now_s : 0}};
  };
  Greedy queue;
  world.run({trains_four("t")}, queue, &asked);
  CHECK(world.keeper.of("t").start_s == Approx(30));
  CHECK(world.keeper.of("t").end_s == Approx(40));
  CHECK(world.keeper.of("t").cost.total() == Approx(0.010));
}

TEST_CASE("a job is measured for when it arrives, not again after a pause") {
  // Measured for up to 7, then paused to the end of the 20 s from its arrival; to 25 start, two epochs to 27.5, checkpoint
  // to 29.5, paused to 37.5, to 42.5 start, the other two epochs to 45. Every menu says that it takes 7 s to measure.
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  Asked asked;
  asked.first = [](const Job&, double now_s) {
    return Menu{.ranked = {until_epoch(2, choice(0, 1, 100))}, .wait_s = 7, .pause = {.wait_s = now_s < 10 ? 20.0 : 0.0}};
  };
  asked.again = [](std::span<const StageSeen>, double now_s) {
    return Menu{.ranked = {choice(0, 1, 100)}, .wait_s = 7, .pause = {.wait_s = now_s < 30 ? 10.0 : 0.0}};
  };
  Greedy queue;
  world.run({trains_four("t")}, queue, &asked);
  CHECK(world.keeper.of("t").start_s == 20);
  CHECK(world.keeper.of("t").end_s == Approx(45));
  CHECK(world.keeper.events == std::vector<std::string>{"t submitted", "t released", "t paused", "t resumed", "t started",
                                                        "t running", "t paused", "t resumed", "t started", "t running",
                                                        "t finished"});
}

TEST_CASE("a pause ends when the pool that is waited for has the devices") {
  // Job a holds pool 1 until 5 + 10 = 15 s. Job t has let go at 9.5, and goes on there at 15: 20 to start, 22.5 to end.
  World world{.cluster = cluster({{1, 1}, {1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  Asked asked;
  asked.first = [](const Job& job, double) {
    return Menu{.ranked = {job.name == "a" ? choice(1, 1, 100) : until_epoch(2, choice(0, 1, 100))}};
  };
  asked.again = [](std::span<const StageSeen>, double now_s) {
    if (now_s < 10) return Menu{.pause = {.wait_s = 1000, .pool = 1, .workers = 1}};
    return Menu{.ranked = {choice(1, 1, 100)}};
  };
  Greedy queue;
  world.run({stepping("a", 0, 10), trains_four("t")}, queue, &asked);
  CHECK(world.keeper.of("t").end_s == Approx(22.5));
  CHECK(world.keeper.of("t").pool == 1);
  CHECK(world.keeper.of("t").cost.total() == Approx(0.017));
}

TEST_CASE("a job whose node is taken away is asked, and may pause") {
  // Start 1 s, two epochs until 3.5, the next two on the same node; it goes at 5, as the price is above the bid. The job waits
  // until 8, starts on the other pool until 9 and trains the last two epochs again: 11.5. Held for 5 + 3.5 s at 0.001 dollars.
  for (const bool asks : {true, false}) {
    World world{.cluster = cluster({{1, 1}, {1, 1}}), .costs = {.start_s = 1, .checkpoint_s = 2}};
    world.cluster.pools[0].prices_usd_per_hour = StepSeries({{0, 3.6}, {5, 36}});
    world.cluster.pools[0].spot = Spot{.bid_usd_per_hour = 10, .warning_s = 0};
    Asked asked;
    const auto on = [asks](int pool, double until) {
      return Menu{.ranked = {until_epoch(until, choice(pool, 1, 100)), choice(1, 1, 100)}, .asks_when_lost = asks};
    };
    asked.first = [&](const Job&, double) { return on(0, 2); };
    std::vector<double> dates;
    asked.again = [&](std::span<const StageSeen> seen, double now_s) {
      dates.push_back(now_s);
      CHECK(seen.size() == 1);
      CHECK(seen.back().let_go == (now_s > 4));
      CHECK(seen.back().elapsed_s == now_s);
      if (now_s < 4) return on(0, kNever);
      if (now_s < 6) return Menu{.pause = {.wait_s = 3}};
      return on(1, kNever);
    };
    Greedy queue;
    world.run({trains_four("t")}, queue, &asked);
    const JobRecord& job = world.keeper.of("t");
    CHECK(dates == (asks ? std::vector<double>{3.5, 5, 8} : std::vector<double>{3.5}));
    if (!asks) {  // it queues for what it had, which never comes back
      CHECK(job.reason == FailureReason::node_failure);
      continue;
    }
    CHECK(job.end_s == Approx(11.5));
    CHECK(job.cost.total() == Approx(0.0085));
    CHECK(job.accuracy == Approx(0.4));
  }
}

TEST_CASE("after a pause without a new menu a job goes on with what it had") {
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  Asked asked;
  asked.first = [](const Job&, double) { return Menu{.ranked = {until_epoch(2, choice(0, 1, 100))}}; };
  asked.again = [](std::span<const StageSeen>, double now_s) { return Menu{.pause = {.wait_s = now_s < 9 ? 1.0 : 0.0}}; };
  Greedy queue;
  world.run({trains_four("t")}, queue, &asked);
  // The checkpoint takes longer than the pause: on from 9.5.
  CHECK(world.keeper.of("t").end_s == Approx(17));
}

TEST_CASE("deadlines keep running while a job pauses") {
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  Asked asked;
  asked.first = [](const Job&, double) { return Menu{.ranked = {until_epoch(2, choice(0, 1, 100))}}; };
  asked.again = [](std::span<const StageSeen>, double) { return Menu{.pause = {.wait_s = 100}}; };
  Job job = trains_four("t");
  job.deadline_s = 15;
  job.on_deadline = OnDeadline::stop;
  Greedy queue;
  world.run({job}, queue, &asked);
  CHECK(world.keeper.of("t").end_s == Approx(15));
  CHECK(world.keeper.of("t").reason == FailureReason::deadline_stop);
  CHECK(world.keeper.of("t").cost.total() == Approx(0.0095));
}

TEST_CASE("pauses that cannot be are the policy's mistake") {
  const auto fails_with = [](Pause pause, const char* what) {
    World world{.cluster = cluster({{1, 1}})};
    Asked asked;
    asked.first = [&](const Job&, double) { return Menu{.ranked = {choice(0, 1, 100)}, .pause = pause}; };
    Greedy queue;
    CHECK_THROWS_WITH(world.run({trains_four("t")}, queue, &asked), Catch::Contains(what));
  };
  fails_with({.wait_s = -1}, "no number of seconds");
  fails_with({.wait_s = kNever}, "no number of seconds");
  fails_with({.wait_s = 10, .pool = 3, .workers = 1}, "a pool that does not exist");
  fails_with({.wait_s = 10, .pool = 0, .workers = 2}, "more workers than the pool has");
  fails_with({.wait_s = 10, .pool = 0, .workers = 1}, "workers that are free");
  fails_with({.wait_s = 1}, "pauses more than 10080 times");
}

TEST_CASE("what a scheduler sees: prices up to now, revocations, free devices, what waits") {
  // Two nodes; their price is above the bid from 4 to 6 s. Job a holds both from 0 to 4, b, which waits from 1 on, one of them
  // from 6 on; so a waits for two when t arrives at 8.
  World world{.cluster = cluster({{2, 1}})};
  world.cluster.pools[0].prices_usd_per_hour = StepSeries({{0, 3.6}, {4, 36}, {6, 7.2}, {100, 1}});
  world.cluster.pools[0].spot = Spot{.bid_usd_per_hour = 10, .mean_up_s = 1e9, .down_s = 7, .warning_s = 0};
  Asked asked;
  bool saw = false;
  asked.first = [&](const Job& job, double now_s) {
    if (job.name == "t") {
      saw = true;
      const PoolSight pool = asked.sight->pool(0);
      CHECK(asked.sight->now_s() == now_s);
      CHECK(pool.price_usd_per_hour == 7.2);
      REQUIRE(pool.prices.size() == 3);  // what comes at 100 s is nobody's to know
      CHECK(pool.prices.back().time_s == 6);
      CHECK(pool.revocations == 2);
      CHECK(pool.nodes == 2);
      CHECK(pool.nodes_away == 0);
      CHECK(pool.free_devices == 1);
      CHECK(pool.mean_up_s == 1e9);
      CHECK(pool.down_s == 7);
      CHECK(asked.sight->queue_length() == 1);
      const std::vector<WaitingJob> waiting = asked.sight->waiting();
      REQUIRE(waiting.size() == 1);
      CHECK(waiting[0].job->name == "a");
      CHECK(waiting[0].wants->workers() == 2);
      CHECK(time_left_s(job, now_s) == 50);
    }
    return Menu{.ranked = {choice(0, job.name == "a" ? 2 : 1, 100)}};
  };
  Job t = trains_four("t");
  t.submit_s = 8;
  t.deadline_s = 50;
  Greedy queue;
  world.run({stepping("a", 0, 20), stepping("b", 1, 5), t}, queue, &asked);
  CHECK(saw);
}

/// Stages of random length, a random pause after each; sometimes for a pool.
class PausesAtRandom final : public Configurator {
 public:
  explicit PausesAtRandom(std::uint64_t seed) : random_(seed) {}
  const Sight* sight = nullptr;
  int pauses = 0;
  void look(const Sight& now) override { sight = &now; }
  Menu configure(const Job& job, double) override { return answer(job, 0); }
  Menu configure_again(const Job& job, std::span<const StageSeen> seen, double) override {
    return answer(job, seen.back().epochs);
  }

 private:
  Menu answer(const Job& job, double epochs) {
    Menu menu{.ranked = {choice(0, 1 + static_cast<int>(random_.below(2)), 10), choice(1, 2, 20)}};
    if (job.work == Work::train)
      for (Choice& one : menu.ranked) one.until_epochs = epochs + 1 + static_cast<double>(random_.below(3));
    if (random_.below(3) == 0) return menu;
    menu.pause.wait_s = random_.uniform(0.1, 30);
    const int pool = static_cast<int>(random_.below(2)), workers = 1 + static_cast<int>(random_.below(4));
    if (random_.below(2) == 0 && sight->pool(pool).free_devices < workers)
      menu.pause = {.wait_s = menu.pause.wait_s, .pool = pool, .workers = workers};
    ++pauses;
    return menu;
  }
  Random random_;
};

TEST_CASE("books are in order however jobs pause, whatever happens to nodes") {
  rc::prop("devices, time, money, energy", [](std::uint64_t seed) {
    Random random(seed);
    World world = random_world(random);
    std::vector<Job> jobs = random_jobs(random);
    for (Job& job : jobs) job.gpu_fraction = 1;
    Auditor auditor;
    world.recorder = &auditor;
    PausesAtRandom configure(seed);
    Greedy queue;
    const ReplayTotals totals = world.run(jobs, queue, &configure);
    check_books(auditor, world, jobs, totals);
    RC_CLASSIFY(configure.pauses > 10, "many pauses");
  });
}

}  // namespace
