#include "report/schedule_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::report {

using sim::kNan;

namespace {

constexpr double kEqual = 1e-6;  // relative: rounding is no unfairness

}  // namespace

void count_active_jobs(std::span<JobOutcome> jobs, std::span<const std::uint32_t> by_end) {
  const auto end_s = [&](std::uint32_t job) { return jobs[job].submit_s + jobs[job].completion_s; };
  // Job-seconds of all jobs up to a date, which moves from event to event.
  double job_s = 0, date_s = jobs.empty() ? 0 : jobs.front().submit_s;
  std::size_t submitted = 0, ended = 0;
  const auto move_to = [&](double to_s) {
    job_s += static_cast<double>(submitted - ended) * (to_s - date_s);
    date_s = to_s;
  };
  while (ended < by_end.size()) {
    const std::uint32_t next_end = by_end[ended];
    // A job that ends where it is submitted is submitted first.
    if (submitted < jobs.size() && (jobs[submitted].submit_s <= end_s(next_end) || submitted <= next_end)) {
      move_to(std::max(date_s, jobs[submitted].submit_s));
      jobs[submitted++].active_jobs = job_s;  // until its end is known
      continue;
    }
    move_to(std::max(date_s, end_s(next_end)));
    JobOutcome& job = jobs[next_end];
    const double there_s = job.completion_s;
    // Rounding of long sums aside, a job is never without itself.
    job.active_jobs = there_s > 0 ? std::max(1.0, (job_s - job.active_jobs) / there_s) : static_cast<double>(submitted - ended);
    ++ended;
  }
}

double bounded_slowdown(const JobOutcome& job) {
  if (!job.finished || std::isnan(job.alone_s)) return kNan;
  return job.completion_s / std::max(kSlowdownBound_s, job.alone_s);
}

double finish_time_rho(const JobOutcome& job, const JobOutcome& in_reference, double devices) {
  if (!(job.alone_s > 0)) return kNan;
  if (!job.finished) return std::numeric_limits<double>::infinity();
  const double part = devices / in_reference.active_jobs;
  return job.completion_s / (job.alone_s * std::max(1.0, job.alone_devices / part));
}

ScheduleMetrics schedule_metrics(const RunOutcome& run, const RunOutcome& reference) {
  sim::check(run.jobs.size() == reference.jobs.size(), "policies did not get the same jobs");
  double mine_s = 0, theirs_s = 0, both = 0, rhos = 0, above_1 = 0, finished = 0, worst = kNan;
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    const JobOutcome &mine = run.jobs[j], &theirs = reference.jobs[j];
    if (mine.finished && theirs.finished) {
      ++both;
      mine_s += mine.completion_s;
      theirs_s += theirs.completion_s;
    }
    const double rho = finish_time_rho(mine, theirs, run.metrics.devices);
    if (std::isnan(rho)) continue;
    ++rhos;
    above_1 += rho > 1 + kEqual;
    if (std::isinf(rho)) continue;
    ++finished;
    worst = std::isnan(worst) ? rho : std::max(worst, rho);
  }
  return {.jct_speedup = mine_s > 0 && theirs_s > 0 ? theirs_s / mine_s : kNan,
          .speedup_jobs = both,
          .fairness_rho_worst = worst,
          .fairness_rho_above_1 = rhos > 0 ? above_1 / rhos : kNan,
          .fairness_jobs = finished};
}

}  // namespace rehearse::report
