#include "sim/jobs/job.hpp"

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

}  // namespace rehearse::sim
