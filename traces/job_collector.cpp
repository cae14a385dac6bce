#include "traces/job_collector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/base/names.hpp"
#include "sim/read/sha256.hpp"
#include "sim/read/shown.hpp"

namespace rehearse::traces {

JobCollector::JobCollector(const std::string& path, std::vector<ColumnNames> names, ClusterLimits cluster)
    : names_(std::move(names)), cluster_(std::move(cluster)) {
  require_regular(path);
  list_.report.file = path;
  list_.report.sha256 = sim::sha256_of_file(path);
}

sim::Job* JobCollector::add(sim::CsvRow& row, sim::Job job, const Places& places) {
  ++list_.report.rows;
  std::vector<sim::Job>& jobs = list_.jobs;
  const auto name_at = [&jobs](std::uint32_t number) -> std::string_view { return jobs[number].name; };
  if (row.mistakes().empty() && job.work == sim::Work::rigid)
    if (std::string expected = cluster_.too_many(job.gpus, job.pool); !expected.empty())
      row.refuse(places.gpus, std::move(expected));
  if (row.mistakes().empty() && !taken_.insert(job.name, static_cast<std::uint32_t>(jobs.size()), name_at))
    row.refuse("job_id", "a name that no job before has");
  if (row.mistakes().empty()) {
    compare(row, job, places);
    return &jobs.emplace_back(std::move(job));
  }
  drop(row);
  return nullptr;
}

/// With the rows before, and with a node.
void JobCollector::compare(sim::CsvRow& row, const sim::Job& job, const Places& places) {
  if (job.submit_s < latest_s_) repaired(row, places.date, "dates that never decrease: sorted");
  if (job.submit_s - latest_s_ > kClockJump_s && latest_s_ >= 0) repaired(row, places.date, kClockJumps);
  latest_s_ = std::max(latest_s_, job.submit_s);
  if (job.work != sim::Work::rigid) return;
  if (const std::string expected = cluster_.too_many_for_a_node(job.gpus); !expected.empty())
    repaired(row, places.gpus, expected);
}

void JobCollector::drop(sim::CsvRow& row) {
  ++list_.report.rows_dropped;
  const std::vector<sim::Mistake> mistakes = row.mistakes();  // asking the row for its text may add to them
  for (const sim::Mistake& mistake : mistakes) {
    ImportReason& reason = counted(list_.report.dropped, mistake.pointer, mistake.expected);
    if (wants_examples(reason))
      reason.examples.push_back({.line = mistake.line, .found = mistake.found, .nearest = nearest(row, mistake.pointer)});
  }
}

std::string JobCollector::nearest(sim::CsvRow& row, std::string_view column) const {
  for (const ColumnNames& known : names_)
    if (known.column == column) return sim::nearest_name(row.text(column), known.names);
  return {};
}

void JobCollector::repaired(sim::CsvRow& row, std::string_view column, std::string_view what) {
  ImportReason& reason = counted(list_.report.repaired, column, what);
  if (wants_examples(reason)) reason.examples.push_back({.line = row.line(), .found = sim::shown(row.text(column))});
}

JobList JobCollector::finish(bool keep_origin) {
  if (list_.jobs.empty()) refuse_all(list_.report);
  traces::finish(list_, keep_origin);
  return std::move(list_);
}

}  // namespace rehearse::traces
