// The spaces that a scenario names: where candidates come from, once for each device that they are to be quick on.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/results_folder.hpp"
#include "experiments/studies/schedule_log.hpp"
#include "policies/search/methods.hpp"
#include "policies/search/search_jobs.hpp"
#include "policies/search/search_method.hpp"
#include "report/plots/figure.hpp"
#include "report/statistics.hpp"
#include "report/table.hpp"
#include "scenarios/read/loader_parts.hpp"

namespace rehearse::scenarios {

struct NamedSpace {
  std::string name;  ///< of the device
  std::shared_ptr<const policies::SearchSpace> space;
  std::vector<policies::Genes> all;  ///< every candidate, of a space that is known as a whole; else empty
  /// A candidate's architecture: its name, and its training as a job file of `rehearse plan`. Nothing for one that is no network.
  /// Empty: the space has none.
  std::function<std::optional<std::pair<std::string, std::string>>(const policies::Genes&)> plan_job = {};
};

/// What a scenario says of its space.
struct SpaceChoice {
  std::vector<policies::SearchGoal> goals;  ///< that it knows; empty after a mistake
  bool trains = false;                      ///< its candidates are ChainSpace's: they can be trained on the cluster
  /// Gives the scenario the profiles of what is trained. Once, after the scenario's own have their models.
  std::function<std::vector<NamedSpace>(Scenario&)> make;
};
SpaceChoice read_search_space(sim::JsonValue value, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes);

// What searches have found, and the tables about it.

/// Evaluations as text for the way between processes.
std::string to_text(const std::vector<policies::Evaluation>& evaluations);
std::vector<policies::Evaluation> evaluations_of(const std::string& text);
/// The next word as a number, which may be "nan" or "inf"; anything else is a failed check.
double read_number(std::istringstream& in);

/// A candidate trained in full.
struct Found {
  policies::Genes genes;
  policies::Measures measures;
  policies::Objectives objectives;
};

/// What all searches on one space are held against: the best candidates, of all there are where they are known, else of all that
/// any search has found.
struct SearchReference {
  std::vector<Found> front;    ///< by the first objective, the best last
  policies::Objectives worst;  ///< the corner from which hypervolumes are counted
  double volume = 0;           ///< of the front
  bool is_exact = false;       ///< the front of all candidates there are
  std::size_t knee = 0;        ///< of the front
};

/// Searches on one space: by method, then repetition.
struct SpaceOutcome {
  const NamedSpace* space = nullptr;
  std::vector<std::vector<std::vector<policies::Evaluation>>> searches;
  SearchReference reference;
};

struct SearchQuestion {
  std::vector<policies::SearchGoal> goals;
  std::vector<std::string> methods;
  double accuracy_above =
      0;  ///< what is less accurate does not count for the hypervolume; NaN: down to the front's least accurate
};

SearchReference reference_of(const SearchQuestion& question, const SpaceOutcome& outcome);

/// Over that of the reference, of the first `count` evaluations; 1 is all of it.
double relative_volume(const SearchQuestion& question, const SearchReference& reference,
                       std::span<const policies::Evaluation> evaluations);

/// The fewest evaluations whose relative volume is at least this; null when they never come to it.
const policies::Evaluation* first_to_reach(const SearchQuestion& question, const SearchReference& reference,
                                           std::span<const policies::Evaluation> evaluations, double volume);

/// docs/reference/metrics.md, "Studies".
report::Table search_table(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes);
report::Table front_table(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes);
report::Table progress_table(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes);
/// One for the terminal with counts, one for the file with the architectures.
std::vector<report::Table> change_tables(const std::vector<SpaceOutcome>& outcomes);

/// front-SPACE-GOAL: the first objective against each other one; hypervolume-SPACE: against evaluations.
std::vector<report::NamedFigure> search_figures(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes);

// A search as jobs of a cluster, beside the scenario's own jobs: under every policy, and what it takes of time, devices and
// others' patience.

/// What one search in one replay took.
struct ClusterFigures {
  double search_h = 0;  ///< from its first submission to its last end
  double gpu_hours = 0, cost_usd = 0;
  double utilization = 0;      ///< devices held over devices there, as long as it lasted
  double others_wait_h = 0;    ///< until their first start, mean over the scenario's jobs that started
  double others_jct_h = 0;     ///< to their end, mean over the scenario's jobs that finished
  double others_finished = 0;  ///< of them
  double preemptions = 0;      ///< of all jobs
  ScheduleFaults faults;
};

struct ClusterSearch {
  const policies::ChainSpace* space = nullptr;
  std::vector<policies::SearchGoal> goals;
  const policies::PolicySpec* policy = nullptr;
  policies::SearchJobsSettings settings;
  int repetition = 0;
};

struct ClusterOutcome {
  ClusterFigures figures;
  std::vector<policies::Evaluation> evaluations;
};

/// Replays. In a process of its own.
ClusterOutcome search_on_cluster(const Scenario& scenario, const ClusterSearch& search, policies::SearchMethod& method);

std::string to_text(const ClusterOutcome& outcome);
ClusterOutcome cluster_outcome_of(const std::string& text);

/// What an arm comes to in all its repetitions: means.
struct ArmFigures {
  double hypervolume = 0;           ///< over the reference's
  double hours_to_same = 0;         ///< until it has the hypervolume that all arms come to
  report::Estimate times_faster{};  ///< the first arm's hours over this one's
  double utilization = 0;           ///< as in ClusterFigures
  double utilization_gain_percent = 0;
};
/// Arms as in `outcome`, for each its repetitions; the first one is what the others are held against.
std::vector<ArmFigures> compare_arms(const SearchQuestion& question, const SpaceOutcome& outcome,
                                     const std::vector<std::vector<ClusterFigures>>& figures);

/// docs/reference/metrics.md, "Studies". `arms`: of each space, by compare_arms.
report::Table cluster_table(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes,
                            const std::vector<std::vector<std::vector<ClusterFigures>>>& figures,
                            const std::vector<std::vector<ArmFigures>>& arms);

// What is asked of a search, and whether its fronts and its replays have it.

/// Asked of every space; docs/reference/metrics.md says what is measured for each.
struct SearchTargets {
  double accuracy = 0.95;            ///< at least
  double latency_s = 0.010;          ///< at most
  double memory_saved_percent = 30;  ///< at least, as all below but the hours
  double training_time_saved_percent = 50;
  double utilization_gain_percent = 20;
  double search_h = 24;  ///< at most: hours, not days
};
SearchTargets read_search_targets(sim::JsonValue value, sim::Mistakes& mistakes);

/// One row for each target. `arms`: those of a workload, the first of which the others are held against; empty without one. A
/// space without a front has no rows.
report::Table targets_table(const SearchQuestion& question, const SearchTargets& asked, const std::vector<SpaceOutcome>& outcomes,
                            const std::vector<std::vector<ArmFigures>>& arms);

}  // namespace rehearse::scenarios
