// How long one training step takes with every operation on a given device. Two timers of one meaning (docs/explain/step.md, "Step
// level"): the fast one for searches, and the reference, whose network is SimGrid's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/step/machine.hpp"
#include "sim/step/step_graph.hpp"

namespace rehearse::sim {

/// Which of a device's ready operations runs next; equal ones by the operation's index.
enum class StepOrder : std::uint8_t {
  fifo,           ///< the one that has been ready longest
  critical_path,  ///< the one with the longest way to the end, transfers counted alone on their links
  given           ///< the one with the largest `priority`
};

struct StepPlacement {
  std::span<const std::int32_t> device_of_op;  ///< a device of the machine for each operation
  StepOrder order = StepOrder::fifo;
  std::span<const std::int64_t> priority = {};  ///< of each operation, for StepOrder::given
};

/// The first allocation for which a device had no room. The step is timed to its end as if it had.
struct OutOfMemory {
  int device = -1;              ///< -1: everything fits
  int op = -1;                  ///< whose parameters, output, workspace or incoming tensor it was
  std::int64_t bytes = 0;       ///< asked for
  std::int64_t free_bytes = 0;  ///< that were left
  bool happened() const { return device >= 0; }
};

struct StepResult {
  Tick makespan = 0;
  std::vector<Tick> busy;                       ///< of each device
  std::vector<std::int64_t> peak_memory_bytes;  ///< of each device
  OutOfMemory out_of_memory;
  std::int64_t transfers = 0, transferred_bytes = 0;
  double makespan_s() const { return seconds_of(makespan); }
};

/// Everything that happened, in the order in which it ended.
struct StepTimeline {
  struct Run {
    std::int32_t op, device;
    Tick start, end;
  };
  struct Transfer {
    std::int32_t tensor, from, to;
    Tick ready;  ///< made; the latency begins
    Tick start;  ///< first byte
    Tick end;    ///< can be read
  };
  std::vector<Run> runs;
  std::vector<Transfer> transfers;
};

/// Keeps references to the graph and the machine, and its scratch memory between calls. One at a time: a thread has its own.
class StepTimer {
 public:
  virtual ~StepTimer() = default;
  /// The result is good until the next call. The placement's sizes and devices are checked (sim::check).
  virtual const StepResult& time(const StepPlacement& placement, StepTimeline* timeline = nullptr) = 0;
};

/// Own network; no memory is allocated after the first calls.
std::unique_ptr<StepTimer> make_fast_timer(const StepGraph& graph, const Machine& machine);

/// SimGrid's network. Each call forks a child, as SimGrid's clock starts at 0 once in a process; about a millisecond.
std::unique_ptr<StepTimer> make_reference_timer(const StepGraph& graph, const Machine& machine);

/// The larger of the longest path, every operation on its fastest device, and all work spread over all devices: no placement's
/// makespan is shorter. Where a host issues operations, order alone (a tensor of no bytes) waits for nobody's end.
Tick lower_bound(const StepGraph& graph, const Machine& machine, bool host_issues = false);

/// The graph's class of each of the machine's devices, by name (sim::check).
std::vector<std::int32_t> graph_classes(const StepGraph& graph, const Machine& machine);

/// The longest way from each operation's start to the end of the step, in ticks: durations where they are placed, and of each
/// tensor that changes devices the latency and the time on its narrowest link. `classes`: graph_classes of the two.
void critical_path(const StepGraph& graph, const Machine& machine, std::span<const std::int32_t> classes,
                   std::span<const std::int32_t> device_of_op, std::vector<std::int64_t>& out);

// A host that issues a step's operations (docs/explain/step.md, "A host that dispatches"): each device has an executor, which
// issues its ready operations one after the other; a GPU's kernels queue on its stream in that order, and run while the host goes
// on.

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
