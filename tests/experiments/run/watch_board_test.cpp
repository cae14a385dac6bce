#include <catch2/catch.hpp>

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
