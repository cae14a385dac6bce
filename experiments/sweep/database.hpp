// The one file of a sweep's results, an SQLite database (docs/guide/sweep.md has its tables).
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "experiments/sweep/runs.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::scenarios {

/// What a verdict at a point needs of a run.
struct SweepFigures {
  std::size_t point = 0;
  std::string policy;
  double broken_share = 0;  ///< NaN: no job counts
  double effective_cost_usd = 0;
  double jobs = 0, jobs_completed = 0;
  double jct_mean_s = 0;  ///< of those completed; NaN: none
  double cost_usd = 0, jct_p95_s = 0, makespan_s = 0, energy_kwh = 0;
};

/// What stands in a sweep's database is not what a sweep has written. `--retry` repairs it.
class DamagedDatabase : public sim::InputError {
 public:
  DamagedDatabase(const std::string& path, const std::string& expected, const std::string& found);
};

class SweepDatabase {
 public:
  /// Opens the file, or makes it. Throws InputError when it cannot, when it is no sweep's or another version's, and when another
  /// process writes to it; DamagedDatabase where its size, its structure (SQLite's integrity check) or a row's sum is not what
  /// was written. `commits_often`: with a write-ahead log, which wants a disk of this machine.
  SweepDatabase(const std::string& path, bool commits_often);
  /// Of a damaged one: the rows whose sums hold move to a new database of this name, the damaged one is kept beside it as
  /// NAME.damaged. Returns a sentence about that; empty: nothing is damaged. Throws InputError: it is no sweep's, or in use.
  static std::string repair(const std::string& path);
  ~SweepDatabase();
  SweepDatabase(const SweepDatabase&) = delete;
  SweepDatabase& operator=(const SweepDatabase&) = delete;

  /// Replaces the plan that was there; rows of runs stay.
  void set_plan(const SweepPlan& plan, const std::vector<PlannedRun>& runs);
  /// SweepPlan::program of the plan that is there; empty without one.
  std::string program() const;
  /// Writes down whose it is: a scenario's file, as seen from the database's folder. Throws InputError where it is another's that
  /// has the same name and is still there.
  void take_for(const std::string& scenario_path);
  /// Keys of the runs that have a row, and its sum: rows of earlier versions have none, and no run of this program.
  std::set<std::string> keys() const;
  /// Drops rows that are not ok.
  void forget_failed();
  /// Adds rows, or replaces those of the same key: when it returns, they survive the death of this process.
  void add(std::span<const SweepRow> rows);

  struct Count {
    std::string status, reason;  ///< the reason of the first run of them
    std::size_t runs = 0;
  };
  /// How many rows of the plan have each status that occurs.
  std::vector<Count> counts() const;
  /// Of the runs that ended well, by point, policy and repetition; of the first so many points.
  std::vector<SweepFigures> figures(std::size_t points) const;
  /// The view `results` as CSV, with what each run saves against the baseline; numbers in the shortest form that reads back.
  /// Throws InputError.
  void write_csv(const std::string& path) const;

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

/// Whether the file is an SQLite database.
bool is_database(const std::string& path);
/// As SweepDatabase::write_csv, of a database that stays as it is and that another process may be writing to. Returns the swept
/// columns. Throws InputError: it is no sweep's; DamagedDatabase.
std::vector<std::string> export_sweep(const std::string& database, const std::string& csv);

}  // namespace rehearse::scenarios
