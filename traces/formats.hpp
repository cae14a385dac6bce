// All formats of traces that can be read, in one table.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "traces/job_list.hpp"
#include "traces/trace_options.hpp"
#include "workloads/profiles.hpp"

namespace rehearse::traces {

struct TraceFormat {
  std::string_view name;
  std::string_view description;
  std::string_view source;  ///< how public data of this format is had; empty: there is none
  std::function<JobList(const std::string& path, const TraceOptions& options, workloads::ProfileTable& profiles)> read;
};

/// The first is the default.
std::span<const TraceFormat> trace_formats();

/// Throws InputError for a format that is not in the table, and as its reader does.
JobList read_trace(std::string_view format, const std::string& path, const TraceOptions& options,
                   workloads::ProfileTable& profiles);

}  // namespace rehearse::traces
