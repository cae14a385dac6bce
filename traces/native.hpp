// Our own format of job traces: CSV, one row a job.
#pragma once

#include <string>

#include "traces/job_list.hpp"
#include "traces/trace_options.hpp"
#include "workloads/profiles.hpp"

namespace rehearse::traces {

/// Reads a CSV file, plain or gzip-compressed, with the columns job_id, submit_s and any of gpus, duration_s, model, dataset,
/// batch_size (global), epochs, steps, target_accuracy, deadline_s (counted from submit_s), priority, walltime_s, user, pool,
/// precision, lr_rule, objective, stop, on_deadline. An empty field is one that is not given; job_mistakes (traces/job_rules.hpp)
/// says which must be. A row with a mistake is dropped, rows out of date order are sorted, and the report says so. Throws
/// InputError when the file cannot be read, lacks a column or has an unknown one, or when none of its rows is a job.
JobList read_native(const std::string& path, const TraceOptions& options, workloads::ProfileTable& profiles);

}  // namespace rehearse::traces
