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

void ReplayRun::settle_network(double now_s) {
  for (const JobSlot slot : network_->solve()) follow_speed(slot, now_s);
}

}  // namespace rehearse::sim
