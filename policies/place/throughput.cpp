#include "policies/place/throughput.hpp"

#include <algorithm>
#include <utility>

#include "policies/place/list_schedule.hpp"

namespace rehearse::policies {

HostTransfers::HostTransfers(const sim::Machine& machine) : machine_(machine) {
  while (machine.device(host_).kind != sim::DeviceKind::cpu) ++host_;  // a view's machine has one
}

bool HostTransfers::free_of_charge(std::int64_t bytes, std::int32_t device) const {
  return bytes == 0 || machine_.device(device).kind == sim::DeviceKind::cpu;
}

sim::Tick HostTransfers::in(std::int64_t bytes, std::int32_t device) const {
  return free_of_charge(bytes, device) ? 0 : transfer_ticks(machine_, bytes, host_, device);
}

sim::Tick HostTransfers::out(std::int64_t bytes, std::int32_t device) const {
  return free_of_charge(bytes, device) ? 0 : transfer_ticks(machine_, bytes, device, host_);
}

std::vector<sim::Tick> device_loads(const PlacementView& view, std::span<const std::int32_t> device_of_op) {
  const HostTransfers transfers(view.machine());
  std::vector<sim::Tick> loads(static_cast<std::size_t>(view.devices()), 0);
  for (int op = 0; op < view.graph().ops(); ++op)
    loads[static_cast<std::size_t>(device_of_op[op])] += view.duration(op, device_of_op[op]);
  std::vector<int> last_tensor(loads.size(), -1);
  for (int t = 0; t < view.graph().tensors(); ++t) {
    const sim::StepTensor& tensor = view.graph().tensor(t);
    const std::int32_t from = device_of_op[tensor.producer];
    bool leaves = false;
    for (const std::int32_t reader : view.graph().readers_of(t)) {
      const std::int32_t to = device_of_op[reader];
      if (to == from || std::exchange(last_tensor[static_cast<std::size_t>(to)], t) == t) continue;
      loads[static_cast<std::size_t>(to)] += transfers.in(tensor.bytes, to);
      leaves = true;
    }
    if (leaves) loads[static_cast<std::size_t>(from)] += transfers.out(tensor.bytes, from);
  }
  return loads;
}

StepScore throughput_score(const PlacementView& view, std::span<const std::int32_t> device_of_op) {
  const std::vector<sim::Tick> loads = device_loads(view, device_of_op);
  std::vector<std::int64_t> resident(loads.size(), 0);
  for (int op = 0; op < view.graph().ops(); ++op)
    resident[static_cast<std::size_t>(device_of_op[op])] += view.graph().op(op).resident_bytes();
  StepScore score{.makespan = *std::max_element(loads.begin(), loads.end())};
  for (int d = 0; d < view.devices(); ++d)
    score.missing_bytes +=
        std::max<std::int64_t>(0, resident[static_cast<std::size_t>(d)] - view.machine().device(d).memory_bytes);
  return score;
}

void ThroughputScorer::score(std::span<const DeviceOfGroup> placements, std::span<StepScore> scores) {
  for (std::size_t i = 0; i < placements.size(); ++i)
    scores[i] = throughput_score(view_, device_of_op(view_.groups(), placements[i]));
}

}  // namespace rehearse::policies
