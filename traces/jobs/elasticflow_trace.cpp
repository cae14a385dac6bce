// ElasticFlow's traces (traces/elasticflow.hpp) as a stream of rigid jobs.
#include "traces/job_rules.hpp"
#include "traces/jobs/csv_trace.hpp"
#include "traces/jobs/readers.hpp"

namespace rehearse::traces {
namespace {

class ElasticFlow final : public CsvTrace {
 public:
  explicit ElasticFlow(const std::string& path)
      : CsvTrace(path, {.required = {"job_id", "submission_time", "model_name", "deadline", "num_gpu", "duration"}}) {}

 private:
  void read(sim::CsvRow& fields, TraceRow& row) override {
    TraceJob& job = row.job;
    job.job_id = fields.text("job_id");
    if (job.job_id.empty()) fields.refuse("job_id", "a name");
    job.submit_s = fields.number("submission_time", kDates);
    job.duration_s = fields.number("duration", kDurations);
    job.gpus = static_cast<double>(fields.integer("num_gpu", kGpuCounts));
    job.model = fields.text("model_name");
    job.deadline_s = fields.number("deadline", kDates) - job.submit_s;
    if (fields.mistakes().empty() && job.deadline_s <= 0) fields.refuse("deadline", "a date after submission_time");
  }
};

}  // namespace

std::unique_ptr<TraceReader> open_elasticflow(const std::string& path) { return std::make_unique<ElasticFlow>(path); }

}  // namespace rehearse::traces
