// What reading a trace gives: its jobs, and an account of every row that did not become one as it stood.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/job.hpp"

namespace rehearse::traces {

/// One of the rows that a reason applies to.
struct ImportExample {
  std::int64_t line = 0;  ///< from 1
  std::string found;      ///< the field, quoted; may be empty
  std::string nearest;    ///< the valid name that was probably meant; may be empty
};

/// Why rows were dropped, or what was done about those that were kept. A row with several mistakes counts under its first one,
/// so that the rows of all reasons add up to those dropped; each of its other mistakes is told as well, as `also`.
struct ImportReason {
  static constexpr std::size_t kMostExamples = 5;
  std::string column;    ///< may be empty: the row as a whole
  std::string expected;  ///< and for a repair what was done about it
  std::int64_t rows = 0;
  std::int64_t also = 0;                ///< rows that count under another reason
  std::vector<ImportExample> examples;  ///< the first kMostExamples
};

/// GPUs x seconds: of all rows whose GPUs and length can be read, as the file has them, and of the jobs.
struct GpuTime {
  double read_s = 0, kept_s = 0;
};

/// rows = jobs + rows_dropped + rows_left_out + rows_joined, always.
struct ImportReport {
  std::string file;
  std::string sha256;
  std::int64_t rows = 0;
  std::int64_t jobs = 0;
  std::int64_t rows_dropped = 0;
  std::int64_t rows_left_out = 0;      ///< good ones that were not asked for
  std::int64_t rows_joined = 0;        ///< parts of a job that another row stands for
  std::int64_t rows_repaired = 0;      ///< of those that are jobs
  std::optional<GpuTime> gpu_time;     ///< of a trace of jobs
  std::vector<ImportReason> dropped;   ///< in order of first occurrence
  std::vector<ImportReason> repaired;  ///< of the rows that were kept
  std::vector<std::string> notes;
  std::string what_it_is;  ///< of a file without one good row, where that can be told (traces/jobs/recognise.hpp)
};

struct JobList {
  std::vector<sim::Job> jobs;  ///< by submit_s; jobs of one date in the file's order
  ImportReport report;
  double origin_s = 0;  ///< was subtracted from the file's dates
};

/// The reason for (column, expected), counted once more. There are few: both come from literals and ranges.
ImportReason& counted(std::vector<ImportReason>& reasons, std::string_view column, std::string_view expected);
inline bool wants_examples(const ImportReason& reason) { return reason.examples.size() < ImportReason::kMostExamples; }

/// Throws InputError for a file with a row that did not become a job as it stands: its reasons, with their examples.
void refuse_any(const ImportReport& report);

/// The InputError of a file without one good row: its reasons, with their examples.
[[noreturn]] void refuse_all(const ImportReport& report);

/// Sorts the jobs, at least one, counts them in the report, and moves the first submission to 0 unless keep_origin.
void finish(JobList& list, bool keep_origin);

/// By submit_s; jobs of one date keep their order. Sorted jobs, as most traces have them, are neither moved nor copied.
void sort_by_date(std::vector<sim::Job>& jobs);

/// "3 dropped", "3 dropped, and 1 of the others", "1 of those dropped also".
std::string counted_words(std::int64_t rows, std::int64_t also, std::string_view verb);
/// What `repaired` rows are called: some are mended, some are left as they are, and each reason says which.
inline constexpr std::string_view kKept = "kept all the same";

/// "GPU-hours: 12.5 read, 12 kept", to twelve digits; empty for what is no trace of jobs.
std::string gpu_hours(const ImportReport& report);

/// For the terminal: one line of totals, one a reason, one a note; each ends with a line end. `one`: what each row became.
std::string to_string(const ImportReport& report, std::string_view one = "job");

// Jobs that are known beforehand, as the replay asks for them.

class VectorSource final : public sim::JobSource {
 public:
  /// The jobs, by date, must outlive the source.
  explicit VectorSource(std::span<const sim::Job> jobs) : left_(jobs) {}

  std::optional<sim::Job> next() override {
    if (left_.empty()) return std::nullopt;
    const sim::Job& job = left_.front();
    left_ = left_.subspan(1);
    return job;
  }

 private:
  std::span<const sim::Job> left_;
};

}  // namespace rehearse::traces
