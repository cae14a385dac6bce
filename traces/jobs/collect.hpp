// A trace of any format as jobs of a scenario.
#pragma once

#include <string>
#include <string_view>

#include "traces/jobs/job_list.hpp"
#include "traces/jobs/trace_options.hpp"
#include "workloads/steps/profiles.hpp"

namespace rehearse::traces {

/// Sorted by date, from the first submission on, every dropped and repaired row accounted for. Throws InputError for a format
/// that is not in the table, as its reader does, and when no row is a job.
JobList read_trace(std::string_view format, const std::string& path, const TraceOptions& options,
                   workloads::ProfileTable& profiles);

}  // namespace rehearse::traces
