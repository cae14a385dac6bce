// Inputs and splits of github.com/msr-fiddle/dnn-partitioning: times in milliseconds, an operation's "size" its weights and
// output.
#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "sim/base/units.hpp"
#include "sim/io/object_reader.hpp"
#include "traces/graphs/profiled_graph.hpp"

namespace rehearse::traces {

namespace {

using sim::at_least;
using sim::between;

constexpr double kLargest = 1e18;

/// The repository writes truth as true, false, 1 and 0.
bool read_flag(sim::ObjectReader& in, std::string_view key, sim::Mistakes& mistakes) {
  const auto value = in.required(key, "true, false, 1 or 0");
  if (!value) return false;
  if (value->is_boolean()) return value->boolean();
  if (value->is_number() && (value->number() == 0 || value->number() == 1)) return value->number() == 1;
  value->refuse("true, false, 1 or 0", mistakes);
  return false;
}

struct Reading {
  double edge_cost_s = 0;
  ProfiledGraph graph = {};
  std::map<std::int64_t, int> by_id = {};
  sim::Mistakes mistakes = {};
};

void read_node(sim::JsonValue value, Reading& reading) {
  sim::ObjectReader in(value, reading.mistakes);
  ProfiledOp op;
  op.name = in.text("name");
  op.id = in.integer("id", at_least(0));
  op.backward = read_flag(in, "isBackwardNode", reading.mistakes);
  op.colour = static_cast<int>(in.integer("colorClass", between(0, 1e9), -1));
  op.accelerator_s = kMillisecond * in.number("fpgaLatency", between(0, kLargest));
  op.cpu_s = kMillisecond * in.number("cpuLatency", between(0, kLargest));
  op.resident_bytes = in.number("size", between(0, kLargest));
  if (!read_flag(in, "supportedOnFpga", reading.mistakes) && in.child("supportedOnFpga"))
    in.child("supportedOnFpga")->refuse("an operation that every device can run", reading.mistakes);
  in.maybe_integer("layerId");
  in.finish();
  if (!reading.by_id.emplace(op.id, static_cast<int>(reading.graph.ops.size())).second && in.child("id"))
    in.child("id")->refuse("an id that no node before has", reading.mistakes);
  reading.graph.ops.push_back(std::move(op));
}

int read_end(sim::ObjectReader& in, std::string_view key, Reading& reading) {
  const std::int64_t id = in.integer(key);
  const auto found = reading.by_id.find(id);
  if (found != reading.by_id.end()) return found->second;
  if (const auto value = in.child(key)) value->refuse("the id of a node", reading.mistakes);
  return -1;
}

void read_edge(sim::JsonValue value, Reading& reading) {
  sim::ObjectReader in(value, reading.mistakes);
  ProfiledEdge edge;
  edge.from = read_end(in, "sourceId", reading);
  edge.to = read_end(in, "destId", reading);
  edge.transfer_s = reading.edge_cost_s * in.number("cost", between(0, kLargest));
  edge.bytes = in.number("size", between(0, kLargest));
  in.finish();
  if (edge.from >= 0 && edge.to >= 0) reading.graph.edges.push_back(edge);
}

/// The nodes listed for each of some devices go to devices `first`, `first` + 1, ...
void read_devices(sim::ObjectReader& in, std::string_view key, int first, const std::map<std::int64_t, int>& by_id,
                  std::vector<int>& device_of_op, sim::Mistakes& mistakes) {
  for (const sim::JsonValue value : in.list(key)) {
    sim::ObjectReader device(value, mistakes);
    device.maybe_number("load");
    for (const sim::JsonValue node : device.list("nodes")) {
      const auto found = by_id.find(sim::read_integer(node, {}, mistakes));
      if (found == by_id.end())
        node.refuse("the id of a node of the graph", mistakes);
      else if (device_of_op[found->second] >= 0)
        node.refuse("a node that is placed once", mistakes);
      else
        device_of_op[found->second] = first;
    }
    device.finish();
    ++first;
  }
}

}  // namespace

ProfiledGraph read_dnn_partitioning_graph(const std::string& path, double edge_cost_s) {
  const sim::JsonDocument document = sim::read_json_file(path);
  Reading reading{.edge_cost_s = edge_cost_s};
  ProfiledGraph& graph = reading.graph;
  graph.name = std::filesystem::path(path).stem().string();
  graph.outputs_are_resident = true;
  sim::ObjectReader in(document.root(), reading.mistakes);
  graph.accelerators = static_cast<int>(in.integer("maxFPGAs", between(0, 1e6)));
  graph.cpus = static_cast<int>(in.integer("maxCPUs", between(0, 1e6)));
  graph.accelerator_memory_bytes = in.number("maxSizePerFPGA", between(0, kLargest));
  in.required("nodes", "a list of nodes");
  for (const sim::JsonValue node : in.list("nodes")) read_node(node, reading);
  in.required("edges", "a list of edges");
  for (const sim::JsonValue edge : in.list("edges")) read_edge(edge, reading);
  in.finish();
  reading.mistakes.throw_if_any();
  require_joined(graph, path);
  wait_for_forward(graph);
  order_forward(graph, path);
  return std::move(reading.graph);
}

std::vector<int> read_dnn_partitioning_split(const std::string& path, const ProfiledGraph& graph) {
  const sim::JsonDocument document = sim::read_json_file(path);
  sim::Mistakes mistakes;
  std::map<std::int64_t, int> by_id;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) by_id.emplace(graph.ops[op].id, static_cast<int>(op));
  std::vector<int> device_of_op(graph.ops.size(), -1);
  sim::ObjectReader in(document.root(), mistakes);
  in.maybe_number("maxLoad");
  for (const auto& [key, count] : {std::pair{"fpgas", graph.accelerators}, std::pair{"cpus", graph.cpus}})
    if (const auto devices = in.required(key, "a list of devices"); devices && devices->size() > static_cast<std::size_t>(count))
      devices->refuse(fmt::format("at most the graph's {}", count), mistakes);
  read_devices(in, "fpgas", 0, by_id, device_of_op, mistakes);
  read_devices(in, "cpus", graph.accelerators, by_id, device_of_op, mistakes);
  in.finish();
  for (std::size_t op = 0; op < graph.ops.size(); ++op)
    if (device_of_op[op] < 0)
      mistakes.add(
          {.file = path, .expected = "a device for every node", .found = fmt::format("none for node {}", graph.ops[op].id)});
  mistakes.throw_if_any();
  return device_of_op;
}

// What a dnn-partitioning file plans for. There times of transfers stand beside bytes; one bandwidth, that of all of them
// together, makes bytes of the times.

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
