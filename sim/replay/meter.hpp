// Money, energy and device-seconds as integrals, settled lazily at each change. Jobs, idle devices and pools are integrated
// separately, so that their balance at the end proves something.
#pragma once

#include <vector>

#include "sim/replay/costs.hpp"
#include "sim/replay/records.hpp"

namespace rehearse::sim {

/// What one job holds of one pool.
struct Holding {
  PoolId pool = 0;
  double devices = 0;  ///< a multiple of kShareGrid: sums are exact
  double power_w = 0;
  double busy_devices = 0;
};

/// A job's integrals.
struct JobMeter {
  double device_s = 0;
  double energy_j = 0;
  double usd = 0;
  std::vector<double> usd_of_pool;  ///< only under pool billing
};

class Meter {
 public:
  Meter(const Cluster& cluster, const CostRules& rules);
  /// A job takes hold of devices, or changes what they draw (give up the old holding first).
  void take(double now_s, const Holding& holding);
  /// Ends a holding that began at `since_s`, and charges the job.
  void give_back(double now_s, double since_s, const Holding& holding, JobMeter& job);
  void charge_parameter_servers(double usd, JobMeter& job);
  /// Pools exist from the first submit on.
  void open(double now_s);
  /// Settles everything; no job may hold anything.
  void close(double now_s);
  PoolSample sample(double now_s, PoolId pool) const;
  const std::vector<PoolTotals>& totals() const { return totals_; }
  double parameter_servers_usd() const { return parameter_servers_usd_; }
  /// Fails a check unless jobs + idle = pool to 1e-9, for device-seconds, money and energy.
  void check_balance(double now_s) const;

 private:
  struct PoolNow {
    double since_s = 0;
    int devices = 0;
    double allocated = 0;
    double jobs_power_w = 0;
    double busy = 0;
    double usd_per_device_s = 0;
    double idle_w_per_device = 0;
  };
  void settle(PoolId pool, double now_s);
  bool per_pool_money_;
  double opened_s_ = 0;
  std::vector<PoolNow> now_;
  std::vector<PoolTotals> totals_;
  double parameter_servers_usd_ = 0;
};

}  // namespace rehearse::sim
