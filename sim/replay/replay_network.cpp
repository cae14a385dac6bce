#include "sim/base/units.hpp"
#include "sim/replay/replay_run.hpp"

namespace rehearse::sim {

/// A job exchanges gradients and reads training data while it runs, not while it starts or checkpoints.
void ReplayRun::join_network(JobSlot slot) {
  const LiveJob& live = live_[slot];
  if (!network_) return;
  if (live.course.network_bytes_per_s > 0)
    network_->join(slot, entry_of(slot, live.entry).configuration, live.layout, live.course.network_bytes_per_s);
  if (live.course.input_bytes_per_s > 0) network_->read(slot, live.course.input_bytes_per_s);
}

void ReplayRun::leave_network(JobSlot slot) {
  if (network_) network_->leave(slot);
}

/// At the power and use of a course that passes at its present speed: a step that takes longer does the same work, and waits.
void ReplayRun::hold_running(JobSlot slot, double now_s) {
  const StageCourse& course = live_[slot].course;
  const double speed = live_[slot].clock.speed();
  const double waiting = course.waiting_power_fraction;
  hold(slot, course.busy_fraction * speed,
       speed == 1 ? course.power_fraction : waiting + (course.power_fraction - waiting) * speed, now_s);
}

void ReplayRun::settle_network(double now_s) {
  for (const JobSlot slot : network_->solve()) {
    LiveJob& live = live_[slot];
    const double speed = network_->share(slot);
    if (speed == live.clock.speed()) continue;
    live.clock.set_speed(now_s, speed);
    hold_running(slot, now_s);
    events_.cancel(live.phase_end);
    const double end_s = std::max(now_s, on_date_grid(live.running_since_s + live.clock.after(live.course.length_s)));
    live.phase_end = events_.push({end_s, EventClass::completion, subject_of(slot, JobTimer::phase_end)});
  }
}

}  // namespace rehearse::sim
