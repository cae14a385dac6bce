// The ends of stages and jobs: what was done, what it cost, and who is told.
#include "sim/replay/replay_run.hpp"

namespace rehearse::sim {

/// Lets go of the devices, settles money and progress, and tells the stage.
void ReplayRun::end_stage(JobSlot slot, double now_s, double elapsed_s) {
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  const bool ran = live.state != JobState::starting;
  const Progress from = live.progress;
  const Progress to = ran ? progress_at(inputs_of(slot), live.course, setup_.models, elapsed_s) : from;
  const double rate = usd_per_s(cluster_, setup_.costs, configuration);
  let_go(slot, now_s);
  const double stage_usd = rate * (now_s - live.stage_start_s);
  const double lost_usd = ran ? rate * lost_seconds(live.course, elapsed_s) : 0;
  const double switch_s = ran ? (live.running_since_s - live.stage_start_s) +
                                    (live.state == JobState::checkpointing ? now_s - live.running_since_s - live.cut_after_s : 0)
                              : now_s - live.stage_start_s;
  live.cost.lost_usd += lost_usd;
  live.cost.switch_usd += rate * switch_s;
  const bool asked = ran && live.course.asks_again && elapsed_s >= live.course.length_s;
  setup_.recorder->on_stage({.job = &jobs_[slot].job,
                             .stage = live.stages,
                             .start_s = live.stage_start_s,
                             .end_s = now_s,
                             .running_since_s = live.running_since_s,
                             .configuration = &configuration,
                             .course = &live.course,
                             .from = from,
                             .to = to,
                             .noise_scale_seen = asked ? live.seen.back().noise_scale : kUnset,
                             .cost_usd = stage_usd,
                             .switch_cost_usd = rate * switch_s,
                             .cost_before_usd = live.meter.usd - stage_usd});
  live.progress = to;
  live.batch_before = configuration.batch_size();
  ++live.stages;
}

void ReplayRun::on_deadline(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  if (live.state == JobState::queued) {
    --waiting_;
    std::erase(queued_, slot);
  } else {
    events_.cancel(live.phase_end);
    const double elapsed_s = live.state == JobState::checkpointing ? live.cut_after_s : now_s - live.running_since_s;
    end_stage(slot, now_s, elapsed_s);
  }
  end_job(slot, FailureReason::deadline_stop, now_s);
}

void ReplayRun::emit(JobSlot slot, FailureReason reason, double now_s) {
  LiveJob& live = live_[slot];
  QueueJob& queued = jobs_[slot];
  JobRecord record{.job = &queued.job,
                   .number = queued.number,
                   .state = reason == FailureReason::none ? JobState::finished : JobState::failed,
                   .reason = reason,
                   .start_s = live.first_start_s,
                   .end_s = now_s,
                   .epochs = static_cast<double>(live.progress.epochs),
                   .accuracy = live.progress.accuracy,
                   .cost = live.cost,
                   .energy_j = live.meter.energy_j,
                   .device_s = live.meter.device_s,
                   .preemptions = live.preemptions,
                   .reconfigurations = live.reconfigurations};
  record.cost.compute_usd = live.meter.usd - record.cost.switch_usd - record.cost.lost_usd;
  record.predicted_feasible = queued.menu.feasible;
  if (live.entry >= 0) {
    const Configuration& configuration = entry_of(slot, live.entry).configuration;
    record.pool = configuration.groups.front().pool;
    record.workers = configuration.workers();
    record.batch_size = configuration.batch_size();
    record.choice = &entry_of(slot, live.entry);
  }
  if (record.accuracy == record.accuracy)
    record.accuracy_deviation = setup_.models.convergence->evaluation_deviation(*queued.job.profile, record.accuracy);
  ++(reason == FailureReason::none ? totals_.finished : totals_.failed);
  for (std::size_t s = 0; s < setup_.sources.size(); ++s)
    if (setup_.sources[s]->on_end(record)) pull(s);
  if (setup_.costs.billing == Billing::allocated) {
    setup_.recorder->on_job(record);
    return;
  }
  held_.push_back({.job = queued.job, .record = record, .usd_of_pool = live.meter.usd_of_pool});
  HeldRecord& held = held_.back();
  held.record.job = &held.job;
  if (record.choice != nullptr) {
    held.choice = *record.choice;
    held.record.choice = &held.choice;
  }
}

void ReplayRun::end_job(JobSlot slot, FailureReason reason, double now_s) {
  LiveJob& live = live_[slot];
  now_s_ = now_s;
  events_.cancel(live.deadline);
  live.state = reason == FailureReason::none ? JobState::finished : JobState::failed;
  tell(now_s, reason == FailureReason::none ? JobEvent::finished : JobEvent::failed, slot);
  emit(slot, reason, now_s);
  ended_.push_back(slot);
  --active_;
  totals_.last_end_s = now_s;
  if (setup_.on_progress) setup_.on_progress(totals_.finished + totals_.failed);
}

/// Pool billing: each pool's idle money goes to its jobs in proportion to what they paid for it.
void ReplayRun::share_idle_money() {
  const std::vector<PoolTotals>& pools = meter_.totals();
  for (HeldRecord& held : held_) {
    for (std::size_t p = 0; p < held.usd_of_pool.size(); ++p)
      if (held.usd_of_pool[p] > 0) held.record.cost.wait_usd += pools[p].idle_usd * held.usd_of_pool[p] / pools[p].jobs_usd;
    totals_.shared_idle_usd += held.record.cost.wait_usd;
    setup_.recorder->on_job(held.record);
  }
}

}  // namespace rehearse::sim
