// The end of a stage at which `configure` is asked again: the job goes on as it is, or checkpoints and starts with another
// choice.
#include "sim/replay/decisions.hpp"
#include "sim/replay/replay_run.hpp"
#include "sim/replay/validate.hpp"

namespace rehearse::sim {

/// Settles the job's money first.
StageSeen ReplayRun::see(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  const Job& job = jobs_[slot].job;
  const Configuration& configuration = entry_of(slot, live.entry).configuration;
  check(!live.course.epochs.empty(), "a stage without an epoch shows nothing", now_s);
  hold_running(slot, now_s);
  const double servers_usd = servers_usd_per_s(setup_.costs, configuration) * (now_s - live.stage_start_s);  // not yet charged
  const Progress& end = live.course.end;
  const StageReading whole = live.clock.whole();
  return {.configuration = configuration,
          .stages = live.stages + 1,
          .epochs = end.epochs_trained,
          .examples = end.training.examples,
          .accuracy = end.measured_accuracy,
          .noise_scale = setup_.models.convergence->measured_noise_scale(job, live.stages, live.course.epochs.back().noise_scale),
          .step_s = live.course.step_s * (whole.trained_s / whole.done_s),  // as it took
          .elapsed_s = now_s - job.submit_s,
          .cost_usd = live.meter.usd + servers_usd,
          .divergences = end.divergences};
}

void ReplayRun::ask_again(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  const Job& job = jobs_[slot].job;
  const Choice held = entry_of(slot, live.entry);
  live.seen.push_back(see(slot, now_s));
  auto menu = std::make_unique<Menu>();
  ask_policy("configure", &job, now_s, [&] {
    *menu = setup_.policy.configure->configure_again(job, live.seen, now_s);
    if (!menu->ranked.empty()) validate_menu(cluster_, job, *menu, live.seen.back().epochs);
  });
  if (!jobs_[slot].menu.feasible) menu->remedy.clear();  // said once, when the limits went out of reach
  tell_menu(job, *menu, now_s);
  // What the job holds is always free, so that it never has to wait.
  menu->ranked.push_back({.configuration = held.configuration,
                          .predicted = held.predicted,
                          .until_epochs = menu->ranked.empty() ? kNever : menu->ranked.front().until_epochs});
  int entry = 0;
  while (!is_free_for(slot, menu->ranked[static_cast<std::size_t>(entry)].configuration)) ++entry;
  const bool keeps = menu->ranked[static_cast<std::size_t>(entry)].configuration == held.configuration;
  live.next_menu = std::move(menu);
  if (keeps) {
    go_on(slot, entry, now_s);
    return;
  }
  ++live.reconfigurations;
  tell(now_s, JobEvent::resized, slot);
  begin_checkpoint(slot, live.clock.whole(), now_s);  // dates are on a grid, the course is not
}

/// Free now, or once the job has let go of what it holds?
bool ReplayRun::is_free_for(JobSlot slot, const Configuration& configuration) const {
  const Configuration& held = entry_of(slot, live_[slot].entry).configuration;
  if (configuration == held) return true;
  const auto* quotas = dynamic_cast<const Quotas*>(setup_.policy.queue);
  if (quotas != nullptr && !quotas->has_room(slot, configuration)) return false;
  for (const Group& group : configuration.groups)
    if (configuration.workers_of(group.pool) > free_devices_[static_cast<std::size_t>(group.pool)] + held.workers_of(group.pool))
      return false;
  return true;
}

/// The next stage on the same nodes, at no cost.
void ReplayRun::go_on(JobSlot slot, int entry, double now_s) {
  LiveJob& live = live_[slot];
  const Layout layout = live.layout;
  end_stage(slot, live.clock.whole(), true, now_s);
  jobs_[slot].menu = std::move(*live.next_menu);
  live.next_menu.reset();
  find_first_fitting(slot);
  live.entry = entry;
  allocate(slot, layout, Placement::consolidated, now_s);
  live.stage_start_s = now_s;
  arm_walltime(slot, now_s);
  plan_course(slot, now_s);
  begin_running(slot, now_s);
}

/// After the checkpoint: others may have taken devices meanwhile, so again the first choice that is free. There is none when a
/// node has gone meanwhile.
void ReplayRun::take_next_menu(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  jobs_[slot].menu = std::move(*live.next_menu);
  live.next_menu.reset();
  find_first_fitting(slot);
  const int entries = static_cast<int>(jobs_[slot].menu.ranked.size());
  auto* quotas = dynamic_cast<Quotas*>(setup_.policy.queue);
  const auto may_take = [&](const Configuration& configuration) {
    return is_free(configuration, {}) && (quotas == nullptr || quotas->has_room(slot, configuration));
  };
  int entry = 0;
  while (entry < entries && !may_take(entry_of(slot, entry).configuration)) ++entry;
  if (entry == entries) {
    enqueue(slot, now_s);
    return;
  }
  if (quotas != nullptr) quotas->take(slot, entry_of(slot, entry).configuration);
  live.state = JobState::queued;
  start({.job = slot, .entry = entry}, now_s);
}

}  // namespace rehearse::sim
