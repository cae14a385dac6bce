// When a spot pool's nodes are taken away: all of them while the price is above the bid, the last ones while the cloud has fewer
// than the pool, and each by itself at random.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/engine/event_queue.hpp"
#include "sim/jobs/job.hpp"
#include "sim/jobs/models.hpp"

namespace rehearse::sim {

/// One node is gone from `time_s` for `down_s`: as a node that has failed and is repaired.
struct Revocation {
  PoolId pool = 0;
  int node = 0;
  double time_s = 0;
  double down_s = 0;    ///< positive; kNever when the price never falls again
  double warned_s = 0;  ///< its jobs know so long before
};

/// The dates of one node, one after the other. They depend on the seed, the repetition, the pool's name and the node alone.
class NodeRevocations {
 public:
  /// The pool must have Spot rules; the cluster must outlive this.
  NodeRevocations(const Cluster& cluster, PoolId pool, int node, std::uint64_t seed, std::uint64_t repetition);
  /// Dates never decrease, and no revocation begins before the one before it has ended. Nothing after the last.
  std::optional<Revocation> next();

 private:
  void draw();
  std::optional<Revocation> next_above_bid();
  std::optional<Revocation> next_missing();
  std::optional<Revocation> next_away();
  const Pool& pool_;
  PoolId id_;
  int node_;
  Random random_;
  std::size_t step_ = 0;                           // of the prices, not yet looked at
  std::size_t nodes_step_ = 0;                     // of the availability, likewise, laps counted
  double random_at_s_ = kNever;                    // next of the node's own
  double back_s_ = 0;                              // end of the last revocation
  std::optional<Revocation> above_bid_, missing_;  // the next of each
  std::optional<Revocation> away_;                 // of the two together
};

// What happens to nodes whatever runs on them: failures and repairs, slow spells, maintenance, spot nodes that are taken away.
// Every node has streams of its own, so that its dates depend on no policy, no job and no other node.

enum class FailureLaw : std::uint8_t { none, exponential, weibull };
enum class RepairLaw : std::uint8_t { exponential, fixed };

/// From the end of a repair to the next failure, and from there to the end of the repair.
struct Outages {
  FailureLaw law = FailureLaw::none;
  double mtbf_s = kNever;  ///< mean of the time up
  double shape = 1;        ///< of Weibull's law; below 1 failures come in bursts, above 1 nodes wear out
  RepairLaw repair = RepairLaw::exponential;
  double repair_s = 0;  ///< mean of the time down, positive
};

/// A failure that was measured, or is asked for.
struct Outage {
  PoolId pool = 0;
  int node = 0;
  double time_s = 0;
  double down_s = 0;  ///< positive
};

/// Spells in which a node is slow; the time between two and the time of one are exponential.
struct SlowSpells {
  double between_s = kNever;  ///< mean
  double lasts_s = 0;         ///< mean, positive
  double speed = 1;           ///< of the node meanwhile, in (0, 1]
};

/// Nodes [first_node, first_node + nodes) of a pool are away from `start_s` on. Nothing new starts on them from `announced_s`
/// before on; what still runs when it begins writes a checkpoint and queues again.
struct Maintenance {
  PoolId pool = 0;
  int first_node = 0;
  int nodes = 1;
  double start_s = 0;
  double duration_s = 0;  ///< positive
  double announced_s = 0;
  double every_s = kNever;  ///< start to start, above announced_s + duration_s
};

struct NodeRules {
  Outages outages;
  std::vector<Outage> measured;  ///< in addition
  SlowSpells slow;
  std::vector<Maintenance> maintenance;
  int max_restarts = 100;  ///< a job whose nodes fail once more has failed
  std::uint64_t seed = 0, repetition = 0;
};
/// Whether anything ever happens to a node.
bool has_node_events(const Cluster& cluster, const NodeRules& rules);

enum class NodeChange : std::uint8_t { failed, repaired, slow, normal, announced, closed, opened, warned, revoked, replaced };
std::string_view name_of(NodeChange change);

/// Of the nodes [first_node, first_node + nodes).
struct NodeEvent {
  double date_s = kNever;
  NodeChange change = NodeChange::failed;
  PoolId pool = 0;
  int first_node = 0;
  int nodes = 1;
};

/// POOL/INDEX, the index from 0: in keys of streams, in traces and in records.
std::string node_name(const Cluster& cluster, PoolId pool, int node);

/// Failures and revocations at random a second of one node of the pool while it is up, on average; 0 when there are none.
double failure_rate(const Cluster& cluster, const NodeRules& rules, PoolId pool);

/// Mean time between failures of any node of the layout, `rates` the failures a second of one node, by pool; kNever when none
/// ever fails.
double mtbf_s(std::span<const double> rates, const Configuration& configuration, const Layout& layout);

class NodeEvents {
 public:
  NodeEvents(const Cluster& cluster, const NodeRules& rules);
  std::size_t streams() const { return streams_.size(); }
  /// The next event of a stream; dates never decrease. kNever after its last one.
  NodeEvent next(std::size_t stream);

 private:
  enum class Kind : std::uint8_t { outages, measured, slow, maintenance, spot };
  struct Stream {
    Kind kind;
    PoolId pool = 0;
    int node = 0, nodes = 1;
    Random random{0};
    std::size_t first = 0, end = 0;  // of measured_, of the rules' maintenance, or of spot_nodes_
    std::uint64_t count = 0;         // of events so far
    double last_s = 0;               // date of the last one
  };
  double time_up(Random& random) const;
  double time_down(Random& random) const;
  void add_streams_of_nodes(const Cluster& cluster);
  void add_measured();
  NodeEvent next_outage(Stream& stream) const;
  NodeEvent next_spell(Stream& stream) const;
  NodeEvent next_measured(const Stream& stream) const;
  NodeEvent next_maintenance(const Stream& stream) const;
  NodeEvent next_revocation(const Stream& stream);
  struct SpotNode {
    NodeRevocations revocations;
    Revocation now;
  };
  const NodeRules& rules_;
  std::vector<Outage> measured_;  // by node, then date; those that overlap are one
  std::vector<SpotNode> spot_nodes_;
  std::vector<Stream> streams_;
};

// What the replay keeps of its nodes while they can fail: who runs on each, how fast it is, and the next event of each stream.

struct NodeWatch {
  NodeWatch(const Cluster& cluster, const NodeRules& rules)
      : events(cluster, rules), next(events.streams()), pushed(events.streams()), slow_speed(rules.slow.speed) {
    for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
      nodes.emplace_back(static_cast<std::size_t>(cluster.pools[p].nodes));
      rates.push_back(failure_rate(cluster, rules, static_cast<PoolId>(p)));
      revocations.push_back(0);
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

  NodeEvents events;
  std::vector<NodeEvent> next;  ///< by stream
  std::vector<EventHandle> pushed;
  std::size_t live = 0;           ///< of them, in the queue of events
  int gone = 0;                   ///< nodes that were taken away for ever
  std::vector<long> revocations;  ///< by pool, so far
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
