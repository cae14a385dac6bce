// Trains the agent of staged-shared by whole replays: the cross-entropy method (Rubinstein and Kroese 2004; de Boer et al., "A
// tutorial on the cross-entropy method", 2005) over its weights. What a job takes is paid for by those that wait, so that nothing
// smaller than a replay says what a weight is worth.
#pragma once

#include "experiments/train/agent_training.hpp"

namespace rehearse::scenarios {

/// The scenario's policies whose `configure` is staged-shared, each with its queue, are replayed on its jobs, drawn anew with
/// other seeds and arrivals of half to twice the rate. Weights are judged by the logarithm of the effective money over that of
/// the untrained agent on the same jobs. The one that did best on jobs for validation is kept, the untrained one included. Throws
/// InputError when there is no such policy or no generator. The scenario is as it was afterwards.
TrainResult train_staged_shared(Scenario& scenario, const TrainOptions& options);

}  // namespace rehearse::scenarios
