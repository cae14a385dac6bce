// What one run (a policy in one repetition) hands to the comparison: an outcome for each job, totals, and what a schedule means
// for its jobs.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/replay/records.hpp"

namespace rehearse::report {

// What one run (a policy in one repetition) hands to the comparison: an outcome for each job, and totals.

/// Only jobs that were submitted in [warmup_s, until_s) count.
struct MeasureWindow {
  double warmup_s = 0;
  double until_s = std::numeric_limits<double>::infinity();
  bool has(double submit_s) const { return submit_s >= warmup_s && submit_s < until_s; }
};

/// One job under one policy; the comparison pairs them by number across policies. Plain bytes in a file between processes.
struct JobOutcome {
  double cost_usd = 0;           ///< its share of the bill
  double marginal_cost_usd = 0;  ///< what the bill would be less without it
  double effective_cost_usd =
      0;                      ///< what policies are compared by; NaN: it broke a limit, and manual's configuration fits nowhere
  double profiling_usd = 0;   ///< its share of what was spent on profiling its model
  double seconds_late = 0;    ///< 0 when in time or without a deadline
  double accuracy_short = 0;  ///< below the target, 0 when reached or without one
  double completion_s = 0;    ///< end - submit
  double submit_s = 0;
  /// The job alone, under the one reference configuration of all policies: seconds, and devices that it takes. NaN: it cannot
  /// run.
  double alone_s = std::numeric_limits<double>::quiet_NaN(), alone_devices = 0;
  double active_jobs = 1;  ///< mean number of them, itself included, while it is there
  double batch_size = 0;   ///< with which it ran last, as are the next two; 0: none
  int pool = -1;           ///< -1: it never started
  int workers = 0;
  bool finished = false;
  bool has_deadline = false, deadline_met = false;
  bool has_target = false, accuracy_met = false;
  bool keeps_limits = false;
};

/// Totals of one run. NaN: undefined (no job has such a limit, no job finished). Completion times of jobs that failed are
/// censored: a quantile that lies among them is infinite.
struct RunMetrics {
  double jobs = 0, jobs_completed = 0, jobs_failed = 0;
  double cost_usd = 0, marginal_cost_usd = 0, profiling_cost_usd = 0, idle_cost_usd = 0;
  double effective_cost_usd = 0;  ///< NaN where a job's is
  double cost_compute_usd = 0, cost_switch_usd = 0, cost_wait_usd = 0, cost_lost_usd = 0;
  double deadline_met_fraction = 0, accuracy_met_fraction = 0;
  double energy_kwh = 0, idle_energy_kwh = 0;
  double jct_mean_s = 0, jct_p95_s = 0, makespan_s = 0;
  double utilization_fraction = 0;
  double seconds_late_mean = 0, accuracy_short_mean = 0;
  double reconfigurations = 0, preemptions = 0, limits_broken = 0;
  /// Median of |predicted / actual - 1| over finished jobs that were configured, for time from start to end and for money.
  double time_error_median = 0, cost_error_median = 0;
  double jobs_infeasible = 0;  ///< for which the policy predicted no configuration to keep the limits
  double co2_kg = std::numeric_limits<double>::quiet_NaN(), idle_co2_kg = co2_kg;  ///< NaN: no carbon intensity is known
  bool measured = false;  ///< in a MeasureWindow; else the next two are not set
  /// From the first job on that MSER-5 keeps (report/statistics.hpp): its submission, and the mean completion time.
  double steady_from_s = std::numeric_limits<double>::quiet_NaN(), jct_steady_mean_s = steady_from_s;
  double jct_p50_s = 0, jct_p99_s = 0;
  double waiting_mean_s = 0;
  double bounded_slowdown_mean = 0, slowdown_jobs = 0;
  double preemption_s = 0, utilization_waiting_fraction = 0, jobs_rejected = 0;
  double goodput_fraction = 0, lost_device_h = 0, checkpoints = 0, checkpoint_device_h = 0, cost_checkpoint_usd = 0;
  double restarts = 0;
  double step_evaluations = 0;  ///< RepetitionRow
  double devices = 0;           ///< of the cluster
  double decision_time_s = 0;   ///< wall-clock seconds of the policy; goes to timing.json
};

struct RunOutcome {
  RunMetrics metrics;
  std::vector<JobOutcome> jobs;  ///< by number of arrival
};

/// What a recorder sums over jobs beside their outcomes.
struct RunSums {
  sim::CostParts parts;
  double energy_j = 0, co2_kg = 0;
  double held_device_s = 0;
  sim::DeviceParts devices;
  double checkpoint_usd = 0, checkpoints = 0, restarts = 0;
  double waiting_s = 0;  ///< of the jobs that finished
  double preemption_s = 0, jobs_rejected = 0;
  double preemptions = 0, reconfigurations = 0, jobs_infeasible = 0;
  std::vector<double> time_errors, cost_errors;  ///< |predicted / actual - 1|
};

/// From the totals of a replay and the outcomes of the jobs that count.
RunMetrics run_metrics(const sim::ReplayTotals& totals, const std::vector<JobOutcome>& jobs, RunSums sums);

/// Between a run's process and the parent. Throws InputError when the file cannot be written or read.
void write_outcome(const std::string& path, const RunOutcome& outcome);
RunOutcome read_outcome(const std::string& path);

// What a schedule means for the jobs in it: how many there are at a time, slowdown, speed-up, finish-time fairness.

/// Shortest run time that slowdowns are counted against (Feitelson et al., JSSPP 1997).
inline constexpr double kSlowdownBound_s = 10;

/// Writes down of each job the mean number of active jobs (submitted and not ended, itself included) between its submission and
/// its end. `by_end`: the jobs' indices by the date of their ends. Jobs are in order of submission. Linear in their number.
void count_active_jobs(std::span<JobOutcome> jobs, std::span<const std::uint32_t> by_end);

/// Completion time over the larger of kSlowdownBound_s and the run time alone, of the job's reference configuration. NaN unless
/// it has finished and could run there.
double bounded_slowdown(const JobOutcome& job);

/// Completion time over what the job would take alone on 1/N of the cluster's `devices`, N the mean number of active jobs during
/// the job in the reference schedule (Mahajan et al., NSDI 2020, section 3.1). With fewer devices than it asks for it takes as
/// many times longer. Infinite when it never finishes, NaN when it could not run alone.
double finish_time_rho(const JobOutcome& job, const JobOutcome& in_reference, double devices);

/// What needs another policy's schedule of the same jobs. NaN: over no jobs.
struct ScheduleMetrics {
  double jct_speedup;   ///< the baseline's mean completion time over this one's, of the jobs that both finish
  double speedup_jobs;  ///< those
  double both_mean_s, reference_both_mean_s;  ///< their mean completion times under either
  double fairness_rho_worst;                  ///< of the jobs that finish
  double fairness_rho_above_1;                ///< share of the jobs that could run alone; those that never finish are above 1
  double fairness_jobs;                       ///< that finish and could run alone
};
ScheduleMetrics schedule_metrics(const RunOutcome& run, const RunOutcome& reference);

}  // namespace rehearse::report
