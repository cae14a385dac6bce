// What reading past runs gives: the runs, and an account, with line numbers, of every row that is none or deserves a look.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "traces/jobs/job_list.hpp"
#include "workloads/training/past_run.hpp"

namespace rehearse::traces {

/// The report counts runs where it says jobs.
struct HistoryList {
  std::vector<workloads::PastRun> runs;
  ImportReport report;
};

/// Sorts rows into runs and those that are dropped.
class HistoryCollector {
 public:
  explicit HistoryCollector(std::string file);

  /// Keeps it, unless something is wrong with it or the same was given before, identical in every column.
  /// `repaired`: what was wrong and is no longer.
  void add(workloads::PastRun run, std::int64_t line, const std::optional<sim::Mistake>& repaired = {});
  /// Because of the first of its mistakes.
  void drop(const std::vector<sim::Mistake>& mistakes, std::int64_t line);
  void note(std::string_view text) { list_.report.notes.emplace_back(text); }

  /// Call it once, last. Throws sim::InputError when no run is left.
  HistoryList finish();

 private:
  HistoryList list_;
  std::set<std::string> rows_;
};

}  // namespace rehearse::traces
