// Other people's traces as jobs of a scenario.
#pragma once

#include <string>

#include "traces/job_list.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/trace_options.hpp"
#include "workloads/profiles.hpp"

namespace rehearse::traces {

/// As read_native: sorted by date, from the first submission on, every dropped row accounted for. Throws InputError when no row
/// is a job.
JobList collect_jobs(const TraceReaderEntry& format, const std::string& path, const TraceOptions& options,
                     workloads::ProfileTable& profiles);

}  // namespace rehearse::traces
