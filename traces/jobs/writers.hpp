// Jobs in other people's formats.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

// The Standard Workload Format, version 2.2 (Feitelson, Parallel Workloads Archive, "The Standard Workload Format"): 18 numbers a
// line, -1 for what is not known; lines with ; are comments. What its reader and its writer agree on.

/// SWF has numbers where we have names. The writer tells the names in comments before their first use ("; User: 3 alice"), and
/// the reader takes them back; to other programs they are comments.
inline constexpr std::string_view kSwfJob = "; Job: ", kSwfUser = "; User: ", kSwfPartition = "; Partition: ",
                                  kSwfExecutable = "; Executable: ";

/// Field 11. 2 to 4 are parts of a job that has a line of its own.
struct SwfStatus {
  int number;
  std::string_view name;
};
inline constexpr SwfStatus kSwfStatuses[] = {{0, "failed"}, {1, "completed"}, {5, "cancelled"}};

// Jobs in other people's formats.

class TraceWriter {
 public:
  virtual ~TraceWriter() = default;
  /// Each appends to `text` what comes next in the file.
  virtual void begin(std::string& text) = 0;
  virtual void add(std::string& text, const TraceJob& job) = 0;
  virtual void end(std::string& text) = 0;
};

/// Keep job_id, submit_s, gpus, duration_s, walltime_s, user, partition and after; SWF also model, memory_bytes (rounded up to
/// whole KiB a GPU) and status, and of `after` the first. Only jobs with a duration can be written.
std::unique_ptr<TraceWriter> make_swf_writer();
std::unique_ptr<TraceWriter> make_batsim_writer();

struct TraceWriterEntry {
  std::string_view name;
  std::string_view description;
  std::string_view columns;  ///< of the native CSV that the format keeps, with commas
  std::unique_ptr<TraceWriter> (*make)();
};

std::span<const TraceWriterEntry> trace_writers();

/// Writes jobs and counts what the format cannot hold.
class TraceExport {
 public:
  explicit TraceExport(const TraceWriterEntry& entry) : entry_(entry), writer_(entry.make()) {}
  void begin(std::string& text) { writer_->begin(text); }
  /// A job without a duration is not written.
  void add(std::string& text, const TraceJob& job);
  void end(std::string& text) { writer_->end(text); }

  std::int64_t jobs() const { return jobs_; }
  /// A line for each thing that did not fit.
  std::string report() const;

 private:
  const TraceWriterEntry& entry_;
  std::unique_ptr<TraceWriter> writer_;
  std::int64_t jobs_ = 0, without_duration_ = 0;
  std::map<std::string_view, std::int64_t> set_aside_;  ///< jobs by column
};

}  // namespace rehearse::traces
