// What a queue sees of a job, and what oracles are told beyond it.
#include <algorithm>

#include "sim/replay/replay_run.hpp"

namespace rehearse::sim {

namespace {

/// Of the job's work, as far as it can be observed: a target's epochs are those that the policy predicted.
double fraction_done(const QueueJob& queued, const LiveJob& live) {
  const Job& job = queued.job;
  if (job.work == Work::rigid) return live.progress.work_done;
  if (job.work == Work::steps) return live.progress.work_done / job.steps;
  const auto entry = static_cast<std::size_t>(std::max(live.entry, queued.first_fitting_entry));
  const Prediction& predicted = queued.menu.ranked[entry].predicted;
  double fraction = live.progress.epochs_trained / (job.has_target() ? predicted.epochs : job.epochs);
  if (!(fraction >= 0)) fraction = live.time.train_s / predicted.time_s;
  return std::min(1.0, fraction >= 0 ? fraction : 0.0);
}

}  // namespace

WorkLeft QueueJob::left_at(double now_s) const {
  double done = service.fraction_done, restart_s = service.restart_s;
  if (service.entry >= 0) {
    const double until_s = service.state == JobState::checkpointing ? service.since_s : now_s;
    const double held_s = until_s - service.held_since_s;
    restart_s = std::max(0.0, service.restart_s - held_s);
    done += (held_s - (service.restart_s - restart_s)) / menu.ranked[static_cast<std::size_t>(service.entry)].predicted.time_s;
  }
  return {.restart_s = restart_s, .part = 1 - done};
}

double QueueJob::predicted_remaining_s(int entry, const WorkLeft& left) const {
  const double remaining_s = left.restart_s + left.part * menu.ranked[static_cast<std::size_t>(entry)].predicted.time_s;
  return remaining_s == remaining_s ? std::max(0.0, remaining_s) : kNever;
}

double QueueJob::user_remaining_s(int entry, double now_s) const {
  if (!job.has_walltime()) return predicted_remaining_s(entry, now_s);
  const double held_s = service.held_s + (service.entry >= 0 ? now_s - service.held_since_s : 0);
  return std::max(0.0, job.walltime_s - held_s);
}

/// Writes down what queues may know of the job: after every change of its state.
void ReplayRun::show(JobSlot slot, double now_s) {
  const LiveJob& live = live_[slot];
  QueueJob& queued = jobs_[slot];
  const bool holds = live.state > JobState::queued && live.state < JobState::finished;
  queued.service = {
      .state = live.state,
      .entry = holds ? live.entry : -1,
      .devices = holds ? entry_of(slot, live.entry).configuration.workers() : 0,
      .devices_held = holds ? entry_of(slot, live.entry).configuration.devices_held() : 0,
      .since_s = now_s,
      .held_since_s = holds ? live.stage_start_s : now_s,
      .restart_s =
          queued.job.work == Work::rigid ? start_seconds(queued.job, setup_.costs, setup_.models, live.has_checkpoint) : 0,
      .device_s = live.meter.device_s,
      .held_s = live.time.held_s(),
      .ran_s = live.time.train_s + live.time.lost_s + (live.state == JobState::checkpointing ? live.cut.trained_s : 0),
      .fraction_done = queued.first_fitting_entry < 0 ? 0 : fraction_done(queued, live)};
  if (holds && needs_part(slot))
    for (const NodeShare& share : live.layout[0]) queued.service.shared_devices.push_back(share.shared_device);
}

double ReplayRun::remaining_s(JobSlot slot, int entry, double now_s) const {
  const LiveJob& live = live_[slot];
  const QueueJob& queued = jobs_[slot];
  const Job& job = queued.job;
  const bool holds = live.state == JobState::starting || live.state == JobState::running;
  const bool runs = live.state == JobState::running;
  const double to_start_s =
      runs ? 0 : start_seconds(job, setup_.costs, setup_.models, live.has_checkpoint) - (holds ? now_s - live.stage_start_s : 0);
  const double done_s = runs ? live.clock.at(now_s).done_s : 0;
  if (holds && live.entry == entry && !live.course.asks_again) return std::max(0.0, to_start_s + live.course.length_s - done_s);
  const Progress progress =
      holds ? progress_at(inputs_of(slot), live.course, setup_.models, std::min(done_s, live.course.length_s)) : live.progress;
  Choice choice = entry_of(slot, entry);
  choice.until_epochs = kNever;
  const Layout layout = empty_cluster_layout(cluster_, choice.configuration);
  std::vector<Plans> plans;
  if (job.work != Work::rigid)
    plans = ask_plans(setup_.policy, *setup_.models.step_times, cluster_, job, choice.configuration, layout);
  const StageCourse course = stage_course(
      {.job = &job, .choice = &choice, .layout = &layout, .plans = plans, .progress = &progress, .stage = live.stages},
      setup_.models);
  return to_start_s + course.length_s;
}

PoolSight ReplayRun::pool(PoolId pool) const {
  const auto p = static_cast<std::size_t>(pool);
  const Pool& of = cluster_.pools[p];
  const Nodes& nodes = nodes_[p];
  PoolSight sight{.price_usd_per_hour = cluster_.instances[static_cast<std::size_t>(of.instance)].price_usd_per_hour,
                  .nodes = of.nodes,
                  .nodes_away = nodes.nodes_out(),
                  .devices = of.nodes * nodes.devices_per_node(),
                  .free_devices = free_devices_[p],
                  .revocations = node_watch_ ? node_watch_->revocations[p] : 0};
  if (of.prices_usd_per_hour) {
    const std::vector<StepSeries::Step>& steps = of.prices_usd_per_hour->steps();
    const auto later = std::upper_bound(steps.begin(), steps.end(), now_s_,
                                        [](double now_s, const StepSeries::Step& step) { return now_s < step.time_s; });
    sight.price_usd_per_hour = of.prices_usd_per_hour->at(now_s_);
    sight.prices = {steps.begin(), later};
  }
  if (of.spot) {
    sight.mean_up_s = of.spot->mean_up_s;
    sight.down_s = of.spot->down_s;
    sight.warning_s = of.spot->warning_s;
    sight.bid_usd_per_hour = of.spot->bid_usd_per_hour;
  }
  return sight;
}

std::vector<WaitingJob> ReplayRun::waiting() const {
  std::vector<JobSlot> slots;
  for (JobSlot slot = 0; slot < live_.size(); ++slot)
    if (live_[slot].in_use && live_[slot].state == JobState::queued && jobs_[slot].first_fitting_entry >= 0)
      slots.push_back(slot);
  std::sort(slots.begin(), slots.end(), [this](JobSlot a, JobSlot b) { return jobs_[a].number < jobs_[b].number; });
  std::vector<WaitingJob> jobs;
  for (const JobSlot slot : slots)
    jobs.push_back({.job = &jobs_[slot].job,
                    .since_s = jobs_[slot].queued_since_s,
                    .wants = &entry_of(slot, jobs_[slot].first_fitting_entry).configuration});
  return jobs;
}

}  // namespace rehearse::sim
