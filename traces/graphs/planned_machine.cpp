// What a dnn-partitioning file plans for. There times of transfers stand beside bytes; one bandwidth, that of all of them
// together, makes bytes of the times.
#include <fmt/format.h>

#include "sim/base/units.hpp"
#include "traces/graphs/profiled_graph.hpp"

namespace rehearse::traces {
namespace {

constexpr double kAnyBandwidth = 1e12;        // where nothing is transferred
constexpr std::int64_t kNoLimit = 1LL << 60;  // bytes

double planned_bandwidth(const ProfiledGraph& graph) {
  double bytes = 0, seconds = 0;
  for (const ProfiledEdge& edge : graph.edges) {
    bytes += edge.bytes;
    seconds += edge.transfer_s;
  }
  return bytes > 0 && seconds > 0 ? bytes / seconds : kAnyBandwidth;
}

}  // namespace

sim::Machine planned_machine(const ProfiledGraph& graph) {
  sim::MachineBuilder builder;
  const int accelerator = builder.add_class("accelerator"), cpu = builder.add_class("cpu");
  const double bandwidth = planned_bandwidth(graph);
  std::vector<std::vector<std::int32_t>> up, down;  // links of each device to and from the host's memory
  for (int a = 0; a < graph.accelerators; ++a) {
    const std::string name = fmt::format("accelerator{}", a);
    builder.add_device(
        {.name = name,
         .device_class = accelerator,
         .memory_bytes = sim::whole<std::int64_t>(graph.accelerator_memory_bytes, "bytes of an accelerator's memory")});
    up.push_back({builder.add_link({.name = name + " up", .kind = sim::LinkKind::pcie, .bandwidth_bytes_per_s = bandwidth})});
    down.push_back({builder.add_link({.name = name + " down", .kind = sim::LinkKind::pcie, .bandwidth_bytes_per_s = bandwidth})});
  }
  const int memory =
      builder.add_link({.name = "memory", .kind = sim::LinkKind::host_memory, .bandwidth_bytes_per_s = 1e3 * bandwidth});
  for (int c = 0; c < graph.cpus; ++c) {
    builder.add_device(
        {.name = fmt::format("cpu{}", c), .device_class = cpu, .kind = sim::DeviceKind::cpu, .memory_bytes = kNoLimit});
    up.emplace_back();
    down.emplace_back();
  }
  const int devices = graph.accelerators + graph.cpus;
  for (int from = 0; from < devices; ++from)
    for (int to = 0; to < devices; ++to) {
      if (from == to) continue;
      std::vector<std::int32_t> links = up[static_cast<std::size_t>(from)];
      for (const std::int32_t link : down[static_cast<std::size_t>(to)]) links.push_back(link);
      if (links.empty()) links.push_back(memory);
      builder.set_route(from, to, links, 0);
    }
  return builder.build();
}

sim::StepGraph planned_step_graph(ProfiledGraph graph) {
  const double bandwidth = planned_bandwidth(graph);
  for (ProfiledEdge& edge : graph.edges) edge.bytes = edge.transfer_s * bandwidth;
  return step_graph(graph, "accelerator", "cpu");
}

}  // namespace rehearse::traces
