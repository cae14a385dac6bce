// The groups of a graph as a graph: the forward pass between them.
#pragma once

#include <map>
#include <vector>

#include "policies/place/groups.hpp"

namespace rehearse::policies {

/// Neighbours and the bytes between, both ways; no loops.
struct GroupGraph {
  std::vector<std::map<int, double>> before, after;
  std::vector<double> work;  ///< of all of a group's operations, backward ones included
};

/// Edges between forward operations; those out of variables if asked for.
GroupGraph group_graph(const GroupableGraph& graph, const Groups& groups, bool from_variables);

/// For each group the number of its strongly connected component. Numbers fall along the edges (Tarjan, in Boost.Graph).
std::vector<int> components(const GroupGraph& graph);

/// `group_of_op` renumbered in order of first operations.
Groups renumbered(const std::vector<int>& group_of_op);

}  // namespace rehearse::policies
