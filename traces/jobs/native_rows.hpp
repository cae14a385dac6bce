// Jobs as rows of the native CSV.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/jobs/job_fields.hpp"

namespace rehearse::traces {

using TraceColumns = std::vector<const JobField*>;

/// Each appends one line with its end. Numbers have the shortest form that reads back; texts are quoted where they must be
/// (RFC 4180).
void append_native_header(std::string& text, const TraceColumns& columns);
void append_native_row(std::string& text, const TraceJob& job, const TraceColumns& columns);

}  // namespace rehearse::traces
