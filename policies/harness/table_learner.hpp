// What a learner of past runs says of a table's options, when it has seen the runs of some of them.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "policies/learn/run_learner.hpp"
#include "policies/harness/run_table.hpp"

namespace rehearse::policies {

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
  /// its profile if there was none.
  Guess guess(std::size_t task, std::size_t option);

 private:
  const EpochTimes* times(std::size_t task, const TableOption& option);
  const Accuracies* accuracies(std::size_t task, bool asynchronous);
  double epochs(std::size_t task);
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

}  // namespace rehearse::policies
