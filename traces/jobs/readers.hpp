// All readers of job traces, one small file each, in one table. docs/guide/traces.md has a section for each.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

/// Each opens a file, plain or compressed with gzip or xz; throws InputError when it cannot be read or is none of that format.
std::unique_ptr<TraceReader> open_native_trace(const std::string& path);
std::unique_ptr<TraceReader> open_elasticflow_rigid(const std::string& path);
std::unique_ptr<TraceReader> open_elasticflow_elastic(const std::string& path);
std::unique_ptr<TraceReader> open_philly(const std::string& path);
std::unique_ptr<TraceReader> open_philly_json(const std::string& path);
std::unique_ptr<TraceReader> open_tiresias(const std::string& path);
std::unique_ptr<TraceReader> open_gavel(const std::string& path);
std::unique_ptr<TraceReader> open_helios(const std::string& path);
std::unique_ptr<TraceReader> open_alibaba_pai_2020(const std::string& path);
std::unique_ptr<TraceReader> open_alibaba_gpu_2023(const std::string& path);
std::unique_ptr<TraceReader> open_swf(const std::string& path);
std::unique_ptr<TraceReader> open_batsim(const std::string& path);

struct TraceReaderEntry {
  std::string_view name;
  std::string_view description;
  std::string_view source;   ///< how public data of this format is had; empty: there is none
  std::string_view columns;  ///< of the native CSV that it may give, with commas; empty: those of the file
  std::unique_ptr<TraceReader> (*open)(const std::string& path);
  bool has_native_form = true;  ///< false: a scenario reads it, but the native CSV cannot say all that its jobs are
};

/// The first is our own, and the default.
std::span<const TraceReaderEntry> trace_readers();
/// Throws InputError for a name that is not in the table.
const TraceReaderEntry& trace_reader(std::string_view name);

}  // namespace rehearse::traces
