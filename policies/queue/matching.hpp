// Jobs matched with places in the order of each device, so that the sum of their completion times is least. Le, Sun, Chowdhury,
// Liu, "AlloX: Compute Allocation in Hybrid Clusters", EuroSys 2020; Bruno, Coffman, Sethi, CACM 17(7), 1974.
#pragma once

#include <vector>

#include "policies/queue/job_plan.hpp"

namespace rehearse::policies {

/// Devices that are alike to every job but for when they come free.
struct MatchedDevice {
  std::size_t pool = 0;
  double free_in_s = 0;
};

/// Of a job: the device, and how many jobs are before it there.
struct MatchedPlace {
  std::size_t device = 0;
  int before = 0;
};

/// A place for each job, in order of jobs, of the least sum of completion times. A job that is the k-th from the end of a device
/// is in the sum k times, for itself and those behind it: a place costs free_in_s + k x seconds, whoever has the others. So this
/// is a matching of least cost, found job by job with shortest augmenting paths. `seconds[job][pool]`: above 0, infinite where
/// the job cannot run; each must be finite on some device.
std::vector<MatchedPlace> least_completion_sum(const std::vector<std::vector<double>>& seconds,
                                               const std::vector<MatchedDevice>& devices);

struct MatchingParameters {
  double share = 1;   ///< of those who wait, the first to arrive: they are matched, at least as many as devices are free
  int most = 200;     ///< jobs that are matched at once
  bool plans = true;  ///< with devices that are held too, free when their jobs are expected to end; else with free ones alone
};

/// Matches anew whenever jobs have come or ended, and starts who is first on a free device; nobody is stopped. On each
/// pool a job runs the first entry of its menu that stands there. A job of several devices counts as one that is as many times as
/// long on one; it starts when it is first and so many are free, and nobody behind it passes it on its pool meanwhile.
class Matching final : public sim::Queue {
 public:
  explicit Matching(const MatchingParameters& parameters) : parameters_(parameters) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  struct Waiting {
    sim::JobSlot slot = 0;
    std::vector<int> entries = {};  // by pool, of its menu; -1: none stands there
  };
  std::vector<Waiting> first_waiting(const sim::QueueView& view);
  std::vector<MatchedDevice> devices(const sim::QueueView& view, std::size_t jobs) const;
  void match(const sim::QueueView& view);
  bool plan_if_it_fits(const sim::QueueView& view, sim::JobSlot slot, int entry);

  MatchingParameters parameters_;
  JobPlan plan_;
};

}  // namespace rehearse::policies
