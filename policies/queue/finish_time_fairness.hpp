// Finish-time fairness: rho = time in the shared cluster / time alone in an equal part of it. Devices come with a lease; those
// that are free or whose lease is over are offered to the jobs of largest rho, and go to those among them that gain most by them.
// Mahajan et al., "Themis: Fair and Efficient GPU Cluster Scheduling", NSDI 2020, section 3.
#pragma once

#include <vector>

#include "policies/queue/job_plan.hpp"
#include "policies/queue/stays.hpp"

namespace rehearse::policies {

struct FinishTimeFairnessParameters {
  double lease_s = 1200;
  double filter = 0.8;  ///< f: devices are offered to the 1 - f of the jobs that are worst off (section 3.3), to one at least
};

/// What rho is made of. All in seconds but the counts.
struct FinishTime {
  double elapsed_s = 0;    ///< since the job was submitted
  double remaining_s = 0;  ///< from now on, with its devices
  double alone_s = 0;      ///< its whole length, with its devices
  double devices = 0;
  double pool_devices = 0;
  double contention = 1;  ///< jobs of the pool, time average since the job was submitted; at least 1

  /// With less than its devices in its part of the pool the job would be as much slower (section 3.2).
  double rho() const;
};

/// Jobs run the first entry of their menu that could ever fit, and are preempted only at the end of a lease, for another job. Who
/// has been in vain has a lease of twice the length the next time (stays.hpp).
class FinishTimeFairness final : public sim::Queue {
 public:
  explicit FinishTimeFairness(const FinishTimeFairnessParameters& parameters) : parameters_(parameters) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  struct Bid {
    double worth = 0;  // rho, then the gain
    std::uint64_t number = 0;
    sim::JobSlot slot = 0;
    bool operator>(const Bid& other) const { return worth != other.worth ? worth > other.worth : number < other.number; }
  };
  struct Pool {
    int devices = 0;
    int jobs = 0;      // waiting or running, by their first group
    double job_s = 0;  // integral of `jobs`
  };
  /// What a job's bid is made of. Of a waiting job nothing changes but the time, so that it is noted once: each decision goes
  /// through hundreds, whose views lie far apart.
  struct Entry {
    int pool = -1;            // -1: unknown
    double job_s_before = 0;  // of its pool, at its arrival
    std::uint64_t number = 0;
    bool bids = false;   // it stands in bids_
    bool waits = false;  // the rest stays as it is
    double submit_s = 0, remaining_s = 0, alone_s = 0, devices = 0;
    sim::Group room;  // the first that it needs to get a lease
  };
  void take_up(const sim::QueueView& view);
  void note(const sim::QueueView& view, sim::JobSlot slot);
  void join(sim::JobSlot slot);
  double rho(const Entry& entry, double now_s) const;
  bool may_fit(const Entry& entry) const;
  bool some_left() const;
  std::vector<sim::JobSlot> expired(const sim::QueueView& view);
  void take_bids(const sim::QueueView& view, const std::vector<sim::JobSlot>& expired);
  void auction(const sim::QueueView& view, const std::vector<sim::JobSlot>& expired);
  void give(const sim::QueueView& view, sim::JobSlot slot);

  FinishTimeFairnessParameters parameters_;
  JobPlan plan_;
  std::vector<Pool> pools_;
  std::vector<Entry> entries_;  // by slot
  std::vector<Bid> bids_;       // as the last auction left them, nearly in order; of jobs without a plan, and some that have gone
  OrderedQueue leases_;         // of planned jobs, by their ends
  Stays stays_;
  double counted_s_ = 0;
};

}  // namespace rehearse::policies
