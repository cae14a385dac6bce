#include "report/outcome.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

#include "report/statistics.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/memory.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/units.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::report {

using sim::kNan;

namespace {

double fraction(double part, double whole) { return whole > 0 ? part / whole : kNan; }

/// sim::quantile, without sorting all of them: that took longer than all else here.
double selected_quantile(std::vector<double>& values, double p) {
  if (values.empty()) return kNan;
  const double at = p * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), below, values.end());
  const double part = at - std::floor(at);
  if (part == 0) return *below;
  const double high = *std::min_element(below + 1, values.end());
  return *below == high ? high : *below + part * (high - *below);
}

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

[[noreturn]] void fail(const std::string& path) {
  throw sim::InputError({.file = path, .expected = "a whole outcome of a run", .found = std::strerror(errno)});
}

constexpr double kEqual = 1e-6;  // relative: rounding is no unfairness

}  // namespace

RunMetrics run_metrics(const sim::ReplayTotals& totals, const std::vector<JobOutcome>& jobs, RunSums sums) {
  RunMetrics m;
  double deadlines = 0, deadlines_met = 0, targets = 0, targets_met = 0;
  std::vector<double> completion_s;
  completion_s.reserve(jobs.size());
  for (const JobOutcome& job : jobs) {
    m.cost_usd += job.cost_usd + job.profiling_usd;
    m.marginal_cost_usd += job.marginal_cost_usd + job.profiling_usd;
    m.effective_cost_usd += job.effective_cost_usd + job.profiling_usd;
    m.profiling_cost_usd += job.profiling_usd;
    deadlines += job.has_deadline;
    deadlines_met += job.has_deadline && job.deadline_met;
    targets += job.has_target;
    targets_met += job.has_target && job.accuracy_met;
    m.seconds_late_mean += job.seconds_late;
    m.accuracy_short_mean += job.accuracy_short;
    m.limits_broken += !job.keeps_limits;
    if (!job.finished) continue;
    completion_s.push_back(job.completion_s);
    if (const double slowdown = bounded_slowdown(job); !std::isnan(slowdown)) {
      m.bounded_slowdown_mean += slowdown;
      ++m.slowdown_jobs;
    }
  }
  m.jobs = static_cast<double>(jobs.size());
  m.jobs_completed = static_cast<double>(completion_s.size());
  m.jobs_failed = m.jobs - m.jobs_completed;
  m.deadline_met_fraction = fraction(deadlines_met, deadlines);
  m.accuracy_met_fraction = fraction(targets_met, targets);
  m.seconds_late_mean = fraction(m.seconds_late_mean, deadlines);
  m.accuracy_short_mean = fraction(m.accuracy_short_mean, targets);
  m.cost_compute_usd = sums.parts.compute_usd;
  m.cost_switch_usd = sums.parts.switch_usd;
  m.cost_wait_usd = sums.parts.wait_usd;
  m.cost_lost_usd = sums.parts.lost_usd;
  m.energy_kwh = sums.energy_j / sim::kJoulesPerKwh;
  m.co2_kg = jobs.empty() ? kNan : sums.co2_kg;
  double idle_co2_kg = 0;
  double idle_usd = 0, busy_usd = 0, pool_usd = 0, waiting_busy_usd = 0, waiting_pool_usd = 0;
  const bool is_shared_out = totals.shared_idle_usd > 0;
  for (const sim::PoolTotals& pool : totals.pools) {
    // Left out rather than subtracted: what is shared out, summed over jobs, differs from it by rounding.
    if (!is_shared_out || pool.jobs_usd == 0) idle_usd += pool.idle_usd;
    pool_usd += pool.pool_usd;
    if (pool.pool_device_s > 0) busy_usd += pool.pool_usd * (pool.busy_device_s / pool.pool_device_s);
    waiting_busy_usd += pool.waiting_busy_usd;
    waiting_pool_usd += pool.waiting_pool_usd;
    m.idle_energy_kwh += pool.idle_energy_j / sim::kJoulesPerKwh;
    idle_co2_kg += pool.idle_co2_kg;
  }
  if (!std::isnan(m.co2_kg)) m.idle_co2_kg = idle_co2_kg;
  m.idle_cost_usd = idle_usd;
  m.utilization_fraction = fraction(busy_usd, pool_usd);
  m.utilization_waiting_fraction = fraction(waiting_busy_usd, waiting_pool_usd);
  m.bounded_slowdown_mean = fraction(m.bounded_slowdown_mean, m.slowdown_jobs);
  m.waiting_mean_s = fraction(sums.waiting_s, m.jobs_completed);
  m.jct_mean_s = mean(completion_s);
  completion_s.resize(jobs.size(), std::numeric_limits<double>::infinity());
  m.jct_p50_s = selected_quantile(completion_s, 0.5);
  m.jct_p95_s = selected_quantile(completion_s, 0.95);
  m.jct_p99_s = selected_quantile(completion_s, 0.99);
  m.makespan_s = totals.last_end_s - totals.first_submit_s;
  m.preemptions = sums.preemptions;
  m.preemption_s = sums.preemption_s;
  m.jobs_rejected = sums.jobs_rejected;
  m.goodput_fraction = fraction(sums.devices.train_device_s, sums.held_device_s);
  m.lost_device_h = sums.devices.lost_device_s / sim::kSecondsPerHour;
  m.checkpoint_device_h = sums.devices.checkpoint_device_s / sim::kSecondsPerHour;
  m.cost_checkpoint_usd = sums.checkpoint_usd;
  m.checkpoints = sums.checkpoints;
  m.restarts = sums.restarts;
  m.reconfigurations = sums.reconfigurations;
  m.jobs_infeasible = sums.jobs_infeasible;
  m.time_error_median = quantile(std::move(sums.time_errors), 0.5);
  m.cost_error_median = quantile(std::move(sums.cost_errors), 0.5);
  m.decision_time_s = totals.decision_s;
  return m;
}

void write_outcome(const std::string& path, const RunOutcome& outcome) {
  const std::uint64_t count = outcome.jobs.size();
  auto file = sim::OutputFile::in_place(path);
  const auto add = [&](const void* from, std::size_t bytes) { file.write({static_cast<const char*>(from), bytes}); };
  add(&outcome.metrics, sizeof outcome.metrics);
  add(&count, sizeof count);
  if (count > 0) add(outcome.jobs.data(), count * sizeof(JobOutcome));
  file.close();
}

RunOutcome read_outcome(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  RunOutcome outcome;
  std::uint64_t count = 0;
  if (!file || std::fread(&outcome.metrics, sizeof outcome.metrics, 1, file.get()) != 1 ||
      std::fread(&count, sizeof count, 1, file.get()) != 1)
    fail(path);
  sim::reserve_table(outcome.jobs, count);
  outcome.jobs.resize(count);
  if (count > 0 && std::fread(outcome.jobs.data(), sizeof(JobOutcome), count, file.get()) != count) fail(path);
  return outcome;
}

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
          .both_mean_s = mine_s / both,
          .reference_both_mean_s = theirs_s / both,
          .fairness_rho_worst = worst,
          .fairness_rho_above_1 = rhos > 0 ? above_1 / rhos : kNan,
          .fairness_jobs = finished};
}

}  // namespace rehearse::report
