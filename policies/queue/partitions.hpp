// Partitions (virtual clusters): each has users and a quota of nodes in each pool, and a discipline of its own that sees nothing
// else. As in Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters for DNN Training Workloads", USENIX ATC 2019,
// section 2.3.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

struct Partition {
  std::string name;
  std::vector<std::string> users;    ///< none: everybody who is in no other partition
  std::map<std::string, int> quota;  ///< nodes by pool; 0 of those not named
};

/// Quotas are upper limits: nothing is borrowed. They count devices, not certain nodes; where they add up to more than a pool,
/// the partitions are served in their order. A job that no entry of its menu fits into its partition, or whose user has none, is
/// rejected.
class Partitioned final : public sim::OracleQueue, public sim::Quotas {
 public:
  /// `make` gives each partition its discipline.
  template <class Make>
  Partitioned(std::vector<Partition> partitions, Make&& make) {
    for (Partition& partition : partitions) parts_.push_back({.partition = std::move(partition), .queue = make()});
  }
  void learn(const sim::Truth& truth) override;
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;
  bool has_room(sim::JobSlot slot, const sim::Configuration& configuration) const override;
  void take(sim::JobSlot slot, const sim::Configuration& configuration) override;

 private:
  struct Part {
    Partition partition;
    std::unique_ptr<sim::Queue> queue;
    sim::Cluster cluster;   // with the quota's nodes
    std::vector<int> left;  // devices by pool, of the quota
    std::vector<sim::JobSlot> queued, started, changed, ended;
    double wake_s = sim::kNever, acts_s = sim::kNever;  // as in sim::QueueAnswer; asked again before, it may name no new ones
  };
  struct Job {
    int part = -1;
    std::vector<sim::Group> held;    // what it may be growing by included
    std::vector<sim::Group> growth;  // devices that it takes when its checkpoint has ended
  };
  void set_up(const sim::QueueView& view);
  int part_of(const std::string& user) const;
  void sort_out(const sim::QueueView& view, sim::QueueAnswer& answer);
  bool take_up(const sim::QueueView& view, sim::JobSlot slot);
  void hold(const sim::QueueJob& job, sim::JobSlot slot);
  void keep_to_quota(Part& part);
  void ask(Part& part, const sim::QueueView& view, sim::QueueAnswer& answer);

  std::vector<Part> parts_;
  std::map<std::string, int> part_of_user_;
  int part_of_others_ = -1;
  std::vector<Job> jobs_;             // by slot
  std::vector<sim::QueueJob> shown_;  // by slot: as the disciplines see them
  std::vector<int> free_;             // devices by pool, of this decision
  std::vector<sim::Nodes> nodes_;     // by pool, once something has been started in this decision
  sim::QueueAnswer inner_;
};

}  // namespace rehearse::policies
