// What a schedule means for the jobs in it: how many there are at a time, slowdown, speed-up, finish-time fairness.
#pragma once

#include <span>
#include <vector>

#include "report/outcome.hpp"

namespace rehearse::report {

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
  double jct_speedup;           ///< the baseline's mean completion time over this one's, of the jobs that both finish
  double speedup_jobs;          ///< those
  double fairness_rho_worst;    ///< of the jobs that finish
  double fairness_rho_above_1;  ///< share of the jobs that could run alone; those that never finish are above 1
  double fairness_jobs;         ///< that finish and could run alone
};
ScheduleMetrics schedule_metrics(const RunOutcome& run, const RunOutcome& reference);

}  // namespace rehearse::report
