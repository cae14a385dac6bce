// A run in which nothing gets any further ends, and says what waits for what; one that waits for something goes on.
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <set>

#include "sim/base/errors.hpp"
#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;

namespace {

/// Has itself woken every so often for as long as there are jobs, and does what a test says with what has happened.
class Rounds final : public Queue {
 public:
  using Decide = std::function<void(const QueueView&, QueueAnswer&)>;
  Rounds(double round_s, Decide decide) : round_s_(round_s), decide_(std::move(decide)) {}
  void decide(const QueueView& view, QueueAnswer& answer) override {
    active_.insert(view.queued.begin(), view.queued.end());
    for (const JobSlot slot : view.ended) active_.erase(slot);
    decide_(view, answer);
    if (!active_.empty()) answer.wake_at_s = view.now_s + round_s_;
  }

 private:
  double round_s_;
  std::set<JobSlot> active_;
  Decide decide_;
};

Rounds::Decide nothing() {
  return [](const QueueView&, QueueAnswer&) {};
}

/// As Greedy, once a date comes.
Rounds::Decide greedy_from(double date_s) {
  return [date_s, greedy = std::make_shared<Greedy>(), early = std::vector<JobSlot>()](const QueueView& view,
                                                                                       QueueAnswer& answer) mutable {
    early.insert(early.end(), view.queued.begin(), view.queued.end());
    if (view.now_s < date_s) return;
    QueueView now = view;
    now.queued = early;
    greedy->decide(now, answer);
    early.clear();
  };
}

}  // namespace

TEST_CASE("a queue that is woken for ever and starts nothing: the run ends, and names what waits for what") {
  World world{.cluster = cluster({{2, 4}})};
  Rounds queue(60, nothing());
  Job b = rigid("b", 0, 1, 1);
  b.after = {"a"};
  Job a = rigid("a", 0, 2, 1);
  a.is_awaited = true;
  CHECK_THROWS_AS(world.run({a, b}, queue), PolicyError);
  World again{.cluster = cluster({{2, 4}})};
  Rounds same(60, nothing());
  // The first decision at 0, the 10,000th 9,999 minutes later, the 20,000th after 19,999.
  CHECK_THROWS_WITH(
      again.run({a, b}, same),
      "policy \"toy\", queue, at 1199940.000000 s: since 599940.000000 s no job has come, ended or got any further, and 2 wait "
      "forever: job \"a\" for 2 of pool \"pool0\" (8 of 8 free, 0 of 2 nodes away), job \"b\" for job \"a\"");
}

TEST_CASE("of those that wait three are named, and how many more there are") {
  const auto told = [](int jobs) {
    World world{.cluster = cluster({{1, 1}})};
    Rounds queue(60, nothing());
    std::vector<Job> waiting;
    for (int i = 0; i < jobs; ++i) waiting.push_back(rigid("j" + std::to_string(i), 0, 1, 1));
    std::string error;
    try {
      world.run(waiting, queue);
    } catch (const PolicyError& e) {
      error = e.what();
    }
    return error.substr(std::min(error.size(), error.find("job \"j2\"")));
  };
  CHECK(told(3) == "job \"j2\" for 1 of pool \"pool0\" (1 of 1 free, 0 of 1 nodes away)");
  CHECK(told(5) == told(3) + " and 2 more");
}

TEST_CASE("what nobody does is counted from the last job's end on") {
  // A round a minute, of which the one at 0 starts the first job. It ends at 90, the first date without an end; the 10,000th is
  // 9,999 minutes later, the 20,000th after 19,999.
  World world{.cluster = cluster({{1, 1}})};
  Rounds queue(60, [](const QueueView& view, QueueAnswer& answer) {
    if (view.now_s == 0) answer.starts.push_back({.job = view.queued[0]});
  });
  CHECK_THROWS_WITH(world.run({rigid("a", 0, 1, 90), rigid("b", 0, 1, 1)}, queue),
                    Catch::Matchers::Contains("at 1200030.000000 s: since 600030.000000 s no job has come, ended"));
}

