#include "policies/harness/table_choice.hpp"

#include <algorithm>
#include <limits>

namespace rehearse::policies {

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
    } else {
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

}  // namespace rehearse::policies
