// Jobs that are not stopped, in order of the service they are predicted to need, and pairs of them on one device where
// measurements of their kinds say that they bear it. Hu et al., "Lucid: A Non-intrusive, Scalable and Interpretable Scheduler for
// Deep Learning Training Jobs", ASPLOS 2023.
#pragma once

#include <vector>

#include "policies/queue/durations.hpp"
#include "policies/queue/ordered_queue.hpp"
#include "sim/nodes/sharing.hpp"
#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

struct PackingParameters {
  int most_score = 2;        ///< of the two on one device together; -1: nobody is put beside another
  double longest_ratio = 2;  ///< of a job's priority to that of the one that it is put beside
  Durations durations = Durations();
};

/// How ill a job bears another beside it, by its mean measured speed there: 0 from 0.95 on, 1 from 0.85 on, else 2.
int packing_score(double mean_speed);

/// Those that wait are looked at in order of predicted time x devices as they were submitted. A job that leaves room on its
/// device (Job::gpu_fraction) goes beside the first to start of those that are alone on such a device of its pool, when their
/// scores sum to `most_score` at most, its priority is at most `longest_ratio` times the other's, and there is memory; never a
/// third. Else any job that finds free devices, on the fewest nodes that could ever hold it, starts on them, those with several
/// parts too; no job is kept waiting for another.
class Packing final : public sim::Queue {
 public:
  explicit Packing(const PackingParameters& parameters) : parameters_(parameters) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  static constexpr sim::JobSlot kNobody = ~sim::JobSlot{0};
  struct Known {
    double priority = -1;           // as it was submitted
    sim::JobSlot beside = kNobody;  // with whom it shares its device
    int score = 2;
    std::uint64_t started = 0;   // counts starts
    sim::NodeShare device = {};  // of one that leaves room on it
    bool runs = false;
  };
  void take_up(const sim::QueueView& view);
  void leaves_devices(sim::JobSlot slot);
  sim::JobSlot partner(const sim::QueueView& view, sim::JobSlot slot) const;
  void start_beside(const sim::QueueView& view, sim::JobSlot slot, sim::JobSlot other, sim::QueueAnswer& answer);
  bool start_alone(const sim::QueueView& view, sim::JobSlot slot, sim::QueueAnswer& answer);

  PackingParameters parameters_;
  std::vector<Known> known_;  // by slot
  OrderedQueue waiting_;      // by priority
  OrderedQueue alone_;        // of those that leave room on their device, by start
  std::uint64_t starts_ = 0;
  std::vector<int> free_;                  // by pool, in this decision: within a quota fewer than on its nodes
  std::vector<sim::Nodes> nodes_;          // likewise
  std::vector<sim::DeviceShares> shares_;  // likewise
};

}  // namespace rehearse::policies