TEST_CASE("what was measured for a job before it queued is nothing that may still come") {
  // It arrives at 0, the first date, and queues at 30, the second; the 10,000th is 9,998 minutes later, the 20,000th 19,998.
  World world{.cluster = cluster({{1, 1}})};
  world.menus.menu.ranked = {choice(0, 1, 100)};
  world.menus.menu.wait_s = 30;
  Rounds queue(60, nothing());
  CHECK_THROWS_WITH(world.run({stepping("a", 0, 10)}, queue),
                    Catch::Matchers::Contains("at 1199910.000000 s: since 599910.000000 s no job has come, ended"));
}

TEST_CASE("a queue that stops jobs as soon as they run: the run ends") {
  // Start-up takes 60 s; whoever runs is preempted at once.
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 60, .checkpoint_s = 10}};
  world.menus.menu.ranked = {choice(0, 1, 100)};
  Rounds queue(1000, [](const QueueView& view, QueueAnswer& answer) {
    for (const JobSlot slot : view.queued) answer.starts.push_back({.job = slot, .entry = 0});
    for (const JobSlot slot : view.changed)
      if (view.jobs[slot].service.state == JobState::running) answer.preempts.push_back(slot);
  });
  CHECK_THROWS_WITH(
      world.run({stepping("a", 0, 10)}, queue),
      Catch::Matchers::Contains("no job has come, ended or got any further: whoever is started is stopped before it "
                                "gets any further, and 1 wait: job \"a\"") &&
          Catch::Matchers::Contains("job \"a\" (") && Catch::Matchers::Contains("with 1 of pool \"pool0\""));
}

TEST_CASE("a job whose start-up each maintenance interrupts: the run ends") {
  // Start-up takes 200 s; the only node is away for the last 10 of each 100. Two dates of decisions a round, the first at 0: the
  // 10,000th and the 20,000th are both beginnings of a maintenance. The node comes back, as it has before, for nothing.
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 200, .checkpoint_s = 0}};
  world.menus.menu.ranked = {choice(0, 1, 100)};
  world.nodes.maintenance = {{.nodes = 1, .start_s = 90, .duration_s = 10, .every_s = 100}};
  Greedy queue;
  CHECK_THROWS_WITH(world.run({stepping("a", 0, 10)}, queue),
                    Catch::Matchers::Contains("at 999990.000000 s: since 499990.000000 s no job has come, ended or got any "
                                              "further: whoever is started is stopped before it gets any further, and 1 wait"));
}

TEST_CASE("a job that its queue throws back to where it was gets no further") {
  // Rounds of 10 s. At 20 of each 90 s the queue stops the job, which loses what it did; at 30 it starts the job, which starts up
  // until 40. With the date at which the devices are let go these are ten decisions in 90 s, and nine in the first 90: the
  // 10,000th is at 90,000, and the looks after it are 90,000 s apart. At each the job has done 50 of its 100 s.
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 10, .checkpoint_s = 0}};
  world.checkpoints.preemption = Preemption::lose;
  world.menus.menu.ranked = {choice(0, 1, 100)};
  Rounds queue(10, [](const QueueView& view, QueueAnswer& answer) {
    const double of_90_s = std::fmod(view.now_s, 90);
    if (of_90_s == 30) answer.starts.push_back({.job = 0, .entry = 0});
    if (of_90_s == 20 && view.jobs[0].service.state == JobState::running) answer.preempts.push_back(0);
  });
  CHECK_THROWS_WITH(
      world.run({stepping("a", 0, 100)}, queue),
      Catch::Matchers::Contains("at 270000.000000 s: since 180000.000000 s no job has come, ended or got any further: "
                                "whoever is started is stopped before it gets any further, and 1 wait"));
}

TEST_CASE("a job whose nodes fail before it gets any further ends by its last restart, however many rounds its queue has") {
  // It takes 1500 s, and the only node fails every 1000. Ten thousand rounds are 3000 s, in each of which it is restarted. It may
  // be 20 times.
  World world{.cluster = cluster({{1, 1}})};
  world.nodes.max_restarts = 20;
  for (int i = 1; i <= 25; ++i) world.nodes.measured.push_back({0, 0, 1000.0 * i, 1});
  Rounds queue(0.3, greedy_from(0));
  world.run({rigid("a", 0, 1, 1500)}, queue);
  CHECK(world.keeper.of("a").reason == FailureReason::node_failure);
  CHECK(world.keeper.of("a").end_s == 21000);
}

