// Alibaba's GPU traces: PAI 2020 (Weng et al., "MLaaS in the Wild", NSDI 2022), pai_task_table.csv, a task a row and no line
// of column names; GPU 2023 (Weng et al., "Beware of Fragmentation", USENIX ATC 2023), openb_pod_list_*.csv, a pod a row; GPU
// 2025 (Yang et al., "GPU-Disaggregated Serving", NSDI 2025), disaggregated_DLRM_trace.csv, an instance of a service a row; and
// spot GPUs 2026 (Duan et al., "GFS", ASPLOS 2026), job_info_df.csv, a job a row.
#include <fmt/format.h>

#include <cmath>

#include "traces/jobs/readers.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {
namespace {

const std::vector<std::string> kPaiColumns = {"job_name", "task_name", "inst_num", "status",   "start_time",
                                              "end_time", "plan_cpu",  "plan_mem", "plan_gpu", "gpu_type"};

/// The seconds that a row ran; a mistake at `end` when it did not.
double length(sim::CsvRow& fields, std::string_view begin, std::string_view end) {
  const double begin_s = fields.number(begin, kDates), end_s = fields.number(end, kDates);
  if (fields.mistakes().empty() && end_s <= begin_s) fields.refuse(end, fmt::format("a date after {}", begin));
  return end_s - begin_s;
}

/// `each` GPUs of each instance: whole ones, or parts of equal size where they are no whole number.
void hold(TraceRow& row, double instances, double each, std::string_view column) {
  const double places = std::ceil(each);
  row.job.gpus = instances * places;
  if (each == places) return;
  row.job.gpu_fraction = each / places;
  if (places > 1)
    row.repairs.push_back(
        {column, "whole GPUs of each instance, or a part of one: read as parts of equal size", fmt::format("{}", each)});
}

/// A task is a job of its own: inst_num instances of plan_gpu hundredths of a GPU each.
class Pai2020 final : public CsvTrace {
 public:
  explicit Pai2020(const std::string& path) : CsvTrace(path, {.required = kPaiColumns, .fixed = kPaiColumns}) {}

 private:
  void read(sim::CsvRow& fields, TraceRow& row) override {
    TraceJob& job = row.job;
    job.job_id = fmt::format("{}/{}", fields.text("job_name"), fields.text("task_name"));
    job.status = fields.text("status");
    job.gpu_type = fields.text("gpu_type");
    const double instances = static_cast<double>(fields.integer("inst_num", kGpuCounts));
    hold(row, instances, fields.number("plan_gpu", sim::above(0)) / 100, "plan_gpu");
    if (!kGpuCounts.contains(job.gpus)) fields.refuse("plan_gpu", "at most a million GPUs together");
    if (const auto cores = fields.maybe_number("plan_cpu", kCpuCounts)) job.cpus = *cores / 100 * instances;
    if (const auto gib = fields.maybe_number("plan_mem", sim::between(0, 1e6))) job.memory_bytes = *gib * 0x1p30 * instances;
    job.duration_s = length(fields, "start_time", "end_time");
    job.submit_s = fields.number("start_time", kDates);
  }
};

class Gpu2023 final : public CsvTrace {
 public:
  explicit Gpu2023(const std::string& path)
      : CsvTrace(path, {.required = {"name", "num_gpu", "creation_time", "deletion_time", "scheduled_time"},
                        .optional = {"cpu_milli", "memory_mib", "gpu_milli", "gpu_spec", "qos", "pod_phase"}}) {}

