// The ends of stages and jobs: what was done, what it cost, and who is told.
#include <algorithm>
#include <utility>

#include "sim/base/units.hpp"
#include "sim/replay/replay_run.hpp"

namespace rehearse::sim {

namespace {

/// What is lost of the training of a stage: epochs that diverged, and all since the last checkpoint unless one was written at the
/// cut.
double lost_s(const StageCourse& course, const StageReading& cut, bool keeps_all) {
  const double kept_s = keeps_all ? cut.done_s : cut.saved_s;
  const double kept_trained_s = keeps_all ? cut.trained_s : cut.saved_trained_s;
  const double diverged_s = lost_seconds(course, kept_s);
  return (diverged_s > 0 ? diverged_s * (kept_trained_s / kept_s) : 0) + (cut.trained_s - kept_trained_s);
}

}  // namespace

/// Lets go of the devices, settles money and progress, and tells the stage. `cut` says where it stood, `keeps_all` whether it
/// ended or a checkpoint was written there.
void ReplayRun::end_stage(JobSlot slot, const StageReading& cut, bool keeps_all, double now_s) {
  LiveJob& live = live_[slot];
  events_.cancel(live.walltime);
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  const bool ran = live.state != JobState::starting;
  const Progress from = live.progress;
  const Progress to = ran ? progress_at(inputs_of(slot), live.course, setup_.models, keeps_all ? cut.done_s : cut.saved_s) : from;
  let_go(slot, now_s);
  const double held_s = now_s - live.stage_start_s;
  // Prices and, under node billing, neighbours may have changed meanwhile: each second of the stage counts alike.
  const double rate = setup_.costs.billing == Billing::node
                          ? (held_s > 0 ? (live.meter.usd - live.stage_start_usd) / held_s : 0)
                          : mean_usd_per_s(cluster_, setup_.costs, configuration, live.stage_start_s, now_s);
  const double stage_usd = rate * held_s;
  TimeParts time{.switch_s = held_s};
  double start_s = held_s, stop_s = 0;  // before the first step; after the last one, its loss included
  if (ran) {
    time.lost_s = lost_s(live.course, cut, keeps_all);
    const double after_cut_s =
        live.state == JobState::checkpointing ? now_s - live.running_since_s - cut.trained_s - cut.writing_s : 0;
    start_s = live.running_since_s - live.stage_start_s;
    stop_s = after_cut_s + (keeps_all ? 0 : cut.trained_s - cut.saved_trained_s);
    time.switch_s = start_s + cut.writing_s + after_cut_s;
    live.checkpoints += cut.checkpoints;
    live.has_checkpoint = live.has_checkpoint || keeps_all || cut.checkpoints > 0;
  }
  time.train_s = std::max(0.0, held_s - time.switch_s - time.lost_s);  // dates beyond 2^33 s are coarser than the grid
  live.time.train_s += time.train_s;
  live.time.switch_s += time.switch_s;
  live.time.lost_s += time.lost_s;
  live.cost.lost_usd += rate * time.lost_s;
  live.cost.switch_usd += rate * time.switch_s;
  live.checkpoint_usd += rate * (ran ? cut.writing_s : 0);
  const double devices = configuration.devices_held();
  live.devices.train_device_s += devices * time.train_s;
  live.devices.lost_device_s += devices * time.lost_s;
  live.devices.checkpoint_device_s += devices * (ran ? cut.writing_s : 0);
  // A start that is itself cut short by a preemption is the price of one of the two, not of both.
  live.preemption_s += (live.returns || (live.gives_way && !ran) ? start_s : 0) + (live.gives_way ? stop_s : 0);
  live.returns = std::exchange(live.gives_way, false);
  Books::add_stage(live.stage_start_s, now_s, devices, stage_usd, live.stage_sums);
  const bool asked = ran && live.course.asks_again && keeps_all && cut.done_s >= live.course.length_s;
  setup_.recorder->on_stage({.job = &jobs_[slot].job,
                             .stage = live.stages,
                             .start_s = live.stage_start_s,
                             .end_s = now_s,
                             .running_since_s = live.running_since_s,
                             .checkpoints = live.checkpoint_times,
                             .speed = cut.trained_s > 0 ? cut.done_s / cut.trained_s : 1,
                             .configuration = &configuration,
                             .course = &live.course,
                             .from = from,
                             .to = to,
                             .noise_scale_seen = asked ? live.seen.back().noise_scale : kUnset,
                             .cost_usd = stage_usd,
                             .switch_cost_usd = rate * time.switch_s,
                             .cost_before_usd = live.meter.usd - stage_usd});
  live.progress = to;
  live.batch_before = configuration.batch_size();
  ++live.stages;
}

/// Where the stage of a job that holds devices stands.
StageReading ReplayRun::reading_of(JobSlot slot, double now_s) const {
  const LiveJob& live = live_[slot];
  if (live.state == JobState::starting) return {};
  return live.state == JobState::checkpointing ? live.cut : live.clock.at(now_s);
}

void ReplayRun::arm_walltime(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  const double walltime_s = jobs_[slot].job.walltime_s;
  if (walltime_s == kNever) return;
  const double date_s = on_date_grid(now_s + std::max(0.0, walltime_s - live.time.held_s()));
  live.walltime = events_.push({date_s, EventClass::timer, subject_of(slot, JobTimer::walltime)});
}

/// Each stage before has rounded up to the grid of dates twice, at the end of its start-up and at its own: a job whose work ends
/// within so much of its time limit takes no longer than that, and ends as it would have without being stopped on the way.
void ReplayRun::on_walltime(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  const double rounding_s = 2 * kDateGrid * live.stages;
  if (live.state != JobState::running || live.clock.end_s() <= now_s || live.clock.end_s() > now_s + rounding_s)
    stop(slot, FailureReason::walltime_stop, now_s);
  else
    live.walltime =
        events_.push({on_date_grid(now_s + rounding_s), EventClass::timer, subject_of(slot, JobTimer::walltime)});
}

/// Ends a job as failed, whatever it is doing.
void ReplayRun::stop(JobSlot slot, FailureReason reason, double now_s) {
  LiveJob& live = live_[slot];
  if (live.state == JobState::queued) {
    --waiting_;
    std::erase(queued_, slot);
  } else if (live.state != JobState::held) {
    events_.cancel(live.phase_end);
    end_stage(slot, reading_of(slot, now_s), true, now_s);
  }
  end_job(slot, reason, now_s);
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
                   .marginal_usd = live.meter.marginal_usd,
                   .time = live.time,
                   .devices = live.devices,
                   .checkpoint_usd = live.checkpoint_usd,
                   .measured_usd = live.measured_usd,
                   .energy_j = live.meter.energy_j,
                   .co2_kg = cluster_.carbon_g_per_kwh ? live.meter.co2_kg : kUnset,
                   .device_s = live.meter.device_s,
                   .preemptions = live.preemptions,
                   .preemption_s = live.preemption_s,
                   .reconfigurations = live.reconfigurations,
                   .restarts = live.restarts,
                   .checkpoints = live.checkpoints};
  record.cost.compute_usd = live.meter.usd - record.cost.switch_usd - record.cost.lost_usd;
  record.predicted_feasible = queued.menu.feasible;
  if (live.entry >= 0) {
    const Configuration& configuration = entry_of(slot, live.entry).configuration;
    record.pool = configuration.groups.front().pool;
    record.workers = configuration.share.is_part() ? configuration.share.parts : configuration.workers();
    record.batch_size = configuration.batch_size();
    record.choice = &entry_of(slot, live.entry);
  }
  if (record.accuracy == record.accuracy)
    record.accuracy_deviation = setup_.models.convergence->evaluation_deviation(*queued.job.profile, record.accuracy);
  books_.add_job(record, live.meter, live.stage_sums);
  ++(reason == FailureReason::none ? totals_.finished : totals_.failed);
  for (std::size_t s = 0; s < setup_.sources.size(); ++s)
    if (setup_.sources[s]->on_end(record)) pull(s);
  if (setup_.costs.billing != Billing::pool) {
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

ReplayProgress ReplayRun::progress_now(double now_s) const {
  ReplayProgress p{.jobs_ended = totals_.finished + totals_.failed,
                   .jobs_waiting = static_cast<std::uint64_t>(waiting_),
                   .jobs_running = holding_,
                   .time_s = now_s - totals_.first_submit_s};
  meter_.tell(p);
  return p;
}

void ReplayRun::end_job(JobSlot slot, FailureReason reason, double now_s) {
  LiveJob& live = live_[slot];
  now_s_ = now_s;
  dates_without_end_ = 0;
  events_.cancel(live.deadline);
  events_.cancel(live.walltime);
  events_.cancel(live.measured);
  events_.cancel(live.pause_end);
  std::erase(paused_, slot);
  if (reason == FailureReason::none) show_run(slot);
  live.state = reason == FailureReason::none ? JobState::finished : JobState::failed;
  tell(now_s, reason == FailureReason::none ? JobEvent::finished : JobEvent::failed, slot);
  show(slot, now_s);
  emit(slot, reason, now_s);
  if (live.pauses > 0) std::erase(ended_, slot);  // where it is listed while it pauses
  ended_.push_back(slot);
  --active_;
  totals_.last_end_s = now_s;
  if (setup_.on_progress) setup_.on_progress(progress_now(now_s));
  if (jobs_[slot].job.is_awaited) release_dependents(slot, now_s);
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

// Jobs that queue only when others have ended, or when what is measured for them is known.

void ReplayRun::hold_back(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  const Job& job = jobs_[slot].job;
  const Dependencies::Left left = dependencies_.wait_for(job, {slot, jobs_[slot].number});
  live.state = JobState::held;
  live.waits_for = left.jobs;
  const double wait_s = jobs_[slot].menu.wait_s;
  if (left.failed && job.after_failed == AfterFailed::fail) {
    end_job(slot, FailureReason::dependency_failed, now_s);
    return;
  }
  if (wait_s > 0) {
    live.measured_usd += jobs_[slot].menu.wait_usd;
    ++live.waits_for;
    live.measured = events_.push({on_date_grid(now_s + wait_s), EventClass::timer, subject_of(slot, JobTimer::measured)});
  }
  if (live.waits_for > 0) return;
  if (jobs_[slot].menu.pause.is_set())
    pause(slot, now_s);
  else
    enqueue(slot, now_s);
}

/// One of the things that a held job waits for has come.
void ReplayRun::let_go_of(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  if (--live.waits_for > 0) return;
  tell(now_s, JobEvent::released, slot);
  if (jobs_[slot].menu.pause.is_set())
    pause(slot, now_s);
  else
    enqueue(slot, now_s);
}

/// Tells the strategy of a training that ran in one stage and at its own speed: such a run it could have made itself.
void ReplayRun::show_run(JobSlot slot) {
  const LiveJob& live = live_[slot];
  const Job& job = jobs_[slot].job;
  if (job.work != Work::train || live.stages != 1 || live.preemptions > 0 || live.restarts > 0 || needs_part(slot)) return;
  RunSeen run{.job = &job,
              .configuration = &entry_of(slot, live.entry).configuration,
              .time_s = live.clock.whole().trained_s,
              .accuracies = {}};
  for (const EpochPoint& epoch : live.course.epochs)
    if (!epoch.lost) run.accuracies.push_back(epoch.after.measured_accuracy);
  setup_.policy.configure->on_run(run);
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
      if (!finished && jobs_[waiter].job.after_failed == AfterFailed::fail)
        end_job(waiter, FailureReason::dependency_failed, now_s);
      else
        let_go_of(waiter, now_s);
    }
  }
  ended_awaited_.clear();
}

}  // namespace rehearse::sim
