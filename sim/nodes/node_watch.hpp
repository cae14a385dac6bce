// What the replay keeps of its nodes while they can fail: who runs on each, how fast it is, and the next event of each stream.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/jobs/models.hpp"
#include "sim/nodes/node_events.hpp"

namespace rehearse::sim {

struct NodeWatch {
  NodeWatch(const Cluster& cluster, const NodeRules& rules)
      : events(cluster, rules), next(events.streams()), pushed(events.streams()), slow_speed(rules.slow.speed) {
    for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
      nodes.emplace_back(static_cast<std::size_t>(cluster.pools[p].nodes));
      rates.push_back(failure_rate(cluster, rules, static_cast<PoolId>(p)));
    }
  }

  struct Node {
    std::vector<JobSlot> tenants;
    int slow = 0;  ///< spells under way
  };
  Node& node(PoolId pool, int index) { return nodes[static_cast<std::size_t>(pool)][static_cast<std::size_t>(index)]; }

  /// Each job once a node, even with two groups there.
  void enter(const Configuration& configuration, const Layout& layout, JobSlot slot) {
    for_each_share(configuration, layout, [&](Node& at, const NodeShare&) {
      if (std::find(at.tenants.begin(), at.tenants.end(), slot) == at.tenants.end()) at.tenants.push_back(slot);
    });
  }
  void leave(const Configuration& configuration, const Layout& layout, JobSlot slot) {
    for_each_share(configuration, layout, [&](Node& at, const NodeShare&) { std::erase(at.tenants, slot); });
  }

  /// Workers that wait for each other go at the slowest one's speed; those that do not, at the mean.
  double speed(const Configuration& configuration, const Layout& layout) {
    double slowest = 1, sum = 0;
    int workers = 0;
    for_each_share(configuration, layout, [&](const Node& at, const NodeShare& share) {
      const double speed = at.slow > 0 ? slow_speed : 1;
      slowest = std::min(slowest, speed);
      sum += share.devices * speed;
      workers += share.devices;
    });
    return configuration.sync.kind == SyncKind::servers_async ? sum / workers : slowest;
  }

  /// Mean time between failures of any node of the layout; kNever when none ever fails.
  double mtbf_s(const Configuration& configuration, const Layout& layout) const {
    double rate = 0;
    for (std::size_t g = 0; g < layout.size(); ++g)
      rate += static_cast<double>(layout[g].size()) * rates[static_cast<std::size_t>(configuration.groups[g].pool)];
    return rate > 0 ? 1 / rate : kNever;
  }

  NodeEvents events;
  std::vector<NodeEvent> next;  ///< by stream
  std::vector<EventHandle> pushed;
  std::size_t live = 0;  ///< of them, in the queue of events
  int gone = 0;          ///< nodes that were taken away for ever
  std::vector<std::vector<Node>> nodes;
  std::vector<double> rates;  ///< failures a second of one node, by pool
  double slow_speed = 1;

 private:
  template <class Visit>
  void for_each_share(const Configuration& configuration, const Layout& layout, Visit&& visit) {
    for (std::size_t g = 0; g < layout.size(); ++g)
      for (const NodeShare& share : layout[g]) visit(node(configuration.groups[g].pool, share.node), share);
  }
};

}  // namespace rehearse::sim
