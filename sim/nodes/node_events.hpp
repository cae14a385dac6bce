// What happens to nodes whatever runs on them: failures and repairs, slow spells, maintenance, spot nodes that are taken away.
// Every node has streams of its own, so that its dates depend on no policy, no job and no other node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/jobs/job.hpp"
#include "sim/nodes/spot.hpp"

namespace rehearse::sim {

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

}  // namespace rehearse::sim
