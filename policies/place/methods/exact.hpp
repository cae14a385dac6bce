// The best placement there is under the timer, by branch and bound (Land and Doig, Econometrica 28(3), 1960): what a part of the
// groups' devices makes sure of bounds all that can follow.
#pragma once

#include "policies/place/placement.hpp"

namespace rehearse::policies {

inline constexpr int kMostExactGroups = 16;

class Exact final : public PlacementMethod {
 public:
  /// The best of all placements by StepScore; every placement counts as an evaluation that is timed, and there must be enough of
  /// them. Throws InputError: more than kMostExactGroups groups, or the evaluations did not suffice for the proof.
  DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) override;
};

}  // namespace rehearse::policies
