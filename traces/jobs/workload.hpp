// What a trace asks of a cluster: counted job by job, in memory that grows with the trace's hours, sizes and users, not its jobs.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "traces/jobs/log_histogram.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

class Workload {
 public:
  void add(const TraceJob& job);

  std::int64_t jobs() const { return jobs_; }
  double first_s() const { return first_s_; }
  double last_s() const { return last_s_; }
  double span_s() const { return last_s_ - first_s_; }
  /// GPU-seconds of all jobs with a duration, over the span: the GPUs that would be busy if no job waited. 0 without a span.
  double mean_load_gpus() const { return span_s() > 0 ? gpu_seconds_ / span_s() : 0; }
  double gpu_seconds() const { return gpu_seconds_; }

  const LogHistogram& durations() const { return durations_; }
  /// Durations by the number of GPUs, of jobs that have both.
  const std::map<int, LogHistogram>& by_gpus() const { return by_gpus_; }
  /// Submissions by hours since 0; hours without any are missing.
  const std::map<std::int64_t, std::int64_t>& hours() const { return hours_; }
  const std::map<std::string, std::int64_t>& users() const { return users_; }
  const std::map<std::string, std::int64_t>& models() const { return models_; }
  const std::map<std::string, std::int64_t>& statuses() const { return statuses_; }

  /// Submissions in each hour from the first to the last, those without any too: mean, and variance over mean, which is 1 for a
  /// Poisson process.
  struct Arrivals {
    double mean = 0, dispersion = 0, most = 0;
  };
  Arrivals arrivals() const;

 private:
  std::int64_t jobs_ = 0;
  double first_s_ = std::numeric_limits<double>::infinity(), last_s_ = -first_s_;
  double gpu_seconds_ = 0;
  LogHistogram durations_;
  std::map<int, LogHistogram> by_gpus_;
  std::map<std::int64_t, std::int64_t> hours_;
  std::map<std::string, std::int64_t> users_, models_, statuses_;
};

/// For the terminal: a paragraph of figures, and a table of sizes.
std::string to_string(const Workload& workload);

}  // namespace rehearse::traces