 private:
  void read(sim::CsvRow& fields, TraceRow& row) override {
    TraceJob& job = row.job;
    job.job_id = fields.text("name");
    if (job.job_id.empty()) fields.refuse("name", "a name");
    job.status = fields.text("pod_phase");
    job.partition = fields.text("qos");
    if (fields.text("gpu_spec") != "nan") job.gpu_type = fields.text("gpu_spec");
    job.gpus = static_cast<double>(fields.integer("num_gpu", kGpuCounts));
    const auto thousandths = fields.maybe_number("gpu_milli", {.low = 0, .high = 1000, .low_excluded = true});
    if (thousandths && *thousandths < 1000) job.gpu_fraction = *thousandths / 1000;
    if (const auto cores = fields.maybe_number("cpu_milli", kCpuCounts)) job.cpus = *cores / 1000;
    if (const auto mib = fields.maybe_number("memory_mib", sim::between(0, 1e12))) job.memory_bytes = *mib * 0x1p20;
    job.submit_s = fields.number("creation_time", kDates);
    job.duration_s = length(fields, "scheduled_time", "deletion_time");
  }
};

/// Inference services: what an instance has is kept until it is deleted.
class Gpu2025 final : public CsvTrace {
 public:
  explicit Gpu2025(const std::string& path)
      : CsvTrace(path, {.required = {"instance_sn", "gpu_request", "creation_time", "scheduled_time", "deletion_time"},
                        .optional = {"role", "app_name", "cpu_request", "memory_request"}}) {}
  std::vector<std::string> notes() const override {
    return {"instances of inference services, no training: a length is how long one served"};
  }

 private:
  void read(sim::CsvRow& fields, TraceRow& row) override {
    TraceJob& job = row.job;
    job.job_id = fields.text("instance_sn");
    if (job.job_id.empty()) fields.refuse("instance_sn", "a name");
    job.user = fields.text("app_name");
    job.partition = fields.text("role");
    hold(row, 1, fields.number("gpu_request", {.low = 0, .high = kGpuCounts.high, .low_excluded = true}), "gpu_request");
    if (const auto cores = fields.maybe_number("cpu_request", kCpuCounts)) job.cpus = *cores;
    if (const auto gib = fields.maybe_number("memory_request", sim::between(0, 1e6))) job.memory_bytes = *gib * 0x1p30;
    job.submit_s = fields.number("creation_time", kDates);
    job.duration_s = length(fields, "scheduled_time", "deletion_time");
  }
};

/// Jobs with strict service levels (HP) and those that take what these leave (Spot).
class Spot2026 final : public CsvTrace {
 public:
  explicit Spot2026(const std::string& path)
      : CsvTrace(path, {.required = {"job_name", "gpu_request", "worker_num", "submit_time", "duration"},
                        .optional = {"organization", "gpu_model", "cpu_request", "job_type"}}) {}
  std::vector<std::string> notes() const override {
    return {"dates of starts are not in the file: a length is what its authors call the duration of the job"};
  }

 private:
  void read(sim::CsvRow& fields, TraceRow& row) override {
    TraceJob& job = row.job;
    job.job_id = fields.text("job_name");
    if (job.job_id.empty()) fields.refuse("job_name", "a name");
    job.user = fields.text("organization");
    job.gpu_type = fields.text("gpu_model");
    job.partition = fields.text("job_type");
    if (has_column("job_type")) job.priority = job.partition == "HP" ? 1 : 0;
    const double workers = static_cast<double>(fields.integer("worker_num", kGpuCounts));
    hold(row, workers, fields.number("gpu_request", sim::above(0)), "gpu_request");
    if (!kGpuCounts.contains(job.gpus)) fields.refuse("gpu_request", "at most a million GPUs together");
    if (const auto cores = fields.maybe_number("cpu_request", kCpuCounts)) job.cpus = *cores * workers;
    job.submit_s = fields.number("submit_time", kDates);
    job.duration_s = fields.number("duration", kDurations);
  }
};

}  // namespace

std::unique_ptr<TraceReader> open_alibaba_gpu_2025(const std::string& path) { return std::make_unique<Gpu2025>(path); }
std::unique_ptr<TraceReader> open_alibaba_spot_2026(const std::string& path) { return std::make_unique<Spot2026>(path); }
std::unique_ptr<TraceReader> open_alibaba_pai_2020(const std::string& path) { return std::make_unique<Pai2020>(path); }
std::unique_ptr<TraceReader> open_alibaba_gpu_2023(const std::string& path) { return std::make_unique<Gpu2023>(path); }

}  // namespace rehearse::traces
