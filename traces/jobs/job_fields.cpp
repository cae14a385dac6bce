#include "traces/jobs/job_fields.hpp"

#include "sim/jobs/least_interval.hpp"

#include "traces/jobs/job_rules.hpp"

namespace rehearse::traces {

namespace {

using J = TraceJob;
constexpr unsigned kAll = kJson | kCsv | kProcess;

constexpr JobField kFields[] = {
    {.name = "job_id",
     .member = &J::job_id,
     .forms = kAll,
     .fallback = "`job-N`, N its place in the list from 1; required in CSV",
     .meaning = "no other job of the scenario may have it"},
    {.name = "submit_s",
     .member = &J::submit_s,
     .forms = kAll,
     .range = kDates,
     .unit = "s",
     .fallback = "0; required in CSV",
     .meaning = "when it is submitted, rounded up to a multiple of 2^-20 s"},
    {.name = "gpus",
     .member = &J::gpus,
     .forms = kAll,
     .range = kGpuCounts,
     .whole = true,
     .meaning = "rigid jobs: workers that it holds; others: workers that *manual* gives it"},
    {.name = "duration_s",
     .member = &J::duration_s,
     .in_job = &sim::Job::duration_s,
     .forms = kAll,
     .range = kDurations,
     .unit = "s",
     .meaning = "measured length on `gpus`"},
    {.name = "model",
     .member = &J::model,
     .forms = kAll,
     .names = NameOf::model,
     .meaning = "what it trains; `./rehearse list models` has the names, and a scenario its own"},
    {.name = "dataset",
     .member = &J::dataset,
     .forms = kAll,
     .names = NameOf::dataset,
     .fallback = "the model's own",
     .meaning = "what it trains on"},
    {.name = "batch_size",
     .member = &J::batch_size,
     .in_job = &sim::Job::batch_size,
     .forms = kAll,
     .range = kBatchSizes,
     .whole = true,
     .unit = "samples",
     .meaning = "global batch; required with `steps`, where every configuration has exactly this batch; beside other work only "
                "the manual configuration uses it"},
    {.name = "epochs",
     .member = &J::epochs,
     .in_job = &sim::Job::epochs,
     .forms = kAll,
     .range = kEpochCounts,
     .whole = true,
     .meaning = "exactly so many; with a target, the most"},
    {.name = "steps",
     .member = &J::steps,
     .in_job = &sim::Job::steps,
     .forms = kAll,
     .range = kStepCounts,
     .whole = true,
     .meaning = "number of steps"},
    {.name = "target_accuracy",
     .member = &J::target_accuracy,
     .in_job = &sim::Job::target_accuracy,
     .forms = kAll,
     .range = kAccuracies,
     .meaning = "accuracy floor"},
    {.name = "deadline_s",
     .member = &J::deadline_s,
     .in_job = &sim::Job::deadline_s,
     .forms = kAll,
     .range = kDurations,
     .unit = "s",
     .meaning = "counted from `submit_s`"},
    {.name = "cost_limit_usd",
     .member = &J::cost_limit_usd,
     .in_job = &sim::Job::cost_limit_usd,
     .forms = kAll,
     .range = kMoney,
     .unit = "$",
     .meaning = "of the job's own money; profiling does not count"},
    {.name = "priority",
     .member = &J::priority,
     .in_job = &sim::Job::priority,
     .forms = kAll,
     .fallback = "0",
     .meaning = "larger is more urgent; the queue `priority` heeds it"},
    {.name = "user", .member = &J::user, .forms = kAll, .meaning = "recorded only"},
    {.name = "pool",
     .member = &J::pool,
     .forms = kAll,
     .names = NameOf::pool,
     .fallback = "any",
     .meaning = "the only pool of its candidates"},
    {.name = "precision", .member = &J::precision, .forms = kAll, .choices = precision_names, .meaning = "of the training"},
    {.name = "lr_rule",
     .member = &J::lr_rule,
     .forms = kAll,
     .choices = lr_rule_names,
     .meaning = "how the learning rate follows the batch"},
    {.name = "objective",
     .member = &J::objective,
     .forms = kAll,
     .choices = objective_names,
     .meaning = "what is ranked by, among configurations that keep every limit given: deadline, floor, cost limit "
                "([model](../explain/model.md#candidates))"},
    {.name = "stop",
     .member = &J::stop,
     .forms = kAll,
     .choices = stop_names,
     .meaning = "at the target, or after the epochs that the policy predicted"},
    {.name = "on_deadline",
     .member = &J::on_deadline,
     .forms = kAll,
     .choices = on_deadline_names,
     .meaning = "`stop` fails the job at its deadline, reason `deadline_stop`"},
    {.name = "gpu_type",
     .member = &J::gpu_type,
     .forms = kCsv,
     .meaning = "what the trace calls its GPUs; the replay does not use it"},
    {.name = "gpu_fraction",
     .member = &J::gpu_fraction,
     .forms = kAll,
     .range = kGpuFractions,
     .fallback = "1",
     .meaning = "of one GPU, that the job needs: below 1 it leaves [the rest to others](#sharing); `gpus` is then 1, given or "
                "not; in a trace of jobs with several GPUs, which are whole, it is ignored"},
    {.name = "cpus",
     .member = &J::cpus,
     .forms = kCsv,
     .range = kCpuCounts,
     .unit = "cores",
     .meaning = "the replay does not use it"},
    {.name = "memory_bytes",
     .member = &J::memory_bytes,
     .forms = kCsv,
     .range = kMemoryBytes,
     .unit = "bytes",
     .meaning = "of the whole job; the replay does not use it"},
    {.name = "partition",
     .member = &J::partition,
     .forms = kCsv,
     .meaning = "of the trace's cluster; the replay does not use it"},
    {.name = "walltime_s",
     .member = &J::walltime_s,
     .in_job = &sim::Job::walltime_s,
     .forms = kAll,
     .range = kDurations,
     .unit = "s",
     .meaning = "of holding devices, all its starts together, after which the job fails, reason `walltime_stop`; ending at that "
                "moment is in time; queues with `\"durations\": \"user\"` believe it"},
    {.name = "after",
     .member = &J::after,
     .meaning = "jobs of the list or its traces that must have ended before this one queues; its `submit_s` and deadline stay "
                "as they are"},
    {.name = "after_failed",
     .member = &J::after_failed,
     .choices = after_failed_names,
     .meaning = "when one of those has failed: fail too, reason `dependency_failed`, or run all the same"},
    {.name = "checkpoint_interval_s",
     .member = &J::checkpoint_interval_s,
     .in_job = &sim::Job::checkpoint_interval_s,
     .range = {.low = sim::kLeastCheckpointInterval_s, .high = kLastDate_s},
     .unit = "s",
     .fallback = "[`checkpoint`](#checkpoints)",
     .meaning = "of training, between two of the job's own periodic checkpoints"},
    {.name = "checkpoint_write_s",
     .member = &J::checkpoint_write_s,
     .in_job = &sim::Job::checkpoint_write_s,
     .range = kWriteTimes,
     .unit = "s",
     .fallback = "[`checkpoint`](#checkpoints)",
     .meaning = "of each of them"},
    {.name = "status",
     .member = &J::status,
     .forms = kCsv,
     .meaning = "the trace's word for how the job ended; the replay does not use it"},
};

}  // namespace

std::span<const JobField> job_fields() { return kFields; }

const JobField* find_job_field(std::string_view name) {
  for (const JobField& field : kFields)
    if (field.name == name) return &field;
  return nullptr;
}

bool is_given(const TraceJob& job, const JobField& field) {
  struct Given {
    const TraceJob& job;
    bool operator()(double TraceJob::*number) const { return is_given(job.*number); }
    bool operator()(std::string TraceJob::*text) const { return !(job.*text).empty(); }
    bool operator()(std::vector<std::string> TraceJob::*list) const { return !(job.*list).empty(); }
  };
  return std::visit(Given{job}, field.member);
}

}  // namespace rehearse::traces
