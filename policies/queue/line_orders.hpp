// Disciplines that are an order and no more.
#pragma once

#include "policies/queue/durations.hpp"
#include "policies/queue/line_queue.hpp"
#include "sim/base/units.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::policies {

/// First come, first served: one queue over all pools in which nobody overtakes. The head starts at the first entry of its
/// menu that could ever fit, and waits for it. With `per_pool` each pool has a line of its own.

struct FifoParameters {
  bool per_pool = false;
  LineOptions line = {};
};
class Fifo final : public LineQueue {
 public:
  explicit Fifo(const FifoParameters& parameters = {}) : LineQueue(options(parameters)) {}

 private:
  static LineOptions options(const FifoParameters& parameters) {
    LineOptions options = parameters.line;
    options.one_line = !parameters.per_pool;
    return options;
  }
  double waiting_key(const sim::QueueView&, sim::JobSlot) override { return 0; }
};

// Disciplines that are an order and no more.

// Earliest deadline first (Liu and Layland, JACM 20(1), 1973; Jackson's rule without preemption). Jobs without a deadline come
// last. A job may be scaled to the size with which it is predicted to end soonest (EDF of ElasticFlow's simulator).

struct EarliestDeadlineParameters {
  bool preempt = true;
  bool quickest = false;  ///< else each job's first entry that could ever fit
  LineOptions line = {};
};

class EarliestDeadline final : public LineQueue {
 public:
  explicit EarliestDeadline(const EarliestDeadlineParameters& parameters = {})
      : LineQueue(parameters.line), preempt_(parameters.preempt), quickest_(parameters.quickest) {}

 private:
  double waiting_key(const sim::QueueView& view, sim::JobSlot slot) override {
    const sim::Job& job = view.jobs[slot].job;
    return job.submit_s + job.deadline_s;
  }
  double running_key(const sim::QueueView& view, sim::JobSlot slot) override { return waiting_key(view, slot); }
  /// Of the quickest ones the one of fewest workers.
  int entry_of(const sim::QueueView& view, const sim::QueueJob& job) override {
    if (!quickest_) return job.first_fitting_entry;
    int best = job.first_fitting_entry;
    for (int entry = 0; entry < static_cast<int>(job.menu.ranked.size()); ++entry) {
      const sim::Choice &choice = job.menu.ranked[static_cast<std::size_t>(entry)],
                        &least = job.menu.ranked[static_cast<std::size_t>(best)];
      const double time_s = choice.predicted.time_s, least_s = least.predicted.time_s;
      const bool better =
          time_s < least_s || (time_s == least_s && choice.configuration.workers() < least.configuration.workers());
      if (better && sim::could_ever_fit(*view.cluster, choice.configuration)) best = entry;
    }
    return best;
  }
  bool preempts() const override { return preempt_; }
  bool beats(const sim::QueueView&, const Item& waiting, const Item& running) const override { return waiting.key < running.key; }

  bool preempt_, quickest_;
};

// Priority with ageing: a job's priority grows by `ageing_per_hour` from its submission on, as in Slurm's multifactor plugin
// (Yoo, Jette, Grondona, JSSPP 2003). All grow alike, so the order of two jobs never changes: it is that of priority - ageing x
// date.

struct PriorityParameters {
  double ageing_per_hour = 0;
  bool preempt = true;  ///< of running jobs that come later in the order
  LineOptions line = {};
};

class Priority final : public LineQueue {
 public:
  explicit Priority(const PriorityParameters& parameters = {}) : LineQueue(parameters.line), parameters_(parameters) {}

 private:
  double waiting_key(const sim::QueueView& view, sim::JobSlot slot) override {
    const sim::Job& job = view.jobs[slot].job;
    return parameters_.ageing_per_hour / 3600 * job.submit_s - job.priority;
  }
  double running_key(const sim::QueueView& view, sim::JobSlot slot) override { return waiting_key(view, slot); }
  bool preempts() const override { return parameters_.preempt; }
  bool beats(const sim::QueueView&, const Item& waiting, const Item& running) const override { return waiting.key < running.key; }

  PriorityParameters parameters_;
};

// Shortest job first: the waiting job that will take the least time is next; running ones are left alone (Smith, Naval Research
// Logistics Quarterly 3, 1956). Shortest remaining time first also takes devices from running jobs that still need more than it
// does (Schrage, Operations Research 16(3), 1968). The same by remaining service, time x devices (Helios, SC 2021; Tiresias'
// code), or by devices alone.

enum class JobMeasure : std::uint8_t { time, service, devices };

struct ShortestJobParameters {
  bool preempt = false;  ///< shortest remaining time first
  Durations::Source durations = Durations::Source::predicted;
  JobMeasure measure = JobMeasure::time;
  LineOptions line = {};
};

class ShortestJob final : public LineQueue {
 public:
  explicit ShortestJob(const ShortestJobParameters& parameters = {})
      : LineQueue(parameters.line),
        preempt_(parameters.preempt),
        measure_(parameters.measure),
        durations_(parameters.durations) {}
  Durations& durations() { return durations_; }

 private:
  double waiting_key(const sim::QueueView& view, sim::JobSlot slot) override { return remaining(view, slot); }
  /// Of time, the date at which it is believed to end: constant while it runs, in the order of what remains. Remaining service
  /// falls the faster the more devices a job has: reckoned anew when it matters.
  double running_key(const sim::QueueView& view, sim::JobSlot slot) override {
    if (!preempt_) return 0;
    return (measure_ == JobMeasure::time ? view.now_s : 0) + remaining(view, slot);
  }
  void prepare(const sim::QueueView& view) override {
    if (!preempt_ || measure_ != JobMeasure::service || !somebody_waits()) return;
    running_.clear();
    for_each_running([this](sim::JobSlot slot) { running_.push_back(slot); });
    for (const sim::JobSlot slot : running_) change_key(slot, remaining(view, slot));
  }
  bool preempts() const override { return preempt_; }
  bool beats(const sim::QueueView& view, const Item& waiting, const Item& running) const override {
    // Less by less than a tick of the dates is a tie: else rounding lets two jobs take the devices from each other for ever.
    return waiting.key + sim::kDateGrid < running.key - (measure_ == JobMeasure::time ? view.now_s : 0);
  }
  double remaining(const sim::QueueView& view, sim::JobSlot slot) const {
    const sim::QueueJob& job = view.jobs[slot];
    const int entry = job.service.entry >= 0 ? job.service.entry : job.first_fitting_entry;
    const sim::Configuration& held = job.menu.ranked[static_cast<std::size_t>(entry)].configuration;
    const double devices = held.devices_held();
    if (measure_ == JobMeasure::devices) return devices;
    return durations_.remaining_s(view, slot) * (measure_ == JobMeasure::service ? devices : 1);
  }

  bool preempt_;
  JobMeasure measure_;
  Durations durations_;
  std::vector<sim::JobSlot> running_;  // of a decision
};

}  // namespace rehearse::policies
