// Jobs over several nodes share the nodes' network cards and the racks' uplinks: each is one flow over all links of its ring,
// with the bytes a second that it asks for as its cap, and rates are max-min (docs/explain/model.md, "Shared network"). So is the file
// system from which all jobs read: one more link, with a flow of each job that reads.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/engine/max_min.hpp"
#include "sim/engine/simgrid_rates.hpp"
#include "sim/jobs/configuration.hpp"
#include "sim/jobs/models.hpp"

namespace rehearse::sim {

/// `simgrid`: rates are SimGrid's, and a check fails unless MaxMin's are equal to 1e-9.
enum class NetworkSolver : std::uint8_t { fast, simgrid };

/// The racks of the cluster's nodes; none where it has no network.
Racks racks_of(const Cluster& cluster);

class JobNetwork {
 public:
  JobNetwork(const Cluster& cluster, NetworkSolver solver);
  /// Whether jobs of this cluster share anything.
  static bool is_needed(const Cluster& cluster);
  /// A job that runs on more than one node asks for so many bytes a second of each link of its ring. No effect without a network.
  void join(JobSlot job, const Configuration& configuration, const Layout& layout, double bytes_per_s);
  /// A job asks for so many bytes a second of the file system. No effect where that is not shared.
  void read(JobSlot job, double bytes_per_s);
  /// No effect on a job that has not joined.
  void leave(JobSlot job);
  /// After a change: the jobs whose rates may have changed. Good until the next call.
  std::span<const JobSlot> solve();
  /// What the job gets of what it asked for, in (0, 1], where it gets least; 1 when it asked for nothing.
  double share(JobSlot job) const;

 private:
  JobNetwork(const Cluster& cluster, const Racks& racks, NetworkSolver solver);
  struct Flow {
    std::vector<std::int32_t> links;
    double cap = 0, rate = 0;
    JobSlot job = 0;
  };
  void find_links(const Configuration& configuration, const Layout& layout, std::vector<std::int32_t>& links) const;
  void ask_simgrid(std::span<const std::int32_t> changed);

  enum Use : std::size_t { exchange, input };
  static constexpr int kNone = -1;
  void add(JobSlot job, Use use, std::vector<std::int32_t> links, double bytes_per_s);

  // Links; each stands for both directions: a ring loads them alike.
  std::vector<int> first_node_;                 // of each pool: its nodes' cards
  std::vector<int> uplinks_;                    // of each rack; kNone: unlimited
  std::vector<std::vector<int>> rack_of_node_;  // of each pool; empty: no network
  int storage_ = kNone;
  std::vector<double> capacities_;
  MaxMin rates_;
  std::vector<Flow> flows_;                        // by group of rates_
  std::vector<std::array<int, 2>> groups_of_;      // by job and Use; kNone
  std::map<std::size_t, std::vector<int>> spare_;  // groups without a job, by their number of links
  std::vector<JobSlot> changed_;
  std::unique_ptr<SimGridRates> simgrid_;
};

}  // namespace rehearse::sim
