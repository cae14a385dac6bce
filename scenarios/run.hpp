// Runs a scenario: every policy in every repetition, each in a forked process; joins their files and compares them.
#pragma once

#include <string>

#include "report/comparison.hpp"
#include "scenarios/run_one.hpp"
#include "scenarios/scenario.hpp"

namespace rehearse::scenarios {

struct RunOptions {
  std::string out;        ///< results folder; empty: results/<name>
  int processes = 0;      ///< at most so many at once; 0: as many as there are processors
  bool progress = false;  ///< a bar on stderr
  /// What each child does; throws what went wrong.
  std::function<void(const Scenario&, const RunTask&, const std::function<void(std::uint64_t)>& on_progress)> run = run_one;
};

/// SIGINT or SIGTERM ended the run; nothing is left behind.
class Interrupted : public std::exception {};

/// Leaves the results folder whole or not at all. A policy that failed is a failed row. Throws InputError when the folder cannot
/// be written or holds something else, CheckFailed when a run found a bug of ours, Interrupted.
report::Summary run_scenario(const Scenario& scenario, const RunOptions& options);

}  // namespace rehearse::scenarios
