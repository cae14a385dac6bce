#include "policies/place/group_graph.hpp"

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/strong_components.hpp>
#include <utility>

namespace rehearse::policies {

GroupGraph group_graph(const GroupableGraph& graph, const Groups& groups, bool from_variables) {
  GroupGraph result;
  const auto count = static_cast<std::size_t>(groups.count);
  result.before.resize(count);
  result.after.resize(count);
  result.work.resize(count);
  for (std::size_t op = 0; op < graph.ops.size(); ++op) result.work[groups.of_op[op]] += graph.ops[op].work;
  for (const GroupableEdge& edge : graph.edges) {
    const int from = groups.of_op[edge.from], to = groups.of_op[edge.to];
    const GroupableOp &a = graph.ops[edge.from], &b = graph.ops[edge.to];
    if (from == to || !a.is_forward || !b.is_forward || (a.is_variable && !from_variables)) continue;
    result.after[from][to] += edge.bytes;
    result.before[to][from] += edge.bytes;
  }
  return result;
}

std::vector<int> components(const GroupGraph& graph) {
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t from = 0; from < graph.after.size(); ++from)
    for (const auto& [to, bytes] : graph.after[from]) edges.emplace_back(from, static_cast<std::size_t>(to));
  using Graph = boost::compressed_sparse_row_graph<boost::directedS>;
  const Graph csr(boost::edges_are_sorted, edges.begin(), edges.end(), graph.after.size());
  std::vector<int> component(graph.after.size());
  if (!component.empty())
    boost::strong_components(csr, boost::make_iterator_property_map(component.begin(), get(boost::vertex_index, csr)));
  return component;
}

Groups renumbered(const std::vector<int>& group_of_op) {
  Groups groups;
  std::map<int, int> number;
  for (int group : group_of_op) {
    const auto [found, is_new] = number.try_emplace(group, groups.count);
    if (is_new) ++groups.count;
    groups.of_op.push_back(found->second);
  }
  return groups;
}

}  // namespace rehearse::policies
