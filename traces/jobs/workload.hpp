// How often values of which size occurred, in memory that does not grow with their number: bins 2 % wide, so that every quantile
// is within 1 % (Masson, Rim, Lee: "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with Relative-Error Guarantees", VLDB
// 2019).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

class LogHistogram {
 public:
  struct Bin {
    std::int64_t count = 0;
    double least = 0, most = 0;  ///< of the values in it
    /// The value that more than half of them have, if there is one, and by how many it outvotes the others at least (Boyer,
    /// Moore: "MJRTY: A Fast Majority Vote Algorithm", 1991).
    double common = 0;
    std::int64_t votes = 0;
  };

  /// `value` above 0.
  void add(double value) {
    Bin& bin = bins_[index(value)];
    bin.least = bin.count == 0 ? value : std::min(bin.least, value);
    bin.most = std::max(bin.most, value);
    if (bin.votes == 0) bin.common = value;
    bin.votes += value == bin.common ? 1 : -1;
    ++bin.count;
    ++count_;
    sum_ += value;
  }

  std::int64_t count() const { return count_; }
  double sum() const { return sum_; }
  double mean() const { return sum_ / static_cast<double>(count_); }

  /// The smallest value that at least this part of them does not exceed, within 1 %; 0 for an empty histogram.
  double quantile(double part) const {
    double below = 0;
    for (const auto& [index, bin] : bins_) {
      below += static_cast<double>(bin.count);
      if (below >= part * static_cast<double>(count_)) return std::sqrt(bin.least * bin.most);
    }
    return 0;
  }

  /// By size; a bin's index tells its edges.
  const std::map<int, Bin>& bins() const { return bins_; }
  static double lower_edge(int index) { return std::exp(index * kWidth); }
  static double upper_edge(int index) { return std::exp((index + 1) * kWidth); }

 private:
  static constexpr double kWidth = 0.02;
  static int index(double value) { return static_cast<int>(std::floor(std::log(value) / kWidth)); }

  std::map<int, Bin> bins_;
  std::int64_t count_ = 0;
  double sum_ = 0;
};

// What a trace asks of a cluster: counted job by job, in memory that grows with the trace's hours, sizes and users, not its jobs.

class Workload {
 public:
  /// Mean durations within which jobs are a burst.
  static constexpr double kSpanInDurations = 10;
  void add(const TraceJob& job);

  std::int64_t jobs() const { return jobs_; }
  double first_s() const { return first_s_; }
  double last_s() const { return last_s_; }
  double span_s() const { return last_s_ - first_s_; }
  /// GPU-seconds of all jobs with a duration, over the span: the GPUs that would be busy if no job waited. 0: there is none, as
  /// what comes within a few durations is a burst.
  double mean_load_gpus() const {
    return durations_.count() > 0 && span_s() > kSpanInDurations * durations_.mean() ? gpu_seconds_ / span_s() : 0;
  }
  double gpu_seconds() const { return gpu_seconds_; }

  const LogHistogram& durations() const { return durations_; }
  /// Durations by the GPUs that are held, parts as parts, of jobs that have both.
  const std::map<double, LogHistogram>& by_gpus() const { return by_gpus_; }
  /// GPU-seconds by the same.
  const std::map<double, double>& gpu_seconds_by_gpus() const { return gpu_seconds_by_gpus_; }
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
  std::map<double, LogHistogram> by_gpus_;
  std::map<double, double> gpu_seconds_by_gpus_;
  std::map<std::int64_t, std::int64_t> hours_;
  std::map<std::string, std::int64_t> users_, models_, statuses_;
};

/// For the terminal: a paragraph of figures, and a table of sizes.
std::string to_string(const Workload& workload);

}  // namespace rehearse::traces
