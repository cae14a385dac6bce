// The traces of Tiresias' simulator (Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI 2019):
// job_id,num_gpu,submit_time,iterations,model_name,duration,interval, in two layouts that name their columns.
#include "traces/jobs/job_rules.hpp"
#include "traces/jobs/readers.hpp"

namespace rehearse::traces {
namespace {

class Tiresias final : public CsvTrace {
 public:
  explicit Tiresias(const std::string& path)
      : CsvTrace(path, {.required = {"job_id", "num_gpu", "submit_time", "duration"}, .optional = {"model_name"}}) {}

 private:
  void read(sim::CsvRow& fields, TraceRow& row) override {
    row.job.job_id = fields.text("job_id");
    row.job.submit_s = fields.number("submit_time", kDates);
    row.job.duration_s = fields.number("duration", kDurations);
    row.job.gpus = static_cast<double>(fields.integer("num_gpu", kGpuCounts));
    row.job.model = fields.text("model_name");
    if (row.job.job_id.empty()) fields.refuse("job_id", "a name");
  }
};

}  // namespace

std::unique_ptr<TraceReader> open_tiresias(const std::string& path) { return std::make_unique<Tiresias>(path); }

}  // namespace rehearse::traces
