// Policies for spot jobs that need no learning: the rules of "Can't Be Late" (NSDI 2024), all on demand, and planning for the
// mean.
#pragma once

#include <memory>

#include "policies/staged/spot/spot_job.hpp"

namespace rehearse::policies {

/// Its section 4.3: run until revoked; take spot when idle; behind work x time / deadline, go on demand until two restarts ahead.
/// With no more slack than two restarts and no spot run it stays on demand.
std::unique_ptr<SpotPolicy> make_uniform_progress();

/// Its section 4.2: spot when it is there, else wait; on demand to the end from two restarts of slack.
std::unique_ptr<SpotPolicy> make_spot_greedy();

/// The static choice that needs no luck.
std::unique_ptr<SpotPolicy> make_on_demand();

/// Mean lengths of a zone's runs with and without capacity, in steps.
struct MeanRuns {
  double up = 0, down = 0;
};

/// Plans anew before each step as if each run to come took the mean: the cheapest of spot with waiting, spot with on-demand nodes
/// in the gaps, and on demand to the end. Without a forecast what is there now stays.
std::unique_ptr<SpotPolicy> make_mean_planner(const MeanRuns* forecast);

}  // namespace rehearse::policies
