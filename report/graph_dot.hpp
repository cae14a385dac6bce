// An operation graph as Graphviz text, operations coloured by their device as in figures 4 and 5 of Mirhoseini et al. 2017.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/step/op_graph.hpp"
#include "sim/step/step_graph.hpp"

namespace rehearse::report {

struct DotGraph {
  struct Node {
    std::string label;
    bool is_backward = false;  ///< drawn with a dashed border
  };
  struct Edge {
    int from = 0, to = 0;
    double bytes = 0;
  };
  std::string name;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

DotGraph dot_graph(const sim::OpGraph& graph, double batch);
DotGraph dot_graph(const sim::StepGraph& graph);

/// One node a group, named after its first node ("lstm1/step0 and 4 more"); edges between groups are summed.
DotGraph grouped(const DotGraph& graph, std::span<const int> group_of_node);

/// `device_of_node`: for each node an index into `devices`, -1 for none (white). The devices' names stand in a legend; edges
/// between devices are drawn heavier. Throws nothing; sizes and indices are checked (sim::check).
std::string to_dot(const DotGraph& graph, std::span<const int> device_of_node, std::span<const std::string> devices);

}  // namespace rehearse::report
