// Earliest deadline first (Liu and Layland, JACM 20(1), 1973; Jackson's rule without preemption). Jobs without a deadline come
// last.
#pragma once

#include "policies/queue/line_queue.hpp"

namespace rehearse::policies {

struct EarliestDeadlineParameters {
  bool preempt = true;
  sim::Placement placement = sim::Placement::consolidated;
};

class EarliestDeadline final : public LineQueue {
 public:
  explicit EarliestDeadline(const EarliestDeadlineParameters& parameters = {})
      : LineQueue(parameters.placement), preempt_(parameters.preempt) {}

 private:
  double waiting_key(const sim::QueueView& view, sim::JobSlot slot) override {
    const sim::Job& job = view.jobs[slot].job;
    return job.submit_s + job.deadline_s;
  }
  double running_key(const sim::QueueView& view, sim::JobSlot slot) override { return waiting_key(view, slot); }
  bool beats(const sim::QueueView&, const Item& waiting, const Item& running) const override {
    return preempt_ && waiting.key < running.key;
  }

  bool preempt_;
};

}  // namespace rehearse::policies
