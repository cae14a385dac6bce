// A search as jobs of a cluster, beside the scenario's own jobs: under every policy, and what it takes of time, devices and
// others' patience.
#pragma once

#include "policies/search/methods.hpp"
#include "policies/search/search_jobs.hpp"
#include "scenarios/studies/schedule_log.hpp"
#include "scenarios/studies/search_outcome.hpp"

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
  std::vector<policies::Goal> goals;
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

/// docs/metrics.md, "Studies". Arms as in `outcomes`; the first one is what the others are held against.
report::Table cluster_table(const SearchQuestion& question, const std::vector<SpaceOutcome>& outcomes,
                            const std::vector<std::vector<std::vector<ClusterFigures>>>& figures);

}  // namespace rehearse::scenarios
