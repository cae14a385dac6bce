// What the study `spot-workers` is asked, and what comes of it.
#pragma once

#include <string>
#include <vector>

#include "policies/staged/spot/worker_job.hpp"
#include "report/table.hpp"

namespace rehearse::scenarios {

struct SpotWorld {
  double up_h = 0, down_h = 0;  ///< mean times with and without capacity; medians of the processes that are drawn
  double slack = 0;             ///< the deadline over the job's time on one worker
};

struct SpotWorkersQuestion {
  std::vector<SpotWorld> worlds;
  policies::WorkerSpeeds speeds;
  double stage_min = 0, deadline_h = 0, on_demand_usd_per_hour = 0, price_lasts_h = 0;
  std::vector<double> price_factors, price_shares, revocation_factors;
  double spread = 0;
  int processes = 0, jobs = 0, training_processes = 0;  ///< of each world; jobs of each process
  bool ablations = false;

  policies::WorkerTerms terms(const SpotWorld& world) const { return terms_with(world, speeds.batch.sizes); }
  policies::WorkerTerms terms_with(const SpotWorld& world, const std::vector<int>& batches) const;
  /// Of the medians.
  policies::MarketTerms market(const SpotWorld& world) const;
};

struct WorkerScore {
  double usd = 0;
  bool kept = true;
  int overruled = 0, starts = 0, worker_stages = 0;
};

/// In one world: scores[policy][process * jobs + job], policies as in spot_worker_names, and what the programme expected of each.
struct WorldScores {
  std::vector<std::vector<WorkerScore>> scores;
  std::vector<double> expected_usd;
};

/// The static choices first, then, of jobs with batches, what was learned with batch or workers fixed; the omniscient optimum
/// last. Of those with a colon only the cheapest of its kind, the text before it, counts.
std::vector<std::string> spot_worker_names(const policies::WorkerSpeeds& speeds, bool ablations);

WorldScores run_spot_world(const SpotWorkersQuestion& question, std::size_t world, std::uint64_t seed);

/// sum(from - policy) / sum(from - to), money by job.
struct EarnedShare {
  double share = 0, ci95_low = 0, ci95_high = 0;  ///< percentile bootstrap over processes, each with its jobs
};
/// `jobs` of each process, one after the other. NaN where there is no room.
EarnedShare earned_share(const std::vector<WorkerScore>& policy, const std::vector<WorkerScore>& from,
                         const std::vector<WorkerScore>& to, int jobs, std::uint64_t seed);

/// By world and policy, and by world.
std::vector<report::Table> spot_worker_tables(const SpotWorkersQuestion& question, const std::vector<WorldScores>& worlds,
                                              std::uint64_t seed);

}  // namespace rehearse::scenarios
