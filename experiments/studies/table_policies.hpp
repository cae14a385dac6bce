// The scenario's policies, choosing from a table of measured runs instead of a cluster's pools.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policies/registry/bundle.hpp"
#include "policies/configure/from_history.hpp"
#include "policies/harness/table_choice.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::scenarios {

/// Jobs on a table, and what belongs to one repetition.
struct TableQuestion {
  const policies::RunTable* table = nullptr;
  std::vector<policies::TableJob> jobs;     ///< those of a task one after the other
  std::vector<policies::TableJob> typical;  ///< one a task: what a strategy that probes searches for
  std::size_t fixed_option = 0;             ///< manual's
};

struct TableHistory {
  double fraction = 1;  ///< of the options
  std::uint64_t seed = 0, policy_seed = 0;
  int repetition = 0;
};

/// The share of the options that a fraction of them gives as past runs: the first so many in the repetition's random order,
/// the same for all strategies, and for a smaller fraction a part of them.
policies::MeasuredCells shared_history(const policies::RunTable& table, const TableHistory& history);

class TablePolicy {
 public:
  /// Throws InputError when the configure strategy knows nothing of tables.
  explicit TablePolicy(const policies::PolicySpec& spec);
  const std::string& name() const { return spec_.name; }

  struct Answer {
    std::vector<policies::TableChoice> choices;  ///< one a job
    policies::MeasuredCells measured;            ///< its past runs
  };
  Answer choose(const TableQuestion& question, const TableHistory& history) const;

 private:
  enum class Kind { oracle, median_feasible, random_feasible, manual, learned };
  policies::TableChoice by_rule(const TableQuestion& question, const TableHistory& history, std::size_t job) const;
  policies::MeasuredCells past_runs(const TableQuestion& question, const TableHistory& history) const;

  policies::PolicySpec spec_;
  Kind kind_ = Kind::learned;
  std::shared_ptr<const policies::FromHistory> learned_;
  const policies::ConfigureEntry* entry_ = nullptr;
};

}  // namespace rehearse::scenarios
