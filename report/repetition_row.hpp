// The quantities of one run, before they are averaged over repetitions: repetitions.csv.
#pragma once

#include <string>

#include "report/outcome.hpp"
#include "report/run_recorder.hpp"

namespace rehearse::report {

/// The file and its header, for joining the parts of all runs.
extern const RecordFile kRepetitionsFile;

struct RepetitionRow {
  std::string policy;
  int repetition = 0;
  /// Different steps of the belief that were timed, and steps that searching place strategies tried.
  double step_evaluations = 0;
};

/// Writes the file of one run into `folder`. Throws sim::InputError when it cannot.
void write_repetition(const sim::OwnFolder& folder, const RepetitionRow& row, const RunMetrics& metrics);

}  // namespace rehearse::report
