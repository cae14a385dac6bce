// What the meter tells: one pool at one date, a pool's totals, where a replay stands.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/jobs/configuration.hpp"
#include "sim/money/costs.hpp"
#include "sim/money/rented_nodes.hpp"
#include "sim/nodes/autoscaler.hpp"

namespace rehearse::sim {

/// Where a replay stands. A plain value: it goes through pipes.
struct ReplayProgress {
  std::uint64_t jobs_ended = 0;
  std::uint64_t jobs_waiting = 0;
  std::uint64_t jobs_running = 0;  ///< hold devices
  double time_s = 0;
  double allocated_devices = 0;
  double devices = 0;   ///< that are there
  double jobs_usd = 0;  ///< that jobs have been charged, up to their last change
};

/// One pool at one date, after that date's decisions.
struct PoolSample {
  double time_s = 0;
  PoolId pool = 0;
  double busy_devices = 0;       ///< allocated devices times the part of the time they compute
  double allocated_devices = 0;  ///< shares of devices count as such
  int queued_jobs = 0;           ///< of the whole cluster
  double power_w = 0;
  double fragmentation = 0;  ///< share of the free devices that the next job of this pool cannot use: Nodes::unusable_for
};

/// Totals of one pool between the first submit and the last completion.
struct PoolTotals {
  double jobs_device_s = 0, idle_device_s = 0, pool_device_s = 0;
  double jobs_usd = 0, idle_usd = 0, pool_usd = 0;
  double jobs_energy_j = 0, idle_energy_j = 0, pool_energy_j = 0;
  double busy_device_s = 0;
  double jobs_co2_kg = 0, idle_co2_kg = 0, pool_co2_kg = 0;  ///< 0 where the cluster has no carbon intensity
  /// While a job waits in the queue: the devices that compute, and all that are there, at their price.
  double waiting_busy_usd = 0, waiting_pool_usd = 0;
};

// Money, energy and device-seconds as integrals, settled lazily at each change. Jobs, idle devices and pools are integrated
// separately, so that their balance at the end proves something.

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
  double co2_kg = 0;
  double usd = 0;
  double marginal_usd = 0;          ///< what the bill would be less without it (docs/explain/model.md, "Money")
  std::vector<double> usd_of_pool;  ///< only under pool billing
};

class Meter {
 public:
  Meter(const Cluster& cluster, const CostRules& rules);
  /// A job takes hold of devices, or changes what they draw (give up the old holding first).
  void take(double now_s, const Holding& holding);
  /// Ends a holding that began at `since_s`, and charges the job.
  void give_back(double now_s, double since_s, const Holding& holding, JobMeter& job);
  /// A job takes, or gives back, devices of these nodes, with its holdings: take_nodes before the first, give_back_nodes after
  /// the last. Seconds until all of the nodes have booted.
  double take_nodes(double now_s, PoolId pool, std::span<const NodeShare> shares);
  void give_back_nodes(double now_s, PoolId pool, std::span<const NodeShare> shares);
  /// Under node billing, what the job now pays for of its nodes; under pool billing, what it alone keeps from being given back;
  /// else nothing. Before the first take, after the last give_back.
  /// Each node once, whichever of the job's groups are on it.
  std::vector<NodeRent> rent(double now_s, const Configuration& configuration, const Layout& layout);
  void settle_rent(double now_s, std::vector<NodeRent>& rents, JobMeter& job);
  void end_rent(double now_s, std::vector<NodeRent>& rents, JobMeter& job);
  /// A node is not there meanwhile: nobody pays for it, and it draws nothing. No job may hold devices of it.
  void lose_node(double now_s, PoolId pool, int node);
  void replace_node(double now_s, PoolId pool, int node);
  void charge_parameter_servers(double usd, JobMeter& job);
  /// Pools exist from the first submit on.
  void open(double now_s);
  /// From now on jobs wait in the queue, or none does.
  void set_waiting(double now_s, bool work_waits);
  /// Settles everything; no job may hold anything.
  void close(double now_s);
  PoolSample sample(double now_s, PoolId pool);
  /// Writes down devices, and jobs' money as it was last settled.
  void tell(ReplayProgress& progress) const;
  const std::vector<PoolTotals>& totals() const { return totals_; }
  double parameter_servers_usd() const { return parameter_servers_usd_; }
  /// Fails a check unless jobs + idle = pool to 1e-9, for device-seconds, money, energy and carbon dioxide.
  void check_balance(double now_s) const;

 private:
  struct PoolNow {
    double since_s = 0;
    double devices_since_s = 0;  ///< so many devices as now
    double waiting_since_s = 0;  ///< likewise so many that compute, while work waits or does not
    int devices = 0;
    double allocated = 0;
    double jobs_power_w = 0;
    double busy = 0;
    double usd_per_device_s = 0;
    double idle_w_per_device = 0;
    const StepSeries* prices = nullptr;  ///< of a node, in dollars an hour; null: constant
    int nodes = 0;                       ///< that are there
    int devices_per_node = 1;
    double usd(double from_s, double to_s) const;  ///< of one device, where prices change
  };
  void settle(PoolId pool, double now_s);
  void settle_held(PoolId pool, double now_s);
  void settle_waiting(PoolId pool, double now_s);
  void set_nodes(PoolId pool, int nodes, double now_s);
  void settle_devices(PoolId pool, double now_s);
  void charge_rent(PoolId pool, const RentCharge& charge, JobMeter& job);
  RentedNodes& renting(PoolId pool);
  void count_rented(PoolId pool, double now_s);
  double co2_kg_per_w(double from_s, double to_s) const;
  bool per_pool_money_;
  bool work_waits_ = false;
  const StepSeries* carbon_;  ///< null: not reckoned
  std::vector<PoolNow> now_;
  std::vector<std::unique_ptr<Autoscaler>> scalers_;  ///< by pool; null where all nodes are always there
  std::vector<RentedNodes> rented_;                   ///< by pool, under node billing
  std::vector<RentedNodes> kept_;                     ///< by pool, under pool billing: each pool as one, autoscaled ones by node
  std::vector<PoolTotals> totals_;
  double parameter_servers_usd_ = 0;
};

}  // namespace rehearse::sim
