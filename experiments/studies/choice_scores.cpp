#include "experiments/studies/choice_scores.hpp"

#include <cmath>

namespace rehearse::scenarios {

namespace {

using policies::RunTable;
using policies::TableChoice;
using policies::TableJob;

/// What the choice cost, where it keeps the limits; else NaN.
double kept_usd(const RunTable& table, const TableJob& job, const TableChoice& choice) {
  const policies::TableOutcome* outcome = choice ? table.outcome(job.task, *choice) : nullptr;
  return outcome != nullptr && keeps_limits(*outcome, job.limits) ? outcome->cost_usd : std::nan("");
}

}  // namespace

ChoiceScore score(const RunTable& table, std::span<const TableJob> jobs, const TableChoices& choices) {
  double asked = 0, chosen = 0, violated = 0;
  std::vector<double> regrets;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const std::vector<std::size_t> feasible = feasible_options(table, jobs[j]);
    for (const auto& of_repetition : choices) {
      const TableChoice& choice = of_repetition[j];
      ++asked;
      if (!choice) continue;
      ++chosen;
      const double usd = kept_usd(table, jobs[j], choice);
      if (std::isnan(usd))
        ++violated;
      else
        regrets.push_back(100 * (usd / table.outcome(jobs[j].task, feasible.front())->cost_usd - 1));
    }
  }
  return {.none = 100 * (1 - chosen / asked),
          .violated = 100 * violated / chosen,
          .regret_median = report::quantile(regrets, 0.5),
          .regret_p90 = report::quantile(regrets, 0.9)};
}

ChoiceSaving saving(const RunTable& table, std::span<const TableJob> jobs, const TableChoices& choices,
                    const TableChoices& reference) {
  std::vector<double> savings;
  double compared = 0;
  for (std::size_t r = 0; r < choices.size(); ++r) {
    double usd = 0, reference_usd = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      const double own = kept_usd(table, jobs[j], choices[r][j]), other = kept_usd(table, jobs[j], reference[r][j]);
      if (std::isnan(own) || std::isnan(other)) continue;
      usd += own;
      reference_usd += other;
      ++compared;
    }
    savings.push_back(reference_usd > 0 ? 100 * (1 - usd / reference_usd) : std::nan(""));
  }
  return {.percent = report::estimate(savings), .compared = 100 * compared / static_cast<double>(jobs.size() * choices.size())};
}

}  // namespace rehearse::scenarios
