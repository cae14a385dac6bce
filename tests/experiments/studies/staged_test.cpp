#include <catch2/catch.hpp>
#include <cmath>

#include "experiments/studies/studies.hpp"

using rehearse::scenarios::gain_ratio;
using rehearse::scenarios::GainRatio;
using rehearse::scenarios::StagedOutcome;

// Jobs whose static optimum costs 100: the staged optimum 90, 80, 99, 90; the policy 95, 100, 99, 50. The third saves 1 %, the
// policy breaks a limit of the fourth: (5 + 0) / (10 + 20) = 1/6.
TEST_CASE("the gain ratio sums over jobs that keep their limits and have something to gain") {
  const std::vector<StagedOutcome> optimum(4, {.cost_usd = 100, .keeps = true});
  const std::vector<StagedOutcome> staged{{90, true}, {80, true}, {99, true}, {90, true}};
  const std::vector<StagedOutcome> policy{{95, true}, {100, true}, {99, true}, {50, false}};
  const GainRatio gain = gain_ratio(policy, optimum, staged, 1);
  CHECK(gain.ratio == Approx(1.0 / 6));
  CHECK(gain.jobs == 2);
  // Resamples of two jobs: 5/10, 0/20 or both.
  CHECK(gain.ci95_low == Approx(0));
  CHECK(gain.ci95_high == Approx(0.5));
  CHECK(gain_ratio(staged, optimum, staged, 1).ratio == Approx(1));
  CHECK(std::isnan(gain_ratio(policy, optimum, optimum, 1).ratio));
}
