// Disciplines that are an order and no more.
#pragma once

#include "policies/queue/durations.hpp"
#include "policies/queue/line_queue.hpp"
#include "sim/base/units.hpp"

namespace rehearse::policies {

// Earliest deadline first (Liu and Layland, JACM 20(1), 1973; Jackson's rule without preemption). Jobs without a deadline come
// last.

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

// Priority with ageing: a job's priority grows by `ageing_per_hour` from its submission on, as in Slurm's multifactor plugin
// (Yoo, Jette, Grondona, JSSPP 2003). All grow alike, so the order of two jobs never changes: it is that of priority - ageing x
// date.

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

// Shortest job first: the waiting job that will take the least time is next; running ones are left alone (Smith, Naval Research
// Logistics Quarterly 3, 1956). Shortest remaining time first also takes devices from running jobs that still need more than it
// does (Schrage, Operations Research 16(3), 1968).

struct ShortestJobParameters {
  bool preempt = false;  ///< shortest remaining time first
  Durations::Source durations = Durations::Source::predicted;
  sim::Placement placement = sim::Placement::consolidated;
};

class ShortestJob final : public LineQueue {
 public:
  explicit ShortestJob(const ShortestJobParameters& parameters = {})
      : LineQueue(parameters.placement), preempt_(parameters.preempt), durations_(parameters.durations) {}
  Durations& durations() { return durations_; }

 private:
  double waiting_key(const sim::QueueView& view, sim::JobSlot slot) override { return durations_.remaining_s(view, slot); }
  /// The date at which it is believed to end: constant while it runs, in the order of what remains.
  double running_key(const sim::QueueView& view, sim::JobSlot slot) override {
    return preempt_ ? view.now_s + durations_.remaining_s(view, slot) : 0;
  }
  bool beats(const sim::QueueView& view, const Item& waiting, const Item& running) const override {
    // Less by less than a tick of the dates is a tie: else rounding lets two jobs take the devices from each other for ever.
    return preempt_ && waiting.key + sim::kDateGrid < running.key - view.now_s;
  }

  bool preempt_;
  Durations durations_;
};

}  // namespace rehearse::policies
