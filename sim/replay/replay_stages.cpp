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

void ReplayRun::allocate(JobSlot slot, const Layout& wanted, Placement placement, double now_s) {
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  live.layout.resize(configuration.groups.size());
  live.boot_s = 0;
  for (std::size_t g = 0; g < configuration.groups.size(); ++g) {
    const auto pool = static_cast<std::size_t>(configuration.groups[g].pool);
    live.layout[g].clear();
    if (wanted.empty()) {
      nodes_[pool].take(placement, configuration.groups[g].workers, live.layout[g]);
    } else {
      live.layout[g] = wanted[g];
      nodes_[pool].take(live.layout[g]);
    }
    free_devices_[pool] = nodes_[pool].free_devices();
    live.boot_s = std::max(live.boot_s, meter_.take_nodes(now_s, configuration.groups[g].pool, live.layout[g]));
  }
  if (node_watch_) node_watch_->enter(configuration, live.layout, slot);
  setup_.recorder->on_devices(now_s, true, jobs_[slot].job, configuration, live.layout);
}

void ReplayRun::start(const Start& start, double now_s) {
  const JobSlot slot = start.job;
  const int entry = start.entry;
  LiveJob& live = live_[slot];
  const Job& job = jobs_[slot].job;
  live.entry = entry;
  live.resize_to = -1;
  allocate(slot, start.nodes, start.placement, now_s);
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
  for (const Plans& plans : live.plans)
    if (!plans.step.note.empty())
      setup_.recorder->on_decision(
          {.time_s = now_s, .job = &job, .decision = "place", .rank = entry, .choice = &choice, .note = plans.step.note});
  live.stage_start_s = now_s;
  arm_walltime(slot, now_s);
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
  const double start_s =
      live.boot_s + start_seconds(job, setup_.costs, setup_.models, live.has_checkpoint) + live.course.profiling_s;
  live.state = JobState::starting;
  started_.push_back(slot);
  show(slot, now_s);
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

/// Steps draw power; a periodic checkpoint does not. Both are spread evenly over the time to the end of the stage. A step that takes
/// longer does the same work, and waits.
void ReplayRun::hold_running(JobSlot slot, double now_s) {
  const LiveJob& live = live_[slot];
  const double done = live.clock.mean_speed(), speed = live.clock.speed();
  const double waiting = live.course.waiting_power_fraction;
  const double training = speed == 1 ? done : done / speed;  // of the time
  const double power =
      speed == 1 ? live.course.power_fraction : waiting + (live.course.power_fraction - waiting) * speed;
  hold(slot, live.course.busy_fraction * done, power * training, now_s);
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
  if (node_watch_) node_watch_->leave(configuration, live.layout, slot);
  setup_.recorder->on_devices(now_s, false, jobs_[slot].job, configuration, live.layout);
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
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  const double mtbf_s = node_watch_ ? node_watch_->mtbf_s(configuration, live.layout) : kNever;
  join_network(slot);
  live.checkpoint_times = checkpoint_times(jobs_[slot].job, setup_.checkpoints, setup_.costs.checkpoint_s, mtbf_s);
  live.clock = StageClock(now_s, live.course.length_s, live.checkpoint_times, speed_of(slot));
  hold_running(slot, now_s);
  changed_.push_back(slot);
  show(slot, now_s);
  tell(now_s, JobEvent::running, slot);
  live.phase_end =
      events_.push({on_date_grid(live.clock.end_s()), EventClass::completion, subject_of(slot, JobTimer::phase_end)});
}

void ReplayRun::preempt(JobSlot slot, Preemption preemption, double now_s) {
  LiveJob& live = live_[slot];
  ++live.preemptions;
  tell(now_s, JobEvent::preempted, slot);
  live.loses_work = preemption == Preemption::lose;
  begin_checkpoint(slot, live.clock.at(now_s), now_s);
}

void ReplayRun::begin_checkpoint(JobSlot slot, const StageReading& cut, double now_s) {
  LiveJob& live = live_[slot];
  events_.cancel(live.phase_end);
  live.cut = cut;
  leave_network(slot);
  live.state = JobState::checkpointing;
  hold(slot, 0, 0, now_s);
  const double checkpoint_s = jobs_[slot].job.work == Work::rigid || live.loses_work ? 0 : setup_.costs.checkpoint_s;
  const double lets_go_at_s = on_date_grid(now_s + checkpoint_s);
  live.phase_end = events_.push({lets_go_at_s, EventClass::completion, subject_of(slot, JobTimer::phase_end)});
  changed_.push_back(slot);
  show(slot, now_s);
  jobs_[slot].service.lets_go_at_s = lets_go_at_s;
}

void ReplayRun::end_checkpoint(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  end_stage(slot, live.cut, !live.loses_work, now_s);
  live.loses_work = false;
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
  start({.job = slot, .entry = resize_to, .placement = live.placement}, now_s);
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
      end_stage(slot, live.clock.whole(), true, now_s);
      end_job(slot, live.course.failure, now_s);
      break;
    default:
      fail_check("a job that holds nothing ends a phase", now_s);
  }
}

}  // namespace rehearse::sim
