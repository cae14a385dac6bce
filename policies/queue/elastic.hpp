// Elastic jobs: in each round all devices are given out anew by marginal gains over the entries of the jobs' menus
// (elastic_allocation), whose predicted times say how fast a job progresses: throughput times statistical efficiency.
//   goodput   Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning", OSDI 2021
//   optimus   Peng et al., "Optimus: An Efficient Dynamic Resource Scheduler for Deep Learning Clusters", EuroSys 2018
#pragma once

#include <vector>

#include "policies/queue/elastic_allocation.hpp"
#include "policies/queue/job_plan.hpp"

namespace rehearse::policies {

struct ElasticParameters {
  ElasticGain gain = ElasticGain::speedup;
  double round_s = 60;   ///< the papers': 60 for Pollux, 600 for Optimus
  double switch_s = 40;  ///< that a change must save: about what a checkpoint and a start take
};

/// Jobs that run are resized but never stopped; jobs that wait join in order of arrival. Between rounds, devices that are free go
/// to waiting jobs, each with its smallest entry.
class Elastic final : public sim::Queue {
 public:
  explicit Elastic(const ElasticParameters& parameters) : parameters_(parameters) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  void meet(const sim::QueueView& view, sim::JobSlot slot);
  ElasticJob elastic(const sim::QueueView& view, sim::JobSlot slot) const;
  void round(const sim::QueueView& view);
  int smallest(const sim::QueueView& view, sim::JobSlot slot, const std::vector<char>& closed) const;
  void fill(const sim::QueueView& view);

  ElasticParameters parameters_;
  JobPlan plan_;
  std::vector<int> capacity_;                      // devices by pool
  std::vector<std::vector<ElasticChoice>> menus_;  // by slot; remaining_s: the whole job's
  double next_round_s_ = 0;
};

}  // namespace rehearse::policies
