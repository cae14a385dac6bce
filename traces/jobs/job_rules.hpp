// What the fields of a job may hold, each alone (its range, its words) and all together. The fields themselves:
// traces/jobs/job_fields.hpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/shown.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

/// Up to here dates lie on their grid of 2^-20 s exactly, as 53 bits hold them; 272 years.
inline constexpr double kLastDate_s = 0x1p33;

inline constexpr sim::NumberRange kDates{.low = 0, .high = kLastDate_s};                            ///< submit_s
inline constexpr sim::NumberRange kDurations{.low = 0, .high = kLastDate_s, .low_excluded = true};  ///< duration_s, deadline_s
inline constexpr sim::NumberRange kMoney{.low = 0, .low_excluded = true};                           ///< cost_limit_usd
inline constexpr sim::NumberRange kAccumulations{.low = 1, .high = 1024};                           ///< whole
inline constexpr sim::NumberRange kGpuCounts{.low = 1, .high = 1e6};                                ///< whole
inline constexpr sim::NumberRange kBatchSizes{.low = 1, .high = 1e9};                               ///< whole, samples
inline constexpr sim::NumberRange kStepCounts{.low = 1};                                            ///< whole
inline constexpr sim::NumberRange kEpochCounts{.low = 1, .high = 1e6};                              ///< whole
inline constexpr sim::NumberRange kReadingCounts{.low = 1, .high = 100};                            ///< whole
inline constexpr sim::NumberRange kWriteTimes{.low = 0, .high = 1e6};                               ///< checkpoint_write_s
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
/// taken to be in its range above. Empty when all is well. `of_trace`: a part of each of several GPUs is none (to_job sets it
/// aside) rather than a mistake.
std::vector<JobMistake> job_mistakes(const TraceJob& job, bool of_trace);

// What a trace says against itself or against the cluster that it is replayed on, and can be told from one row and those before.

/// Of the scenario's cluster; where it is empty, nothing is checked against it.
struct ClusterLimits {
  std::vector<int> pool_gpus;          ///< of all nodes, in the order of Cluster::pools; a node without GPUs counts as one
  int node_gpus = 0;                   ///< of the largest node
  std::vector<std::string> gpu_types;  ///< names of devices

  /// What a rigid job on `gpus` asks for in vain, if it does; else empty. `pool` is an index, -1 for any.
  std::string too_many(double gpus, int pool) const;
  /// The same for one node, which the replay leaves by spreading the job.
  std::string too_many_for_a_node(double gpus) const;
  /// Whether one of the types in `theirs` (with | between them) is here. Names are compared without case up to the end of the
  /// shorter one: "V100M32" and "V100-SXM2-16GB" are v100.
  bool has_gpu_type(std::string_view theirs) const;
};

inline constexpr std::string_view kUnknownGpuType = "a GPU of the cluster: set aside, the job runs on any";

/// No public trace pauses as long; a clock that was set, a missing date read as 0, or pieces of two traces do.
inline constexpr double kClockJump_s = 365 * 86400.0;
inline constexpr std::string_view kClockJumps = "a date within 365 days of those before, or their clock jumped: taken as it is";

}  // namespace rehearse::traces
