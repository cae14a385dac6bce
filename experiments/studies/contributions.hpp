// Where a policy's saving comes from: its knobs switched on one after the other, from manual to the whole policy.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/study.hpp"

namespace rehearse::scenarios {

/// Parameter: "order" (list of knobs; the others come after).
std::unique_ptr<StudyParameters> read_contributions(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                    sim::Mistakes& mistakes);

/// Which knobs are on: bit i is the i-th.
using KnobSet = unsigned;

/// What one knob saves, in money.
struct Contribution {
  double in_turn = 0;        ///< switched on after those before it; all knobs' sum to the whole saving
  double alone = 0;          ///< switched on alone
  double last = 0;           ///< switched on after all others
  double in_turn_fixed = 0;  ///< as in_turn, while the fixed knob stays off; NaN for that one
};

/// `cost` is asked for the sets of sets_needed alone. `fixed`: the knob that also stays off; none: in_turn_fixed is NaN.
std::vector<Contribution> contributions(int knobs, std::optional<int> fixed, const std::function<double(KnobSet)>& cost);

/// Increasing, from no knob to all.
std::vector<KnobSet> sets_needed(int knobs, std::optional<int> fixed);

}  // namespace rehearse::scenarios
