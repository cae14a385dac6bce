// Which nodes of an autoscaled pool are there: rented when a job takes them, let go when nobody has held them for a while.
#pragma once

#include <queue>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/jobs/configuration.hpp"
#include "sim/jobs/job.hpp"

namespace rehearse::sim {

class Autoscaler {
 public:
  /// The pool must be autoscaled.
  explicit Autoscaler(const Pool& pool);
  int nodes_up() const { return up_; }
  double boot_s() const { return rules_.boot_s; }
  /// When the next node goes away, if nobody takes it before; kNever when none does.
  double next_release_s();
  /// Lets it go.
  void release();
  /// A job takes devices of these nodes. How many of them must boot.
  int take(std::span<const NodeShare> shares);
  void give_back(double now_s, std::span<const NodeShare> shares);
  /// The cloud takes a node away, which nobody holds any more, and offers one in its place.
  void lose(int node);
  void replace(int node);

 private:
  struct Node {
    int held = 0;  // devices
    bool up = false;
    double idle_until_s = kNever;
  };
  struct Release {
    double date_s;
    int node;
    bool operator>(const Release& o) const { return date_s != o.date_s ? date_s > o.date_s : node > o.node; }
  };
  Autoscale rules_;
  std::vector<Node> nodes_;
  int up_ = 0;
  std::priority_queue<Release, std::vector<Release>, std::greater<>> releases_;  // some of them of nodes taken since
};

}  // namespace rehearse::sim
