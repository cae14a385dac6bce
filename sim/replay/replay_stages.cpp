#include <fmt/format.h>

#include <array>
#include <optional>

#include "sim/base/units.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/replay/replay_run.hpp"

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
  ++holding_;
  live.layout.resize(configuration.groups.size());
  live.boot_s = 0;
  const bool part = needs_part(slot);
  if (part) allocate_part(slot, wanted, placement, now_s);
  for (std::size_t g = 0; g < configuration.groups.size() && !part; ++g) {
    const auto pool = static_cast<std::size_t>(configuration.groups[g].pool);
    live.layout[g].clear();
    if (wanted.empty()) {
      nodes_[pool].take(placement, configuration.groups[g], live.layout[g]);
    } else {
      live.layout[g] = wanted[g];
      nodes_[pool].take(live.layout[g]);
    }
    free_devices_[pool] = nodes_[pool].free_devices();
    live.boot_s = std::max(live.boot_s, meter_.take_nodes(now_s, configuration.groups[g].pool, live.layout[g]));
  }
  live.rents = meter_.rent(now_s, configuration, live.layout);
  live.stage_start_usd = live.meter.usd;
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
  live.shares = start.shares;
  allocate(slot, start.nodes, start.placement, now_s);
  const Choice& choice = entry_of(slot, entry);
  setup_.recorder->on_decision(
      {.time_s = now_s, .job = &job, .decision = "start", .rank = entry, .choice = &choice, .remedy = jobs_[slot].menu.remedy});
  live.plans.clear();
  if (job.work != Work::rigid) {
    ask_policy("place and threads", &job, now_s, [&] {
      live.plans = ask_plans(setup_.policy, *setup_.models.step_times, cluster_, job, choice.configuration, live.layout,
                             {.decides = true});
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
  live.state = JobState::starting;
  live.start_phase = 0;
  started_.push_back(slot);
  show(slot, now_s);
  begin_start_phase(slot, now_s);
}

/// Before a job runs: its nodes boot, its data set is copied to them, it starts up, and reads the checkpoint that it has.
void ReplayRun::begin_start_phase(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  const Job& job = jobs_[slot].job;
  const double loaded_s = live.boot_s + preload_seconds(job, setup_.costs, setup_.models);
  const double up_s = live.boot_s + start_seconds(job, setup_.costs, setup_.models, false);
  const double restored_s = live.boot_s + start_seconds(job, setup_.costs, setup_.models, live.has_checkpoint);
  struct StartPhase {
    double begin_s, end_s;  // since the job took its devices
    std::optional<JobEvent> event;
  };
  const std::array<StartPhase, 4> phases{
      {{0, live.boot_s, {}},
       {live.boot_s, loaded_s, JobEvent::preloading},
       {loaded_s, up_s, loaded_s > live.boot_s ? std::optional(JobEvent::starting_up) : std::nullopt},
       {up_s, restored_s + live.course.profiling_s, restored_s > up_s ? std::optional(JobEvent::restoring) : std::nullopt}}};
  while (live.start_phase < static_cast<int>(phases.size())) {
    const StartPhase& phase = phases[static_cast<std::size_t>(live.start_phase++)];
    if (phase.end_s <= phase.begin_s) continue;
    if (phase.event) tell(now_s, *phase.event, slot);
    const double date_s = on_date_grid(live.stage_start_s + phase.end_s);
    live.phase_end = events_.push({date_s, EventClass::completion, subject_of(slot, JobTimer::phase_end)});
    return;
  }
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
  meter_.settle_rent(now_s, live.rents, live.meter);
  live.holdings.clear();
  live.held_since_s = now_s;
  for (const Group& group : configuration.groups) {
    const int places = configuration.share.is_part() ? configuration.share.parts : group.workers;
    live.holdings.push_back({.pool = group.pool,
                             .devices = configuration.devices_held(group),
                             .power_w = power_w(cluster_, configuration, group, power_fraction),
                             .busy_devices = places * busy_fraction});
    meter_.take(now_s, live.holdings.back());
  }
}

/// Steps draw power; a periodic checkpoint does not. Both are spread evenly over the time to the end of the stage. A step that
/// takes longer does the same work, and waits; beside others on its device it is they who compute meanwhile.
ReplayRun::Drawn ReplayRun::wants(JobSlot slot) const {
  const LiveJob& live = live_[slot];
  const double done = live.clock.mean_speed();
  const double speed = live.clock.speed() / (needs_part(slot) ? speed_beside_others(slot) : 1);
  const double waiting = live.course.waiting_power_fraction;
  const double training = speed == 1 ? done : done / speed;  // of the time
  const double power = speed == 1 ? live.course.power_fraction : waiting + (live.course.power_fraction - waiting) * speed;
  return {.busy = live.course.busy_fraction * done, .power = power * training};
}

void ReplayRun::hold_running(JobSlot slot, double now_s) {
  const Drawn wanted = wants(slot);
  const Drawn granted = needs_part(slot) ? granted_beside_others(slot) : Drawn{};
  hold(slot, wanted.busy * granted.busy, wanted.power * granted.power, now_s);
}

void ReplayRun::let_go(JobSlot slot, double now_s) {
  --holding_;
  LiveJob& live = live_[slot];
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  for (const Holding& holding : live.holdings) meter_.give_back(now_s, live.held_since_s, holding, live.meter);
  live.holdings.clear();
  meter_.end_rent(now_s, live.rents, live.meter);
  leave_network(slot);
  if (configuration.sync.servers > 0) {
    meter_.charge_parameter_servers(servers_usd_per_s(setup_.costs, configuration) * (now_s - live.stage_start_s), live.meter);
  }
  if (node_watch_) node_watch_->leave(configuration, live.layout, slot);
  setup_.recorder->on_devices(now_s, false, jobs_[slot].job, configuration, live.layout);
  if (needs_part(slot)) {
    let_go_part(slot, now_s);
    return;
  }
  for (std::size_t g = 0; g < live.layout.size(); ++g) {
    const auto pool = static_cast<std::size_t>(configuration.groups[g].pool);
    nodes_[pool].give_back(live.layout[g]);
    meter_.give_back_nodes(now_s, configuration.groups[g].pool, live.layout[g]);
    free_devices_[pool] = nodes_[pool].free_devices();
  }
}

/// A job that is out of memory starts up again where it is, with half of each worker's samples.
void ReplayRun::start_smaller(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  Choice& choice = jobs_[slot].menu.ranked[static_cast<std::size_t>(live.entry)];
  setup_.policy.configure->on_out_of_memory(jobs_[slot].job, choice.configuration);
  if (!halve_batch(jobs_[slot].job, choice.configuration)) {
    std::erase(started_, slot);
    stop(slot, FailureReason::out_of_memory, now_s);
    return;
  }
  setup_.recorder->on_decision({.time_s = now_s,
                                .job = &jobs_[slot].job,
                                .decision = "start",
                                .rank = live.entry,
                                .choice = &choice,
                                .note = "out of memory: half of the batch"});
  take_up_batch(jobs_[slot].job, live.batch_before, choice.configuration.batch_size(), setup_.costs, setup_.models,
                live.progress.training);
  plan_course(slot, now_s);
  live.boot_s = now_s - live.stage_start_s;
  live.start_phase = 1;
  begin_start_phase(slot, now_s);
}

void ReplayRun::begin_running(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  if (!live.course.fits_memory) {
    start_smaller(slot, now_s);
    return;
  }
  live.state = JobState::running;
  live.running_since_s = now_s;
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  const double mtbf_s = node_watch_ ? sim::mtbf_s(node_watch_->rates, configuration, live.layout) : kNever;
  join_network(slot);
  live.checkpoint_times = checkpoint_times(jobs_[slot].job, setup_.checkpoints, setup_.costs.checkpoint_s, mtbf_s);
  live.clock = StageClock(now_s, live.course.length_s, live.checkpoint_times, speed_of(slot));
  hold_running(slot, now_s);
  changed_.push_back(slot);
  show(slot, now_s);
  tell(now_s, JobEvent::running, slot);
  live.phase_end =
      events_.push({on_date_grid(live.clock.end_s()), EventClass::completion, subject_of(slot, JobTimer::phase_end)});
  if (needs_part(slot)) retune_beside(slot, now_s);
}

void ReplayRun::preempt(JobSlot slot, Preemption preemption, double now_s) {
  LiveJob& live = live_[slot];
  ++live.preemptions;
  live.gives_way = true;
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
  if (needs_part(slot)) retune_beside(slot, now_s);
  const bool writes = switches(jobs_[slot].job, setup_.costs) && !live.loses_work;
  const double checkpoint_s = writes ? setup_.costs.checkpoint_s : 0;
  const double lets_go_at_s = on_date_grid(now_s + (live.collects ? setup_.costs.collect_s : checkpoint_s));
  live.phase_end = events_.push({lets_go_at_s, EventClass::completion, subject_of(slot, JobTimer::phase_end)});
  changed_.push_back(slot);
  show(slot, now_s);
  jobs_[slot].service.lets_go_at_s = lets_go_at_s;
}

/// The results of a training that has ended are fetched from its nodes; a node that fails meanwhile takes them with it.
void ReplayRun::begin_collecting(JobSlot slot, double now_s) {
  tell(now_s, JobEvent::collecting, slot);
  live_[slot].collects = true;
  begin_checkpoint(slot, live_[slot].clock.whole(), now_s);
}

void ReplayRun::end_checkpoint(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  if (live.collects) {
    end_stage(slot, live.cut, true, now_s);
    end_job(slot, live.course.failure, now_s);
    return;
  }
  end_stage(slot, live.cut, !live.loses_work, now_s);
  live.loses_work = false;
  if (live.next_menu && live.next_menu->pause.is_set()) {
    jobs_[slot].menu.pause = live.next_menu->pause;
    live.next_menu.reset();
    pause(slot, now_s);
    return;
  }
  if (live.next_menu) {
    take_next_menu(slot, now_s);
    return;
  }
  const int resize_to = live.resize_to;
  if (resize_to < 0) {
    come_back(slot, now_s);
    return;
  }
  enqueue(slot, now_s);
  // Starts again at once where its new shape is free; otherwise it waits in the queue like any other.
  if (!is_free(entry_of(slot, resize_to).configuration, {}, live.shares)) return;
  queued_.pop_back();
  --waiting_;
  start({.job = slot, .entry = resize_to, .placement = live.placement, .shares = live.shares}, now_s);
}

void ReplayRun::on_phase_end(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  switch (live.state) {
    case JobState::starting:
      begin_start_phase(slot, now_s);
      break;
    case JobState::checkpointing:
      end_checkpoint(slot, now_s);
      break;
    case JobState::running:
      if (live.course.asks_again) {
        ask_again(slot, now_s);
        break;
      }
      if (setup_.costs.collect_s > 0 && jobs_[slot].job.work != Work::rigid && live.course.failure == FailureReason::none) {
        begin_collecting(slot, now_s);
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
