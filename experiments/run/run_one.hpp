// One run: one policy in one repetition, in a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "experiments/run/process_pool.hpp"
#include "scenarios/read/scenario.hpp"
#include "sim/engine/engine.hpp"
#include "sim/io/output_file.hpp"
#include "workloads/steps/placed_step.hpp"

namespace rehearse::scenarios {

struct RunTask {
  std::size_t policy = 0;  ///< index into Scenario::policies
  int repetition = 0;
  sim::OwnFolder folder = {};  ///< for its files; none: it writes none
};

inline constexpr const char* kOutcomeFile = "outcome.bin";

struct Replayed {
  report::RunOutcome outcome;
  std::vector<workloads::TimedReplica> timed;  ///< steps that the fast timer timed
  double step_evaluations = 0;                 ///< timings of steps that the policy used
};

/// Replays; with a folder, writes the run's files there. `drive` as sim::replay has it. Throws what went wrong.
Replayed replay_one(const Scenario& scenario, const RunTask& task, const TellProgress& on_progress,
                    void (*drive)(sim::EventQueue&, sim::EventHandler&));

/// Replays and writes the run's files and its outcome. Throws what went wrong.
void run_one(const Scenario& scenario, const RunTask& task, const TellProgress& on_progress);

}  // namespace rehearse::scenarios
