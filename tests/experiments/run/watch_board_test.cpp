#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>

#include "experiments/run/progress.hpp"

using namespace rehearse;
using scenarios::board_text;
using scenarios::WatchedRun;

TEST_CASE("the board by hand: runs under way first, what it cost so far, and no more lines than fit") {
  // Two of three days; 30 of 60 jobs ended: 8 of 16 marks; 5 of 10 devices: 5 of 10 marks.
  WatchedRun waiting{.name = "oracle", .progress = {}};
  WatchedRun ended{.name = "manual",
                   .progress = {.jobs_ended = 60, .time_s = 86400, .devices = 10, .jobs_usd = 12.5},
                   .told = true,
                   .ended = true};
  WatchedRun running{.name = "static-isotonic",
                     .progress = {.jobs_ended = 30,
                                  .jobs_waiting = 4,
                                  .jobs_running = 3,
                                  .time_s = 172800,
                                  .allocated_devices = 5,
                                  .devices = 10,
                                  .jobs_usd = 7.25},
                     .told = true};
  CHECK(board_text({waiting, ended, running}, 60, 9) ==
        "run               simulated  jobs ended                         waiting  running  devices held               cost so "
        "far, $\n"
        "static-isotonic      2.00 d  [########        ]      30/60            4        3  [#####     ]      5/10               "
        "7.25\n"
        "manual               1.00 d  [################]      60/60            0        0  [          ]      0/10              "
        "12.50  ended\n"
        "oracle           waits\n");
  const std::string two = board_text({waiting, ended, running}, 60, 2);
  CHECK(two.find("manual") != std::string::npos);
  CHECK(two.find("oracle") == std::string::npos);
  CHECK(two.ends_with("and 1 more\n"));
}

TEST_CASE("what is under way says how far its simulated time is") {
  CHECK(scenarios::under_way_text("fifo 3", std::nan(""), 0) == "fifo 3");
  CHECK(scenarios::under_way_text("fifo 3", 129600, 0) == "fifo 3 at day 1.5");
  CHECK(scenarios::under_way_text("fifo 3", 0, 2) == "fifo 3 at day 0 and 2 more");
}

TEST_CASE("progress says what, done of total, elapsed and left") {
  const scenarios::ProgressState half{.what = "fifo 3", .one_done = "run", .done = 12, .total = 40, .part = 0.415};
  CHECK(scenarios::progress_text(half, 12, {.seconds = 17.2}, true) ==
        "[########            ]  41 %  12 of 40 runs, 12 s, about 17 s left: fifo 3");
  CHECK(scenarios::progress_text(half, 750, {}, false) == "12 of 40 runs (41 %), 12.5 min: fifo 3");
  CHECK(scenarios::progress_text({.one_done = "job", .done = 4970, .total = 10000, .part = 0.497}, 60, {.seconds = 60.7},
                                 false) == "4,970 of 10,000 jobs (49 %), 60 s, about 61 s left");
  CHECK(scenarios::progress_text(half, 750, {.seconds = 12, .is_least = true}, false) ==
        "12 of 40 runs (41 %), 12.5 min, at least 12 s left: fifo 3");
}

TEST_CASE("what is left is reckoned for each policy by itself") {
  // Two policies of four repetitions with ten jobs, two at once; the second takes ten times as long.
  scenarios::TimeEstimate estimate({.kinds = {0, 0, 0, 0, 1, 1, 1, 1}, .parts_a_task = 10, .at_once = 2, .begun_s = 100});
  CHECK(std::isnan(estimate.left().seconds));
  estimate.ended(0, 101);
  estimate.ended(1, 101);
  // 2 s of work for 20 jobs: 20 more of the same take 2 s, two at once 1 s; of the other nothing is known.
  CHECK(estimate.left().seconds == Approx(1));
  CHECK(estimate.left().is_least);
  estimate.ended(2, 102);
  estimate.ended(3, 102);
  estimate.update(4, 1, 103);
  estimate.update(5, 1, 103);
  // 2 s for 2 jobs of the second: 38 are left, two at once 19 s. All runs together would have said (3 s / 42 parts) x 38 = 2.7 s.
  CHECK(estimate.left().seconds == Approx(19));
  CHECK_FALSE(estimate.left().is_least);
  estimate.ended(4, 112);
  estimate.ended(5, 112);
  estimate.ended(6, 122);
  // 1 s a job still: the last run of 10 jobs is alone and has taken all that time beside it.
  CHECK(estimate.left().seconds == Approx(40.0 / 30 * 10));
}

