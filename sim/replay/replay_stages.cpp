#include <fmt/format.h>

#include "sim/base/units.hpp"
#include "sim/replay/replay_run.hpp"
#include "sim/replay/validate.hpp"

namespace rehearse::sim {

StageInputs ReplayRun::inputs_of(JobSlot slot) const {
  const LiveJob& live = live_[slot];
  return {.job = &jobs_[slot].job,
          .choice = &entry_of(slot, live.entry),
          .layout = &live.layout,
          .plans = live.plans,
          .progress = &live.progress,
          .stage = live.stages};
}

void ReplayRun::allocate(JobSlot slot, const Layout& wanted) {
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  live.layout.resize(configuration.groups.size());
  live.boot_s = 0;
  for (std::size_t g = 0; g < configuration.groups.size(); ++g) {
    const auto pool = static_cast<std::size_t>(configuration.groups[g].pool);
    live.layout[g].clear();
    if (wanted.empty()) {
      nodes_[pool].take_consolidated(configuration.groups[g].workers, live.layout[g]);
    } else {
      live.layout[g] = wanted[g];
      nodes_[pool].take(live.layout[g]);
    }
    free_devices_[pool] = nodes_[pool].free_devices();
    live.boot_s = std::max(live.boot_s, meter_.take_nodes(now_s_, configuration.groups[g].pool, live.layout[g]));
  }
}

void ReplayRun::start(JobSlot slot, int entry, const Layout& wanted, double now_s) {
  LiveJob& live = live_[slot];
  const Job& job = jobs_[slot].job;
  live.entry = entry;
  live.resize_to = -1;
  allocate(slot, wanted);
  const Choice& choice = entry_of(slot, entry);
  setup_.recorder->on_decision(
      {.time_s = now_s, .job = &job, .decision = "start", .rank = entry, .choice = &choice, .remedy = jobs_[slot].menu.remedy});
  live.plans.clear();
  if (job.work != Work::rigid) {
    ask_policy("place and threads", &job, now_s, [&] {
      live.plans = ask_plans(setup_.policy, *setup_.models.step_times, cluster_, job, choice.configuration, live.layout);
      const OpGraph& graph = setup_.models.step_times->graph(*job.profile);
      for (std::size_t g = 0; g < live.plans.size(); ++g) {
        const Device& worker = worker_device(cluster_, choice.configuration.groups[g].pool);
        validate_step_plan(graph, live.layout[g].front().devices, live.plans[g].step);
        if (worker.kind == DeviceKind::cpu) validate_thread_plan(graph, worker, live.plans[g].threads);
      }
    });
  }
  live.stage_start_s = now_s;
  if (live.first_start_s != live.first_start_s) live.first_start_s = now_s;
  take_up_batch(job, live.batch_before, choice.configuration.batch_size(), setup_.costs, setup_.models, live.progress.training);
  plan_course(slot, now_s);
  hold(slot, 0, 0, now_s);
  tell(now_s, JobEvent::started, slot);
  if (!live.course.fits_memory) {
    let_go(slot, now_s);
    end_job(slot, FailureReason::out_of_memory, now_s);
    return;
  }
  const double start_s = live.boot_s + start_seconds(job, setup_.costs, setup_.models, live.stages > 0);
  live.state = JobState::starting;
  if (start_s > 0)
    live.phase_end = events_.push({on_date_grid(now_s + start_s), EventClass::completion, subject_of(slot, JobTimer::phase_end)});
  else
    begin_running(slot, now_s);
}

void ReplayRun::plan_course(JobSlot slot, double now_s) {
  try {
    live_[slot].course = stage_course(inputs_of(slot), setup_.models);
  } catch (const PolicyError& error) {
    throw PolicyError(fmt::format("policy \"{}\", configure, job \"{}\", at {:.6f} s: {}", setup_.policy.name,
                                  jobs_[slot].job.name, now_s, error.what()));
  }
}

/// (Re)takes the devices at a new power; what was held before is charged first.
void ReplayRun::hold(JobSlot slot, double busy_fraction, double power_fraction, double now_s) {
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  for (const Holding& holding : live.holdings) meter_.give_back(now_s, live.held_since_s, holding, live.meter);
  live.holdings.clear();
  live.held_since_s = now_s;
  for (const Group& group : configuration.groups) {
    live.holdings.push_back({.pool = group.pool,
                             .devices = group.workers,
                             .power_w = power_w(cluster_, group, configuration.power_limit_w, power_fraction),
                             .busy_devices = group.workers * busy_fraction});
    meter_.take(now_s, live.holdings.back());
  }
}

void ReplayRun::let_go(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  for (const Holding& holding : live.holdings) meter_.give_back(now_s, live.held_since_s, holding, live.meter);
  live.holdings.clear();
  leave_network(slot);
  if (configuration.sync.servers > 0) {
    meter_.charge_parameter_servers(servers_usd_per_s(setup_.costs, configuration) * (now_s - live.stage_start_s), live.meter);
  }
  for (std::size_t g = 0; g < live.layout.size(); ++g) {
    const auto pool = static_cast<std::size_t>(configuration.groups[g].pool);
    nodes_[pool].give_back(live.layout[g]);
    meter_.give_back_nodes(now_s, configuration.groups[g].pool, live.layout[g]);
    free_devices_[pool] = nodes_[pool].free_devices();
  }
}

void ReplayRun::begin_running(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  live.state = JobState::running;
  live.running_since_s = now_s;
  live.clock.begin(now_s);
  hold_running(slot, now_s);
  join_network(slot);
  tell(now_s, JobEvent::running, slot);
  live.phase_end =
      events_.push({on_date_grid(now_s + live.course.length_s), EventClass::completion, subject_of(slot, JobTimer::phase_end)});
}

void ReplayRun::begin_checkpoint(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  events_.cancel(live.phase_end);
  live.cut_after_s = live.clock.done_at(now_s);
  leave_network(slot);
  live.state = JobState::checkpointing;
  hold(slot, 0, 0, now_s);
  const double checkpoint_s = jobs_[slot].job.work == Work::rigid ? 0 : setup_.costs.checkpoint_s;
  live.phase_end =
      events_.push({on_date_grid(now_s + checkpoint_s), EventClass::completion, subject_of(slot, JobTimer::phase_end)});
}

void ReplayRun::end_checkpoint(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  end_stage(slot, now_s, live.cut_after_s);
  if (live.next_menu) {
    take_next_menu(slot, now_s);
    return;
  }
  const int resize_to = live.resize_to;
  enqueue(slot, now_s);
  if (resize_to < 0) return;
  // Starts again at once where its new shape is free; otherwise it waits in the queue like any other.
  if (!is_free(entry_of(slot, resize_to).configuration, {})) return;
  queued_.pop_back();
  --waiting_;
  start(slot, resize_to, {}, now_s);
}

/// Lets go of the devices, settles money and progress, and tells the stage.
void ReplayRun::end_stage(JobSlot slot, double now_s, double elapsed_s) {
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  const bool ran = live.state != JobState::starting;
  const Progress from = live.progress;
  const Progress to = ran ? progress_at(inputs_of(slot), live.course, setup_.models, elapsed_s) : from;
  // Prices may have changed meanwhile: each second of the stage counts alike.
  const double rate = mean_usd_per_s(cluster_, setup_.costs, configuration, live.stage_start_s, now_s);
  let_go(slot, now_s);
  const double stage_usd = rate * (now_s - live.stage_start_s);
  const double lost_usd = ran ? rate * lost_seconds(live.course, live.clock, elapsed_s) : 0;
  const double switch_s =
      ran ? (live.running_since_s - live.stage_start_s) +
                (live.state == JobState::checkpointing ? now_s - live.running_since_s - live.clock.after(live.cut_after_s) : 0)
          : now_s - live.stage_start_s;
  live.cost.lost_usd += lost_usd;
  live.cost.switch_usd += rate * switch_s;
  const bool asked = ran && live.course.asks_again && elapsed_s >= live.course.length_s;
  setup_.recorder->on_stage({.job = &jobs_[slot].job,
                             .stage = live.stages,
                             .start_s = live.stage_start_s,
                             .end_s = now_s,
                             .running_since_s = live.running_since_s,
                             .clock = &live.clock,
                             .step_s = live.course.step_s * (ran ? live.clock.stretch(elapsed_s) : 1),
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

void ReplayRun::on_phase_end(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  switch (live.state) {
    case JobState::starting:
      begin_running(slot, now_s);
      break;
    case JobState::checkpointing:
      end_checkpoint(slot, now_s);
      break;
    case JobState::running:
      if (live.course.asks_again) {
        ask_again(slot, now_s);
        break;
      }
      end_stage(slot, now_s, live.course.length_s);
      end_job(slot, live.course.failure, now_s);
      break;
    default:
      fail_check("a job that holds nothing ends a phase", now_s);
  }
}

void ReplayRun::on_deadline(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  if (live.state == JobState::queued) {
    --waiting_;
    std::erase(queued_, slot);
  } else {
    events_.cancel(live.phase_end);
    const double elapsed_s = live.state == JobState::checkpointing ? live.cut_after_s : live.clock.done_at(now_s);
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
                   .co2_kg = cluster_.carbon_g_per_kwh ? live.meter.co2_kg : kUnset,
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
