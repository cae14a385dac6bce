#include "traces/jobs/recognise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "sim/io/text_input.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

namespace {

/// Whether the format's reader makes jobs of more than half of the first rows.
bool makes_jobs(const TraceReaderEntry& format, const std::string& path) {
  constexpr int kRows = 20;
  int rows = 0, good = 0;
  try {
    const std::unique_ptr<TraceReader> reader = format.open(path);
    for (TraceRow row; rows < kRows && reader->next(row); row = {}) {
      if (row.is_joined) continue;
      ++rows;
      if (row.mistakes.empty() && job_mistakes(row.job).empty()) ++good;
    }
  } catch (const sim::InputError&) {  // some rows may have been read before it
  }
  return 2 * good > rows;
}

/// Files of other programs that no reader reads: those whose first line names these columns.
struct OtherFile {
  std::vector<std::string_view> columns;
  std::string_view what;
};

const std::vector<OtherFile>& other_files() {
  static const std::vector<OtherFile> files{
      {{"time", "application", "num_replicas"},
       "a workload of Pollux's or Sia's simulator, which says no duration: write a native CSV of it with job_id (name), submit_s "
       "(time), gpus (num_replicas), model (application), batch_size, and the epochs or the target_accuracy of each application"},
      {{"job_id", "num_gpus", "submit_time", "duration"},
       "a job list of Blox's simulator: call its column num_gpus num_gpu, its column model model_name, and read it as tiresias"},
      {{"cpu_milli", "num_gpu", "gpu_milli"},
       "a pod list of Alibaba's GPU-sharing cluster without dates, made for tests of placement: take one with the columns "
       "creation_time, scheduled_time and deletion_time (openb_pod_list_default.csv)"},
  };
  return files;
}

std::vector<std::string> first_line(const std::string& path) {
  std::vector<std::string> names;
  try {
    sim::LineReader lines(path);
    std::string_view line;
    if (!lines.next(line)) return names;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find(',', begin), line.size());
      names.emplace_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
  } catch (const sim::InputError&) {
    names.clear();
  }
  return names;
}

}  // namespace

std::string what_it_is(const std::string& path, const TraceReaderEntry& format) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) || makes_jobs(format, path)) return {};
  std::vector<std::string_view> names;
  for (const TraceReaderEntry& entry : trace_readers())
    if (makes_jobs(entry, path)) names.push_back(entry.name);
  if (!names.empty()) return fmt::format("a file of the format {}", fmt::join(names, " or "));
  const std::vector<std::string> columns = first_line(path);
  for (const OtherFile& file : other_files())
    if (std::all_of(file.columns.begin(), file.columns.end(),
                    [&](std::string_view column) { return std::find(columns.begin(), columns.end(), column) != columns.end(); }))
      return std::string(file.what);
  return {};
}

}  // namespace rehearse::traces
