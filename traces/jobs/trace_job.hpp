// What a trace says of a job, and the rules that hold for every job of a trace.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::traces {

// A job as a user or a trace tells of it: plain values, before anything is looked up in a scenario.

inline constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();
inline bool is_given(double value) { return !std::isnan(value); }

struct JobField;

/// The names are those of job_fields() (traces/jobs/job_fields.hpp), which says what each means; an empty text, an empty list and
/// NaN are not given.
struct TraceJob {
  std::string job_id, job_type, model, dataset, user, pool, precision, lr_rule, recipe, objective, stop, on_deadline;
  std::string gpu_type, partition, qos, account, after_failed, status;
  std::vector<std::string> after;
  double submit_s = kNotGiven, eligible_s = kNotGiven, start_s = kNotGiven, duration_s = kNotGiven, deadline_s = kNotGiven;
  double walltime_s = kNotGiven, nodes = kNotGiven;
  double gpus = kNotGiven, gpu_fraction = kNotGiven, max_accumulation = kNotGiven, cpus = kNotGiven, memory_bytes = kNotGiven;
  double batch_size = kNotGiven, epochs = kNotGiven, steps = kNotGiven, target_accuracy = kNotGiven;
  double cost_limit_usd = kNotGiven, priority = kNotGiven, readings = kNotGiven;
  double checkpoint_interval_s = kNotGiven, checkpoint_write_s = kNotGiven;
  double measured_s = kNotGiven;  ///< no field: what a job with steps took on its `gpus`, to which their times are scaled
};

/// GPUs x seconds of a job with both, a part of a GPU as a part; 0 for any other.
double gpu_seconds(const TraceJob& job);

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
  double recorded_gpu_s = kNotGiven;  ///< GPU-seconds that the file records, where they are not those of `job`
  bool is_joined = false;             ///< no job of its own: a part of one that another row stands for

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

// What the fields of a job may hold, each alone (its range, its words) and all together. The fields themselves:
// traces/jobs/job_fields.hpp.

/// Up to here dates lie on their grid of 2^-20 s exactly, as 53 bits hold them; 272 years.
inline constexpr double kLastDate_s = 0x1p33;

inline constexpr sim::NumberRange kDates{.low = 0, .high = kLastDate_s};  ///< submit_s, eligible_s, start_s
inline constexpr sim::NumberRange kDurations{.low = 0, .high = kLastDate_s, .low_excluded = true};  ///< duration_s, deadline_s
inline constexpr sim::NumberRange kMoney{.low = 0, .low_excluded = true};                           ///< cost_limit_usd
inline constexpr sim::NumberRange kAccumulations{.low = 1, .high = 1024};                           ///< whole
inline constexpr sim::NumberRange kGpuCounts{.low = 1, .high = 1e6};                                ///< whole
inline constexpr sim::NumberRange kNodeCounts{.low = 1, .high = 1e6};                               ///< whole
inline constexpr sim::NumberRange kBatchSizes{.low = 1, .high = 1e9};                               ///< whole, samples
inline constexpr sim::NumberRange kStepCounts{.low = 1};                                            ///< whole
inline constexpr sim::NumberRange kEpochCounts{.low = 1, .high = 1e6};                              ///< whole
inline constexpr sim::NumberRange kReadingCounts{.low = 1, .high = 100};                            ///< whole
inline constexpr sim::NumberRange kWriteTimes{.low = 0, .high = 1e6};                               ///< checkpoint_write_s
inline constexpr sim::NumberRange kSpeeds{.low = 1e-3, .high = 1e3};                                ///< of a pool
inline constexpr sim::NumberRange kGpuFractions{.low = 0, .high = 1, .low_excluded = true};
inline constexpr sim::NumberRange kCpuCounts{.low = 0, .high = 1e9};  ///< cores, also parts of one
inline constexpr sim::NumberRange kMemoryBytes{.low = 0, .high = 1e18};
inline constexpr sim::NumberRange kAccuracies{.low = 0, .high = 1, .low_excluded = true};

/// The words for each choice; the index is the enumerator's value.
std::span<const std::string> precision_names();
std::span<const std::string> lr_rule_names();
std::span<const std::string> objective_names();
std::span<const std::string> stop_names();
std::span<const std::string> on_deadline_names();
std::span<const std::string> after_failed_names();

/// The names in a column `after`: separated by semicolons.
std::vector<std::string> split_names(std::string_view text);
/// Without the blanks around them, and without those that are nothing else.
void trim_names(std::vector<std::string>& names);

/// Both texts are literals.
struct JobMistake {
  std::string_view column;
  std::string_view expected;
};

/// What is wrong between the fields of a job as a user or a trace gives it: its work is exactly one of duration_s on its gpus,
/// steps at their batch_size, and epochs and/or target_accuracy; only a rigid job may be without a model or a
/// measured job_type. Each field alone is
/// taken to be in its range above. Empty when all is well.
std::vector<JobMistake> job_mistakes(const TraceJob& job);

/// Whole GPUs' worth that the job holds: `gpus` parts of `gpu_fraction` each. Of a job without `gpus`, one part; NaN where
/// neither is given.
double gpus_held(const TraceJob& job);
/// Whole GPUs that hold the job where no other is on them; 1 where nothing is given.
double gpus_alone(const TraceJob& job);

// What a trace says against itself or against the cluster that it is replayed on, and can be told from one row and those before.

/// Of the scenario's cluster; where it is empty, nothing is checked against it.
struct ClusterLimits {
  std::vector<int> pool_gpus;          ///< of all nodes, in the order of Cluster::pools; a node without GPUs counts as one
  std::vector<int> pool_nodes;         ///< likewise
  int node_gpus = 0;                   ///< of the largest node
  std::vector<std::string> gpu_types;  ///< names of devices

  /// What a rigid job on `gpus` asks for in vain, if it does; else empty. `pools` are the indices that it names, none for any.
  std::string too_many(double gpus, const std::vector<int>& pools) const;
  /// Has one of these pools so many nodes with so many GPUs each?
  bool has_nodes(double nodes, double gpus_of_node, const std::vector<int>& pools) const;
  /// The same for one node, which the replay leaves by spreading the job.
  std::string too_many_for_a_node(double gpus) const;
  /// Whether one of the types in `theirs` (with | between them) is here. Names are compared without case up to the end of the
  /// shorter one: "V100M32" and "V100-SXM2-16GB" are v100.
  bool has_gpu_type(std::string_view theirs) const;
};

inline constexpr std::string_view kUnevenNodes = "a number that divides its GPUs: set aside, its GPUs are counted";
inline constexpr std::string_view kOtherNodes =
    "as many nodes with as many GPUs as its pool has: set aside, its GPUs are counted";
inline constexpr std::string_view kUnknownGpuType = "a GPU of the cluster: set aside, the job runs on any";

/// No public trace pauses as long; a clock that was set, a missing date read as 0, or pieces of two traces do.
inline constexpr double kClockJump_s = 365 * 86400.0;
inline constexpr std::string_view kClockJumps = "a date within 365 days of those before, or their clock jumped: taken as it is";

}  // namespace rehearse::traces
