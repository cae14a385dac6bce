// Joining neighbours keeps a graph free of cycles when no other way leads from one to the other. With `level`, the longest way
// from a source, that holds for the readers of lowest level, and for the sources of highest (Herrmann et al., "Acyclic
// Partitioning of Large Directed Acyclic Graphs", CCGrid 2017, section 4.1).
#include "policies/place/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/strong_components.hpp>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

/// What must stay together, numbered.
Groups given_groups(const GroupableGraph& graph) {
  std::vector<int> of_op;
  std::map<std::int64_t, int> first;
  for (const GroupableOp& op : graph.ops) {
    const int index = static_cast<int>(of_op.size());
    of_op.push_back(op.together < 0 ? index : first.try_emplace(op.together, index).first->second);
  }
  return renumbered(of_op);
}

/// The group that each one joins, in the end.
std::vector<int> followed(const GroupGraph& graph, ChainRule rule) {
  std::vector<int> leader(graph.after.size()), order(graph.after.size());
  std::iota(leader.begin(), leader.end(), 0);
  std::iota(order.begin(), order.end(), 0);
  // Whoever comes later in the forward pass first: then the leaders of a group's readers are final.
  const std::vector<int> component = components(graph);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return component[a] < component[b]; });
  for (int group : order) {
    int only = -1, readers = 0;
    for (const auto& [reader, bytes] : graph.after[group]) {
      if (leader[reader] == only) continue;
      only = leader[reader];
      ++readers;
    }
    if (readers != 1 || only == group) continue;
    const int next = graph.after[group].begin()->first;
    if (rule == ChainRule::chains && (graph.after[group].size() != 1 || graph.before[next].size() != 1)) continue;
    leader[group] = only;
  }
  return leader;
}

class Coarsener {
 public:
  Coarsener(GroupGraph graph, int count)
      : graph_(std::move(graph)), leader_(graph_.work.size()), level_(graph_.work.size()), count_(count) {
    double total = 0;
    for (std::size_t group = 0; group < leader_.size(); ++group) {
      leader_[group] = static_cast<int>(group);
      by_work_.emplace(graph_.work[group], static_cast<int>(group));
      total += graph_.work[group];
    }
    heavy_ = kHeavy * total / count;
    std::set<int> all(leader_.begin(), leader_.end());
    settle(std::move(all));
  }

  /// For each group the one that it ended in.
  std::vector<int> join() {
    while (static_cast<int>(by_work_.size()) > count_) {
      const int lightest = by_work_.begin()->second;
      const int neighbour = partner(lightest);
      merge(lightest, neighbour);
    }
    for (int& leader : leader_)
      while (leader_[leader] != leader) leader = leader_[leader];
    return leader_;
  }

 private:
  static constexpr double kHeavy = 1.5;  // of the mean that is aimed at: such groups grow only if there is no other

  /// Levels of these groups and of all behind them that change.
  void settle(std::set<int> changed) {
    std::set<std::pair<int, int>> open;  // by level
    for (int group : changed) open.emplace(level_[group], group);
    while (!open.empty()) {
      const int group = open.begin()->second;
      open.erase(open.begin());
      int level = 0;
      for (const auto& [before, bytes] : graph_.before[group]) level = std::max(level, level_[before] + 1);
      if (level == level_[group]) continue;
      level_[group] = level;
      for (const auto& [after, bytes] : graph_.after[group]) open.emplace(level_[after], after);
    }
  }

  /// Neighbours that it may join: the nearest on either side.
  std::vector<std::pair<int, double>> neighbours(int group) const {
    std::vector<std::pair<int, double>> result;
    const auto add = [&](const std::map<int, double>& side, int sign) {
      int nearest = std::numeric_limits<int>::max();
      for (const auto& [other, bytes] : side) nearest = std::min(nearest, sign * level_[other]);
      for (const auto& [other, bytes] : side)
        if (sign * level_[other] == nearest) result.emplace_back(other, bytes);
    };
    add(graph_.before[group], -1);
    add(graph_.after[group], 1);
    return result;
  }

  int partner(int group) const {
    int best = -1;
    std::pair<bool, double> best_score;
    for (const auto& [other, bytes] : neighbours(group)) {
      const std::pair score{graph_.work[group] + graph_.work[other] <= heavy_, bytes};
      if (best >= 0 && (score < best_score || (score == best_score && !(by_weight(other) < by_weight(best))))) continue;
      best = other;
      best_score = score;
    }
    return best >= 0 ? best : std::next(by_work_.begin())->second;  // joined to nobody: whoever is light
  }

