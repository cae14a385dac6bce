// The jobs of SenseTime's Helios clusters (Hu et al., "Characterization and Prediction of Deep Learning Workloads in Large-Scale
// GPU Datacenters", SC 2021): cluster_log.csv of each cluster, a Slurm job a row.
#include <fmt/format.h>

#include <cmath>

#include "traces/jobs/job_rules.hpp"
#include "traces/jobs/readers.hpp"

namespace rehearse::traces {
namespace {

class Helios final : public CsvTrace {
 public:
  explicit Helios(const std::string& path)
      : CsvTrace(path, {.required = {"job_id", "gpu_num", "submit_time", "duration"},
                        .optional = {"user", "vc", "cpu_num", "state", "start_time", "end_time"}}) {}
  std::vector<std::string> notes() const override { return note_of_zones(zoneless_); }

 private:
  void read(sim::CsvRow& fields, TraceRow& row) override {
    row.job.job_id = fields.text("job_id");
    row.job.user = fields.text("user");
    row.job.partition = fields.text("vc");
    row.job.status = fields.text("state");
    row.job.gpus = static_cast<double>(fields.integer("gpu_num", kGpuCounts));
    row.job.cpus = fields.maybe_number("cpu_num", kCpuCounts).value_or(kNotGiven);
    row.job.submit_s = read_date(fields, "submit_time", zoneless_);
    row.job.duration_s = fields.number("duration", kDurations);
    if (row.job.job_id.empty()) fields.refuse("job_id", "a name");
    if (fields.has("start_time") && fields.has("end_time")) check_dates(fields, row);
  }

  void check_dates(sim::CsvRow& fields, TraceRow& row) {
    const double start_s = read_date(fields, "start_time", zoneless_), end_s = read_date(fields, "end_time", zoneless_);
    if (!fields.mistakes().empty()) return;
    if (start_s < row.job.submit_s) fields.refuse("start_time", "a date not before submit_time");
    if (end_s < start_s) fields.refuse("end_time", "a date not before start_time");
    if (std::abs(end_s - start_s - row.job.duration_s) > 1)
      row.repairs.push_back({"duration", "end_time - start_time (a clock that was set?): duration is believed",
                             std::string(fields.text("duration"))});
  }

  std::int64_t zoneless_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_helios(const std::string& path) { return std::make_unique<Helios>(path); }

}  // namespace rehearse::traces
