// Nodes of one pool as a cloud rents them out: each is paid for, whole, from the first device that a job takes of it until no job
// has one, and at least for a minimum time. Its price is split over the jobs on it by the devices that they hold; what nobody
// holds is theirs to pay too.
#pragma once

#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/jobs/configuration.hpp"

namespace rehearse::sim {

/// Dollars for time in which nobody else kept the node rented, and in which somebody did. Each is summed on its own: a
/// difference of sums that grow together for years leaves crumbs at each charge.
struct RentCharge {
  double alone_usd = 0, shared_usd = 0;
  double usd() const { return alone_usd + shared_usd; }
};

/// What a job holds of one node.
struct NodeRent {
  PoolId pool = 0;
  int node = 0;
  double devices = 0;     ///< a multiple of kShareGrid: sums are exact
  RentCharge per_device;  ///< the node's integrals when the job was last charged
};

class RentedNodes {
 public:
  /// `as_one`: the pool's nodes are one, given back together when no job has any of them.
  RentedNodes(const Pool& pool, double usd_per_node_s, double minimum_s, bool as_one = false);
  NodeRent take(double now_s, PoolId pool, int node, double devices);
  /// Since the job was last charged.
  RentCharge settle(double now_s, NodeRent& rent);
  /// The same, and the job leaves; the last one on the node also pays the rest of its minimum time.
  RentCharge give_back(double now_s, NodeRent& rent);
  int rented() const { return rented_; }
  /// Of all rentals that have ended: the pool's bill, reckoned from their dates alone.
  double ended_usd() const { return ended_usd_; }

 private:
  struct Node {
    double held = 0;        // devices
    int jobs = 0;           // that hold them
    double since_s = 0;     // the integrals are up to here
    RentCharge per_device;  // of the node's price over the devices held
    double rented_since_s = 0;
    double paid_until_s = 0;   // by the minimum time of an earlier job; before that nobody pays again
    double billed_from_s = 0;  // of the rental under way, by ended_usd_
  };
  double usd(double from_s, double to_s) const;
  Node& advanced(double now_s, int node);
  const StepSeries* prices_;  // of a node, in dollars an hour; null: constant
  double usd_per_node_s_, minimum_s_;
  double nodes_in_one_;
  std::vector<Node> nodes_;
  int rented_ = 0;
  double ended_usd_ = 0;
};

}  // namespace rehearse::sim
