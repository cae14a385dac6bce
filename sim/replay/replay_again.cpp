// The end of a stage at which `configure` is asked again: the job goes on as it is, or checkpoints and starts with another
// choice, or pauses. A pause ends at its date, or when the pool that it waits for has the devices: then `configure` is asked
// again, and the job queues with what it answers, or pauses once more.
#include <algorithm>
#include <cmath>

#include "sim/base/units.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/replay/replay_run.hpp"

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
    setup_.policy.configure->look(*this);
    *menu = setup_.policy.configure->configure_again(job, live.seen, now_s);
    if (!menu->ranked.empty()) validate_menu(cluster_, job, *menu, live.seen.back().epochs);
    check_pause(menu->pause);
  });
  if (!jobs_[slot].menu.feasible) menu->remedy.clear();  // said once, when the limits went out of reach
  tell_menu(job, *menu, now_s);
  if (menu->pause.is_set()) {
    live.next_menu = std::move(menu);
    live.pause_since_s = now_s;
    begin_checkpoint(slot, live.clock.whole(), now_s);
    return;
  }
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

// ---- pauses

/// As many as anyone has a use for: one a minute in a week.
constexpr int kMostPauses = 10'080;

void ReplayRun::check_pause(const Pause& pause) const {
  const auto require = [](bool ok, const char* what) {
    if (!ok) throw PolicyError(what);
  };
  require(pause.wait_s >= 0 && pause.wait_s <= kLongestPause_s, "a pause that is no number of seconds from 0 to 2^33");
  if (!pause.is_set() || pause.pool < 0) return;
  require(static_cast<std::size_t>(pause.pool) < nodes_.size(), "a pause for a pool that does not exist");
  const auto pool = static_cast<std::size_t>(pause.pool);
  require(pause.workers > 0 && pause.workers <= cluster_.pools[pool].nodes * nodes_[pool].devices_per_node(),
          "a pause for more workers than the pool has, or none");
  require(free_devices_[pool] < pause.workers, "a pause for workers that are free");
}

/// The job holds nothing. To the queue it has left; it comes back like one that arrives.
void ReplayRun::pause(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  const Pause& pause = jobs_[slot].menu.pause;
  if (++live.pauses > kMostPauses)
    throw PolicyError(fmt::format("policy \"{}\", configure, job \"{}\", at {:.6f} s: pauses more than {} times",
                                  setup_.policy.name, jobs_[slot].job.name, now_s, kMostPauses));
  live.state = JobState::held;
  live.entry = -1;
  show(slot, now_s);
  // It may have begun all that at this very date, with a menu that it has no more.
  std::erase(started_, slot);
  std::erase(changed_, slot);
  tell(now_s, JobEvent::paused, slot);
  const double until_s = on_date_grid(std::max(now_s, live.pause_since_s + pause.wait_s));
  live.pause_end = events_.push({until_s, EventClass::timer, subject_of(slot, JobTimer::pause_end)});
  if (pause.pool >= 0) paused_.push_back(slot);
  if (live.stages > 0) ended_.push_back(slot);
}

/// After the queue: it comes first with its jobs.
void ReplayRun::wake_paused(double now_s) {
  std::erase_if(paused_, [&](JobSlot slot) {
    LiveJob& live = live_[slot];
    const Pause& pause = jobs_[slot].menu.pause;
    if (free_devices_[static_cast<std::size_t>(pause.pool)] < pause.workers) return false;
    events_.cancel(live.pause_end);
    live.pause_end = events_.push({now_s, EventClass::timer, subject_of(slot, JobTimer::pause_end)});
    return true;
  });
}

void ReplayRun::end_pause(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  live.pause_end = {};
  live.pause_since_s = now_s;
  std::erase(paused_, slot);
  std::erase(ended_, slot);
  tell(now_s, JobEvent::resumed, slot);
  ask_without_devices(slot, now_s);
}

/// A job that has lost its devices.
void ReplayRun::come_back(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  if (!jobs_[slot].menu.asks_when_lost) {
    enqueue(slot, now_s);
    return;
  }
  live.state = JobState::held;
  live.entry = -1;
  live.pause_since_s = now_s;
  ask_without_devices(slot, now_s);
}

/// Outside of the queue: the job queues with what is answered, or pauses.
void ReplayRun::ask_without_devices(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  const Job& job = jobs_[slot].job;
  if (live.seen.empty()) {
    make_menu(slot, now_s);
    admit(slot, now_s);
    return;
  }
  live.seen.back().elapsed_s = now_s - job.submit_s;  // waiting counts
  live.seen.back().let_go = true;
  Menu menu;
  ask_policy("configure", &job, now_s, [&] {
    setup_.policy.configure->look(*this);
    menu = setup_.policy.configure->configure_again(job, live.seen, now_s);
    if (!menu.ranked.empty()) validate_menu(cluster_, job, menu, live.seen.back().epochs);
    check_pause(menu.pause);
  });
  tell_menu(job, menu, now_s);
  if (menu.ranked.empty()) {  // what it had before
    menu.ranked.push_back({.configuration = live.seen.back().configuration});
    menu.feasible = true;
  }
  jobs_[slot].menu = std::move(menu);
  admit(slot, now_s);
}

}  // namespace rehearse::sim
