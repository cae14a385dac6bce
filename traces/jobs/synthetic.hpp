// Jobs drawn from what a trace's distributions look like; none of its own jobs, names or dates (docs/guide/traces.md, "Synthetic
// traces").
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/random.hpp"
#include "traces/jobs/workload.hpp"

namespace rehearse::traces {

class SyntheticTrace {
 public:
  /// `jobs` of them, at the trace's mean rate from 0 on. Throws InputError for a workload without a duration or a span.
  SyntheticTrace(const Workload& workload, std::int64_t jobs, std::uint64_t seed);

  /// By date; nothing after the last. They have job_id, submit_s, gpus and duration_s.
  std::optional<TraceJob> next();

  /// Of the gamma distribution that multiplies each hour's rate, with mean 1; infinite where the arrivals vary no more than
  /// those of a Poisson process.
  double burst_shape() const { return burst_shape_; }

 private:
  /// Jobs of one size and about one length.
  struct Cell {
    double upto;  ///< cumulative probability
    double gpus;  ///< held, parts as parts
    double least_s, most_s;
  };

  void fit_jobs(const Workload& workload);
  void fit_arrivals(const Workload& workload);
  double next_date();
  double next_stratum();

  std::vector<Cell> cells_;
  std::vector<double> hours_;  ///< cumulative intensity at the end of each hour, ending with 1
  double last_s_ = 0, burst_shape_;
  std::int64_t jobs_, made_ = 0;
  double position_ = 0;  ///< of the last date in the cumulative intensity
  std::size_t hour_ = 0;
  std::uint64_t seed_;
  sim::Random arrivals_, kinds_;
  std::vector<std::uint32_t> strata_;
  std::size_t stratum_ = 0;
};

}  // namespace rehearse::traces
