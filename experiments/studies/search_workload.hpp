// A search as jobs of a cluster, beside the scenario's own jobs: under every policy, and what it takes of time, devices and
// others' patience.
#pragma once

#include "policies/search/methods.hpp"
#include "policies/search/search_jobs.hpp"
#include "report/statistics.hpp"
#include "experiments/studies/schedule_log.hpp"
#include "experiments/studies/search_outcome.hpp"

namespace rehearse::scenarios {

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

}  // namespace rehearse::scenarios
