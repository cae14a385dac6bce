// The jobs of Microsoft's Philly clusters (Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training
// Workloads", USENIX ATC 2019) as one CSV, as Pollux's authors made it: timestamp,duration,num_gpus,gpu_time,cluster.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/io/civil_date.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/jobs/trace_job.hpp"

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

// The jobs of Microsoft's Philly clusters as Microsoft gives them (msr-fiddle/philly-traces, cluster_job_log): a JSON list with
// an object a job, its attempts in it.

namespace {

class PhillyJson final : public JsonTrace {
 public:
  using JsonTrace::JsonTrace;

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = note_of_zones(zoneless_);
    if (retried_ > 0)
      notes.push_back(fmt::format("{} jobs were tried more than once: a job's length is the sum of its attempts", retried_));
    return notes;
  }

 private:
  /// Nothing for null, "None" and an empty text, which the log has where it lost a date.
  std::optional<double> date(std::optional<sim::JsonValue> value, sim::Mistakes& mistakes) {
    if (!value || value->is_null()) return std::nullopt;
    if (value->is_string() && (value->text().empty() || value->text() == "None")) return std::nullopt;
    const auto date = value->is_string() ? sim::parse_civil_date(value->text()) : std::nullopt;
    if (!date) {
      value->refuse("a date like 2017-10-07 01:12:09", mistakes);
      return std::nullopt;
    }
    if (!date->has_zone) ++zoneless_;
    return date->unix_s;
  }

  void read(sim::JsonValue value, TraceRow& row, sim::Mistakes& mistakes) override {
    sim::ObjectReader in(value, mistakes);
    TraceJob& job = row.job;
    job.job_id = in.text("jobid");
    job.user = in.maybe_text("user").value_or("");
    job.partition = in.maybe_text("vc").value_or("");
    job.status = in.maybe_text("status").value_or("");
    const auto submitted = date(in.child("submitted_time"), mistakes);
    if (!submitted && mistakes.empty()) row.refuse("submitted_time", "a date", "nothing");
    job.submit_s = submitted.value_or(0);
    job.duration_s = row.recorded_gpu_s = 0;
    std::int64_t attempts = 0;
    for (const sim::JsonValue attempt : in.list("attempts")) attempts += read_attempt(attempt, row, mistakes);
    if (attempts > 1) ++retried_;
    if (!mistakes.empty() || !row.mistakes.empty()) return;
    if (attempts == 0)
      row.refuse("attempts", "an attempt with both dates and GPUs", "none");
    else if (!kGpuCounts.contains(job.gpus))
      row.refuse("gpus", kGpuCounts.describe("a whole number"), fmt::format("{}", job.gpus));
    else if (std::abs(row.recorded_gpu_s - job.gpus * job.duration_s) > 1e-9 * row.recorded_gpu_s)
      row.repairs.push_back({"attempts", "equal GPUs in all attempts: the job has those of the last all the time",
                             fmt::format("{} GPU-seconds", row.recorded_gpu_s)});
  }

  /// Adds its length to the job's; the job has the GPUs of its last attempt. False when it lacks a date.
  bool read_attempt(sim::JsonValue value, TraceRow& row, sim::Mistakes& mistakes) {
    const std::size_t mistakes_before = mistakes.size();
    sim::ObjectReader in(value, mistakes);
    const auto start_s = date(in.child("start_time"), mistakes), end_s = date(in.child("end_time"), mistakes);
    std::size_t gpus = 0;
    for (const sim::JsonValue server : in.list("detail")) {
      sim::ObjectReader part(server, mistakes);
      gpus += part.list("gpus").size();
    }
    if (mistakes.size() > mistakes_before) return false;
    if (!start_s || !end_s || gpus == 0) {
      row.repairs.push_back({"attempts", "both dates and GPUs of each attempt: one without is left out", {}});
      return false;
    }
    if (*end_s <= *start_s) {
      row.repairs.push_back({"end_time", "a date after start_time: the attempt is left out", {}});
      return false;
    }
    if (*start_s < row.job.submit_s)
      row.repairs.push_back({"start_time", "a date not before submitted_time: taken as it is", {}});
    row.job.duration_s += *end_s - *start_s;
    row.recorded_gpu_s += static_cast<double>(gpus) * (*end_s - *start_s);
    row.job.gpus = static_cast<double>(gpus);
    return true;
  }

  std::int64_t zoneless_ = 0, retried_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_philly_json(const std::string& path) { return std::make_unique<PhillyJson>(path); }

}  // namespace rehearse::traces
