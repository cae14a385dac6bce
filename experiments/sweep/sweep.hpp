// Runs of a sweep on this machine's processors.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "experiments/sweep/database.hpp"
#include "experiments/sweep/runs.hpp"
#include "report/table.hpp"

namespace rehearse::scenarios {

/// Keeps rows for good before it returns.
using KeepRows = std::function<void(std::span<const SweepRow> rows)>;

/// How far the simulated time of a run is, s, and how many other children have told of theirs.
using TellUnderWay = std::function<void(const PlannedRun& run, double time_s, std::size_t others)>;

/// Every run, at most `processes` at once (0: as many as there are processors), each row handed to `keep` as soon as the run has
/// ended. A child does several runs, one after the other, and loads a point's scenario once for those that follow one another;
/// one that ends its process is a killed row, and another child goes on behind it. False when interrupted: no child is left, and
/// what had ended is kept. `tell`, which may be empty, hears of the child that has been under way longest.
bool run_here(const SweepPlan& plan, std::vector<PlannedRun> runs, int processes, const KeepRows& keep,
              const TellUnderWay& tell = {});

// Runs what a sweep's database lacks.

/// Does runs somewhere and hands their rows on, as run_here does: false when interrupted.
using Launch = std::function<bool(const SweepPlan& plan, std::vector<PlannedRun> runs, const KeepRows& keep)>;

struct SweepOptions {
  std::string database;  ///< file
  /// Of the plan, as seen from the database's folder, where two files of one name would have the same database by default; else
  /// empty.
  std::string scenario_path = {};
  std::string csv;       ///< file to export to at the end; may be empty
  std::string page;      ///< HTML file to write at the end; may be empty
  bool retry = false;    ///< runs that are not ok are run again, and what of the database is damaged
  bool is_local = true;  ///< runs end on this machine, one by one
  Launch launch;
  std::function<void(std::size_t done, std::size_t of)> on_progress = [](std::size_t, std::size_t) {};
};

struct SweepSummary {
  std::size_t planned = 0;   ///< rows
  std::size_t distinct = 0;  ///< runs: rows that ask the same share one
  std::size_t there = 0;     ///< of these, were in the database
  std::size_t ran = 0;
  std::string repaired;           ///< a sentence about a database that was damaged; empty: it was whole
  bool is_other_program = false;  ///< than the last that wrote to the database, whose rows are another's
  double elapsed_s = 0;           ///< since the plan was made, CSV left out
  double run_s = 0, cpu_s = 0;    ///< of the runs themselves, added up over processes
  std::vector<SweepDatabase::Count> counts;
  report::Table best;            ///< at each point; without rows when interrupted
  std::string figures_left_out;  ///< a line about those of the page; empty: none
  bool interrupted = false;
};

/// Throws InputError when a file cannot be written, DamagedDatabase (with `retry` it is repaired), also where a planned run has
/// no row at the end, CheckFailed, what `launch` throws. Interrupts must be held (HeldInterrupts).
SweepSummary run_sweep(const SweepPlan& plan, const SweepOptions& options);

}  // namespace rehearse::scenarios
