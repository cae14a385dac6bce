#include "policies/place/placement_graph.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

PlacementGraph::PlacementGraph(const PlacementView& view) : groups_(view.groups().count), devices_(view.devices()) {
  add_costs(view);
  add_arcs(view);
}

void PlacementGraph::add_costs(const PlacementView& view) {
  const auto n = static_cast<std::size_t>(groups_);
  durations_.assign(n * static_cast<std::size_t>(devices_), 0);
  resident_.assign(n, 0);
  memory_.assign(n, 0);
  std::vector<std::int64_t> workspace(n, 0);
  std::vector<bool> met(n, false);
  for (const std::int32_t op : view.graph().topological_order()) {
    const auto g = static_cast<std::size_t>(view.group_of(op));
    if (!met[g]) order_.push_back(static_cast<std::int32_t>(g));
    met[g] = true;
    for (int d = 0; d < devices_; ++d)
      durations_[g * static_cast<std::size_t>(devices_) + static_cast<std::size_t>(d)] += view.duration(op, d);
    const sim::StepOp& about = view.graph().op(op);
    resident_[g] += about.resident_bytes();
    workspace[g] = std::max(workspace[g], about.workspace_bytes);
    if (about.phase != sim::Phase::forward) continue;
    for (int t = view.graph().first_tensor(op); t < view.graph().first_tensor(op + 1); ++t)
      if (!view.graph().tensor(t).held) memory_[g] += view.graph().tensor(t).bytes;
  }
  for (std::size_t g = 0; g < n; ++g) memory_[g] += resident_[g] + workspace[g];
}

void PlacementGraph::add_arcs(const PlacementView& view) {
  struct Flow {
    std::int32_t from, to;
    std::int64_t out, in;
  };
  std::vector<Flow> flows;
  std::vector<std::int32_t> last_tensor(static_cast<std::size_t>(groups_), -1);
  for (int t = 0; t < view.graph().tensors(); ++t) {
    const sim::StepTensor& tensor = view.graph().tensor(t);
    const std::int32_t from = view.group_of(tensor.producer);
    for (const std::int32_t reader : view.graph().readers_of(t)) {
      const std::int32_t to = view.group_of(reader);
      if (to == from || std::exchange(last_tensor[static_cast<std::size_t>(to)], t) == t) continue;
      flows.push_back({from, to, tensor.bytes, 0});
      flows.push_back({to, from, 0, tensor.bytes});
    }
  }
  std::sort(flows.begin(), flows.end(),
            [](const Flow& a, const Flow& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); });
  first_arc_.assign(static_cast<std::size_t>(groups_) + 1, 0);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (i == 0 || flows[i].from != flows[i - 1].from || flows[i].to != flows[i - 1].to) {
      arcs_.push_back({.group = flows[i].to});
      ++first_arc_[static_cast<std::size_t>(flows[i].from) + 1];
    }
    arcs_.back().bytes_out += flows[i].out;
    arcs_.back().bytes_in += flows[i].in;
  }
  std::partial_sum(first_arc_.begin(), first_arc_.end(), first_arc_.begin());
}

sim::Tick PlacementGraph::work(int device) const {
  sim::Tick sum = 0;
  for (int g = 0; g < groups_; ++g) sum += duration(g, device);
  return sum;
}

std::vector<std::int32_t> all_devices(const sim::Machine& machine) {
  std::vector<std::int32_t> devices(static_cast<std::size_t>(machine.devices()));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

std::vector<std::int32_t> gpus_or_all(const sim::Machine& machine) {
  std::vector<std::int32_t> gpus;
  for (int d = 0; d < machine.devices(); ++d)
    if (machine.device(d).kind == sim::DeviceKind::gpu) gpus.push_back(d);
  return gpus.empty() ? all_devices(machine) : gpus;
}

std::int32_t fastest_device(const PlacementGraph& graph, const sim::Machine& machine, std::span<const std::int32_t> devices) {
  sim::check(!devices.empty(), "a device to choose");
  return *std::min_element(devices.begin(), devices.end(), [&](std::int32_t a, std::int32_t b) {
    const auto rank = [&](std::int32_t d) { return std::tuple(graph.work(d), -machine.device(d).memory_bytes, d); };
    return rank(a) < rank(b);
  });
}

namespace {

/// Scales to a sum of about 2^24, which leaves partitioners room for products of weights.
std::vector<std::int32_t> scaled(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  std::vector<std::int32_t> whole;
  for (const double v : values)
    whole.push_back(std::max(1, static_cast<std::int32_t>(std::lround(sum > 0 ? v / sum * 0x1p24 : 0))));
  return whole;
}

}  // namespace

PartitionGraph partition_graph(const PlacementGraph& groups, const sim::Machine& machine) {
  const std::int32_t gpu = fastest_device(groups, machine, gpus_or_all(machine));
  PartitionGraph graph;
  std::vector<double> work, bytes;
  graph.first.push_back(0);
  for (int g = 0; g < groups.groups(); ++g) {
    work.push_back(static_cast<double>(groups.duration(g, gpu)));
    for (const PlacementGraph::Arc& arc : groups.arcs(g)) {
      graph.neighbour.push_back(arc.group);
      bytes.push_back(static_cast<double>(arc.bytes()));
    }
    graph.first.push_back(static_cast<std::int32_t>(graph.neighbour.size()));
  }
  graph.work = scaled(work);
  graph.bytes = scaled(bytes);
  return graph;
}

std::vector<double> device_shares(const PlacementGraph& groups, std::span<const std::int32_t> devices) {
  std::vector<double> shares;
  double sum = 0;
  for (const std::int32_t d : devices) {
    const auto work = static_cast<double>(groups.work(d));
    shares.push_back(1 / std::max(1.0, work));
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

DeviceOfGroup devices_of_parts(std::span<const std::int32_t> parts, std::span<const std::int32_t> devices) {
  DeviceOfGroup answer;
  for (const std::int32_t part : parts) answer.push_back(devices[static_cast<std::size_t>(part)]);
  return answer;
}

}  // namespace rehearse::policies
