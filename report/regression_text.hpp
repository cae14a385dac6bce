// What a regression benchmark found, for people and for CI.
#pragma once

#include <string>
#include <vector>

#include "report/job_changes.hpp"
#include "report/regression.hpp"
#include "report/table.hpp"

namespace rehearse::report {

struct Alarm {
  Finding finding;
  JobChanges changes;
};

/// One scenario: recorded results against those of now.
struct ScenarioFindings {
  std::string scenario;
  std::string scenario_changes;  ///< which keys are others than they were; empty: none
  std::vector<Finding> findings;
  std::vector<Alarm> alarms;              ///< those of the findings that end in an error, with what changed
  std::vector<std::string> new_policies;  ///< not recorded yet
  bool new_fails = false;                 ///< an alarm too: a suite that does not guard a policy is no green check
  struct DecisionTime {
    std::string policy;
    double recorded_s = 0, now_s = 0;  ///< NaN: unknown
  };
  std::vector<DecisionTime> decision_times;  ///< of the machines, reported only
};

struct FolderPair {
  std::string recorded, now;
  std::vector<std::string> policies = {};  ///< only these are looked at; empty: all
  bool of_suite = false;                   ///< each policy of `now` must be recorded, and `policies` are some of the suite's
};

/// Throws sim::InputError for each of the wanted policies that is none of these, of a file or folder.
void check_policies(const std::vector<std::string>& wanted, const std::vector<std::string>& policies, const std::string& file);

/// Judges the results of two folders, and looks up what changed. Without rules by the default ones of the recorded kind of study.
/// Throws sim::InputError.
ScenarioFindings compare_folders(const FolderPair& folders, const std::vector<MetricRule>& given, const ChanceTable& chance);

bool has_alarm(const std::vector<ScenarioFindings>& scenarios);

/// For a terminal: what is not the same, then each alarm with the jobs and decisions behind it.
std::string regression_text(const std::vector<ScenarioFindings>& scenarios, std::size_t width = kTerminalWidth);
/// The same as Markdown, for a comment on a change.
std::string regression_markdown(const std::vector<ScenarioFindings>& scenarios);
/// A test case for each policy, a suite for each scenario, as most CI systems read them.
std::string regression_junit(const std::vector<ScenarioFindings>& scenarios);

}  // namespace rehearse::report
