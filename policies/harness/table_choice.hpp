// Tables of measured runs in the simulator's place: what can be chosen, and what a learner that has seen some of them says of the
// rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "policies/learn/probe_choice.hpp"
#include "policies/learn/run_learner.hpp"
#include "workloads/training/past_run.hpp"

namespace rehearse::policies {

// A table of measured runs in the simulator's place: which jobs can be asked of it, what can be chosen for them, and what came
// of every choice.

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

/// What the runs of the task that are known cost: of an option measured several times, all of them.
double money_of_runs_usd(const RunTable& table, const MeasuredCells& measured, std::size_t task);

// What a learner of past runs says of a table's options, when it has seen the runs of some of them.

class TableLearner {
 public:
  /// Everything must outlive this. Fits are made when first asked for: of times one for each profile and instance, synchronous
  /// and asynchronous apart, over all tasks; of accuracies one for each task, since a learning rate or a smaller part of the data
  /// makes other accuracies. `tasks_apart`: of times as well, as a strategy does that searches for each task on its own.
  TableLearner(const RunTable& table, const MeasuredCells& measured, const RunLearner& learner, bool tasks_apart)
      : table_(table), measured_(measured), learner_(learner), tasks_apart_(tasks_apart), epochs_(table.tasks().size(), -1) {}

  /// NaN: no past run says anything.
  struct Guess {
    double time_s = 0;       ///< pessimistic, as limits are held against it
    double accuracy = 0;     ///< the same
    double paid_time_s = 0;  ///< what money is reckoned with, by the rule of HistoryPredictors
  };
  /// At the option's epochs. Where those are no choice: at the fewest with which a past run of the task went to its end, or of
  /// its profile if there was none. Of a task with a target: at those that the option is expected to need (epochs_needed).
  Guess guess(std::size_t task, std::size_t option);

 private:
  const EpochTimes* times(std::size_t task, const TableOption& option);
  const Accuracies* accuracies(std::size_t task, bool asynchronous);
  double epochs(std::size_t task);
  /// NaN: no past run says so.
  double epochs_to_target(std::size_t task, const TableOption& option) const;
  /// Past runs of those tasks and options for which `wanted` holds.
  template <class Wanted>
  std::vector<PastRun> past_runs(Wanted&& wanted) const;

  const RunTable& table_;
  const MeasuredCells& measured_;
  const RunLearner& learner_;
  const bool tasks_apart_;
  /// Task (the first of its profile where they are not apart), instance, asynchronous.
  std::map<std::tuple<std::size_t, std::string, bool>, std::unique_ptr<EpochTimes>> times_;
  std::map<std::pair<std::size_t, bool>, std::unique_ptr<Accuracies>> accuracies_;
  std::vector<double> epochs_;  ///< of each task; -1: not worked out yet, NaN: unknown
};

/// Epochs to a target at one batch, where they were measured; NaN: runs there did not get to it.
struct EpochsAtBatch {
  double batch = 0, epochs = 0;
};
/// What they are expected to be at `batch`, from measured ones at rising batches. Between two batches log epochs are linear in
/// log batch; below the smallest they are the smallest's; above the largest that got there, steps stay the same and epochs grow
/// with the batch. NaN: from a batch that did not get there on, and where nothing was measured.
double epochs_needed(std::span<const EpochsAtBatch> measured, double batch);

// How an option of a table is chosen for a job: by what was measured, by what a learner says, by rule, or by knowing it all.

struct TableJob {
  std::size_t task = 0;
  TableLimits limits;
};

/// An option of the table; nothing: none is believed to keep the limits.
using TableChoice = std::optional<std::size_t>;

/// Options that keep the limits, cheapest first; of equals the first of the table.
std::vector<std::size_t> feasible_options(const RunTable& table, const TableJob& job);

/// The one option that keeps the limits of the most jobs, of equals the one that costs least over those: no fixed setting is
/// better, so that nobody can say that the rule was chosen badly. Known in hindsight alone.
std::size_t best_fixed_option(const RunTable& table, std::span<const TableJob> jobs);

/// What part of the options a strategy chooses from.
enum class TableFreedom {
  everything,
  resources,  ///< instance, workers and servers; a worker's batch, and how gradients are combined, stay the fixed option's
  batch,      ///< the reverse
};
bool is_free(TableFreedom freedom, const TableOption& option, const TableOption& fixed);

struct LearnedChoice {
  const MeasuredCells* measured = nullptr;
  /// A measured option's own outcome counts as it is; the learner is asked about the others alone.
  bool trusts_measured = true;
  bool only_measured = false;  ///< nothing else is chosen
  TableFreedom freedom = TableFreedom::everything;
  std::size_t fixed_option = 0;  ///< for what is not free
};

/// The cheapest option that is known or predicted to keep the limits; of equals the first of the table.
TableChoice cheapest_learned(const RunTable& table, const TableJob& job, TableLearner& learner, const LearnedChoice& how);

// A strategy that measures what it likes: its past runs of a table, one option after the other.

struct ProbeBudget {
  std::size_t runs = 0;  ///< options of the task, at most
  TableJob typical;      ///< whose task it is, and which limits are searched for
  double epochs = 0;     ///< that a run to the end takes, where they are no choice
  std::uint64_t random_key = 0;
};

/// Adds to `measured` what `chooser` wants to see of the task. A run that was cut has been paid for like any other.
void probe_task(const RunTable& table, const ProbeBudget& budget, ProbeChooser& chooser, MeasuredCells& measured);

}  // namespace rehearse::policies
