#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "report/comparison.hpp"
#include "report/outcome.hpp"
#include "sim/base/random.hpp"
#include "tests/report/outcomes.hpp"

using namespace rehearse::report;
using rehearse::sim::Random;

namespace {

JobOutcome there(double submit_s, double end_s, double alone_s = std::nan(""), double devices = 1) {
  return {.completion_s = end_s - submit_s, .submit_s = submit_s, .alone_s = alone_s, .alone_devices = devices, .finished = true};
}

std::vector<std::uint32_t> by_end(const std::vector<JobOutcome>& jobs) {
  std::vector<std::uint32_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return jobs[a].submit_s + jobs[a].completion_s < jobs[b].submit_s + jobs[b].completion_s;
  });
  return order;
}

RunOutcome run_of(std::vector<JobOutcome> jobs, double devices) {
  RunOutcome outcome{.jobs = std::move(jobs)};
  count_active_jobs(outcome.jobs, by_end(outcome.jobs));
  outcome.metrics.devices = devices;
  return outcome;
}

}  // namespace

TEST_CASE("the mean number of active jobs while each is there") {
  // a [0, 10), b [4, 8), c [8, 20): of a 4 s alone, 4 s with b, 2 s with c: 16/10; of b 2; of c 2 s with a, 10 alone: 14/12.
  std::vector<JobOutcome> jobs{there(0, 10), there(4, 8), there(8, 20)};
  count_active_jobs(jobs, by_end(jobs));
  CHECK(jobs[0].active_jobs == Approx(1.6));
  CHECK(jobs[1].active_jobs == Approx(2));
  CHECK(jobs[2].active_jobs == Approx(14.0 / 12));
  // One that is turned away at its arrival sees who is there, itself included.
  std::vector<JobOutcome> rejected{there(0, 10), there(5, 5)};
  count_active_jobs(rejected, by_end(rejected));
  CHECK(rejected[1].active_jobs == 2);
  CHECK(rejected[0].active_jobs == Approx(1));
}

TEST_CASE("active jobs are what counting them second by second gives") {
  rc::prop("", [](std::uint64_t seed) {
    Random random(seed);
    std::vector<JobOutcome> jobs;
    double submit_s = 0;
    for (std::uint64_t n = 1 + random.below(30); n > 0; --n) {
      submit_s += static_cast<double>(random.below(5));
      jobs.push_back(there(submit_s, submit_s + static_cast<double>(random.below(12))));
    }
    const std::vector<JobOutcome> plain = jobs;
    count_active_jobs(jobs, by_end(jobs));
    for (std::size_t j = 0; j < plain.size(); ++j) {
      if (plain[j].completion_s == 0) continue;
      double job_s = 0;
      for (double t = plain[j].submit_s + 0.5; t < plain[j].submit_s + plain[j].completion_s; ++t)
        job_s += static_cast<double>(std::count_if(plain.begin(), plain.end(), [t](const JobOutcome& other) {
          return other.submit_s < t && t < other.submit_s + other.completion_s;
        }));
      RC_ASSERT(std::abs(jobs[j].active_jobs - job_s / plain[j].completion_s) < 1e-9);
    }
  });
}

TEST_CASE("slowdown is counted against ten seconds at least") {
  CHECK(bounded_slowdown(there(0, 300, 100)) == Approx(3));
  CHECK(bounded_slowdown(there(0, 50, 100)) == Approx(0.5));  // faster than the reference
  CHECK(bounded_slowdown(there(0, 40, 2)) == Approx(4));
  CHECK(std::isnan(bounded_slowdown(there(0, 40))));  // it could not run alone
  JobOutcome failed = there(0, 40, 2);
  failed.finished = false;
  CHECK(std::isnan(bounded_slowdown(failed)));
}

TEST_CASE("finish-time fairness against an equal part of the cluster, by the reference's schedule") {
  // Of 8 devices, with 4 jobs there on average, a part is 2. Alone on its 4 the job takes 100 s, on 2 twice as long; with 1
  // device it asks for less than its part.
  JobOutcome reference;
  reference.active_jobs = 4;
  CHECK(finish_time_rho(there(0, 300, 100, 4), reference, 8) == Approx(1.5));
  CHECK(finish_time_rho(there(0, 300, 100, 1), reference, 8) == Approx(3));
  JobOutcome failed = there(0, 300, 100, 4);
  failed.finished = false;
  CHECK(std::isinf(finish_time_rho(failed, reference, 8)));
  CHECK(std::isnan(finish_time_rho(there(0, 300), reference, 8)));
}

TEST_CASE("two schedules of three jobs by hand") {
  // Reference: a [0, 100), b [0, 200), c [0, 300) on one device of 2: N = (3 x 100) / 100 = 3, (300 + 200) / 200 = 2.5 and
  // (300 + 200 + 100) / 300 = 2. A part is 2/N devices, never more than the 1 that each asks for but for c: T_alone 100 s each
  // becomes 150, 125, 100.
  const RunOutcome reference = run_of({there(0, 100, 100), there(0, 200, 100), there(0, 300, 100)}, 2);
  const ScheduleMetrics own = schedule_metrics(reference, reference);
  CHECK(own.jct_speedup == 1);
  CHECK(own.fairness_rho_worst == Approx(3));          // c: 300 / 100
  CHECK(own.fairness_rho_above_1 == Approx(2.0 / 3));  // a: 100 / 150
  // Another lets a wait and c fail: N stays the reference's.
  RunOutcome other = run_of({there(0, 300, 100), there(0, 100, 100), there(0, 200, 100)}, 2);
  other.jobs[2].finished = false;
  const ScheduleMetrics found = schedule_metrics(other, reference);
  CHECK(found.speedup_jobs == 2);
  CHECK(found.jct_speedup == Approx((100.0 + 200) / (300 + 100)));
  CHECK(found.fairness_jobs == 2);
  CHECK(found.fairness_rho_worst == Approx(2));          // a: 300 / 150
  CHECK(found.fairness_rho_above_1 == Approx(2.0 / 3));  // a, and c, which is never done; b: 100 / 125
}

TEST_CASE("speed-ups are paired, and over repetitions of the mean times that stand beside them") {
  // Means 450 and 75 s: 6. Residuals 100 / 450 - 50 / 75 = -0.4444 and 0.4444: their error, and the interval 6 x e^(+-12.7062 x
  // 0.4444).
  const auto took = [](double s) { return run_of({there(0, s, 10)}, 1); };
  const std::vector<SummaryRow> rows =
      compare({outcomes::policy("slow", {took(100), took(800)}), outcomes::policy("fast", {took(50), took(100)})}, "slow");
  const Estimate speedup = rows[1].of("jct_speedup");
  CHECK(speedup.mean == Approx(6));
  CHECK(speedup.ci95_low == Approx(6 * std::exp(-12.7062047 * 4 / 9)));
  CHECK(speedup.ci95_high == Approx(6 * std::exp(12.7062047 * 4 / 9)));
  CHECK(rows[0].of("jct_speedup").ci95_low == 1);
  // Without the baseline there is nothing to compare with.
  CHECK(std::isnan(
      compare({outcomes::failed("slow", "x"), outcomes::policy("fast", {took(50)})}, "slow")[1].of("jct_speedup").mean));
}
