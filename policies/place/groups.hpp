// Co-location groups of operations (Mirhoseini et al., "Device Placement Optimization with Reinforcement Learning", ICML 2017,
// section 3.3), and their coarsening to a given number without cycles among the forward groups.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "sim/step/op_graph.hpp"
#include "sim/step/step_graph.hpp"

namespace rehearse::policies {

struct GroupableOp {
  std::int64_t together = -1;  ///< operations of one number stay together; -1: by itself
  bool is_forward = true;
  bool is_variable = false;  ///< its readers do not follow it
  double work = 0;           ///< in any unit
};

struct GroupableEdge {
  int from = 0, to = 0;
  double bytes = 0;
};

struct GroupableGraph {
  std::vector<GroupableOp> ops;
  std::vector<GroupableEdge> edges;
};

/// Of one batch. A layer's operations of one time step stay together: gradients with their forward operation, an LSTM's step (of
/// each direction); so do a variable and its update. `work`: of each operation, for instance its seconds. Edges of fewer than
/// `least_bytes` (order, scalars) decide nothing.
GroupableGraph groupable(const sim::OpGraph& graph, double batch, std::span<const double> work, double least_bytes = 0);

/// StepOp::group says what stays together; work is the duration on a class of devices.
GroupableGraph groupable(const sim::StepGraph& graph, int device_class);

/// Numbered from 0 in order of their first operations.
struct Groups {
  std::vector<int> of_op;
  int count = 0;
};

enum class ChainRule : std::uint8_t {
  none,
  chains,          ///< a group whose result goes to one group alone, which reads of no other, joins it
  single_consumer  ///< likewise, whatever else that group reads: the paper's words; parallel branches fall into one
};

/// What must stay together, and then chains of the forward pass, again and again until nothing changes.
Groups colocate(const GroupableGraph& graph, ChainRule rule = ChainRule::chains);

/// Joins groups until `count` are left: the lightest with the neighbour of the forward pass from which it gets or to which it
/// gives most, without making groups wait for each other in a circle. Groups that do from the start become one, so that there may
/// be fewer in the end. With `count` or fewer groups nothing changes. Throws sim::InputError for a `count` below 1 or above the
/// number of operations. Time: groups x edges at worst.
Groups coarsen(const GroupableGraph& graph, const Groups& groups, int count);

/// Whether no groups wait for each other in a circle in the forward pass. (With gradients beside their forward operations the
/// whole step always has such circles.)
bool is_acyclic(const GroupableGraph& graph, const Groups& groups);

// The groups of a graph as a graph: the forward pass between them.

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
