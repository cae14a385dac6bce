// How an option of a table is chosen for a job: by what was measured, by what a learner says, by rule, or by knowing it all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "policies/harness/run_table.hpp"
#include "policies/harness/table_learner.hpp"

namespace rehearse::policies {

struct TableJob {
  std::size_t task = 0;
  TableLimits limits;
};

/// An option of the table; nothing: none is believed to keep the limits.
using TableChoice = std::optional<std::size_t>;

/// Options that keep the limits, cheapest first; of equals the first of the table.
std::vector<std::size_t> feasible_options(const RunTable& table, const TableJob& job);

/// The one option that keeps the limits of the most jobs, of equals the one that costs least over those: no fixed setting is
/// better, so that nobody can say that the rule was chosen badly. Known in hindsight alone.
std::size_t best_fixed_option(const RunTable& table, std::span<const TableJob> jobs);

/// What part of the options a strategy chooses from.
enum class TableFreedom {
  everything,
  resources,  ///< instance, workers and servers; a worker's batch, and how gradients are combined, stay the fixed option's
  batch,      ///< the reverse
};
bool is_free(TableFreedom freedom, const TableOption& option, const TableOption& fixed);

struct LearnedChoice {
  const MeasuredCells* measured = nullptr;
  /// A measured option's own outcome counts as it is; the learner is asked about the others alone.
  bool trusts_measured = true;
  TableFreedom freedom = TableFreedom::everything;
  std::size_t fixed_option = 0;  ///< for what is not free
};

/// The cheapest option that is known or predicted to keep the limits; of equals the first of the table.
TableChoice cheapest_learned(const RunTable& table, const TableJob& job, TableLearner& learner, const LearnedChoice& how);

}  // namespace rehearse::policies
