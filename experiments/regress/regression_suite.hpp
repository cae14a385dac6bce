// A suite of the policy regression benchmark: scenarios, the results recorded for them, and how far each metric may move
// (docs/guide/regression.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/regression_text.hpp"

namespace rehearse::scenarios {

struct RegressionSuite {
  std::string folder;
  std::vector<std::string> scenarios;  ///< names: NAME.json in the folder, recorded in its recorded/NAME
  std::vector<report::MetricRule> rules;  ///< none: the default rules of each scenario's kind of study
  int policy_seeds = 24;  ///< with how many it is recorded, to tell chance from change
  std::string recorded(const std::string& scenario) const { return folder + "/recorded/" + scenario; }
};

/// Of FOLDER/suite.json. Throws sim::InputError.
RegressionSuite read_suite(const std::string& folder);

struct SuiteOptions {
  std::string out;       ///< results of each scenario go to OUT/NAME
  int processes = 0;     ///< at once; 0: as many as there are processors
  bool replace = false;  ///< another suite's results in OUT too
  bool progress = false;
  std::optional<std::uint64_t> policy_seed;  ///< instead of the scenarios' own
  std::vector<std::string> policies;         ///< only these; empty: all
};

/// Runs the suite and holds it against what is recorded. Throws sim::InputError, Interrupted, CheckFailed.
std::vector<report::ScenarioFindings> check_suite(const RegressionSuite& suite, const SuiteOptions& options);

/// Runs the suite with `policy_seeds` seeds from the scenarios' own on, and records it. Throws sim::InputError: also when a
/// policy fails; what was recorded before stays then.
void record_suite(const RegressionSuite& suite, const SuiteOptions& options);

}  // namespace rehearse::scenarios
