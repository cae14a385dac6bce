// Joining neighbours keeps a graph free of cycles when no other way leads from one to the other. With `level`, the longest way
// from a source, that holds for the readers of lowest level, and for the sources of highest (Herrmann et al., "Acyclic
// Partitioning of Large Directed Acyclic Graphs", CCGrid 2017, section 4.1).
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "policies/place/groups.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {
namespace {

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
