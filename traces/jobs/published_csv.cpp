// Traces that were published as CSV with a job a row, and need little more than other names for their columns.
//
// The jobs of SenseTime's Helios clusters (Hu et al., "Characterization and Prediction of Deep Learning Workloads in Large-Scale
// GPU Datacenters", SC 2021): cluster_log.csv of each cluster, a Slurm job a row.
//
// The job traces of ElasticFlow (Gu et al., "ElasticFlow: An Elastic Serverless Training Platform for Distributed Deep Learning",
// ASPLOS 2023): dates, durations and GPUs of two months in Microsoft's clusters, to which the authors added model, batch size,
// iterations and deadline. Rigid: each job runs for its measured duration on its GPUs. Elastic: it does its iterations at its
// global batch on any GPUs, scaled to take the measured duration on its own. Measured: the same at the throughputs of the
// scenario's table, its model a type of job. Of a file with all columns both drop the same rows.
//
// The traces of Tiresias' simulator (Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI 2019):
// job_id,num_gpu,submit_time,iterations,model_name,duration,interval, in two layouts that name their columns.
#include <fmt/format.h>

#include <cmath>

#include "traces/jobs/readers.hpp"
#include "traces/jobs/trace_job.hpp"

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

enum class Replay : std::uint8_t { rigid, elastic, measured };

class ElasticFlow final : public CsvTrace {
 public:
  ElasticFlow(const std::string& path, Replay replay) : CsvTrace(path, columns_of(replay != Replay::rigid)), replay_(replay) {}

  void kept(const TraceRow& row) override {
    ++jobs_;
    if (row.job.deadline_s < duration_s_ && replay_ != Replay::measured) ++impossible_;
  }

  std::vector<std::string> notes() const override {
    if (jobs_ == 0 || replay_ == Replay::measured) return {};
    return {fmt::format("{} of {} deadlines ({:.1f} %) leave less time than the measured duration: no rigid schedule meets them",
                        impossible_, jobs_, 100.0 * static_cast<double>(impossible_) / static_cast<double>(jobs_))};
  }

 private:
  static sim::CsvColumns columns_of(bool elastic) {
    sim::CsvColumns columns{.required = {"job_id", "submission_time", "model_name", "deadline", "num_gpu", "duration"}};
    for (const char* column : {"num_iteration", "batch_size"})
      (elastic ? columns.required : columns.optional).emplace_back(column);
    return columns;
  }

  /// The elastic reading alone needs the column.
  double whole(sim::CsvRow& fields, std::string_view column, const sim::NumberRange& range) const {
    return has_column(column) ? static_cast<double>(fields.integer(column, range)) : kNotGiven;
  }

  void read(sim::CsvRow& fields, TraceRow& row) override {
    TraceJob& job = row.job;
    job.job_id = fields.text("job_id");
    (replay_ == Replay::measured ? job.job_type : job.model) = fields.text("model_name");
    job.submit_s = fields.number("submission_time", kDates);
    const double deadline_date_s = fields.number("deadline", kDates);
    duration_s_ = fields.number("duration", kDurations);
    const double iterations = whole(fields, "num_iteration", kStepCounts), batch_size = whole(fields, "batch_size", kBatchSizes);
    job.gpus = static_cast<double>(fields.integer("num_gpu", kGpuCounts));
    if (job.job_id.empty()) fields.refuse("job_id", "a name");
    if (fields.mistakes().empty() && deadline_date_s <= job.submit_s) fields.refuse("deadline", "a date after submission_time");
    job.deadline_s = deadline_date_s - job.submit_s;
    if (replay_ == Replay::rigid) {
      job.duration_s = duration_s_;
      return;
    }
    job.steps = iterations;
    if (replay_ == Replay::measured) {
      job.batch_size = batch_size;
      return;
    }
    job.measured_s = duration_s_;
    job.batch_size = std::ceil(batch_size / job.gpus) * job.gpus;  // the smallest of which every GPU has as much
    if (job.batch_size != batch_size)
      row.repairs.push_back({"batch_size", "a multiple of num_gpu: raised to the next", std::string(fields.text("batch_size"))});
  }

  std::string_view column_of(std::string_view field) const override {
    if (field == "submit_s") return "submission_time";
    if (field == "gpus") return "num_gpu";
    return {};
  }

  Replay replay_;
  double duration_s_ = 0;  ///< of the row before
  std::int64_t jobs_ = 0, impossible_ = 0;
};

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

std::unique_ptr<TraceReader> open_helios(const std::string& path) { return std::make_unique<Helios>(path); }

std::unique_ptr<TraceReader> open_elasticflow_rigid(const std::string& path) {
  return std::make_unique<ElasticFlow>(path, Replay::rigid);
}
std::unique_ptr<TraceReader> open_elasticflow_elastic(const std::string& path) {
  return std::make_unique<ElasticFlow>(path, Replay::elastic);
}
std::unique_ptr<TraceReader> open_elasticflow_measured(const std::string& path) {
  return std::make_unique<ElasticFlow>(path, Replay::measured);
}

std::unique_ptr<TraceReader> open_tiresias(const std::string& path) { return std::make_unique<Tiresias>(path); }

}  // namespace rehearse::traces
