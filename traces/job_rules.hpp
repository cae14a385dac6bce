// What the fields of a job may hold, the same whether a user gives it as CSV or as JSON: a job's JSON keys are the native CSV's
// columns (traces/native.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/read/number_range.hpp"
#include "sim/replay/job.hpp"

namespace rehearse::traces {

/// Up to here dates lie on their grid of 2^-20 s exactly, as 53 bits hold them; 272 years.
inline constexpr double kLastDate_s = 0x1p33;

inline constexpr sim::NumberRange kDates{.low = 0, .high = kLastDate_s};                            ///< submit_s
inline constexpr sim::NumberRange kDurations{.low = 0, .high = kLastDate_s, .low_excluded = true};  ///< duration_s, deadline_s
inline constexpr sim::NumberRange kMoney{.low = 0, .low_excluded = true};                           ///< cost_limit_usd
inline constexpr sim::NumberRange kGpuCounts{.low = 1, .high = 1e6};                                ///< whole
inline constexpr sim::NumberRange kBatchSizes{.low = 1, .high = 1e9};                               ///< whole, samples
inline constexpr sim::NumberRange kStepCounts{.low = 1};                                            ///< whole
inline constexpr sim::NumberRange kEpochCounts{.low = 1, .high = 1e6};                              ///< whole
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

/// Which kind of work the fields that are set (above 0, or a target) ask for; rigid when none is.
sim::Work work_of(const sim::Job& job);

/// What a trace says of a job that needs `fraction` of each of its GPUs: of one it counts, of several all are whole.
void take_gpu_fraction(sim::Job& job, double fraction);

/// The names in a field `after`: separated by semicolons; blanks around a name are not part of it.
std::vector<std::string> split_names(std::string_view text);

/// Both texts are literals.
struct JobMistake {
  std::string_view column;
  std::string_view expected;
};

/// What is wrong between the fields of a job as a user gives it: its work is exactly one of duration_s on its gpus, steps at its
/// batch_size, and epochs and/or target_accuracy; only a rigid job may be without a profile. Each field alone is taken to be in
/// its range above. Empty when all is well.
std::vector<JobMistake> job_mistakes(const sim::Job& job);

}  // namespace rehearse::traces
