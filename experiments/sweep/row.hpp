// What became of one run of a sweep, and its line of text: in the pipe to the parent, and in the files of a cluster's tasks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rehearse::scenarios {

/// How a run ended: with metrics, or else with a reason.
enum class RunStatus {
  ok,
  failed,   ///< the policy did
  killed,   ///< by a signal, or it ended its process
  invalid,  ///< the values of the point do not go together
  bug,      ///< of ours
};
/// "ok", "failed", "killed", "invalid", "bug".
std::string_view name_of(RunStatus status);

struct SweepRow {
  std::string key;  ///< PlannedRun's
  RunStatus status = RunStatus::ok;
  std::string reason;           ///< one printable line; empty when ok
  std::vector<double> metrics;  ///< as report::metric_fields(), NaN where undefined; empty unless ok
  double run_s = 0, cpu_s = 0;  ///< of the run alone, without loading the scenario
  double decision_time_s = 0;   ///< of that, what the policy took
};

/// A JSON object on one line with its line end, shorter than PIPE_BUF.
std::string to_line(const SweepRow& row);
/// Nothing when the line is not whole.
std::optional<SweepRow> row_of(std::string_view line);

}  // namespace rehearse::scenarios
