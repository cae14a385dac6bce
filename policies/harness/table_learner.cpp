#include "policies/harness/table_learner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rehearse::policies {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double fewest_epochs_to_the_end(const std::vector<PastRun>& runs) {
  double fewest = kUnknown;
  for (const PastRun& run : runs)
    if (!run.censored) fewest = std::fmin(fewest, run.epochs);
  return fewest;
}

}  // namespace

template <class Wanted>
std::vector<PastRun> TableLearner::past_runs(Wanted&& wanted) const {
  std::vector<PastRun> runs;
  for (std::size_t task = 0; task < table_.tasks().size(); ++task) {
    for (std::size_t option = 0; option < table_.options().size(); ++option) {
      const TableOutcome* outcome = measured_.has(task, option) ? table_.outcome(task, option) : nullptr;
      if (outcome != nullptr && wanted(task, table_.options()[option]))
        runs.insert(runs.end(), outcome->runs.begin(), outcome->runs.end());
    }
  }
  return runs;
}

const EpochTimes* TableLearner::times(std::size_t task, const TableOption& option) {
  const auto together = [&](std::size_t other) {
    return tasks_apart_ ? other == task : table_.tasks()[other].has_profile_of(table_.tasks()[task]);
  };
  std::size_t first = 0;
  while (!together(first)) ++first;
  const auto [found, is_new] = times_.try_emplace({first, option.instance, option.asynchronous});
  if (is_new)
    found->second = learner_.epoch_times(past_runs([&](std::size_t t, const TableOption& o) {
      return together(t) && o.instance == option.instance && o.asynchronous == option.asynchronous;
    }));
  return found->second.get();
}

const Accuracies* TableLearner::accuracies(std::size_t task, bool asynchronous) {
  const auto [found, is_new] = accuracies_.try_emplace({task, asynchronous});
  if (is_new)
    found->second = learner_.accuracies(past_runs([&](std::size_t t, const TableOption&) { return t == task; }), asynchronous);
  return found->second.get();
}

double TableLearner::epochs(std::size_t task) {
  double& known = epochs_[task];
  if (known != -1) return known;
  const TableTask& asked = table_.tasks()[task];
  known = fewest_epochs_to_the_end(past_runs([&](std::size_t t, const TableOption&) { return t == task; }));
  if (std::isnan(known))
    known = fewest_epochs_to_the_end(
        past_runs([&](std::size_t t, const TableOption&) { return table_.tasks()[t].has_profile_of(asked); }));
  return known;
}

TableLearner::Guess TableLearner::guess(std::size_t task, std::size_t index) {
  const TableOption& option = table_.options()[index];
  const double passes = option.epochs > 0 ? option.epochs : epochs(task);
  const EpochTimes* epoch_times = times(task, option);
  const Accuracies* reached = accuracies(task, option.asynchronous);
  if (epoch_times == nullptr || reached == nullptr || std::isnan(passes)) return {kUnknown, kUnknown, kUnknown};
  const PlannedRun run{.workers = option.workers,
                       .batch_size = option.batch_size,
                       .samples = table_.tasks()[task].samples,
                       .asynchronous = option.asynchronous};
  const Prediction epoch = epoch_times->epoch_time_s(run);
  return {.time_s = passes * epoch.safe,
          .accuracy = reached->accuracy(run, passes).safe,
          .paid_time_s = passes * (epoch.smooth + epoch.safe) / 2};
}

}  // namespace rehearse::policies
