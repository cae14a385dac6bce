// What a queue may have beside its decisions: limits on what jobs hold together. A job that takes other devices at the end of a
// stage is not started by the queue, and keeps to them too.
#pragma once

#include "sim/replay/decisions.hpp"

namespace rehearse::sim {

class Quotas {
 public:
  virtual ~Quotas() = default;
  /// May the job hold this instead of what it holds?
  virtual bool has_room(JobSlot slot, const Configuration& configuration) const = 0;
  /// It does so from now on; the queue hears of it at its next decision as well.
  virtual void take(JobSlot slot, const Configuration& configuration) = 0;
};

}  // namespace rehearse::sim
