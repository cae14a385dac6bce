// The memory of a machine's devices during one step: what lies there now, the most that ever did, the first that found no room.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/step/step_timer.hpp"

namespace rehearse::sim {

class StepMemory {
 public:
  explicit StepMemory(const Machine& machine) {
    for (int d = 0; d < machine.devices(); ++d) capacity_.push_back(machine.device(d).memory_bytes);
    clear();
  }
  void clear() {
    used_.assign(capacity_.size(), 0);
    peak_.assign(capacity_.size(), 0);
    out_of_memory_ = {};
  }
  /// For operation `op`.
  void take(int device, std::int64_t bytes, int op) {
    const std::int64_t used = used_[device] += bytes;
    if (used <= peak_[device]) return;
    peak_[device] = used;
    if (used > capacity_[device] && !out_of_memory_.happened())
      out_of_memory_ = {device, op, bytes, std::max<std::int64_t>(0, capacity_[device] - (used - bytes))};
  }
  void give(int device, std::int64_t bytes) { used_[device] -= bytes; }
  std::int64_t used(int device) const { return used_[device]; }
  const std::vector<std::int64_t>& peak() const { return peak_; }
  const OutOfMemory& out_of_memory() const { return out_of_memory_; }

 private:
  std::vector<std::int64_t> capacity_, used_, peak_;
  OutOfMemory out_of_memory_;
};

}  // namespace rehearse::sim
