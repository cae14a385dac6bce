// Alibaba's two GPU traces: PAI 2020 (Weng et al., "MLaaS in the Wild", NSDI 2022), pai_task_table.csv, a task a row and no line
// of column names; and GPU 2023 (Weng et al., "Beware of Fragmentation", USENIX ATC 2023), openb_pod_list_*.csv, a pod a row.
#include <fmt/format.h>

#include <cmath>

#include "traces/jobs/job_rules.hpp"
#include "traces/jobs/readers.hpp"

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
    const double share = fields.number("plan_gpu", sim::above(0)) / 100;
    job.gpus = instances * std::ceil(share);
    if (!kGpuCounts.contains(job.gpus)) fields.refuse("plan_gpu", "at most a million GPUs together");
    if (share < 1) job.gpu_fraction = share;
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
    const auto share = fields.maybe_number("gpu_milli", sim::between(0, 1e6));
    if (share && job.gpus == 1 && *share > 0 && *share < 1000) job.gpu_fraction = *share / 1000;
    if (const auto cores = fields.maybe_number("cpu_milli", kCpuCounts)) job.cpus = *cores / 1000;
    if (const auto mib = fields.maybe_number("memory_mib", sim::between(0, 1e12))) job.memory_bytes = *mib * 0x1p20;
    job.submit_s = fields.number("creation_time", kDates);
    job.duration_s = length(fields, "scheduled_time", "deletion_time");
  }
};

}  // namespace

std::unique_ptr<TraceReader> open_alibaba_pai_2020(const std::string& path) { return std::make_unique<Pai2020>(path); }
std::unique_ptr<TraceReader> open_alibaba_gpu_2023(const std::string& path) { return std::make_unique<Gpu2023>(path); }

}  // namespace rehearse::traces
