// Where a job's training is cut into stages: the same for every staged strategy, so that they differ in what they choose alone.
#pragma once

#include <vector>

#include "sim/replay/alone.hpp"

namespace rehearse::policies {

enum class StagesBy : std::uint8_t { epochs, accuracy };

struct StageRules {
  int count = 5;  ///< at most; fewer when there are fewer epochs
  StagesBy by = StagesBy::epochs;
};

/// Trained epochs, whole and increasing, at which all stages but the last end: equal shares of the epochs that the job is
/// believed to train with `usual`, or those at which that training has gained equal shares of its accuracy. Empty: a single
/// stage.
std::vector<double> stage_ends(const sim::Job& job, const sim::Configuration& usual, const StageRules& rules,
                               sim::StageRunner& believed);

}  // namespace rehearse::policies
