// A job as a trace tells of it: the native CSV's columns as plain values, before anything is looked up in a scenario.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/read/number_range.hpp"

namespace rehearse::traces {

inline constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();
inline bool is_given(double value) { return !std::isnan(value); }

/// The names are the native CSV's (docs/scenario.md, docs/traces.md); an empty text and NaN are not given.
struct TraceJob {
  std::string job_id, model, dataset, user, pool, precision, lr_rule, objective, stop, on_deadline;
  std::string gpu_type, partition, after, after_failed, status;
  double submit_s = kNotGiven, duration_s = kNotGiven, deadline_s = kNotGiven, walltime_s = kNotGiven;
  double gpus = kNotGiven, gpu_fraction = kNotGiven, cpus = kNotGiven, memory_bytes = kNotGiven;
  double batch_size = kNotGiven, epochs = kNotGiven, steps = kNotGiven, target_accuracy = kNotGiven;
  double cost_limit_usd = kNotGiven, priority = kNotGiven;
  double checkpoint_interval_s = kNotGiven, checkpoint_write_s = kNotGiven;
};

/// A column of the native CSV.
struct TraceColumn {
  std::string_view name;
  std::variant<double TraceJob::*, std::string TraceJob::*> field;
  sim::NumberRange range = {};  ///< of a number
  bool whole = false;
};

/// In the order in which they are written; the first two are required.
std::span<const TraceColumn> trace_columns();
/// Null for a name that is none.
const TraceColumn* find_trace_column(std::string_view name);

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
  virtual std::vector<const TraceColumn*> columns() const { return {}; }
};

/// The fields that only together can be wrong, each column's name and what was expected: a job has work, and each work what
/// belongs to it.
void check_work(TraceRow& row);

}  // namespace rehearse::traces
