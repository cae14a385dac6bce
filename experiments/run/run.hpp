// Every policy of a scenario in every repetition, each in a forked process.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "experiments/run/results_folder.hpp"
#include "experiments/run/run_one.hpp"
#include "report/comparison.hpp"
#include "scenarios/read/scenario.hpp"

namespace rehearse::scenarios {

/// One line on standard error, fit for a terminal.
void print_warning(const std::string& text);
void print_note(const std::string& text);

struct RunOptions {
  std::string out;                    ///< results folder; empty: results/<name>
  bool replace = false;               ///< another scenario's results too, and what an interrupted run has left
  bool keep_finished = false;         ///< when it is interrupted: its finished repetitions, for another start to go on with
  bool resume = false;                ///< go on with them
  int processes = 0;                  ///< at most so many at once; 0: as many as there are processors
  bool progress = false;              ///< how far it is, on stderr
  std::string_view report_page = {};  ///< report/html's page; empty: no HTML report is written
  bool certify = false;               ///< how firm the verdict is, too (experiments/run/certify.hpp)
  double slow_answer_s = 30;          ///< of wall time, from which on a policy that is at one answer is named
  bool watch = false;                 ///< instead of it a board on stderr: what each policy's cluster is doing
  /// Hears what the user should know but that stops nothing; by default it goes to standard error.
  std::function<void(const std::string&)> tell = print_warning;
  std::function<void(const std::string&)> note = print_note;  ///< hears that a run goes on, or begins anew
  /// What each child does; throws what went wrong.
  std::function<void(const Scenario&, const RunTask&, const TellProgress& on_progress)> run = run_one;
};

/// Where a scenario's results go: RunOptions::out, or results/NAME.
ResultsPlace place_of(const Scenario& scenario, const RunOptions& options);

/// At most so many children at once.
int processes_of(const RunOptions& options);

/// SIGINT or SIGTERM ended the run.
class Interrupted : public std::runtime_error {
 public:
  /// What is left behind.
  explicit Interrupted(const std::string& left = "nothing was written") : std::runtime_error(left) {}
};

struct PolicyRuns {
  std::vector<RunTask> tasks;                 ///< in the order of policies, then repetitions
  std::vector<std::string> subfolders;        ///< of the results folder, one a task, with the task's files
  std::vector<report::PolicyResult> results;  ///< one a policy
};

/// A policy that failed, by its own fault or by a bug of ours in its run (names_our_bug), is a failed result. Throws InputError
/// when a file cannot be written, Interrupted. Interrupts must be held (HeldInterrupts).
PolicyRuns run_policies(const Scenario& scenario, const RunOptions& options, const ResultsFolder& folder);

// Runs a scenario: every policy in every repetition, each in a forked process; joins their files and compares them.

/// Leaves the results folder whole or not at all. A policy that failed is a failed row. Throws InputError when the folder cannot
/// be written or holds something else, CheckFailed when a run found a bug of ours, Interrupted.
report::Summary run_scenario(Scenario& scenario, const RunOptions& options);

}  // namespace rehearse::scenarios
