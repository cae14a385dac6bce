#include "policies/harness/run_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

TableOutcome mean_of(std::vector<PastRun> runs) {
  TableOutcome outcome;
  const double count = static_cast<double>(runs.size());
  for (const PastRun& run : runs) {
    outcome.time_s += run.time_s / count;
    outcome.accuracy += run.accuracy / count;
    outcome.price_usd_per_hour += run.price_usd_per_hour / count;
    outcome.cost_usd += run.price_usd_per_hour / 3600 * run.time_s / count;
    outcome.censored = outcome.censored || run.censored;
  }
  outcome.runs = std::move(runs);
  return outcome;
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
    cells.emplace_back(index_of(tasks_, {.model = run.model,
                                         .dataset = run.dataset,
                                         .precision = run.precision,
                                         .lr_rule = run.lr_rule,
                                         .samples = run.samples,
                                         .learning_rate = run.learning_rate}),
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
    if (!gathered[cell].empty()) outcomes_[cell] = mean_of(std::move(gathered[cell]));
}

}  // namespace rehearse::policies
