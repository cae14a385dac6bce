// The scenario's policies, choosing from a table of measured runs instead of a cluster's pools.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "policies/configure/from_history.hpp"
#include "policies/harness/across_tasks.hpp"
#include "policies/harness/table_choice.hpp"
#include "policies/registry/bundle.hpp"
#include "report/statistics.hpp"
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

/// The share of the options that a fraction of them gives as past runs: the first so many in the repetition's random order, each
/// task with its own. The same for all strategies, and for a smaller fraction a part of them.
policies::MeasuredCells shared_history(const policies::RunTable& table, const TableHistory& history);

class TablePolicy {
 public:
  /// Throws InputError when the configure strategy knows nothing of tables.
  explicit TablePolicy(const policies::PolicySpec& spec);
  const std::string& name() const { return spec_.name; }

  /// Chooses by what its learner says of past runs that were drawn for all, or by rule: others search for accuracies at given
  /// epochs, which a table of runs to their targets does not have.
  bool takes_targets() const;

  struct Answer {
    std::vector<policies::TableChoice> choices;  ///< one a job
    policies::MeasuredCells measured;            ///< its past runs
  };
  Answer choose(const TableQuestion& question, const TableHistory& history) const;

 private:
  enum class Kind { oracle, median_feasible, random_feasible, manual, learned };
  policies::TableChoice by_rule(const TableQuestion& question, const TableHistory& history, std::size_t job) const;
  policies::MeasuredCells past_runs(const TableQuestion& question, const TableHistory& history) const;
  bool searches() const;  ///< chooses what is measured as its publication has it, and recommends the best of that
  policies::MeasuredCells own_probes(const TableQuestion& question, const TableHistory& history) const;
  policies::MeasuredCells active_probes(const TableQuestion& question, const TableHistory& history) const;
  std::uint64_t stream_key(const TableHistory& history, const std::string& entity) const;

  policies::PolicySpec spec_;
  policies::Learning learning_;
  Kind kind_ = Kind::learned;
  std::shared_ptr<const policies::FromHistory> learned_;
  const policies::ConfigureEntry* entry_ = nullptr;
};

// What choices from a table of measured runs are worth, since the table knows what would have come of every one.

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

/// What a strategy's past runs cost: of each repetition, each task's. `reuse_jobs` jobs share a task's.
struct SharedRuns {
  std::span<const std::vector<double>> usd = {};  ///< empty: nothing
  double reuse_jobs = 1;
};

/// 100 (1 - cost / reference's cost) of the jobs whose limits both keep, in each repetition; then the mean. The policy's jobs
/// pay their share of its past runs.
struct ChoiceSaving {
  report::Estimate percent;
  double compared = 0;  ///< percent of the jobs
};
ChoiceSaving saving(const policies::RunTable& table, std::span<const policies::TableJob> jobs, const TableChoices& choices,
                    const TableChoices& reference, const SharedRuns& past_runs = {});

}  // namespace rehearse::scenarios
