// Nodes that fail, are repaired, slow down, go into maintenance and are taken away: what that does to the jobs on them.
#include <fmt/format.h>

#include <utility>

#include "sim/base/units.hpp"
#include "sim/replay/replay_run.hpp"

namespace rehearse::sim {

void ReplayRun::push_node_event(std::size_t stream) {
  NodeWatch& watch = *node_watch_;
  watch.next[stream] = watch.events.next(stream);
  if (watch.next[stream].date_s == kNever) return;
  watch.pushed[stream] = events_.push({watch.next[stream].date_s, EventClass::failure, static_cast<std::uint32_t>(stream)});
  ++watch.live;
}

/// Without jobs now or later nothing that happens to nodes matters, and the replay ends.
void ReplayRun::stop_node_events() {
  for (EventHandle& handle : node_watch_->pushed) events_.cancel(handle);
  node_watch_->live = 0;
}

/// A queue that starts nothing although every node is up that ever will be, and nothing else will happen, waits forever. One that
/// has itself woken may start something later, but not on nodes that are gone.
void ReplayRun::check_nodes_are_waited_for(double now_s) {
  const bool wakes = wake_due_s_ != kNever;
  if (active_ == 0 || events_.live() > node_watch_->live + (wakes ? 1 : 0)) return;
  int out = 0;
  for (const Nodes& nodes : nodes_) out += nodes.nodes_out();
  if (out > node_watch_->gone || (wakes && !waits_for_lost_nodes())) return;
  end_waiting(now_s);
  events_.push({now_s, EventClass::timer, kWake});
}

/// Where nodes are gone for good it is not the queue's fault that jobs wait: they have failed.
void ReplayRun::end_waiting(double now_s) {
  bool any = node_watch_ && node_watch_->gone > 0;
  while (std::exchange(any, false)) {  // jobs that waited for a failed one may be in the queue only now
    for (JobSlot slot = 0; slot < live_.size(); ++slot) {
      if (!live_[slot].in_use || live_[slot].state != JobState::queued) continue;
      stop(slot, FailureReason::node_failure, now_s);
      any = true;
    }
  }
  if (active_ > 0)
    throw PolicyError(fmt::format("policy \"{}\", queue, at {:.6f} s: leaves {} jobs waiting forever: {}", setup_.policy.name,
                                  now_s, active_, what_waits()));
}

void ReplayRun::on_node_event(std::size_t stream, double now_s) {
  NodeWatch& watch = *node_watch_;
  --watch.live;
  const NodeEvent event = watch.next[stream];
  push_node_event(stream);
  if (event.change == NodeChange::revoked && watch.next[stream].date_s == kNever) ++watch.gone;
  setup_.recorder->on_node(event);
  Nodes& nodes = nodes_[static_cast<std::size_t>(event.pool)];
  for (int node = event.first_node; node < event.first_node + event.nodes; ++node) {
    NodeWatch::Node& at = watch.node(event.pool, node);
    const std::vector<JobSlot> tenants = at.tenants;  // jobs leave while they are told
    switch (event.change) {
      case NodeChange::failed:
        nodes.withdraw(node);
        for (const JobSlot slot : tenants) interrupt(slot, now_s);
        break;
      case NodeChange::announced:
        nodes.withdraw(node);
        break;
      case NodeChange::closed:
        for (const JobSlot slot : tenants) evict(slot, now_s);
        break;
      case NodeChange::repaired:
      case NodeChange::opened:
        nodes.restore(node);
        break;
      case NodeChange::warned:
        nodes.withdraw(node);
        // With less time than a checkpoint takes there is nothing to be saved, and jobs train on.
        if (cluster_.pools[static_cast<std::size_t>(event.pool)].spot->warning_s >= setup_.costs.checkpoint_s)
          for (const JobSlot slot : tenants) evict(slot, now_s);
        break;
      case NodeChange::revoked:
        ++watch.revocations[static_cast<std::size_t>(event.pool)];
        for (const JobSlot slot : tenants) interrupt(slot, now_s);
        meter_.lose_node(now_s, event.pool, node);
        break;
      case NodeChange::replaced:
        meter_.replace_node(now_s, event.pool, node);
        nodes.restore(node);
        break;
      case NodeChange::slow:
      case NodeChange::normal:
        at.slow += event.change == NodeChange::slow ? 1 : -1;
        for (const JobSlot slot : tenants) follow_speed(slot, now_s);
        break;
    }
    shares_[static_cast<std::size_t>(event.pool)].set_out(node, nodes.is_out(node));
  }
  free_devices_[static_cast<std::size_t>(event.pool)] = nodes.free_devices();
}

/// A node has failed under the job: what it has trained since its last checkpoint is lost.
void ReplayRun::interrupt(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  events_.cancel(live.phase_end);
  tell(now_s, JobEvent::interrupted, slot);
  ++live.restarts;
  ++restarts_;
  live.loses_work = live.collects = live.gives_way = false;
  live.next_menu.reset();
  end_stage(slot, reading_of(slot, now_s), false, now_s);
  // Ends of stages that were seen and are lost will be seen again.
  std::erase_if(live.seen, [&](const StageSeen& seen) { return seen.epochs > live.progress.epochs_trained; });
  if (live.restarts > setup_.nodes.max_restarts)
    end_job(slot, FailureReason::node_failure, now_s);
  else
    come_back(slot, now_s);
}

/// Maintenance begins on a node of the job.
void ReplayRun::evict(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  if (live.state == JobState::running) {
    preempt(slot, Preemption::resume, now_s);
  } else if (live.state == JobState::starting) {
    events_.cancel(live.phase_end);
    ++live.preemptions;
    live.gives_way = true;
    tell(now_s, JobEvent::preempted, slot);
    end_stage(slot, {}, true, now_s);
    come_back(slot, now_s);
  }
}

/// Course seconds that the job trains in a second: its nodes' speed times its share of the network.
double ReplayRun::speed_of(JobSlot slot) {
  const LiveJob& live = live_[slot];
  const double nodes = node_watch_ ? node_watch_->speed(entry_of(slot, live.entry).configuration, live.layout) : 1;
  const double alone = nodes * (network_ ? network_->share(slot) : 1);
  return needs_part(slot) ? alone * speed_beside_others(slot) : alone;
}

/// False when it stays as it is.
bool ReplayRun::change_speed(JobSlot slot, double now_s) {
  LiveJob& live = live_[slot];
  const double speed = speed_of(slot);
  if (speed == live.clock.speed()) return false;
  live.clock.set_speed(now_s, speed);
  events_.cancel(live.phase_end);
  live.phase_end =
      events_.push({on_date_grid(live.clock.end_s()), EventClass::completion, subject_of(slot, JobTimer::phase_end)});
  return true;
}

void ReplayRun::follow_speed(JobSlot slot, double now_s) {
  if (live_[slot].state != JobState::running) return;
  if (needs_part(slot))
    retune_beside(slot, now_s);
  else if (change_speed(slot, now_s))
    hold_running(slot, now_s);
}

}  // namespace rehearse::sim
