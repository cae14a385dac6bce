#include "traces/jobs/trace_job.hpp"

#include <utility>

#include "sim/replay/least_interval.hpp"
#include "traces/job_rules.hpp"

namespace rehearse::traces {

std::span<const TraceColumn> trace_columns() {
  using J = TraceJob;
  static const TraceColumn columns[] = {
      {"job_id", &J::job_id},
      {"submit_s", &J::submit_s, kDates},
      {"gpus", &J::gpus, kGpuCounts, true},
      {"duration_s", &J::duration_s, kDurations},
      {"model", &J::model},
      {"dataset", &J::dataset},
      {"batch_size", &J::batch_size, kBatchSizes, true},
      {"epochs", &J::epochs, kEpochCounts, true},
      {"steps", &J::steps, kStepCounts, true},
      {"target_accuracy", &J::target_accuracy, kAccuracies},
      {"deadline_s", &J::deadline_s, kDurations},
      {"cost_limit_usd", &J::cost_limit_usd, kMoney},
      {"priority", &J::priority},
      {"user", &J::user},
      {"pool", &J::pool},
      {"precision", &J::precision},
      {"lr_rule", &J::lr_rule},
      {"objective", &J::objective},
      {"stop", &J::stop},
      {"on_deadline", &J::on_deadline},
      {"gpu_type", &J::gpu_type},
      {"gpu_fraction", &J::gpu_fraction, kGpuFractions},
      {"cpus", &J::cpus, kCpuCounts},
      {"memory_bytes", &J::memory_bytes, kMemoryBytes},
      {"partition", &J::partition},
      {"walltime_s", &J::walltime_s, kDurations},
      {"after", &J::after},
      {"after_failed", &J::after_failed},
      {"checkpoint_interval_s", &J::checkpoint_interval_s, sim::between(sim::kLeastCheckpointInterval_s, kLastDate_s)},
      {"checkpoint_write_s", &J::checkpoint_write_s, sim::between(0, 1e6)},
      {"status", &J::status},
  };
  return columns;
}

const TraceColumn* find_trace_column(std::string_view name) {
  for (const TraceColumn& column : trace_columns())
    if (column.name == name) return &column;
  return nullptr;
}

void TraceRow::refuse(std::string_view column, std::string expected, std::string found) {
  mistakes.push_back({.line = line, .pointer = std::string(column), .expected = std::move(expected), .found = std::move(found)});
}

void check_work(TraceRow& row) {
  const TraceJob& job = row.job;
  const bool trains = is_given(job.epochs) || is_given(job.target_accuracy);
  const auto require = [&row](bool ok, std::string_view column, std::string_view expected) {
    if (!ok) row.refuse(column, std::string(expected), "nothing");
  };
  require(is_given(job.duration_s) || is_given(job.steps) || trains, "duration_s",
          "the job's work: duration_s, or steps, or epochs and/or target_accuracy");
  require(!is_given(job.duration_s) || is_given(job.gpus), "gpus", "how many GPUs it held for duration_s");
  require(!is_given(job.steps) || is_given(job.batch_size), "batch_size", "the global batch of its steps");
  require(!(is_given(job.steps) || trains) || !job.model.empty(), "model", "what it trains");
}

}  // namespace rehearse::traces
