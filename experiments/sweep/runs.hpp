// The runs of a sweep: which there are, and what became of each.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/read/axes.hpp"
#include "scenarios/read/scenario.hpp"

namespace rehearse::scenarios {

// What a sweep runs: every policy of the scenario, at every point of the product of its axes, in every repetition.

/// One run. Its key names what it depends on and nothing else: the program; the point's scenario without its name, description,
/// baseline, repetitions, output and other policies; the files it reads, by content; the policy; the repetition. Equal keys are
/// one run.
struct PlannedRun {
  std::size_t point = 0;
  int policy = 0;  ///< position in the point's policies
  int repetition = 0;
  std::string policy_name;
  std::string key;  ///< 32 hexadecimal digits
};

inline constexpr std::size_t kMostRuns = 1'000'000;

class SweepPlan {
 public:
  /// Reads the scenario and its sweeps. Loads it at the first point, and with each value of each axis in its turn (of an axis of
  /// numbers the least, the greatest and one that is not whole: all that a key's range can tell apart); other points are checked
  /// when they are run. Throws InputError with all mistakes at once, also for more than `limit` runs.
  SweepPlan(std::string path, const LoadOptions& options, std::size_t limit = kMostRuns);

  /// Throws InputError for a scenario with a study, which cannot be swept; the constructor does where there are axes.
  void refuse_study() const;

  /// SHA-256 of the program that runs: policies and models may differ in another. Read once.
  static const std::string& program();
  const std::string& name() const { return first_->name; }
  const std::string& path() const { return path_; }
  /// The scenario at the first point.
  const Scenario& first() const { return *first_; }
  const std::vector<SweepAxis>& axes() const { return axes_; }
  std::size_t points() const;
  /// JSON of each axis's value.
  std::vector<std::string> values_at(std::size_t point) const;
  /// Of a point, policy by policy, repetition by repetition.
  std::vector<PlannedRun> runs_at(std::size_t point) const;
  /// Of all points in their order, of which the last axis's differ first. Throws InputError for more than the limit.
  std::vector<PlannedRun> runs() const;
  /// Throws InputError when the values do not go together.
  std::unique_ptr<Scenario> load(std::size_t point) const;
  /// The scenario with its sweeps and overrides, as JSON.
  std::string text() const { return base_.dump(); }

 private:
  sim::JsonDocument document_at(const std::vector<std::size_t>& choice) const;
  std::vector<std::size_t> choice_at(std::size_t point) const;
  std::unique_ptr<Scenario> load(const std::vector<std::size_t>& choice) const;
  void check_values();
  /// JSON and the fingerprints of the files that it names.
  std::string with_files(std::string text) const;
  [[noreturn]] void refuse_size(double runs) const;

  std::string path_;
  LoadOptions options_;
  std::size_t limit_;
  sim::JsonDocument base_;
  std::vector<SweepAxis> axes_;
  std::unique_ptr<Scenario> first_;
  std::map<std::string, std::string> sha256_of_file_;  ///< of every file that was read with any value
};

// What became of one run of a sweep, and its line of text: in the pipe to the parent, and in the files of a cluster's tasks.

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

/// SHA-256, cut to 32 digits, of what the run found: key, status, reason and metrics. How long it took is not in it.
std::string sum_of(const SweepRow& row);
/// The status of this name; nothing: there is none.
std::optional<RunStatus> status_of_name(std::string_view name);

/// A JSON object on one line with its line end, shorter than PIPE_BUF; its sum is in it.
std::string to_line(const SweepRow& row);
/// Nothing when the line is not whole, or does not have the sum that it says.
std::optional<SweepRow> row_of(std::string_view line);

}  // namespace rehearse::scenarios
