#include "report/outcome.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "sim/base/errors.hpp"
#include "tests/report/outcomes.hpp"
#include "tests/sim/io/temporary_file.hpp"

using namespace outcomes;
using rehearse::sim::InputError;

TEST_CASE("totals of a run by hand") {
  // Two pools. The first costs 10 $ for 100 device-seconds of which 40 compute, 3 $ idle; the second 30 $, 25 of 100, 9 $ idle.
  // Money-weighted use: (10 x 0.4 + 30 x 0.25) / 40. Of the idle 12 $, the jobs of the second pool were charged its 9.
  rehearse::sim::ReplayTotals totals{.jobs = 3, .finished = 2, .failed = 1, .first_submit_s = 10, .last_end_s = 510};
  totals.pools = {
      {.pool_device_s = 100, .idle_usd = 3, .pool_usd = 10, .idle_energy_j = 3.6e6, .busy_device_s = 40},
      {.pool_device_s = 100, .jobs_usd = 21, .idle_usd = 9, .pool_usd = 30, .idle_energy_j = 7.2e6, .busy_device_s = 25}};
  totals.shared_idle_usd = 9;
  std::vector<JobOutcome> jobs(3);
  jobs[0] = {.accuracy_short = 0.02, .completion_s = 100, .finished = true, .has_target = true, .accuracy_met = true};
  jobs[1] = {.seconds_late = 50, .completion_s = 200, .finished = true, .has_deadline = true};
  jobs[2] = {.completion_s = 1e9, .has_deadline = true, .has_target = true};
  jobs[0].keeps_limits = true;
  const RunMetrics m = run_metrics(totals, jobs,
                                   {.parts = {.compute_usd = 1, .switch_usd = 2, .wait_usd = 3, .lost_usd = 4},
                                    .energy_j = 7.2e6,
                                    .preemptions = 6,
                                    .reconfigurations = 7,
                                    .jobs_infeasible = 2,
                                    .time_errors = {0.1, 0.4, 0.2},
                                    .cost_errors = {0.5, 0.3}});
  CHECK(m.jobs_infeasible == 2);
  CHECK(m.time_error_median == Approx(0.2));  // of 0.1, 0.2, 0.4
  CHECK(m.cost_error_median == Approx(0.4));  // midway between 0.3 and 0.5
  CHECK(m.utilization_fraction == Approx((10 * 0.4 + 30 * 0.25) / 40));
  CHECK(m.idle_cost_usd == Approx(12 - 9));
  CHECK(m.idle_energy_kwh == Approx(3));
  CHECK(m.energy_kwh == Approx(2));
  CHECK(m.makespan_s == 500);
  CHECK(m.jct_mean_s == 150);  // of the two that finished
  // The third is never done: half are within the 200 s of the second, no more.
  CHECK(m.jct_p50_s == 200);
  CHECK(std::isinf(m.jct_p95_s));
  CHECK(m.deadline_met_fraction == 0);    // of two
  CHECK(m.accuracy_met_fraction == 0.5);  // of two
  CHECK(m.seconds_late_mean == Approx(25));
  CHECK(m.accuracy_short_mean == Approx(0.01));
  CHECK(m.limits_broken == 2);
  CHECK(m.cost_switch_usd == 2);
  CHECK(m.preemptions == 6);
  CHECK(m.reconfigurations == 7);
  const RunMetrics nothing = run_metrics({}, {}, {});
  CHECK(std::isnan(nothing.jct_mean_s));
  CHECK(std::isnan(nothing.deadline_met_fraction));
  CHECK(std::isnan(nothing.utilization_fraction));
  CHECK(nothing.cost_usd == 0);
}

