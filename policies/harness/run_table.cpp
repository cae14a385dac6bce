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

}  // namespace rehearse::policies
