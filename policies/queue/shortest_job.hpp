// Shortest job first: the waiting job that will take the least time is next; running ones are left alone (Smith, Naval Research
// Logistics Quarterly 3, 1956). Shortest remaining time first also takes devices from running jobs that still need more than it
// does (Schrage, Operations Research 16(3), 1968).
#pragma once

#include "policies/queue/durations.hpp"
#include "policies/queue/line_queue.hpp"
#include "sim/base/units.hpp"

namespace rehearse::policies {

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
