// The levels of attained service at which jobs change their queue, and the Gittins index learned from jobs that have ended: the
// largest chance of ending a unit of service, over the levels up to which the job might be served (Gittins, JRSS B 41(2), 1979;
// discretised over attained service: Gu et al., Tiresias, NSDI 2019, section 3.2).
#pragma once

#include <vector>

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

  /// A job has ended after so much service.
  void learn(double device_s);
  /// Of jobs at the beginning of a level, in 1/device-seconds. Where no job has ended above, that of an exponential service with
  /// the mean of the level's end: least attained service.
  double gittins(int level) const;

 private:
  std::vector<double> begins_;
  std::vector<double> ended_, sum_;  // jobs that ended in a level, and their service
};

// Least attained service, in device-seconds of work, over discrete levels: within a level jobs go by arrival, so that they do not
// take turns (Gu et al., Tiresias, NSDI 2019, section 3.3). Needs no duration. With `gittins`, levels are ordered by the Gittins
// index that the jobs which have ended give them. A job that has waited `promote_after` times as long as it has run goes back to
// level 0.

struct LeastAttainedServiceParameters {
  int levels = 2;
  double threshold_device_s = 3600;  ///< where level 1 begins
  double ratio = 10;                 ///< of the beginnings of a level and the one before
  bool gittins = false;
  double promote_after = 0;  ///< 0: never
  sim::Placement placement = sim::Placement::consolidated;
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
  bool beats(const sim::QueueView&, const Item& waiting, const Item& running) const override { return waiting < running; }
  void prepare(const sim::QueueView& view) override;
  void starts(const sim::QueueView& view, sim::JobSlot slot) override;
  void conclude(const sim::QueueView& view, sim::QueueAnswer& answer) override;
  void forget(const sim::QueueView& view, sim::JobSlot slot) override;

  Job& settle_service(const sim::QueueView& view, sim::JobSlot slot);
  void rank_levels();
  double key_of(int level) const { return rank_[static_cast<std::size_t>(level)]; }
  void watch(sim::JobSlot slot, double since_s, double devices);

  LeastAttainedServiceParameters parameters_;
  ServiceLevels levels_;
  std::vector<double> rank_;  // by level: how many others come before it
  bool learned_ = false;      // since the levels were ranked
  std::vector<Job> jobs_;     // by slot
  OrderedQueue crossings_;    // running jobs by the date at which they reach the next level
  OrderedQueue promotions_;   // waiting jobs by the date at which they have waited long enough
  double wake_at_s_ = 0;      // last asked for
};

}  // namespace rehearse::policies
