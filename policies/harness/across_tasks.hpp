// What the runs of some options of some tasks say of all others: linear models of logarithms over all tasks of a table, held
// between monotone bounds of each task's own runs (docs/explain/strategies.md, "Across tasks").
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/harness/table_choice.hpp"
#include "policies/harness/task_transfer.hpp"
#include "policies/learn/envelopes.hpp"
#include "policies/learn/linear_regression.hpp"

namespace rehearse::policies {

/// How runs were foretold before they were seen. The last runs count most: of those before, each by a tenth less than the next.
struct Foretold {
  double log_likelihood = 0;
  double squares = 0;  ///< of what they were off by, over what was believed of that
  double runs = 0;
  /// By which deviations were too small: sqrt((k + squares)/(k + runs)), worth k = 4 runs beforehand; at least 1.
  double factor() const;
  void add(const Gaussian& before, double value);
};

class TaskModel {
 public:
  /// The table must outlive it; nothing of its outcomes is known before it is seen, but which there are and their prices.
  /// `spread_factor` multiplies all spreads that are believed in.
  TaskModel(const RunTable& table, TaskTransfer transfer, double spread_factor = 1);

  void see(std::size_t task, std::size_t option);
  bool has_seen(std::size_t task, std::size_t option) const { return seen_.has(task, option); }

  /// Of an option's outcome: logarithms of its seconds, log-odds of its accuracy. Bounds are infinite where no run sets any.
  struct Foreseen {
    Gaussian log_time, log_odds;
    LogBounds time{-kUnbounded, kUnbounded}, accuracy{-kUnbounded, kUnbounded};
    double earliest_cut_s = kUnbounded;  ///< of the runs seen
    double spread_factor = 1;
  };
  Foreseen foresee(std::size_t task, std::size_t option) const;
  /// Probability that the outcome keeps both limits: nothing is known of what happens after the earliest cut.
  static double keeps(const Foreseen& outcome, const TableLimits& limits);
  /// The logarithm of its money.
  Gaussian log_usd(const Foreseen& outcome, std::size_t task, std::size_t option) const;

 private:
  /// Of one quantity.
  struct Models {
    std::vector<LinearModel> together, apart;     ///< one; one a task
    std::vector<Foretold> by_together, by_apart;  ///< of each task
    /// Both, each as likely as it has foretold the task's runs: mean and deviation of the mixture.
    Gaussian measured_at(std::size_t task, std::span<const LinearTerm> terms, TaskTransfer transfer) const;
    void add(std::size_t task, std::span<const LinearTerm> terms, double value, bool is_bound);
  };
  Models fresh(std::span<const double> spreads, double noise) const;
  using Terms = std::vector<LinearTerm>;
  Terms time_terms(std::size_t task, std::size_t option) const;
  Terms accuracy_terms(std::size_t task, std::size_t option) const;
  /// From what was measured, a time to one that is foreseen.
  double log_scale(std::size_t task, std::size_t option) const;

  const RunTable& table_;
  const TaskTransfer transfer_;
  const double spread_factor_;
  MeasuredCells seen_;
  std::vector<std::size_t> instance_of_;              ///< of each option
  std::vector<std::size_t> profile_of_, setting_of_;  ///< of each task
  std::size_t instances_ = 0, profiles_ = 0, settings_ = 0;
  double usual_batch_ = 0, usual_workers_ = 0, usual_global_batch_ = 0, usual_samples_ = 0, usual_epochs_ = 0;  ///< logarithms
  Models time_, accuracy_;
  std::vector<double> earliest_cut_s_;  ///< of each task
};

/// Of all tasks in turn, what is measured next.
struct TaskSearch {
  std::vector<TableJob> wanted;            ///< the limits that are searched for, of one task after the other
  std::size_t runs = 0;                    ///< options of each task, at most
  std::vector<std::uint64_t> random_keys;  ///< of each task: its first run is drawn
};

/// Round after round each task's option of largest merit is seen: the sum over the task's wanted limits of
/// P(keeps them) x the expected improvement of the logarithm of money on the cheapest run that keeps them; before there is one,
/// on the dearest option for the whole deadline.
MeasuredCells probe_tasks(const RunTable& table, const TaskSearch& search, TaskModel& model);

/// The cheapest option that was seen to keep the limits or is sure to; of equals the first of the table.
TableChoice cheapest_foreseen(const RunTable& table, const TableJob& job, const TaskModel& model);

}  // namespace rehearse::policies
