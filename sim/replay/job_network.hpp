// Jobs over several nodes share the nodes' network cards and the racks' uplinks: each is one flow over all links of its ring,
// with the bytes a second that it asks for as its cap, and rates are max-min (docs/model.md, "Shared network").
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/engine/max_min.hpp"
#include "sim/engine/simgrid_rates.hpp"
#include "sim/replay/configuration.hpp"
#include "sim/replay/models.hpp"

namespace rehearse::sim {

/// `simgrid`: rates are SimGrid's, and a check fails unless MaxMin's are equal to 1e-9.
enum class NetworkSolver : std::uint8_t { fast, simgrid };

class JobNetwork {
 public:
  /// The cluster must have a network.
  JobNetwork(const Cluster& cluster, NetworkSolver solver);
  /// A job that runs on more than one node asks for so many bytes a second of each link of its ring.
  void join(JobSlot job, const Configuration& configuration, const Layout& layout, double bytes_per_s);
  /// No effect on a job that has not joined.
  void leave(JobSlot job);
  /// After a change: the jobs whose rates may have changed. Good until the next call.
  std::span<const JobSlot> solve();
  /// What the job gets of what it asked for, in (0, 1].
  double share(JobSlot job) const;

 private:
  struct Flow {
    std::vector<std::int32_t> links;
    double cap = 0, rate = 0;
    JobSlot job = 0;
  };
  void find_links(const Configuration& configuration, const Layout& layout, std::vector<std::int32_t>& links) const;
  void ask_simgrid(std::span<const std::int32_t> changed);

  static constexpr int kNone = -1;
  int nodes_per_rack_;
  std::vector<int> first_node_, first_rack_;  // of each pool: their links. A link is both directions: a ring loads them alike
  std::vector<double> capacities_;
  MaxMin rates_;
  std::vector<Flow> flows_;                        // by group of rates_
  std::vector<int> group_of_;                      // by job; kNone
  std::map<std::size_t, std::vector<int>> spare_;  // groups without a job, by their number of links
  std::vector<JobSlot> changed_;
  std::unique_ptr<SimGridRates> simgrid_;
};

}  // namespace rehearse::sim
