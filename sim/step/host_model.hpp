// A host that issues a step's operations (docs/explain/step.md, "A host that dispatches"): each device has an executor, which
// issues its ready operations one after the other; a GPU's kernels queue on its stream in that order, and run while the host goes
// on.
#pragma once

#include <memory>
#include <vector>

#include "sim/step/step_timer.hpp"

namespace rehearse::sim {

struct HostModel {
  std::vector<Tick> dispatch;  ///< of each operation, on its executor's thread
  Tick send = 0;               ///< likewise of a tensor to another device, behind the operation that made it
  int threads = 1;             ///< executors that work at once
  bool chunks = false;         ///< memory is taken in chunks (BfcPool), not by the byte
};

/// As those without a host, whose durations are then the devices' alone. Keep references.
std::unique_ptr<StepTimer> make_fast_timer(const StepGraph& graph, const Machine& machine, const HostModel& host);
std::unique_ptr<StepTimer> make_reference_timer(const StepGraph& graph, const Machine& machine, const HostModel& host);

}  // namespace rehearse::sim
