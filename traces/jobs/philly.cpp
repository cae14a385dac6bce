// The jobs of Microsoft's Philly clusters (Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training
// Workloads", USENIX ATC 2019) as one CSV, as Pollux's authors made it: timestamp,duration,num_gpus,gpu_time,cluster.
#include <fmt/format.h>

#include <cmath>

#include "traces/jobs/job_rules.hpp"
#include "traces/jobs/csv_trace.hpp"
#include "traces/jobs/readers.hpp"

namespace rehearse::traces {
namespace {

class PhillyCsv final : public CsvTrace {
 public:
  explicit PhillyCsv(const std::string& path)
      : CsvTrace(path, {.required = {"timestamp", "duration", "num_gpus"}, .optional = {"gpu_time", "cluster"}}) {}
  std::vector<std::string> notes() const override { return note_of_zones(zoneless_); }

 private:
  void read(sim::CsvRow& fields, TraceRow& row) override {
    row.job.job_id = fmt::format("philly-{}", ++rows_);
    row.job.submit_s = read_date(fields, "timestamp", zoneless_);
    row.job.duration_s = fields.number("duration", kDurations);
    row.job.gpus = static_cast<double>(fields.integer("num_gpus", kGpuCounts));
    row.job.partition = fields.text("cluster");
    row.job.user = row.job.partition;
    const auto gpu_time_s = fields.maybe_number("gpu_time", sim::at_least(0));
    if (gpu_time_s && std::abs(*gpu_time_s - row.job.duration_s * row.job.gpus) > 1)
      row.repairs.push_back({"gpu_time", "duration x num_gpus: the two are believed", std::string(fields.text("gpu_time"))});
  }

  std::int64_t rows_ = 0, zoneless_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_philly(const std::string& path) { return std::make_unique<PhillyCsv>(path); }

}  // namespace rehearse::traces
