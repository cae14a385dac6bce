// What a learner of past runs says of a table's options, when it has seen the runs of some of them.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "policies/learn/run_learner.hpp"
#include "policies/measured/run_table.hpp"

namespace rehearse::policies {

class TableLearner {
 public:
  /// `measured`, one an option: whether its runs are past runs, of all tasks. Everything must outlive this. Fits are made when
  /// first asked for: of times one for each model and instance, synchronous and asynchronous apart, over all tasks; of accuracies
  /// one for each task, since a learning rate or a smaller part of the data makes other accuracies.
  TableLearner(const RunTable& table, const std::vector<bool>& measured, const RunLearner& learner)
      : table_(table), measured_(measured), learner_(learner), epochs_(table.tasks().size(), -1) {}

  /// Pessimistic, as limits are held against it; NaN: no past run says anything.
  struct Guess {
    double time_s = 0;
    double accuracy = 0;
  };
  /// At the option's epochs. Where those are no choice: at the fewest with which a past run of the task went to its end, or of
  /// its model and dataset if there was none.
  Guess guess(std::size_t task, std::size_t option);

 private:
  const EpochTimes* times(std::size_t task, const TableOption& option);
  const Accuracies* accuracies(std::size_t task, bool asynchronous);
  double epochs(std::size_t task);
  /// Past runs of those tasks and options for which `wanted` holds.
  template <class Wanted>
  std::vector<PastRun> past_runs(Wanted&& wanted) const;

  const RunTable& table_;
  const std::vector<bool>& measured_;
  const RunLearner& learner_;
  std::map<std::tuple<std::string, std::string, bool>, std::unique_ptr<EpochTimes>> times_;
  std::map<std::pair<std::size_t, bool>, std::unique_ptr<Accuracies>> accuracies_;
  std::vector<double> epochs_;  ///< of each task; -1: not worked out yet, NaN: unknown
};

}  // namespace rehearse::policies
