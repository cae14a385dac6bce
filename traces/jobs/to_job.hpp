// What a reader of traces is told about the world that the trace is for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/job.hpp"
#include "traces/jobs/job_fields.hpp"
#include "traces/jobs/job_list.hpp"
#include "traces/jobs/trace_job.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/steps/throughput_table.hpp"

namespace rehearse::traces {

struct KnownModel {
  std::string name;
  std::string dataset;  ///< of jobs that name none
};

struct KnownRecipe {
  std::string name;
  sim::LrRule lr_rule = sim::LrRule::adascale;  ///< of jobs that name none
};

struct TraceOptions {
  std::vector<KnownModel> models;
  std::vector<std::string> datasets;
  workloads::JobTypes job_types;
  std::vector<std::string> pools;  ///< in the order of Cluster::pools
  std::vector<KnownRecipe> recipes = {};
  ClusterLimits cluster;
  sim::Precision precision = sim::Precision::fp32;  ///< of a job that names none
  double readings = 1;                              ///< of a job with a target that does not say
  bool keep_origin = false;                         ///< false: dates count from the first submission
};

// From what a user or a trace says of a job to the replay's job, and back: the one place where a job's names are looked up.

/// Indices into the scenario's names; -1: not given, or none of them.
struct LookedUp {
  int model = -1, dataset = -1, pool = -1, recipe = -1;
  std::vector<sim::PoolSpeed> pools = {};  ///< where it names several, or a speed; `pool` is then -1
  const workloads::MeasuredSteps* job_type = nullptr;
};

LookedUp look_up(const TraceJob& job, const TraceOptions& scenario);
/// The indices of the pools that it names; none: any.
std::vector<int> named_pools(const LookedUp& found);
/// What a job says of its pools that only another job may say.
std::optional<JobMistake> pool_mistake(const TraceJob& job, const LookedUp& found);
/// What is wrong with its number of nodes; of a trace it is set aside instead.
std::optional<JobMistake> nodes_mistake(const TraceJob& job);
/// The fields whose names were not found.
std::vector<const JobField*> not_found(const TraceJob& job, const LookedUp& found);
/// Of a job of a measured type: what is asked of it that was measured in none of its pools, its batch or its number of GPUs, and
/// what was. Nothing when all is well.
struct NotMeasured {
  std::string_view column;
  double value = 0;
  std::string expected;
};
std::optional<NotMeasured> not_measured(const TraceJob& job, const LookedUp& found);
/// What the scenario has of the kind; none for names of anything.
std::vector<std::string> known_names(NameOf kind, const TraceOptions& scenario);

/// `from` has no mistakes and all its names were found.
sim::Job to_job(const TraceJob& from, const LookedUp& found, const TraceOptions& scenario, workloads::ProfileTable& profiles);

/// The job as plain values, as far as it differs from one of which nothing is said; but choices always. `pools` in the order of
/// Cluster::pools.
TraceJob to_trace_job(const sim::Job& job, const std::vector<std::string>& pools);

// A trace of any format as jobs of a scenario.

/// Sorted by date, from the first submission on, every dropped and repaired row accounted for. Throws InputError for a format
/// that is not in the table, as its reader does, and when no row is a job.
JobList read_trace(std::string_view format, const std::string& path, const TraceOptions& options,
                   workloads::ProfileTable& profiles);

}  // namespace rehearse::traces