TEST_CASE("metrics of queues and of nodes by hand") {
  // While work waited, devices at 1 and at 3 dollars: 10 of 20 and 30 of 60 dollars of them computed.
  rehearse::sim::ReplayTotals totals{.jobs = 4, .last_end_s = 100};
  totals.pools = {{.waiting_busy_usd = 10, .waiting_pool_usd = 20}, {.waiting_busy_usd = 45, .waiting_pool_usd = 60}};
  std::vector<JobOutcome> jobs(4);
  jobs[0] = {.completion_s = 30, .alone_s = 20, .finished = true};
  jobs[1] = {.completion_s = 100, .alone_s = 200, .finished = true};
  jobs[2] = {.completion_s = 50, .finished = true};  // could not run alone
  jobs[3] = {.completion_s = 5};
  const RunMetrics m = run_metrics(totals, jobs,
                                   {.held_device_s = 7200,
                                    .devices = {.train_device_s = 5400, .lost_device_s = 1080, .checkpoint_device_s = 360},
                                    .checkpoint_usd = 0.5,
                                    .checkpoints = 7,
                                    .restarts = 2,
                                    .waiting_s = 60,
                                    .preemption_s = 40,
                                    .jobs_rejected = 1});
  CHECK(m.utilization_waiting_fraction == Approx(55.0 / 80));
  CHECK(m.jct_mean_s == 60);  // of three
  CHECK(m.jct_p50_s == 75);   // of 30, 50, 100, never: between the middle two
  CHECK(std::isinf(m.jct_p99_s));
  CHECK(m.waiting_mean_s == 20);  // 60 s over three
  CHECK(m.slowdown_jobs == 2);
  CHECK(m.bounded_slowdown_mean == Approx((1.5 + 0.5) / 2));
  CHECK(m.goodput_fraction == Approx(0.75));
  CHECK(m.lost_device_h == Approx(0.3));
  CHECK(m.checkpoint_device_h == Approx(0.1));
  CHECK(m.cost_checkpoint_usd == 0.5);
  CHECK(m.checkpoints == 7);
  CHECK(m.restarts == 2);
  CHECK(m.preemption_s == 40);
  CHECK(m.jobs_rejected == 1);
  const RunMetrics nothing = run_metrics({}, {}, {});
  CHECK(std::isnan(nothing.utilization_waiting_fraction));
  CHECK(std::isnan(nothing.bounded_slowdown_mean));
  CHECK(std::isnan(nothing.goodput_fraction));
}

TEST_CASE("idle money that jobs were charged for leaves nothing over, not even what rounding makes of it") {
  // 0.3 $ charged to three jobs: 0.1 + 0.1 + 0.1 is more than 0.3.
  rehearse::sim::ReplayTotals totals;
  totals.pools = {{.jobs_usd = 1, .idle_usd = 0.3, .pool_usd = 1.3}};
  totals.shared_idle_usd = 0.1 + 0.1 + 0.1;
  REQUIRE(totals.shared_idle_usd > 0.3);
  CHECK(run_metrics(totals, {}, {}).idle_cost_usd == 0);
}

TEST_CASE("an outcome comes back from its file as it was") {
  RunOutcome before = run({{4}, {2, 3, 0.25}});
  before.jobs[1].finished = false;
  before.metrics.accuracy_met_fraction = std::nan("");
  const TemporaryFile file("");
  write_outcome(file.path(), before);
  const RunOutcome after = read_outcome(file.path());
  REQUIRE(after.jobs.size() == 2);
  CHECK(after.jobs[1].cost_usd == 2);
  CHECK(after.jobs[1].effective_cost_usd == 5);
  CHECK(after.jobs[1].profiling_usd == 0.25);
  CHECK(after.jobs[1].seconds_late == 30);
  CHECK_FALSE(after.jobs[1].finished);
  CHECK(after.jobs[0].finished);
  CHECK(after.jobs[0].keeps_limits);
  CHECK_FALSE(after.jobs[1].keeps_limits);
  CHECK(after.metrics.cost_usd == before.metrics.cost_usd);
  CHECK(after.metrics.jct_p95_s == before.metrics.jct_p95_s);
  CHECK(std::isnan(after.metrics.accuracy_met_fraction));
  write_outcome(file.path(), {});
  CHECK(read_outcome(file.path()).jobs.empty());
}

TEST_CASE("an outcome that is not whole is refused") {
  CHECK_THROWS_AS(write_outcome("/no/such/folder/outcome", {}), InputError);
  CHECK_THROWS_AS(write_outcome("/dev/full", run({{1}})), InputError);
  CHECK_THROWS_AS(read_outcome("/no/such/outcome"), InputError);
  const TemporaryFile file("");
  CHECK_THROWS_AS(read_outcome(file.path()), InputError);
  write_outcome(file.path(), run({{1}, {2}, {3}}));
  const auto size = std::filesystem::file_size(file.path());
  for (const auto cut : {size - 1, size / 2, std::uintmax_t{8}}) {
    std::filesystem::resize_file(file.path(), cut);
    CHECK_THROWS_AS(read_outcome(file.path()), InputError);
  }
}
