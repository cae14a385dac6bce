// The jobs of a run (results/NAME/jobs.csv, docs/reference/metrics.md) for other people's tools.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rehearse::traces {

/// A row of jobs.csv, of one policy and repetition.
struct ResultRow {
  std::string job, state, reason, pool;
  double submit_s = 0, start_s = 0, end_s = 0;  ///< start_s is NaN for a job that never started
  int workers = 0;
  bool started() const { return start_s == start_s; }
};

/// Of `policy`, or of the first in the file when that is empty. Throws InputError as a CSV reader does, and for a policy or a
/// repetition that the file does not have.
std::vector<ResultRow> read_results(const std::string& path, const std::string& policy, std::int64_t repetition);

/// Batsim's jobs file (its documentation, "Jobs"), columns job_id to metadata.
std::string batsim_jobs_csv(std::span<const ResultRow> rows);

/// A Paje trace (de Kergommeaux, de Oliveira Stein: "Paje trace file format", 2003): a container for each job with its states
/// queued and running, and for each pool the number of workers that are busy.
std::string paje_trace(std::span<const ResultRow> rows);

struct ResultFormat {
  std::string_view name, description;
  std::string (*write)(std::span<const ResultRow> rows);
};

std::span<const ResultFormat> result_formats();

}  // namespace rehearse::traces
