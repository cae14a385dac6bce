// The part that all readers of traces share: keeps good jobs, accounts for every other row, sorts by date and moves the origin.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/read/csv.hpp"
#include "traces/contradictions.hpp"
#include "traces/job_list.hpp"
#include "traces/name_set.hpp"

namespace rehearse::traces {

/// The valid values of a column, for "did you mean".
struct ColumnNames {
  std::string_view column;
  std::span<const std::string> names;
};

class JobCollector {
 public:
  struct Places {
    std::string_view date, gpus;
  };

  /// Throws InputError when the file cannot be read, or is none that can be read twice (for its fingerprint).
  JobCollector(const std::string& path, std::vector<ColumnNames> names, ClusterLimits cluster);

  /// Keeps the job of this row, unless the row has mistakes or the job's name is taken: then null. Else the job as it
  /// is kept, good until the next call. `places` names the columns where its submit_s and its gpus stand.
  sim::Job* add(sim::CsvRow& row, sim::Job job, const Places& places);
  /// Accounts for what was changed in a row that was kept.
  void repaired(sim::CsvRow& row, std::string_view column, std::string_view what);
  void note(std::string text) { list_.report.notes.push_back(std::move(text)); }

  /// Call it once, last. Throws InputError when no row became a job.
  JobList finish(bool keep_origin);

 private:
  void drop(sim::CsvRow& row);
  void compare(sim::CsvRow& row, const sim::Job& job, const Places& places);
  std::string nearest(sim::CsvRow& row, std::string_view column) const;

  JobList list_;
  std::vector<ColumnNames> names_;
  ClusterLimits cluster_;
  NameSet taken_;                                               ///< by indices into list_.jobs
  double latest_s_ = -std::numeric_limits<double>::infinity();  ///< submission so far
};

}  // namespace rehearse::traces
