#include "traces/jobs/collect.hpp"

#include <algorithm>

#include "sim/read/sha256.hpp"
#include "traces/job_rules.hpp"
#include "traces/jobs/trace_stream.hpp"

namespace rehearse::traces {

namespace {

sim::Job job_of(const TraceJob& from, const TraceOptions& options, workloads::ProfileTable& profiles) {
  const auto or_0 = [](double x) { return is_given(x) ? x : 0; };
  sim::Job job{.name = from.job_id, .user = from.user, .submit_s = from.submit_s};
  job.gpus = static_cast<int>(or_0(from.gpus));
  take_gpu_fraction(job, is_given(from.gpu_fraction) ? from.gpu_fraction : 1);
  job.duration_s = or_0(from.duration_s);
  job.steps = or_0(from.steps);
  job.batch_size = or_0(from.batch_size);
  job.priority = or_0(from.priority);
  if (is_given(from.deadline_s)) job.deadline_s = from.deadline_s;
  if (is_given(from.walltime_s)) job.walltime_s = from.walltime_s;
  job.after = split_names(from.after);
  job.work = work_of(job);
  const auto model =
      std::find_if(options.models.begin(), options.models.end(), [&](const KnownModel& m) { return m.name == from.model; });
  if (model != options.models.end())
    job.profile = profiles.intern(model->name, from.dataset.empty() ? model->dataset : from.dataset);
  return job;
}

}  // namespace

JobList collect_jobs(const TraceReaderEntry& format, const std::string& path, const TraceOptions& options,
                     workloads::ProfileTable& profiles) {
  require_regular(path);
  std::vector<std::string> models;
  for (const KnownModel& model : options.models) models.push_back(model.name);
  TraceStream stream(format, path, {.cluster = options.cluster}, std::move(models));
  JobList list;
  while (const TraceJob* job = stream.next()) list.jobs.push_back(job_of(*job, options, profiles));
  list.report = stream.report();
  list.report.sha256 = sim::sha256_of_file(path);
  if (list.jobs.empty()) refuse_all(list.report);
  finish(list, options.keep_origin);
  return list;
}

}  // namespace rehearse::traces
