// What a run will take, told before it starts: orders of magnitude, from measured runs.
#pragma once

#include <string>
#include <vector>

#include "scenarios/read/scenario.hpp"

namespace rehearse::scenarios {

struct FileEstimate {
  std::string name;
  double bytes = 0;
};

struct RunEstimate {
  double jobs = 0;          ///< of one run: a policy in one repetition
  double events = 0;        ///< of one run, of jobs and nodes
  double memory_bytes = 0;  ///< of all processes that run at once
  double written_bytes = 0;
  std::vector<FileEstimate> files = {};  ///< what is written, by file
  double duration_s = 0;                 ///< of wall time
  /// Policies of which some decision is not in that time: what their queues, placements, threads or processes take was measured
  /// nowhere, or depends on the scenario too much.
  std::vector<std::string> undecided_time = {};
};

/// Of a scenario without a study. `processes` run at once; `points` of a sweep, whose runs write no files.
RunEstimate estimate_run(const Scenario& scenario, int processes, double points = 0);

std::string to_string(const RunEstimate& estimate);

/// The strategies whose times the estimate was given, by the names that the registry has for them.
struct EstimatedStrategies {
  std::vector<std::string> configure, queue;
};
EstimatedStrategies estimated_strategies();

/// Above 1 GB of memory or files, or ten minutes.
bool is_large(const RunEstimate& estimate);

}  // namespace rehearse::scenarios
