// One run: one policy in one repetition, in a process of its own.
#pragma once

#include <functional>
#include <string>

#include "experiments/run/process_pool.hpp"
#include "scenarios/read/scenario.hpp"
#include "sim/engine/engine.hpp"
#include "sim/io/output_file.hpp"
#include "sim/replay/replay.hpp"
#include "workloads/steps/placed_step.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::scenarios {

struct RunTask {
  std::size_t policy = 0;  ///< index into Scenario::policies
  int repetition = 0;
  sim::OwnFolder folder = {};      ///< for its files; none: it writes none
  sim::AtWork* at_work = nullptr;  ///< as sim::ReplaySetup has it
  /// Hears each job's menu at its arrival; what it throws ends the replay. May be empty.
  std::function<void(const sim::Job& job, const sim::Menu& menu, const workloads::Belief& belief)> on_menu = {};
};

inline constexpr const char* kOutcomeFile = "outcome.bin";

struct Replayed {
  report::RunOutcome outcome;
  std::vector<workloads::TimedReplica> timed;  ///< steps that the fast timer timed
};

/// Replays; with a folder, writes the run's files there. `drive` as sim::replay has it. Throws what went wrong.
Replayed replay_one(const Scenario& scenario, const RunTask& task, const TellProgress& on_progress,
                    void (*drive)(sim::EventQueue&, sim::EventHandler&));

/// Replays and writes the run's files and its outcome. Throws what went wrong.
void run_one(const Scenario& scenario, const RunTask& task, const TellProgress& on_progress);

}  // namespace rehearse::scenarios
