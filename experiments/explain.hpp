// Why a job of earlier results got what it got: the candidates are ranked again by the same replay, what happened then is read
// from the results' files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/read/scenario.hpp"
#include "sim/replay/decisions.hpp"

namespace rehearse::scenarios {

struct ExplainRequest {
  std::string folder;  ///< of results
  std::string job;
  std::string policy = {};  ///< empty: each
  int repetition = 0;
  /// Where the files are that the scenario names by relative paths; empty: in the current folder, or with the results.
  std::string inputs = {};
};

/// A row of decisions.csv. NaN where it says nothing.
struct DecisionRow {
  double time_s = 0;
  std::string decision, pool, note;
  int rank = 0, workers = 0;
  double batch_size = 0, predicted_time_s = 0, predicted_accuracy = 0, predicted_cost_usd = 0;
};

/// A row of stages.csv.
struct StageRow {
  int stage = 0, workers = 0;
  std::string pool;
  double batch_size = 0, start_s = 0, end_s = 0, accuracy = 0, cost_usd = 0;
};

/// What became of the job under one policy.
struct JobStory {
  std::string policy;
  std::string state, reason, pool;  ///< the last pool
  double submit_s = 0, start_s = 0, end_s = 0;
  int workers = 0, preemptions = 0, reconfigurations = 0;
  double batch_size = 0, epochs = 0, accuracy = 0, cost_usd = 0;
  std::vector<DecisionRow> decisions;
  std::vector<StageRow> stages;  ///< none when the run kept no stages
  /// As the job was asked about at its arrival; none when it never arrived again, as where the results are another program's.
  std::optional<sim::Job> job;
  sim::Menu menu;
  std::vector<sim::Configuration> too_large;  ///< for the memory of their devices: no candidates
};

struct Explained {
  std::unique_ptr<Scenario> scenario;  ///< the stories point into it
  std::string made_by;                 ///< the results' version of the program
  std::string study;                   ///< whose results these are: its jobs were run again, without it; empty: none
  std::vector<JobStory> stories;
};

/// Throws sim::InputError: no such results, those of a study without jobs of policies, no such job, policy or repetition.
Explained explain_job(const ExplainRequest& request);

}  // namespace rehearse::scenarios
