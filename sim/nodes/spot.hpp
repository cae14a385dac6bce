// When a spot pool's nodes are taken away: all of them while the price is above the bid, and each by itself at random.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/jobs/job.hpp"

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
  const Pool& pool_;
  PoolId id_;
  int node_;
  Random random_;
  std::size_t step_ = 0;         // of the prices, not yet looked at
  double random_at_s_ = kNever;  // next of the node's own
  double back_s_ = 0;            // end of the last revocation
  std::optional<Revocation> above_bid_;
};

}  // namespace rehearse::sim
