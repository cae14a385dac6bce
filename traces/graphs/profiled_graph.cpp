#include "traces/graphs/profiled_graph.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "sim/base/units.hpp"
#include "sim/io/shown.hpp"
#include "traces/graphs/forward_order.hpp"

namespace rehearse::traces {
namespace {

std::int64_t whole_bytes(double bytes) { return sim::whole<std::int64_t>(std::ceil(bytes), "bytes of an operation"); }

}  // namespace

void require_joined(const ProfiledGraph& graph, std::string_view file) {
  if (graph.ops.empty())
    throw sim::InputError({.file = std::string(file), .expected = "at least one operation", .found = "none"});
  std::vector<bool> joined(graph.ops.size());
  for (const ProfiledEdge& edge : graph.edges) joined[edge.from] = joined[edge.to] = true;
  const auto alone = std::find(joined.begin(), joined.end(), false);
  if (joined.size() < 2 || alone == joined.end()) return;
  throw sim::InputError({.file = std::string(file),
                         .expected = "an edge at every operation",
                         .found = "none at " + sim::shown(graph.ops[static_cast<std::size_t>(alone - joined.begin())].name)});
}

void wait_for_forward(ProfiledGraph& graph) {
  std::vector<bool> is_read(graph.ops.size()), reads(graph.ops.size());
  for (const ProfiledEdge& edge : graph.edges) {
    reads[edge.to] = true;
    if (!graph.ops[edge.to].backward) is_read[edge.from] = true;
  }
  const int count = static_cast<int>(graph.ops.size());
  for (int end = 0; end < count; ++end)
    for (int start = 0; start < count; ++start)
      if (!graph.ops[end].backward && !is_read[end] && graph.ops[start].backward && !reads[start])
        graph.edges.push_back({end, start});
}

void order_forward(ProfiledGraph& graph, std::string_view file) {
  std::vector<std::pair<int, int>> pairs;
  for (const ProfiledEdge& edge : graph.edges) pairs.emplace_back(edge.from, edge.to);
  const ForwardOrder order = forward_order(static_cast<int>(graph.ops.size()), pairs);
  if (!order.cycle.empty())
    throw sim::InputError({.file = std::string(file),
                           .expected = "a graph without cycles",
                           .found = cycle_text(order.cycle, [&](int op) -> std::string_view { return graph.ops[op].name; })});
  std::vector<ProfiledOp> sorted;
  std::vector<int> place(graph.ops.size());
  for (int op : order.ops) {
    place[op] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(graph.ops[op]));
  }
  graph.ops = std::move(sorted);
  for (ProfiledEdge& edge : graph.edges) {
    edge.from = place[edge.from];
    edge.to = place[edge.to];
  }
}

sim::StepGraph step_graph(const ProfiledGraph& graph, std::string accelerator_class, std::string cpu_class) {
  sim::StepGraphBuilder builder(graph.name, {std::move(accelerator_class), std::move(cpu_class)});
  for (const ProfiledOp& op : graph.ops)
    builder.add_op({.name = op.name,
                    .phase = op.backward ? sim::Phase::backward : sim::Phase::forward,
                    .group = op.colour,
                    .parameter_bytes = whole_bytes(op.resident_bytes)},
                   std::array{op.accelerator_s, op.cpu_s});
  std::map<std::pair<int, std::int64_t>, int> tensors;  // what one operation hands out in equal sizes is one
  for (const ProfiledEdge& edge : graph.edges) {
    const std::int64_t bytes = whole_bytes(edge.bytes);
    const auto [tensor, is_new] = tensors.try_emplace({edge.from, bytes}, 0);
    if (is_new) tensor->second = builder.add_tensor({.producer = edge.from, .bytes = bytes, .held = graph.outputs_are_resident});
    builder.add_reader(tensor->second, edge.to);
  }
  return builder.build();
}

}  // namespace rehearse::traces
