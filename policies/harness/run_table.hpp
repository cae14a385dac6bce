// A table of measured runs in the simulator's place: which jobs can be asked of it, what can be chosen for them, and what came
// of every choice.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/training/past_run.hpp"

namespace rehearse::policies {

using workloads::PastRun;

/// What is given with a job.
struct TableTask {
  std::string model, dataset;
  sim::Precision precision = sim::Precision::fp32;
  sim::LrRule lr_rule = sim::LrRule::adascale;
  std::string recipe = {};
  double samples = 0;          ///< an epoch
  double learning_rate = 0;    ///< 0: not said
  double target_accuracy = 0;  ///< that all its runs were trained until; 0: epochs are no outcome
  bool operator==(const TableTask&) const = default;
  bool has_profile_of(const TableTask& other) const {
    return model == other.model && dataset == other.dataset && precision == other.precision && lr_rule == other.lr_rule &&
           recipe == other.recipe;
  }
};

/// What is chosen for it.
struct TableOption {
  std::string instance;
  int workers = 1;
  int servers = 0;
  double batch_size = 0;  ///< global
  bool asynchronous = false;
  double epochs = 0;  ///< 0: not a choice
  bool operator==(const TableOption&) const = default;
  double batch_of_worker() const { return batch_size / workers; }
};

/// "8 x t2.medium, batch 16 a worker, asynchronous".
std::string to_string(const TableOption& option);

/// What came of an option for a task: means over its runs.
struct TableOutcome {
  double time_s = 0;
  double accuracy = 0;
  double cost_usd = 0;
  double price_usd_per_hour = 0;
  bool censored = false;  ///< one of them was cut short: nobody knows how long it takes
  std::vector<PastRun> runs;
};

struct TableLimits {
  double target_accuracy = 0;
  double deadline_s = 0;
};

/// Never of a censored outcome, whatever the deadline.
bool keeps_limits(const TableOutcome& outcome, const TableLimits& limits);

struct RunTableSetup {
  /// Each run was trained until its target, which is its task's; an option whose runs did not all get there keeps no limits.
  bool to_target = false;
  /// Epochs were set before each run, and are chosen with the rest; otherwise a task's runs all go on to the same end.
  bool epochs_are_chosen = false;
};

class RunTable {
 public:
  /// Tasks and options in order of first occurrence. Throws InputError when there is no run, or one without a price, or to
  /// a target without one (`line` is the run's number, from 1).
  RunTable(const std::vector<PastRun>& runs, const RunTableSetup& setup);

  std::span<const TableTask> tasks() const { return tasks_; }
  std::span<const TableOption> options() const { return options_; }
  /// Null: the option was never run for the task, and cannot be chosen.
  const TableOutcome* outcome(std::size_t task, std::size_t option) const {
    const auto& cell = outcomes_[task * options_.size() + option];
    return cell ? &*cell : nullptr;
  }

 private:
  std::vector<TableTask> tasks_;
  std::vector<TableOption> options_;
  std::vector<std::optional<TableOutcome>> outcomes_;  ///< tasks x options
};

/// Which outcomes a strategy knows: the runs of these are its past runs.
class MeasuredCells {
 public:
  explicit MeasuredCells(const RunTable& table)
      : options_(table.options().size()), cells_(table.tasks().size() * table.options().size(), false) {}
  void add(std::size_t task, std::size_t option) { cells_[task * options_ + option] = true; }
  bool has(std::size_t task, std::size_t option) const { return cells_[task * options_ + option]; }

 private:
  std::size_t options_;
  std::vector<bool> cells_;
};

}  // namespace rehearse::policies
