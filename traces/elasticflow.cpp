#include "traces/elasticflow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <vector>

#include "sim/read/csv.hpp"
#include "sim/read/shown.hpp"
#include "traces/job_collector.hpp"
#include "traces/job_rules.hpp"

namespace rehearse::traces {

namespace {

/// The trace's names, and what they are here. It names no data sets: a usual one stands in, as only the ratios between the step
/// times on different numbers of GPUs matter.
struct ElasticFlowModel {
  std::string_view theirs, model, dataset;
};
constexpr ElasticFlowModel kModels[] = {
    {"resnet50", "resnet50", "imagenet"},
    {"vgg16", "vgg16", "imagenet"},
    {"inception3", "inception-v3", "imagenet"},
    {"deepspeech2", "deepspeech2", "librispeech-960h"},
    {"bert", "bert", "squad"},
    {"gpt2", "gpt2", "openwebtext"},
};

/// Points the way when there is no such file, as the trace is not ours to ship.
void require_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::status(path.c_str(), ignored).type() != std::filesystem::file_type::not_found) return;
  throw sim::InputError(sim::Mistake{.file = sim::printable(path, 4096),
                                     .expected = "a trace of ElasticFlow: " + std::string(kElasticFlowSource),
                                     .found = "no such file"});
}

/// A row as it stands. Checked in both modes, so that both have the same jobs.
struct ElasticFlowRow {
  const ElasticFlowModel* model = nullptr;
  double submission_s = 0, deadline_s = 0, duration_s = 0;  ///< the deadline is a date
  double iterations = 0, batch_size = 0, gpus = 0;
};

ElasticFlowRow read_job_row(sim::CsvRow& row) {
  const auto model = std::find_if(std::begin(kModels), std::end(kModels),
                                  [name = row.text("model_name")](const ElasticFlowModel& m) { return m.theirs == name; });
  ElasticFlowRow r{.model = model,
                   .submission_s = row.number("submission_time", kDates),
                   .deadline_s = row.number("deadline", kDates),
                   .duration_s = row.number("duration", kDurations),
                   .iterations = static_cast<double>(row.integer("num_iteration", kStepCounts)),
                   .batch_size = static_cast<double>(row.integer("batch_size", kBatchSizes)),
                   .gpus = static_cast<double>(row.integer("num_gpu", kGpuCounts))};
  if (model == std::end(kModels)) row.refuse("model_name", "a model of the trace's authors");
  if (row.text("job_id").empty()) row.refuse("job_id", "a name");
  if (row.mistakes().empty() && r.deadline_s <= r.submission_s) row.refuse("deadline", "a date after submission_time");
  return r;
}

/// The smallest batch of at least `batch_size` that gives every GPU as much.
double divisible_batch(double batch_size, double gpus) { return std::ceil(batch_size / gpus) * gpus; }

sim::Job job_of(sim::CsvRow& row, const ElasticFlowRow& r, ElasticFlowMode mode) {
  sim::Job job{.name = std::string(row.text("job_id")),
               .submit_s = r.submission_s,
               .work = mode == ElasticFlowMode::elastic ? sim::Work::steps : sim::Work::rigid,
               .gpus = static_cast<int>(r.gpus),
               .duration_s = r.duration_s,
               .deadline_s = r.deadline_s - r.submission_s};
  if (mode == ElasticFlowMode::elastic) {
    job.steps = r.iterations;
    job.batch_size = divisible_batch(r.batch_size, r.gpus);
  }
  return job;
}

}  // namespace

JobList read_elasticflow(const std::string& path, ElasticFlowMode mode, const TraceOptions& options,
                         workloads::ProfileTable& profiles) {
  require_file(path);
  std::vector<std::string> names;
  for (const ElasticFlowModel& model : kModels) names.emplace_back(model.theirs);
  JobCollector collector(path, {{"model_name", names}}, options.cluster);
  sim::CsvReader reader(path, {.required = {"job_id", "submission_time", "num_iteration", "model_name", "deadline", "batch_size",
                                            "num_gpu", "duration"}});
  std::int64_t jobs = 0, impossible = 0;
  while (sim::CsvRow* row = reader.next()) {
    const ElasticFlowRow r = read_job_row(*row);
    sim::Job* const job = collector.add(*row, job_of(*row, r, mode), {.date = "submission_time", .gpus = "num_gpu"});
    if (job == nullptr) continue;
    job->profile = profiles.intern(r.model->model, r.model->dataset);
    ++jobs;
    if (job->deadline_s < job->duration_s) ++impossible;
    if (mode == ElasticFlowMode::elastic && job->batch_size != r.batch_size)
      collector.repaired(*row, "batch_size", "a multiple of num_gpu: raised to the next");
  }
  if (jobs > 0)
    collector.note(
        fmt::format("{} of {} deadlines ({:.1f} %) leave less time than the measured duration: no rigid schedule meets them",
                    impossible, jobs, 100.0 * static_cast<double>(impossible) / static_cast<double>(jobs)));
  return collector.finish(options.keep_origin);
}

}  // namespace rehearse::traces