TEST_CASE("what an earlier start has done says nothing of how fast this one is") {
  scenarios::TimeEstimate estimate({.kinds = {0, 0, 0}, .parts_a_task = 4, .at_once = 1, .begun_s = 0});
  estimate.kept(0);
  estimate.update(1, 2, 6);  // 3 s a part: 6 parts more
  CHECK(estimate.left().seconds == Approx(18));
}

namespace {

/// All that a line says, at these seconds and parts.
std::string shown(bool terminal, const std::vector<std::pair<double, double>>& calls) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const file = open_memstream(&text, &size);
  double now_s = 0;
  {
    scenarios::ProgressLine line(file, terminal, [&] { return now_s; });
    for (const auto& [at_s, part] : calls) {
      now_s = at_s;
      line.show({.one_done = "run", .done = 10 * part, .total = 10, .part = part});
    }
  }
  std::fclose(file);
  const std::string said(text, size);
  std::free(text);
  return said;
}

}  // namespace

TEST_CASE("where there is no terminal progress is plain lines, one in half a minute") {
  // 30 s for 0.3 less the 0.1 that was there: 0.7 more take 105 s.
  CHECK(shown(false, {{0, 0.1}, {10, 0.2}, {30, 0.3}, {31, 0.4}, {60, 0.6}}) ==
        "3 of 10 runs (30 %), 30 s, about 105 s left\n6 of 10 runs (60 %), 60 s, about 48 s left\n");
  CHECK(shown(false, {{0, 0.1}, {29, 0.9}}).empty());
}

TEST_CASE("on a terminal progress is one line that is drawn over and cleared at the end") {
  const std::string said = shown(true, {{0, 0}, {0.5, 0.1}, {1, 0.5}, {1.05, 0.6}, {2, 0.8}});
  CHECK(said ==
        "\r[##########          ]  50 %  5 of 10 runs, 1 s, about 1 s left\x1b[K"
        "\r[################    ]  80 %  8 of 10 runs, 2 s, about 1 s left\x1b[K"
        "\r\x1b[K");
}

TEST_CASE("an answer that takes long is told of, again after twice as long, and only while it is the same") {
  double now_s = 0;
  std::vector<std::string> told;
  scenarios::SlowAnswers slow({.tasks = 2,
                               .after_s = 30,
                               .name = [](std::size_t task) { return task == 0 ? "policy \"quick\"" : "policy \"slow\""; },
                               .tell = [&](const std::string& text) { told.push_back(text); },
                               .clock = [&] { return now_s; }});
  const auto ask = [&](std::size_t task, const char* decision, double date_s) {
    slow.of(task)->date_s = date_s;
    slow.of(task)->decision = decision;
    ++slow.of(task)->asked;
  };
  ask(1, "queue", 12.5);
  for (; now_s < 100; now_s += 1) {
    ask(0, "configure", now_s);  // another question each second
    if (now_s > 30 && now_s <= 50) ++slow.of(1)->predicted;
    slow.look();
  }
  // Seen at 0 s: due after 30 and after 60 s.
  REQUIRE(told.size() == 2);
  CHECK(told[0] == "policy \"slow\" has been at one answer for 30 s: queue, at 12.500000 s of simulated time");
  CHECK(told[1] ==
        "policy \"slow\" has been at one answer for 60 s: queue (20 configurations predicted so far), at 12.500000 s of "
        "simulated time");
  slow.of(1)->decision = nullptr;
  slow.of(0)->decision = nullptr;
  for (; now_s < 300; now_s += 1) slow.look();
  CHECK(told.size() == 2);
}