TEST_CASE("a queue with rounds that waits for nodes which are gone for good: its jobs have failed, as without rounds") {
  World world{.cluster = cluster({{1, 1}})};
  world.cluster.pools[0].prices_usd_per_hour = StepSeries({{0, 3.6}, {10, 36}});
  world.cluster.pools[0].spot = Spot{.bid_usd_per_hour = 10, .warning_s = 0};
  Rounds queue(60, greedy_from(0));
  world.run({rigid("a", 0, 1, 100)}, queue);
  CHECK(world.keeper.of("a").reason == FailureReason::node_failure);
  CHECK(world.keeper.of("a").end_s == 10);
}

TEST_CASE("long waits that end: a job that runs, starts up, or waits for nodes, prices, arrivals and its deadline") {
  // A round a second; everything takes 30,000 of them.
  const double long_s = 30'000;
  SECTION("it runs") {
    World world{.cluster = cluster({{1, 1}})};
    Rounds queue(1, greedy_from(0));
    world.run({rigid("a", 0, 1, long_s)}, queue);
    CHECK(world.keeper.of("a").end_s == long_s);
  }
  SECTION("it starts up") {
    World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = long_s, .checkpoint_s = 0}};
    world.menus.menu.ranked = {choice(0, 1, 100)};
    Rounds queue(1, greedy_from(0));
    world.run({stepping("a", 0, 10)}, queue);
    CHECK(world.keeper.of("a").end_s == long_s + 10);
  }
  SECTION("maintenance") {
    World world{.cluster = cluster({{1, 1}})};
    world.nodes.maintenance = {{.nodes = 1, .start_s = 0, .duration_s = long_s}};
    Rounds queue(1, greedy_from(0));
    world.run({rigid("a", 1, 1, 10)}, queue);
    CHECK(world.keeper.of("a").end_s == long_s + 10);
  }
  SECTION("maintenance that begins after the first rounds") {
    World world{.cluster = cluster({{1, 1}})};
    world.nodes.maintenance = {{.nodes = 1, .start_s = 5000, .duration_s = long_s}};
    Rounds queue(1, greedy_from(5000));
    world.run({rigid("a", 1, 1, 10)}, queue);
    CHECK(world.keeper.of("a").end_s == 5000 + long_s + 10);
  }
  SECTION("a lower price") {
    World world{.cluster = cluster({{1, 1}})};
    world.cluster.pools[0].prices_usd_per_hour = StepSeries({{0, 36}, {long_s, 3.6}});
    Rounds queue(1, greedy_from(long_s));
    world.run({rigid("a", 0, 1, 10)}, queue);
    CHECK(world.keeper.of("a").end_s == long_s + 10);
  }
  SECTION("another job") {
    World world{.cluster = cluster({{1, 2}})};
    Rounds queue(1, greedy_from(long_s));
    world.run({rigid("a", 0, 1, 10), rigid("b", long_s, 2, 1)}, queue);
    CHECK(world.keeper.of("a").end_s == long_s + 10);
  }
  SECTION("its deadline") {
    World world{.cluster = cluster({{1, 1}})};
    Rounds queue(1, nothing());
    Job job = rigid("a", 0, 1, 10);
    job.deadline_s = long_s;
    job.on_deadline = OnDeadline::stop;
    world.run({job}, queue);
    CHECK(world.keeper.of("a").reason == FailureReason::deadline_stop);
  }
}

