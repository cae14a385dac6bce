// From what a user or a trace says of a job to the replay's job, and back: the one place where a job's names are looked up.
#pragma once

#include <string>
#include <vector>

#include "sim/jobs/job.hpp"
#include "traces/jobs/job_fields.hpp"
#include "traces/jobs/trace_options.hpp"
#include "workloads/steps/profiles.hpp"

namespace rehearse::traces {

/// Indices into the scenario's names; -1: not given, or none of them.
struct LookedUp {
  int model = -1, dataset = -1, pool = -1;
};

LookedUp look_up(const TraceJob& job, const TraceOptions& scenario);
/// The fields whose names were not found.
std::vector<const JobField*> not_found(const TraceJob& job, const LookedUp& found);
/// What the scenario has of the kind; none for names of anything.
std::vector<std::string> known_names(NameOf kind, const TraceOptions& scenario);

/// `from` has no mistakes and all its names were found.
sim::Job to_job(const TraceJob& from, const LookedUp& found, const TraceOptions& scenario, workloads::ProfileTable& profiles);

/// The job as plain values, as far as it differs from one of which nothing is said; but choices always. `pools` in the order of
/// Cluster::pools.
TraceJob to_trace_job(const sim::Job& job, const std::vector<std::string>& pools);

}  // namespace rehearse::traces
