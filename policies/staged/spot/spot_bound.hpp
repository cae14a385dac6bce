// What no policy for a spot job can go below, whatever it learned: an information relaxation with the penalty of a table's values
// (Rogers 2002; Brown, Smith and Sun, "Information Relaxations and Duality in Stochastic Dynamic Programs", 2010).
#pragma once

#include <vector>

#include "policies/staged/spot/spot_programme.hpp"

namespace rehearse::policies {

/// The probability that a run ends after a step, by its age (steps since it began); beyond the last as the last.
struct RunHazards {
  std::vector<double> up, down;

  double leaves(bool is_up, int age) const;
};

/// In one zone whose runs have the hazards, the job submitted at `begin` of the series, which begins with a run. The mean over
/// jobs of what this yields is below the expected money of every policy that keeps the deadline on every future, also of those
/// that are told the hazards and how long the run at the submission has lasted. Any values do; those of the hazards' own
/// programme make the bound tight. With restarts of one step and exact values it is the optimum for each future.
double dual_usd(const SpotTerms& terms, SpotAvailability series, std::size_t begin, const RunHazards& hazards,
                const SpotTable& table);

}  // namespace rehearse::policies
