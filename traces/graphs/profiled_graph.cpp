#include "traces/graphs/profiled_graph.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <queue>
#include <utility>

#include "sim/base/units.hpp"
#include "sim/io/shown.hpp"

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

namespace {

/// Among operations that all have one before them among them: going back far enough repeats one.
std::vector<int> find_cycle(std::span<const std::pair<int, int>> edges, const std::vector<int>& waits_for) {
  const int count = static_cast<int>(waits_for.size());
  std::vector<int> before(waits_for.size(), -1);
  for (const auto& [from, to] : edges)
    if (waits_for[from] > 0 && waits_for[to] > 0) before[to] = from;
  int op = static_cast<int>(std::find_if(waits_for.begin(), waits_for.end(), [](int n) { return n > 0; }) - waits_for.begin());
  for (int i = 0; i < count; ++i) op = before[op];
  std::vector<int> cycle{op};
  for (int at = before[op]; at != op; at = before[at]) cycle.push_back(at);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

}  // namespace

ForwardOrder forward_order(int count, std::span<const std::pair<int, int>> edges) {
  std::vector<int> waits_for(static_cast<std::size_t>(count));
  std::vector<std::vector<int>> after(static_cast<std::size_t>(count));
  for (const auto& [from, to] : edges) {
    ++waits_for[to];
    after[from].push_back(to);
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int op = 0; op < count; ++op)
    if (waits_for[op] == 0) ready.push(op);
  ForwardOrder order;
  for (; !ready.empty();) {
    const int op = ready.top();
    ready.pop();
    order.ops.push_back(op);
    for (int next : after[op])
      if (--waits_for[next] == 0) ready.push(next);
  }
  if (static_cast<int>(order.ops.size()) < count) return {{}, find_cycle(edges, waits_for)};
  return order;
}

std::string cycle_text(const std::vector<int>& cycle, const std::function<std::string_view(int)>& name_of) {
  constexpr std::size_t kMostNamed = 4;
  std::string text = "a cycle through ";
  for (std::size_t i = 0; i < std::min(cycle.size(), kMostNamed); ++i)
    text += (i == 0 ? "" : ", ") + sim::shown(name_of(cycle[i]));
  if (cycle.size() > kMostNamed) text += " and " + std::to_string(cycle.size() - kMostNamed) + " more";
  return text;
}

}  // namespace rehearse::traces
