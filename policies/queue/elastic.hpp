// Devices for elastic jobs by marginal gains: every job begins with its smallest choice, then again and again the change that
// gains most for the devices it takes is made. Optimal where gains diminish and the pools are one (Fox, Operations Research
// 14(2), 1966).
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "policies/queue/job_plan.hpp"

namespace rehearse::policies {

/// What a change of choice is worth, r being predicted remaining seconds.
enum class ElasticGain : std::uint8_t {
  speedup,  ///< (r^p - r'^p) / r_fair^p: what the mean of speedup^-p falls by. Pollux' fitness at its p = -1 (Qiao et al.,
            ///< OSDI 2021, section 4.2), Sia's objective at its p = -0.5 (Jayaram Subramanya et al., SOSP 2023, section 3.4)
  seconds,  ///< r - r': Optimus (Peng et al., EuroSys 2018, section 4.1)
};

/// An entry of a job's menu.
struct ElasticChoice {
  int entry = 0;
  int pool = 0;
  int devices = 0;
  double remaining_s = 0;  ///< > 0
};

struct ElasticJob {
  std::vector<ElasticChoice> choices;  ///< none: it gets nothing
  int current = -1;                    ///< index of the choice that it runs; -1: it waits
};

/// Index of the choice of each job, -1: none. `capacity`: devices of each pool. Jobs come in order, those that
/// run before those that wait: one that nothing is left for keeps those behind it out of its pools. A job keeps its current
/// choice, if that fits in the end, unless another one saves more than `switch_s`. `power`: p of speedup.
std::vector<int> elastic_allocation(const std::vector<ElasticJob>& jobs, const std::vector<int>& capacity, ElasticGain gain,
                                    double switch_s, double power = 1);

// Elastic jobs: in each round all devices are given out anew by marginal gains over the entries of the jobs' menus
// (elastic_allocation), whose predicted times say how fast a job progresses: throughput times statistical efficiency.
//   goodput   Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning", OSDI 2021
//   optimus   Peng et al., "Optimus: An Efficient Dynamic Resource Scheduler for Deep Learning Clusters", EuroSys 2018

struct ElasticParameters {
  ElasticGain gain = ElasticGain::speedup;
  double round_s = 60;   ///< the papers': 60 for Pollux, 600 for Optimus
  double power = 1;      ///< of speed-ups
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
  void tell(const sim::QueueView& view, sim::JobSlot slot, ElasticJob& job) const;
  void round(const sim::QueueView& view);
  int smallest(const sim::QueueView& view, sim::JobSlot slot, const std::vector<char>& closed) const;
  void fill(const sim::QueueView& view);

  ElasticParameters parameters_;
  JobPlan plan_;
  std::vector<int> capacity_;                      // devices by pool
  std::vector<std::vector<ElasticChoice>> menus_;  // by slot; remaining_s: the whole job's
  std::deque<ElasticJob> told_;                    // of the last round; kept for their memory
  double next_round_s_ = 0;
};

}  // namespace rehearse::policies
