// The levels of attained service at which jobs change their queue, and the Gittins index of a job: the chance that it ends within
// a quantum of further service, over the service that this takes (Gittins, JRSS B 41(2), 1979; Gu et al., Tiresias, NSDI 2019,
// section 3.2, and its code: the index of the next service at which a known job has ended).
#pragma once

#include <vector>

#include "policies/parameters.hpp"
#include "policies/queue/line_queue.hpp"

namespace rehearse::policies {

class ServiceLevels {
 public:
  /// Level i begins at first x ratio^(i-1) device-seconds, level 0 at none.
  ServiceLevels(int levels, double first_device_s, double ratio);
  int count() const { return static_cast<int>(begins_.size()); }
  double begin(int level) const { return begins_[static_cast<std::size_t>(level)]; }
  /// Infinite of the last level.
  double end(int level) const;
  int level_of(double device_s) const;

 private:
  std::vector<double> begins_;
};

class GittinsIndex {
 public:
  explicit GittinsIndex(double quantum_device_s) : quantum_device_s_(quantum_device_s) {}
  /// A job ends after so much service. The index takes it up with the next `renew`.
  void learn(double device_s) { new_.push_back(device_s); }
  /// True when so many were learned since the last time that the index is made anew: a twentieth of all.
  bool renew();
  /// 1/device-seconds: of a job that has had so much service; beyond all that is known, less than any of these, and the less the
  /// more it has had.
  double of(double device_s) const;
  /// The service at which the index of such a job is next another one; infinite beyond all that is known.
  double changes_at(double device_s) const;

 private:
  double quantum_device_s_;
  std::vector<double> services_;  // ascending
  std::vector<double> index_;     // of jobs that have had less than each, and not less than the one before
  std::vector<double> new_;
};

// Least attained service, in device-seconds of work, over discrete levels: within a level jobs go by arrival, by their first
// service, or those that wait behind those that run, so that they do not take turns (Gu et al., Tiresias, NSDI 2019,
// section 3.3). Needs no duration. With `gittins` there are no levels: each job is ranked by the index of its own service. A job
// that has waited `promote_after` times as long as it has run begins again without any service.

struct LeastAttainedServiceParameters {
  int levels = 2;
  double threshold_device_s = 3600;  ///< where level 1 begins
  double ratio = 10;                 ///< of the beginnings of a level and the one before
  bool gittins = false;
  double quantum_device_s = 3250;
  double index_growth = 0.01;  ///< share of its service by which a running job's grows, at least, until its index is another one
  NumberOfName services = {};  ///< device-seconds of jobs that are known to end; none: those that have ended in the run
  double promote_after = 0;    ///< 0: never
  LineOptions line = {};
};

class LeastAttainedService final : public LineQueue {
 public:
  explicit LeastAttainedService(const LeastAttainedServiceParameters& parameters = {});

 private:
  struct Job {
    std::uint64_t number = ~std::uint64_t{0};
    int level = 0;
    double attained_device_s = 0;  ///< in work since its last promotion, until it last began or stopped
    double total_device_s = 0;     ///< since its arrival
    double ran_s = 0;              ///< Service::ran_s until then
    double ran_at_promotion_s = 0;
    double devices = 0;  ///< since then
  };
  double waiting_key(const sim::QueueView& view, sim::JobSlot slot) override;
  double running_key(const sim::QueueView& view, sim::JobSlot slot) override;
  bool preempts() const override { return true; }
  bool beats(const sim::QueueView&, const Item& waiting, const Item& running) const override { return waiting < running; }
  void prepare(const sim::QueueView& view) override;
  void starts(const sim::QueueView& view, sim::JobSlot slot) override;
  double changes_at_s(const sim::QueueView& view) override;
  void forget(const sim::QueueView& view, sim::JobSlot slot) override;

  Job& settle_service(const sim::QueueView& view, sim::JobSlot slot);
  double key_of(const Job& job) const;
  void watch(sim::JobSlot slot, double since_s, double attained_device_s, double devices);
  void pass_on(const sim::QueueView& view, sim::JobSlot slot);
  void rank_anew(const sim::QueueView& view);
  double attained_device_s(const sim::QueueView& view, sim::JobSlot slot) const;

  LeastAttainedServiceParameters parameters_;
  ServiceLevels levels_;
  GittinsIndex index_;
  std::vector<Job> jobs_;    // by slot
  OrderedQueue crossings_;   // running jobs by the date at which they reach the next level, or another index
  OrderedQueue promotions_;  // waiting jobs by the date at which they have waited long enough
};

}  // namespace rehearse::policies
