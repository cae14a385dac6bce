// What must hold of every job's record when it ends, and of all of them together at the end of a replay: said once more, from
// what was told rather than from how it was reckoned. A difference is a bug of ours and ends the run.
#pragma once

#include <span>

#include "sim/jobs/job.hpp"
#include "sim/money/costs.hpp"
#include "sim/money/meter.hpp"

namespace rehearse::sim {

/// Of one job, over its stages.
struct StageSums {
  double device_s = 0;  ///< devices times the time that they were held
  double usd = 0;
  double end_s = kUnset;  ///< of the last one; NaN: none
};

class Books {
 public:
  explicit Books(Billing billing) : billing_(billing) {}
  /// Devices from `start_s` to `end_s`; one stage follows the other.
  static void add_stage(double start_s, double end_s, double devices, double usd, StageSums& sums);
  /// A job that has ended, before its share of what idle devices cost. Jobs come in the order of their ends.
  void add_job(const JobRecord& record, const JobMeter& meter, const StageSums& stages);
  /// All jobs together had what the pools say that jobs had.
  void check_totals(std::span<const PoolTotals> pools, double parameter_servers_usd) const;

 private:
  Billing billing_;
  double last_end_s_ = 0;
  double device_s_ = 0, usd_ = 0, energy_j_ = 0, co2_kg_ = 0;
};

}  // namespace rehearse::sim
