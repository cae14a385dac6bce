// What choices from a table of measured runs are worth, since the table knows what would have come of every one.
#pragma once

#include <span>
#include <vector>

#include "policies/harness/table_choice.hpp"
#include "report/statistics.hpp"

namespace rehearse::scenarios {

/// A strategy's choices: one a repetition and job.
using TableChoices = std::vector<std::vector<policies::TableChoice>>;

/// Percent. NaN where there is nothing to divide by.
struct ChoiceScore {
  double none = 0;           ///< jobs without a choice
  double violated = 0;       ///< of the choices, those that break a limit
  double regret_median = 0;  ///< of the choices that keep the limits: money over the least that does, less 1
  double regret_p90 = 0;
};

ChoiceScore score(const policies::RunTable& table, std::span<const policies::TableJob> jobs, const TableChoices& choices);

/// 100 (1 - cost / reference's cost) of the jobs whose limits both keep, in each repetition; then the mean.
struct ChoiceSaving {
  report::Estimate percent;
  double compared = 0;  ///< percent of the jobs
};
ChoiceSaving saving(const policies::RunTable& table, std::span<const policies::TableJob> jobs, const TableChoices& choices,
                    const TableChoices& reference);

}  // namespace rehearse::scenarios
