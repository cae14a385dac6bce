#include "sim/jobs/job.hpp"

#include <algorithm>
#include <cmath>

namespace rehearse::sim {

std::string_view name_of(JobState state) {
  switch (state) {
    case JobState::held:
      return "held";
    case JobState::queued:
      return "queued";
    case JobState::starting:
      return "starting";
    case JobState::running:
      return "running";
    case JobState::checkpointing:
      return "checkpointing";
    case JobState::finished:
      return "finished";
    case JobState::failed:
      return "failed";
  }
  return "";
}

std::string_view name_of(FailureReason reason) {
  switch (reason) {
    case FailureReason::none:
      return "";
    case FailureReason::rejected:
      return "rejected";
    case FailureReason::does_not_fit:
      return "does_not_fit";
    case FailureReason::out_of_memory:
      return "out_of_memory";
    case FailureReason::cannot_converge:
      return "cannot_converge";
    case FailureReason::deadline_stop:
      return "deadline_stop";
    case FailureReason::walltime_stop:
      return "walltime_stop";
    case FailureReason::node_failure:
      return "node_failure";
    case FailureReason::dependency_failed:
      return "dependency_failed";
  }
  return "";
}

double young_daly_interval_s(double write_s, double mtbf_s) {
  if (mtbf_s == kNever) return kNever;
  if (write_s >= 2 * mtbf_s) return mtbf_s;
  const double part = std::sqrt(write_s / (2 * mtbf_s));
  return std::sqrt(2 * write_s * mtbf_s) * (1 + part / 3 + part * part / 9) - write_s;
}

CheckpointTimes checkpoint_times(const Job& job, const CheckpointRules& rules, double checkpoint_s, double mtbf_s) {
  CheckpointTimes times;
  times.write_s = std::isnan(rules.write_s) ? checkpoint_s : rules.write_s;
  if (!std::isnan(job.checkpoint_write_s)) times.write_s = job.checkpoint_write_s;
  times.interval_s = rules.young_daly ? young_daly_interval_s(times.write_s, mtbf_s) : rules.interval_s;
  if (job.checkpoint_interval_s > 0) times.interval_s = job.checkpoint_interval_s;
  times.interval_s = std::max(times.interval_s, kLeastCheckpointInterval_s);  // Young and Daly's follows writes of any length
  return times;
}

}  // namespace rehearse::sim
