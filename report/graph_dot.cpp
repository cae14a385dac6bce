#include "report/graph_dot.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::report {
namespace {

constexpr std::string_view kNoDevice = "#ffffff";

/// As a dot_text identifier of the DOT language, where a backslash is the only other character with a meaning.
std::string dot_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

/// Eight colours of Okabe and Ito (2008) that are told apart with any colour vision, a grey and a dark brown; then from the first
/// again.
std::string_view device_colour(int device) {
  constexpr std::array<std::string_view, 10> kColours{"#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00",
                                                      "#0072b2", "#cc79a7", "#f0e442", "#999999", "#5c2e00"};
  return device < 0 ? kNoDevice : kColours[static_cast<std::size_t>(device) % kColours.size()];
}

std::string size_text(double bytes) {
  return bytes < 1e6 ? fmt::format("{:.1f} kB", bytes / 1e3) : fmt::format("{:.1f} MB", bytes / 1e6);
}

std::string legend(std::span<const std::string> devices) {
  if (devices.empty()) return {};
  std::string text = "  subgraph cluster_devices {\n    label=\"devices\";\n";
  for (std::size_t i = 0; i < devices.size(); ++i)
    text += fmt::format("    device{} [label={}, shape=box, fillcolor=\"{}\"];\n", i, dot_text(devices[i]),
                        device_colour(static_cast<int>(i)));
  return text + "  }\n";
}

}  // namespace

DotGraph dot_graph(const sim::OpGraph& graph, double batch) {
  DotGraph result{.name = graph.name, .nodes = {}, .edges = {}};
  for (const sim::Op& op : graph.ops) result.nodes.push_back({op.name, op.phase != sim::Phase::forward});
  for (const sim::Edge& edge : graph.edges) result.edges.push_back({edge.from, edge.to, edge.bytes.at(batch)});
  return result;
}

DotGraph dot_graph(const sim::StepGraph& graph) {
  DotGraph result{.name = graph.name(), .nodes = {}, .edges = {}};
  for (int op = 0; op < graph.ops(); ++op) result.nodes.push_back({graph.op(op).name, graph.op(op).phase != sim::Phase::forward});
  for (int tensor = 0; tensor < graph.tensors(); ++tensor)
    for (int reader : graph.readers_of(tensor))
      result.edges.push_back({graph.tensor(tensor).producer, reader, static_cast<double>(graph.tensor(tensor).bytes)});
  return result;
}

DotGraph grouped(const DotGraph& graph, std::span<const int> group_of_node) {
  sim::check(group_of_node.size() == graph.nodes.size(), "a group for each node");
  DotGraph result{.name = graph.name, .nodes = {}, .edges = {}};
  std::vector<int> sizes;
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    const auto group = static_cast<std::size_t>(group_of_node[node]);
    if (group >= result.nodes.size()) {
      result.nodes.resize(group + 1);
      sizes.resize(group + 1);
    }
    if (sizes[group]++ == 0) result.nodes[group] = graph.nodes[node];
  }
  for (std::size_t group = 0; group < sizes.size(); ++group)
    if (sizes[group] > 1) result.nodes[group].label += fmt::format(" and {} more", sizes[group] - 1);
  std::map<std::pair<int, int>, double> bytes;
  for (const DotGraph::Edge& edge : graph.edges)
    if (group_of_node[edge.from] != group_of_node[edge.to])
      bytes[{group_of_node[edge.from], group_of_node[edge.to]}] += edge.bytes;
  for (const auto& [ends, sum] : bytes) result.edges.push_back({ends.first, ends.second, sum});
  return result;
}

std::string to_dot(const DotGraph& graph, std::span<const int> device_of_node, std::span<const std::string> devices) {
  sim::check(device_of_node.size() == graph.nodes.size(), "a device for each node");
  std::string text =
      fmt::format("digraph {} {{\n  rankdir=TB;\n  node [style=filled, shape=ellipse, fontname=\"sans-serif\"];\n{}",
                  dot_text(graph.name), legend(devices));
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    const int device = device_of_node[node];
    sim::check(device < static_cast<int>(devices.size()), "a device of the list");
    text += fmt::format("  op{} [label={}, fillcolor=\"{}\"{}];\n", node, dot_text(graph.nodes[node].label),
                        device_colour(device), graph.nodes[node].is_backward ? ", style=\"filled,dashed\"" : "");
  }
  for (const DotGraph::Edge& edge : graph.edges) {
    const bool crosses = device_of_node[edge.from] != device_of_node[edge.to];
    text += fmt::format("  op{} -> op{} [tooltip=\"{}\"{}];\n", edge.from, edge.to, size_text(edge.bytes),
                        crosses ? ", penwidth=2" : "");
  }
  return text + "}\n";
}

}  // namespace rehearse::report
