#include "report/graph_dot.hpp"

#include <array>
#include <catch2/catch.hpp>

using namespace rehearse::report;
namespace sim = rehearse::sim;

namespace {

sim::OpGraph three_ops() {
  sim::OpGraph graph;
  graph.name = "g \"quoted\"";
  graph.ops.resize(3);
  graph.ops[0].name = "conv\\1";
  graph.ops[1].name = "relu";
  graph.ops[2].name = "relu/gradient";
  graph.ops[2].phase = sim::Phase::backward;
  graph.edges = {{0, 1, {0, 1000}}, {1, 2, {0, 500'000}}, {0, 2, {0, 100}}};
  return graph;
}

}  // namespace

TEST_CASE("a graph as Graphviz text, coloured by device", "[dot]") {
  const std::array<std::string, 2> devices{"cpu", "gpu0"};
  const std::string first = "#000000", second = "#e69f00";
  const std::string expected =
      "digraph \"g \\\"quoted\\\"\" {\n"
      "  rankdir=TB;\n"
      "  node [style=filled, shape=ellipse, fontname=\"sans-serif\"];\n"
      "  subgraph cluster_devices {\n"
      "    label=\"devices\";\n"
      "    device0 [label=\"cpu\", shape=box, fillcolor=\"" +
      first +
      "\"];\n"
      "    device1 [label=\"gpu0\", shape=box, fillcolor=\"" +
      second +
      "\"];\n"
      "  }\n"
      "  op0 [label=\"conv\\\\1\", fillcolor=\"" +
      first +
      "\"];\n"
      "  op1 [label=\"relu\", fillcolor=\"" +
      second +
      "\"];\n"
      "  op2 [label=\"relu/gradient\", fillcolor=\"" +
      second +
      "\", style=\"filled,dashed\"];\n"
      "  op0 -> op1 [tooltip=\"2.0 kB\", penwidth=2];\n"
      "  op1 -> op2 [tooltip=\"1.0 MB\"];\n"
      "  op0 -> op2 [tooltip=\"0.2 kB\", penwidth=2];\n"
      "}\n";
  CHECK(to_dot(dot_graph(three_ops(), 2), std::array{0, 1, 1}, devices) == expected);
  // Nothing placed: white, without a legend.
  const std::string plain = to_dot(dot_graph(three_ops(), 2), std::array{-1, -1, -1}, {});
  CHECK(plain.find("#ffffff") != plain.npos);
  CHECK(plain.find("cluster") == plain.npos);
}

TEST_CASE("a node for each group", "[dot]") {
  const DotGraph groups = grouped(dot_graph(three_ops(), 2), std::array{0, 1, 1});
  REQUIRE(groups.nodes.size() == 2);
  CHECK(groups.nodes[0].label == "conv\\1");
  CHECK(groups.nodes[1].label == "relu and 1 more");
  // 2 x 1000 to the ReLU and 2 x 100 to its gradient.
  REQUIRE(groups.edges.size() == 1);
  CHECK(groups.edges[0].bytes == 2200);
}
