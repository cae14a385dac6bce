// A job as a user or a trace tells of it: plain values, before anything is looked up in a scenario.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"

namespace rehearse::traces {

inline constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();
inline bool is_given(double value) { return !std::isnan(value); }

struct JobField;

/// The names are those of job_fields() (traces/jobs/job_fields.hpp), which says what each means; an empty text, an empty list and
/// NaN are not given.
struct TraceJob {
  std::string job_id, job_type, model, dataset, user, pool, precision, lr_rule, recipe, objective, stop, on_deadline;
  std::string gpu_type, partition, after_failed, status;
  std::vector<std::string> after;
  double submit_s = kNotGiven, duration_s = kNotGiven, deadline_s = kNotGiven, walltime_s = kNotGiven;
  double gpus = kNotGiven, gpu_fraction = kNotGiven, max_accumulation = kNotGiven, cpus = kNotGiven, memory_bytes = kNotGiven;
  double batch_size = kNotGiven, epochs = kNotGiven, steps = kNotGiven, target_accuracy = kNotGiven;
  double cost_limit_usd = kNotGiven, priority = kNotGiven, readings = kNotGiven;
  double checkpoint_interval_s = kNotGiven, checkpoint_write_s = kNotGiven;
  double measured_s = kNotGiven;  ///< no field: what a job with steps took on its `gpus`, to which their times are scaled
};

/// Something that a reader changed in a row that it kept.
struct TraceRepair {
  std::string_view column;  ///< a literal, as `what`: what was expected, and what was done
  std::string what;
  std::string found;
};

struct TraceRow {
  std::int64_t line = 0;  ///< in the file, from 1
  TraceJob job;
  std::vector<sim::Mistake> mistakes;  ///< any: the row is no job
  std::vector<TraceRepair> repairs;

  void refuse(std::string_view column, std::string expected, std::string found);
  /// Whether it could be told which field is which.
  bool has_fields() const { return mistakes.empty() || !mistakes.front().pointer.empty(); }
};

/// Where the file has a column of ours, and what stands there.
struct Written {
  std::string_view column;
  std::string text;
};

/// An open trace.
class TraceReader {
 public:
  virtual ~TraceReader() = default;
  /// The next row, as the file has them; false at its end. `row` is empty at the call but for the line. Throws InputError where
  /// reading cannot go on.
  virtual bool next(TraceRow& row) = 0;
  /// What is to be said about the file as a whole; after its end.
  virtual std::vector<std::string> notes() const { return {}; }
  /// The native columns that the file has, where the format does not say.
  virtual std::vector<const JobField*> columns() const { return {}; }
  /// Of the row that next() gave last, whose value of `column` is `value`.
  virtual Written written(std::string_view column, double value);
  /// The row that next() gave last is a job.
  virtual void kept(const TraceRow& /*row*/) {}
};

}  // namespace rehearse::traces
