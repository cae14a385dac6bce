// The levels of attained service at which jobs change their queue, and the Gittins index learned from jobs that have ended: the
// largest chance of ending a unit of service, over the levels up to which the job might be served (Gittins, JRSS B 41(2), 1979;
// discretised over attained service: Gu et al., Tiresias, NSDI 2019, section 3.2).
#pragma once

#include <vector>

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

}  // namespace rehearse::policies
