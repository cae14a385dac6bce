// Trains the agent of a strategy on a scenario's generated jobs, and leaves it as a file with its learning curve beside it.
#pragma once

#include <functional>
#include <string>

#include "experiments/run/process_pool.hpp"
#include "scenarios/read/scenario.hpp"

namespace rehearse::scenarios {

inline constexpr int kValidateEvery = 50;  ///< iterations

struct TrainOptions {
  std::string out;     ///< the agent's file; the learning curve is `out` with .csv instead of .json
  std::string resume;  ///< an agent's file to go on from; empty: untrained
  int iterations = 1;
  std::string command;  ///< as it stands in the file
  bool progress = false;
  /// Hears of each replay of train_staged_shared that has ended: how many, of how many of the whole training.
  std::function<void(std::size_t done, std::size_t of)> on_replay = [](std::size_t, std::size_t) {};
};

struct TrainResult {
  int iterations = 0;      ///< done
  int best_iteration = 0;  ///< of the agent that was kept
  double cost_ratio = 1;   ///< its money over the untrained agent's, on the validation jobs
  bool interrupted = false;
};

/// Iterations under a bar until all are done or SIGINT or SIGTERM comes, which `interrupts` holds back; `after` each one the
/// result says how many there were, and takes what was best. Either may be left by Interrupted: an iteration that is not done
/// does not count.
TrainResult iterated(const TrainOptions& options, const HeldInterrupts& interrupts, const std::function<void()>& iterate,
                     const std::function<void(TrainResult&)>& after);

/// Where the learning curve of an agent's file goes.
std::string curve_path(std::string out);

/// The agent of "staged-rl": the one that did best on the validation jobs, the first one's included. SIGINT and SIGTERM end
/// training; the best so far is kept. Throws InputError when the scenario has no trainings or a file cannot be used.
TrainResult train_staged_rl(const Scenario& scenario, const TrainOptions& options);

// Trains the network of the placement method rl-transfer on the graphs and machines of a placement study.

/// The network that did best on those graphs, the untrained one included; its cost ratio is the geometric mean over them of the
/// step's time where it puts the groups, over the untrained network's. SIGINT and SIGTERM end training; the best so far is kept.
/// Throws InputError when the scenario is no placement study, or a file cannot be used.
TrainResult train_rl_transfer(const Scenario& scenario, const TrainOptions& options);

// Trains the agent of staged-shared by whole replays: the cross-entropy method (Rubinstein and Kroese 2004; de Boer et al., "A
// tutorial on the cross-entropy method", 2005) over its weights. What a job takes is paid for by those that wait, so that nothing
// smaller than a replay says what a weight is worth.

/// The scenario's policies whose `configure` is staged-shared, each with its queue, are replayed on its jobs, drawn anew with
/// other seeds and arrivals of half to twice the rate. Weights are judged by the logarithm of the effective money over that of
/// the untrained agent on the same jobs. The one that did best on jobs for validation is kept, the untrained one included. SIGINT
/// and SIGTERM end training after the replay that runs; the best so far is kept. Throws InputError when there is no such policy
/// or no generator, Interrupted before the first agent is judged. The scenario is as it was afterwards.
TrainResult train_staged_shared(Scenario& scenario, const TrainOptions& options);

}  // namespace rehearse::scenarios
