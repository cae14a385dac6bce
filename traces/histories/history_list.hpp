// What reading past runs gives: the runs, and an account, with line numbers, of every row that is none or deserves a look.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
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

// Our own format of past runs: CSV, one row a run.

/// Reads a CSV file, plain or gzip-compressed, with the columns model, dataset, instance, workers, batch_size (global), samples,
/// epochs, time_s, accuracy and any of precision, lr_rule (without them a job's defaults, and the report says so), asynchronous
/// (0 or 1), recipe, target_accuracy, censored (0 or 1: cut short), servers, learning_rate and price_usd_per_hour (of workers,
/// servers and all else that the run used). A recipe is one of the program's or of `own_recipes`. It is the user's own file:
/// throws InputError with every mistake in it, and when it cannot be read or has no row.
HistoryList read_native_history(const std::string& path, std::span<const std::string> own_recipes = {});

/// The header line, and a row, each with its line end; numbers in the shortest form that reads back the same.
std::string native_history_header();
std::string native_history_row(const workloads::PastRun& run);

// Past runs in several formats: a reader for each, in one table (history_list.cpp).

struct HistoryFormat {
  std::string_view name, description;
  std::string_view source;  ///< how to get such a file; empty for one's own
  /// Throws sim::InputError when the file cannot be read or holds nothing that can be used.
  HistoryList (*read)(const std::string& path);
};

/// Our own comes first.
std::span<const HistoryFormat> history_formats();

/// Rows that cannot be used are dropped, and the report says so.
HistoryList read_trimtuner_history(const std::string& path);

}  // namespace rehearse::traces
