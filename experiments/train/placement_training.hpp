// Trains the network of the placement method rl-transfer on the graphs and machines of a placement study.
#pragma once

#include "experiments/train/agent_training.hpp"

namespace rehearse::scenarios {

/// The network that did best on those graphs, the untrained one included; its cost ratio is the geometric mean over them of the
/// step's time where it puts the groups, over the untrained network's. SIGINT and SIGTERM end training; the best so far is kept.
/// Throws InputError when the scenario is no placement study, or a file cannot be used.
TrainResult train_rl_transfer(const Scenario& scenario, const TrainOptions& options);

}  // namespace rehearse::scenarios
