// One truth for step time: the model-parallel steps that replays timed by the fast timer, timed again by the reference.
#pragma once

#include <string>
#include <vector>

#include "experiments/run/results_folder.hpp"
#include "experiments/run/run_one.hpp"
#include "scenarios/read/scenario.hpp"
#include "workloads/steps/placed_step.hpp"

namespace rehearse::scenarios {

/// In a run: leaves what it timed for its parent. No file when there is nothing.
void write_timed_replicas(const sim::OwnFolder& folder, const std::vector<workloads::TimedReplica>& timed);

/// In the parent, after the runs: up to kMostRetimed distinct ones of all runs, in their order, in `processes` children. Throws
/// CheckFailed when two timers differ by more than kTimersAgree of the step.
void time_again(const Scenario& scenario, const std::vector<RunTask>& tasks, int processes, const ResultsFolder& folder);

/// One of them, in a forked child of its own.
void time_again(const Scenario& scenario, const workloads::TimedReplica& timed);

inline constexpr std::size_t kMostRetimed = 1000;
inline constexpr double kTimersAgree = 1e-9;

/// One line of text, and back.
std::string to_text(const workloads::TimedReplica& timed);
workloads::TimedReplica timed_replica(const std::string& line);

}  // namespace rehearse::scenarios
