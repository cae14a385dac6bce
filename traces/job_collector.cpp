#include "traces/job_collector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/base/names.hpp"
#include "sim/read/sha256.hpp"
#include "sim/read/shown.hpp"

namespace rehearse::traces {

namespace {

/// A pipe gives its bytes once, and a device has no end.
void require_regular(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path.c_str(), ignored);
  if (!std::filesystem::is_other(status)) return;  // whatever else is wrong, the readers say it
  throw sim::InputError(
      sim::Mistake{.file = sim::printable(path, 4096), .expected = "a regular file", .found = "a pipe, a device or a socket"});
}

/// The reason for (column, expected), counted once more. There are few: both come from literals and ranges.
ImportReason& counted(std::vector<ImportReason>& reasons, std::string_view column, std::string_view expected) {
  auto reason = std::find_if(reasons.begin(), reasons.end(),
                             [&](const ImportReason& r) { return r.column == column && r.expected == expected; });
  if (reason == reasons.end())
    reason = reasons.insert(reasons.end(), {.column = std::string(column), .expected = std::string(expected)});
  ++reason->rows;
  return *reason;
}

bool wants_examples(const ImportReason& reason) { return reason.examples.size() < ImportReason::kMostExamples; }

}  // namespace

JobCollector::JobCollector(const std::string& path, std::vector<ColumnNames> names) : names_(std::move(names)) {
  require_regular(path);
  list_.report.file = path;
  list_.report.sha256 = sim::sha256_of_file(path);
}

sim::Job* JobCollector::add(sim::CsvRow& row, sim::Job job, std::string_view date_column) {
  ++list_.report.rows;
  std::vector<sim::Job>& jobs = list_.jobs;
  const auto name_at = [&jobs](std::uint32_t number) -> std::string_view { return jobs[number].name; };
  if (row.mistakes().empty() && !taken_.insert(job.name, static_cast<std::uint32_t>(jobs.size()), name_at))
    row.refuse("job_id", "a name that no job before has");
  if (row.mistakes().empty()) {
    if (job.submit_s < latest_s_) repaired(row, date_column, "dates that never decrease: sorted");
    latest_s_ = std::max(latest_s_, job.submit_s);
    return &jobs.emplace_back(std::move(job));
  }
  drop(row);
  return nullptr;
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

void JobCollector::refuse_all() const {
  const std::string file = sim::printable(list_.report.file, 4096);
  if (list_.report.rows == 0)
    throw sim::InputError(sim::Mistake{.file = file, .expected = "a row for each job", .found = "no rows"});
  std::vector<sim::Mistake> mistakes;
  std::int64_t left_out = 0;
  for (const ImportReason& reason : list_.report.dropped) {
    left_out += reason.rows - static_cast<std::int64_t>(reason.examples.size());
    for (const ImportExample& example : reason.examples)
      mistakes.push_back({.file = file,
                          .line = example.line,
                          .pointer = reason.column,
                          .expected = reason.expected,
                          .found = example.found,
                          .nearest = example.nearest});
  }
  throw sim::InputError(std::move(mistakes), left_out);
}

JobList JobCollector::finish(bool keep_origin) {
  if (list_.jobs.empty()) refuse_all();
  std::vector<sim::Job>& jobs = list_.jobs;
  list_.report.jobs = static_cast<std::int64_t>(jobs.size());
  sort_by_date(jobs);
  if (!keep_origin) {
    list_.origin_s = jobs.front().submit_s;
    for (sim::Job& job : jobs) job.submit_s -= list_.origin_s;
    if (list_.origin_s != 0) note(fmt::format("dates count from the first submission, at {:.15g} s in the file", list_.origin_s));
  }
  return std::move(list_);
}

}  // namespace rehearse::traces