  std::pair<double, int> by_weight(int group) const { return {graph_.work[group], group}; }

  static void redirect(std::vector<std::map<int, double>>& there, std::vector<std::map<int, double>>& back, int from, int to) {
    for (const auto& [other, bytes] : there[from]) {
      back[other].erase(from);
      if (other == to) continue;
      there[to][other] += bytes;
      back[other][to] += bytes;
    }
    there[from].clear();
  }

  void merge(int from, int to) {
    by_work_.erase(by_weight(from));
    by_work_.erase(by_weight(to));
    redirect(graph_.after, graph_.before, from, to);
    redirect(graph_.before, graph_.after, from, to);
    graph_.work[to] += graph_.work[from];
    leader_[from] = to;
    by_work_.insert(by_weight(to));
    std::set<int> changed{to};
    for (const auto& [after, bytes] : graph_.after[to]) changed.insert(after);
    settle(std::move(changed));
  }

  GroupGraph graph_;
  std::vector<int> leader_, level_;
  std::set<std::pair<double, int>> by_work_;
  int count_;
  double heavy_ = 0;
};

/// Groups of which each is joined to the others of its number.
Groups joined(const Groups& groups, const std::vector<int>& number) {
  std::vector<int> of_op;
  for (int group : groups.of_op) of_op.push_back(number[group]);
  return renumbered(of_op);
}

}  // namespace

GroupableGraph groupable(const sim::OpGraph& graph, double batch, std::span<const double> work, double least_bytes) {
  sim::check(work.size() == graph.ops.size(), "the work of each operation");
  std::vector<bool> has_variable;
  const auto has = [&](int layer) { return layer < static_cast<int>(has_variable.size()) && has_variable[layer]; };
  for (const sim::Op& op : graph.ops) {
    if (op.kind != sim::OpKind::variable) continue;
    if (!has(op.layer)) has_variable.resize(std::max<std::size_t>(has_variable.size(), op.layer + 1));
    has_variable[op.layer] = true;
  }
  GroupableGraph result;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const sim::Op& op = graph.ops[i];
    const bool of_parameters = op.kind == sim::OpKind::variable || (op.kind == sim::OpKind::update && has(op.layer));
    // A layer's parameters count as a step before the first.
    const std::int64_t together = (std::int64_t{op.layer} << 32) + (of_parameters ? 0 : op.step + 1);
    result.ops.push_back({together, op.phase == sim::Phase::forward, op.kind == sim::OpKind::variable, work[i]});
  }
  for (const sim::Edge& edge : graph.edges)
    if (const double bytes = edge.bytes.at(batch); bytes >= least_bytes) result.edges.push_back({edge.from, edge.to, bytes});
  return result;
}

GroupableGraph groupable(const sim::StepGraph& graph, int device_class) {
  GroupableGraph result;
  for (int op = 0; op < graph.ops(); ++op) {
    const sim::StepOp& from = graph.op(op);
    result.ops.push_back({from.group, from.phase == sim::Phase::forward, from.kind == sim::OpKind::variable,
                          sim::seconds_of(graph.duration(op, device_class))});
  }
  for (int tensor = 0; tensor < graph.tensors(); ++tensor)
    for (int reader : graph.readers_of(tensor))
      result.edges.push_back({graph.tensor(tensor).producer, reader, static_cast<double>(graph.tensor(tensor).bytes)});
  return result;
}

Groups colocate(const GroupableGraph& graph, ChainRule rule) {
  const Groups given = given_groups(graph);
  if (rule == ChainRule::none) return given;
  const std::vector<int> leader = followed(group_graph(graph, given, false), rule);
  std::vector<int> of_op;
  for (int group : given.of_op) of_op.push_back(leader[group]);
  return renumbered(of_op);
}

bool is_acyclic(const GroupableGraph& graph, const Groups& groups) {
  const std::vector<int> component = components(group_graph(graph, groups, true));
  return component.empty() || *std::max_element(component.begin(), component.end()) + 1 == groups.count;
}

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

Groups coarsen(const GroupableGraph& graph, const Groups& groups, int count) {
  if (count < 1 || count > static_cast<int>(graph.ops.size()))
    throw sim::InputError({.expected = fmt::format("1 to {} groups, one for each operation at most", graph.ops.size()),
                           .found = std::to_string(count)});
  if (groups.count <= count) return groups;
  const Groups acyclic = joined(groups, components(group_graph(graph, groups, true)));
  if (acyclic.count <= count) return acyclic;
  return joined(acyclic, Coarsener(group_graph(graph, acyclic, true), count).join());
}

}  // namespace rehearse::policies
