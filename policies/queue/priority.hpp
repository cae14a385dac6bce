// Priority with ageing: a job's priority grows by `ageing_per_hour` from its submission on, as in Slurm's multifactor plugin
// (Yoo, Jette, Grondona, JSSPP 2003). All grow alike, so the order of two jobs never changes: it is that of priority - ageing x
// date.
#pragma once

#include "policies/queue/line_queue.hpp"

namespace rehearse::policies {

struct PriorityParameters {
  double ageing_per_hour = 0;
  bool preempt = true;  ///< of running jobs that come later in the order
  sim::Placement placement = sim::Placement::consolidated;
};

class Priority final : public LineQueue {
 public:
  explicit Priority(const PriorityParameters& parameters = {}) : LineQueue(parameters.placement), parameters_(parameters) {}

 private:
  double waiting_key(const sim::QueueView& view, sim::JobSlot slot) override {
    const sim::Job& job = view.jobs[slot].job;
    return parameters_.ageing_per_hour / 3600 * job.submit_s - job.priority;
  }
  double running_key(const sim::QueueView& view, sim::JobSlot slot) override { return waiting_key(view, slot); }
  bool beats(const sim::QueueView&, const Item& waiting, const Item& running) const override {
    return parameters_.preempt && waiting.key < running.key;
  }

  PriorityParameters parameters_;
};

}  // namespace rehearse::policies
