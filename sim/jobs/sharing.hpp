// How jobs on one device slow each other down (docs/explain/model.md, "Devices that jobs share").
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/jobs/job.hpp"

namespace rehearse::sim {

/// Median over the 633 ordered pairs that Gavel's authors measured on a V100 and in which both ran (Narayanan et al., OSDI 2020;
/// scheduler/notebooks/figures/motivation/oracle_throughputs.json of their repository).
inline constexpr double kMeasuredSlowdown = 1.385;

class SharingRules {
 public:
  /// Of every pair that was not set; at least 1.
  double default_slowdown = kMeasuredSlowdown;
  /// By how much a job of this model is slowed by one of the other beside it; at least 1.
  void set(const std::string& model, const std::string& other, double slowdown) { set(model, other, kAnyPool, slowdown); }
  /// As measured on devices of one pool, of types of jobs, whose profiles have no dataset: it counts there, and for no model.
  void set(const std::string& model, const std::string& other, int pool, double slowdown) {
    slowdowns_[{model, other, pool}] = slowdown;
  }
  /// On a device of the pool. A rigid job's length was measured with whatever ran beside it then: where its pair was not set,
  /// nothing slows it.
  double slowdown(const Job& job, const Job& other, int pool) const;
  /// Its speed beside another, 1 being alone: the mean over the others with which its model was set, of the pool or of any; where
  /// none was, beside any other.
  double mean_speed(const Job& job, int pool) const;

 private:
  static constexpr int kAnyPool = -1;
  std::map<std::tuple<std::string, std::string, int>, double> slowdowns_;
};

}  // namespace rehearse::sim