TEST_CASE("what may still come is waited for through ten million rounds; then the run ends, and says what is missing") {
  // Of the two nodes one is away; 10^7 rounds, the first at 1.
  World world{.cluster = cluster({{2, 1}})};
  world.nodes.maintenance = {{.nodes = 1, .start_s = 0, .duration_s = 1e8}};
  Rounds queue(1, nothing());
  std::string needs = "2 of pool \"pool0\" (1 of 2 free, 1 of 2 nodes away)",
              why = ": too few nodes are there for those that wait, and 1 wait: ";
  int workers = 2;
  SECTION("nodes") {}
  SECTION("nothing") {
    workers = 1;
    needs = "1 of pool \"pool0\" (1 of 2 free, 1 of 2 nodes away)";
    why = ", and 1 wait forever: ";
  }
  CHECK_THROWS_WITH(world.run({rigid("a", 1, workers, 10)}, queue),
                    Catch::Matchers::Contains("at 10000000.000000 s: ") &&
                        Catch::Matchers::EndsWith("got any further" + why + "job \"a\" for " + needs));
}

TEST_CASE("a date that the queue has named and that stands is waited for, unless it is too many decisions away") {
  const auto waits_until = [](double date_s) {
    return [date_s, start = greedy_from(date_s)](const QueueView& view, QueueAnswer& answer) mutable {
      if (view.now_s < date_s) answer.acts_at_s = date_s;
      start(view, answer);
    };
  };
  SECTION("beside rounds that start nobody") {
    World world{.cluster = cluster({{1, 1}})};
    Rounds queue(1, waits_until(30'000));
    world.run({rigid("a", 0, 1, 10)}, queue);
    CHECK(world.keeper.of("a").end_s == 30'010);
  }
  SECTION("as its only wake-up, while nodes slow down and recover about each second") {
    World world{.cluster = cluster({{1, 1}})};
    world.nodes.slow = {.between_s = 1, .lasts_s = 1, .speed = 0.5};
    struct Once final : Queue {
      Rounds::Decide start = greedy_from(30'000);
      void decide(const QueueView& view, QueueAnswer& answer) override {
        start(view, answer);
        if (view.now_s < 30'000) answer.wake_at_s = 30'000;
      }
    } queue;
    world.run({rigid("a", 0, 1, 10)}, queue);
    CHECK(world.keeper.of("a").start_s == 30'000);
  }
  SECTION("the fifteenth of rare dates, while nodes slow down and recover: some 7,000 decisions lie between two") {
    World world{.cluster = cluster({{1, 1}})};
    world.nodes.slow = {.between_s = 1, .lasts_s = 1, .speed = 0.5};
    struct Sevenths final : Queue {
      Rounds::Decide start = greedy_from(98'000);
      void decide(const QueueView& view, QueueAnswer& answer) override {
        start(view, answer);
        if (view.now_s < 98'000) answer.wake_at_s = (std::floor(view.now_s / 7'000) + 1) * 7'000;
      }
    } queue;
    world.run({rigid("a", 0, 1, 10)}, queue);
    CHECK(world.keeper.of("a").start_s == 98'000);
  }
  SECTION("never, as it moves along before it comes") {
    World world{.cluster = cluster({{1, 1}})};
    world.nodes.slow = {.between_s = 1, .lasts_s = 1, .speed = 0.5};
    Rounds queue(7'000, nothing());
    CHECK_THROWS_WITH(world.run({rigid("a", 0, 1, 10)}, queue), Catch::Matchers::Contains("and 1 wait forever"));
  }
  SECTION("in 31 years") {
    // The 20,000th round is at 19,999 s, where 10^9 - 19,999 of them are left.
    World world{.cluster = cluster({{1, 1}})};
    Rounds queue(1, waits_until(1e9));
    CHECK_THROWS_WITH(
        world.run({rigid("a", 0, 1, 10)}, queue),
        "policy \"toy\", queue, at 19999.000000 s: since 9999.000000 s no job has come, ended or got any further: the "
        "queue waits until 1000000000.000000 s, and 1 wait: job \"a\" for 1 of pool \"pool0\" (1 of 1 free, 0 of 1 "
        "nodes away)");
  }
}

TEST_CASE("a queue that is woken for ever after the last job: the run ends") {
  World world{.cluster = cluster({{1, 1}})};
  struct Insomniac final : Queue {
    Greedy inner;
    void decide(const QueueView& view, QueueAnswer& answer) override {
      inner.decide(view, answer);
      answer.wake_at_s = view.now_s + 1;
    }
  } queue;
  CHECK(world.run({rigid("a", 0, 1, 10)}, queue).last_end_s == 10);
}

TEST_CASE("a wake-up in the past is told of the queue, not of a job") {
  World world{.cluster = cluster({{1, 1}})};
  Rounds queue(-5, nothing());
  CHECK_THROWS_WITH(world.run({rigid("a", 100, 1, 10)}, queue),
                    "policy \"toy\", queue, at 100.000000 s: asks to be woken in the past, at 95.000000 s");
}

TEST_CASE("a queue that has itself woken at every tick is told so at once, and one that is woken often is not") {
  // One job for a day; the queue starts it and then asks for the next tick of the grid: 86,400 x 2^20 decisions.
  World world{.cluster = cluster({{1, 1}})};
  Rounds ticks(0x1p-20, greedy_from(0));
  CHECK_THROWS_WITH(
      world.run({rigid("a", 0, 1, 86400)}, ticks),
      Catch::Matchers::Contains("policy \"toy\", queue, at 0.009537 s: has itself woken every 9.54e-07 s, 10000 times"));
  // Between two jobs nobody waits and nobody runs; the wish is the same.
  World between{.cluster = cluster({{1, 1}})};
  class Restless final : public Queue {
    void decide(const QueueView& view, QueueAnswer& answer) override {
      for (const JobSlot slot : view.queued) answer.starts.push_back({.job = slot, .entry = 0});
      answer.wake_at_s = view.now_s + 0x1p-20;
    }
  } restless;
  CHECK_THROWS_WITH(between.run({rigid("a", 0, 1, 1e-3), rigid("b", 3600, 1, 1)}, restless),
                    Catch::Matchers::Contains("has itself woken every 9.54e-07 s"));
  // 20,000 rounds of 0.01 s are many, and are what was asked for.
  World rounds{.cluster = cluster({{1, 1}})};
  Rounds often(0.01, greedy_from(0));
  rounds.run({rigid("a", 0, 1, 200)}, often);
  CHECK(rounds.keeper.of("a").end_s == 200);
}

TEST_CASE("how far a run is is told through the rounds of a job too, not only at its end") {
  World world{.cluster = cluster({{1, 1}})};
  Rounds often(0.01, greedy_from(0));
  std::vector<ReplayProgress> told;
  world.on_progress = [&](const ReplayProgress& progress) { told.push_back(progress); };
  world.run({rigid("a", 0, 1, 350)}, often);
  // 35,000 rounds: after each 10,000, and at the end.
  REQUIRE(told.size() == 4);
  CHECK(told[0].jobs_running == 1);
  CHECK(told[0].allocated_devices == 1);
  CHECK(told[0].devices == 1);
  CHECK(told[2].jobs_ended == 0);
  CHECK(told[0].time_s == Approx(100).margin(0.1));
  CHECK(told[2].time_s == Approx(300).margin(0.1));
  CHECK(told[3].jobs_ended == 1);
}

TEST_CASE("whoever watches sees which question is open, and none between") {
  World world{.cluster = cluster({{1, 1}})};
  AtWork at_work;
  std::vector<std::string> seen;
  std::vector<double> dates;
  Rounds queue(10, [&](const QueueView& view, QueueAnswer& answer) {
    seen.push_back(at_work.decision.load());
    CHECK(at_work.date_s == view.now_s);
    CHECK(at_work.predicted == 0);  // for this question, whatever others had
    at_work.predicted += 3;
    dates.push_back(view.now_s);
    for (const JobSlot slot : view.queued) answer.starts.push_back({.job = slot, .entry = 0});
  });
  world.at_work = &at_work;
  world.run({rigid("a", 0, 1, 25)}, queue);
  CHECK(seen == std::vector<std::string>(dates.size(), "queue"));
  CHECK(dates == std::vector<double>{0, 10, 20, 25});  // rounds, and the job's end; nobody is asked after the last
  CHECK(at_work.decision.load() == nullptr);
  CHECK(at_work.predicted == 0);
  CHECK(at_work.asked >= 4);
}
