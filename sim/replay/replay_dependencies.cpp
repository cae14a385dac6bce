// Jobs that queue only when others have ended.
#include "sim/replay/replay_run.hpp"

namespace rehearse::sim {

void ReplayRun::hold_back(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  const Job& job = jobs_[slot].job;
  const Dependencies::Left left = dependencies_.wait_for(job, {slot, jobs_[slot].number});
  live.state = JobState::held;
  live.waits_for = left.jobs;
  if (left.failed && job.after_failed == AfterFailed::fail)
    end_job(slot, FailureReason::dependency_failed, now_s);
  else if (left.jobs == 0)
    enqueue(slot, now_s);
}

/// Jobs that fail because this one did end in turn: in a loop, as chains may be long.
void ReplayRun::release_dependents(JobSlot slot, double now_s) {
  ended_awaited_.push_back(slot);
  if (ended_awaited_.size() > 1) return;  // the loop below is under way
  for (std::size_t i = 0; i < ended_awaited_.size(); ++i) {
    const JobSlot ended = ended_awaited_[i];
    const bool finished = live_[ended].state == JobState::finished;
    for (const auto& [waiter, number] : dependencies_.ended(jobs_[ended].job, finished)) {
      LiveJob& live = live_[waiter];
      if (!live.in_use || jobs_[waiter].number != number || live.state != JobState::held) continue;
      --live.waits_for;
      if (!finished && jobs_[waiter].job.after_failed == AfterFailed::fail) {
        end_job(waiter, FailureReason::dependency_failed, now_s);
      } else if (live.waits_for == 0) {
        tell(now_s, JobEvent::released, waiter);
        enqueue(waiter, now_s);
      }
    }
  }
  ended_awaited_.clear();
}

}  // namespace rehearse::sim
