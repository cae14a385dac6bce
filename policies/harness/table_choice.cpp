#include "policies/harness/table_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/random.hpp"

namespace rehearse::policies {

namespace {

/// Of an equal one in the list, which it joins if there is none.
template <class Item>
std::size_t index_of(std::vector<Item>& list, const Item& item) {
  const auto found = std::find(list.begin(), list.end(), item);
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  list.push_back(item);
  return list.size() - 1;
}

/// `to_target`: its accuracy is that of the run that got least far, since it is the target that a job asks for.
TableOutcome outcome_of(std::vector<PastRun> runs, bool to_target) {
  TableOutcome outcome;
  const double count = static_cast<double>(runs.size());
  for (const PastRun& run : runs) {
    outcome.time_s += run.time_s / count;
    outcome.accuracy += run.accuracy / count;
    outcome.price_usd_per_hour += run.price_usd_per_hour / count;
    outcome.cost_usd += run.price_usd_per_hour / 3600 * run.time_s / count;
    outcome.censored = outcome.censored || run.censored;
  }
  if (to_target) outcome.accuracy = std::ranges::min_element(runs, {}, &PastRun::accuracy)->accuracy;
  outcome.runs = std::move(runs);
  return outcome;
}

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double fewest_epochs_to_the_end(const std::vector<PastRun>& runs) {
  double fewest = kUnknown;
  for (const PastRun& run : runs)
    if (!run.censored) fewest = std::fmin(fewest, run.epochs);
  return fewest;
}

}  // namespace

std::string to_string(const TableOption& option) {
  return fmt::format("{} x {}{}, batch {:g} a worker, {}{}", option.workers, option.instance,
                     option.servers > 0 ? fmt::format(" and {} servers", option.servers) : "", option.batch_of_worker(),
                     option.asynchronous ? "asynchronous" : "synchronous",
                     option.epochs > 0 ? fmt::format(", {:g} epochs", option.epochs) : "");
}

bool keeps_limits(const TableOutcome& outcome, const TableLimits& limits) {
  return !outcome.censored && outcome.time_s <= limits.deadline_s && outcome.accuracy >= limits.target_accuracy;
}

RunTable::RunTable(const std::vector<PastRun>& runs, const RunTableSetup& setup) {
  sim::Mistakes mistakes;
  if (runs.empty()) mistakes.add({.expected = "at least one run"});
  std::vector<std::pair<std::size_t, std::size_t>> cells;
  for (const PastRun& run : runs) {
    if (std::isnan(run.price_usd_per_hour))
      mistakes.add({.line = static_cast<std::int64_t>(cells.size()) + 1, .pointer = "price_usd_per_hour", .expected = "a price"});
    if (setup.to_target && run.target_accuracy == 0)
      mistakes.add({.line = static_cast<std::int64_t>(cells.size()) + 1,
                    .pointer = "target_accuracy",
                    .expected = "the accuracy that the run was trained until"});
    cells.emplace_back(index_of(tasks_, {.model = run.model,
                                         .dataset = run.dataset,
                                         .precision = run.precision,
                                         .lr_rule = run.lr_rule,
                                         .recipe = run.recipe,
                                         .samples = run.samples,
                                         .learning_rate = run.learning_rate,
                                         .target_accuracy = setup.to_target ? run.target_accuracy : 0}),
                       index_of(options_, {.instance = run.instance,
                                           .workers = run.workers,
                                           .servers = run.servers,
                                           .batch_size = run.batch_size,
                                           .asynchronous = run.asynchronous,
                                           .epochs = setup.epochs_are_chosen ? run.epochs : 0}));
  }
  mistakes.throw_if_any();
  std::vector<std::vector<PastRun>> gathered(tasks_.size() * options_.size());
  for (std::size_t i = 0; i < runs.size(); ++i) gathered[cells[i].first * options_.size() + cells[i].second].push_back(runs[i]);
  outcomes_.resize(gathered.size());
  for (std::size_t cell = 0; cell < gathered.size(); ++cell)
    if (!gathered[cell].empty()) outcomes_[cell] = outcome_of(std::move(gathered[cell]), setup.to_target);
}

double money_of_runs_usd(const RunTable& table, const MeasuredCells& measured, std::size_t task) {
  double usd = 0;
  for (std::size_t option = 0; option < table.options().size(); ++option)
    if (const TableOutcome* outcome = table.outcome(task, option); outcome != nullptr && measured.has(task, option))
      usd += outcome->cost_usd * static_cast<double>(outcome->runs.size());
  return usd;
}

std::vector<std::size_t> feasible_options(const RunTable& table, const TableJob& job) {
  std::vector<std::size_t> feasible;
  for (std::size_t option = 0; option < table.options().size(); ++option)
    if (const TableOutcome* outcome = table.outcome(job.task, option); outcome != nullptr && keeps_limits(*outcome, job.limits))
      feasible.push_back(option);
  std::stable_sort(feasible.begin(), feasible.end(), [&](std::size_t a, std::size_t b) {
    return table.outcome(job.task, a)->cost_usd < table.outcome(job.task, b)->cost_usd;
  });
  return feasible;
}

std::size_t best_fixed_option(const RunTable& table, std::span<const TableJob> jobs) {
  std::size_t best = 0, best_kept = 0;
  double best_usd = 0;
  for (std::size_t option = 0; option < table.options().size(); ++option) {
    std::size_t kept = 0;
    double usd = 0;
    for (const TableJob& job : jobs) {
      const TableOutcome* outcome = table.outcome(job.task, option);
      if (outcome == nullptr || !keeps_limits(*outcome, job.limits)) continue;
      ++kept;
      usd += outcome->cost_usd;
    }
    if (kept < best_kept || (kept == best_kept && usd >= best_usd)) continue;
    best = option;
    best_kept = kept;
    best_usd = usd;
  }
  return best;
}

bool is_free(TableFreedom freedom, const TableOption& option, const TableOption& fixed) {
  switch (freedom) {
    case TableFreedom::everything:
      return true;
    case TableFreedom::resources:
      return option.batch_of_worker() == fixed.batch_of_worker() && option.asynchronous == fixed.asynchronous;
    case TableFreedom::batch:
      return option.instance == fixed.instance && option.workers == fixed.workers && option.servers == fixed.servers;
  }
  return false;
}

TableChoice cheapest_learned(const RunTable& table, const TableJob& job, TableLearner& learner, const LearnedChoice& how) {
  TableChoice cheapest;
  double least_usd = std::numeric_limits<double>::infinity();
  for (std::size_t option = 0; option < table.options().size(); ++option) {
    const TableOutcome* outcome = table.outcome(job.task, option);
    if (outcome == nullptr || !is_free(how.freedom, table.options()[option], table.options()[how.fixed_option])) continue;
    bool feasible = false;
    double usd = 0;
    if (how.trusts_measured && how.measured->has(job.task, option)) {
      feasible = keeps_limits(*outcome, job.limits);
      usd = outcome->cost_usd;
    } else if (!how.only_measured) {
      const TableLearner::Guess guess = learner.guess(job.task, option);
      feasible = guess.time_s <= job.limits.deadline_s && guess.accuracy >= job.limits.target_accuracy;
      usd = outcome->price_usd_per_hour / 3600 * guess.paid_time_s;
    }
    if (!feasible || usd >= least_usd) continue;
    cheapest = option;
    least_usd = usd;
  }
  return cheapest;
}

void probe_task(const RunTable& table, const ProbeBudget& budget, ProbeChooser& chooser, MeasuredCells& measured) {
  sim::Job typical;
  typical.target_accuracy = budget.typical.limits.target_accuracy;
  typical.deadline_s = budget.typical.limits.deadline_s;
  const std::size_t task = budget.typical.task;
  std::vector<Probe> pool;
  std::vector<std::size_t> options;  // of the pool's probes
  for (std::size_t i = 0; i < table.options().size(); ++i) {
    const TableOutcome* outcome = table.outcome(task, i);
    if (outcome == nullptr) continue;
    const TableOption& option = table.options()[i];
    pool.push_back({.run = {.workers = option.workers,
                            .batch_size = option.batch_size,
                            .samples = table.tasks()[task].samples,
                            .asynchronous = option.asynchronous},
                    .instance = option.instance,
                    .epochs = option.epochs > 0 ? option.epochs : budget.epochs,
                    .usd_per_s = outcome->price_usd_per_hour / 3600});
    options.push_back(i);
  }
  std::vector<PastRun> seen;
  sim::Random keys(budget.random_key);
  for (std::size_t probed = 0; probed < budget.runs && !pool.empty(); ++probed) {
    const std::size_t chosen =
        chooser.next({.pool = pool, .seen = seen, .typical = typical, .budget = budget.runs, .random_key = keys.next()});
    const TableOutcome& outcome = *table.outcome(task, options[chosen]);
    seen.insert(seen.end(), outcome.runs.begin(), outcome.runs.end());
    measured.add(task, options[chosen]);
    pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(chosen));
    options.erase(options.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
}

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

double epochs_needed(std::span<const EpochsAtBatch> measured, double batch) {
  const EpochsAtBatch *below = nullptr, *above = nullptr;
  for (const EpochsAtBatch& one : measured) {
    if (one.batch <= batch) {
      if (std::isnan(one.epochs)) return kUnknown;
      below = &one;
    } else if (above == nullptr && !std::isnan(one.epochs)) {
      above = &one;
    }
  }
  if (below == nullptr) return above == nullptr ? kUnknown : above->epochs;
  if (above == nullptr) return below->epochs * batch / below->batch;
  const double share = std::log(batch / below->batch) / std::log(above->batch / below->batch);
  return below->epochs * std::pow(above->epochs / below->epochs, share);
}

double TableLearner::epochs_to_target(std::size_t task, const TableOption& option) const {
  std::map<double, std::vector<double>> at;  // by batch
  for (std::size_t o = 0; o < table_.options().size(); ++o) {
    const TableOutcome* outcome = measured_.has(task, o) ? table_.outcome(task, o) : nullptr;
    if (outcome == nullptr || table_.options()[o].asynchronous != option.asynchronous) continue;
    for (const PastRun& run : outcome->runs) {
      const bool reached = !run.censored && run.accuracy >= run.target_accuracy;
      at[run.batch_size].push_back(reached ? run.epochs : kUnknown);
    }
  }
  std::vector<EpochsAtBatch> measured;
  for (const auto& [batch, epochs] : at) {
    double sum = 0;  // NaN as soon as one run did not get there
    for (const double one : epochs) sum += one;
    measured.push_back({batch, sum / static_cast<double>(epochs.size())});
  }
  return epochs_needed(measured, option.batch_size);
}

TableLearner::Guess TableLearner::guess(std::size_t task, std::size_t index) {
  const TableOption& option = table_.options()[index];
  const double target = table_.tasks()[task].target_accuracy;
  const double passes = target > 0 ? epochs_to_target(task, option) : option.epochs > 0 ? option.epochs : epochs(task);
  const EpochTimes* epoch_times = times(task, option);
  const Accuracies* reached = target > 0 ? nullptr : accuracies(task, option.asynchronous);
  if (epoch_times == nullptr || (reached == nullptr && target == 0) || std::isnan(passes)) return {kUnknown, kUnknown, kUnknown};
  const PlannedRun run{.workers = option.workers,
                       .batch_size = option.batch_size,
                       .samples = table_.tasks()[task].samples,
                       .asynchronous = option.asynchronous};
  const Prediction epoch = epoch_times->epoch_time_s(run);
  return {.time_s = passes * epoch.safe,
          .accuracy = target > 0 ? target : reached->accuracy(run, passes).safe,
          .paid_time_s = passes * (epoch.smooth + epoch.safe) / 2};
}

}  // namespace rehearse::policies
