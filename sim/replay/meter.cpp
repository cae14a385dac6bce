#include "sim/replay/meter.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

Meter::Meter(const Cluster& cluster, const CostRules& rules)
    : per_pool_money_(rules.billing == Billing::pool), totals_(cluster.pools.size()) {
  for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
    const auto pool = static_cast<PoolId>(p);
    now_.push_back({.devices = cluster.pools[p].nodes * workers_per_node(cluster, pool),
                    .usd_per_device_s = worker_usd_per_s(cluster, pool),
                    .idle_w_per_device = worker_idle_w(cluster, pool)});
  }
}

void Meter::settle(PoolId pool, double now_s) {
  PoolNow& n = now_[static_cast<std::size_t>(pool)];
  PoolTotals& t = totals_[static_cast<std::size_t>(pool)];
  const double dt = now_s - n.since_s;
  n.since_s = now_s;
  if (dt == 0) return;
  const double idle = n.devices - n.allocated;
  t.idle_device_s += idle * dt;
  t.idle_usd += idle * n.usd_per_device_s * dt;
  t.idle_energy_j += idle * n.idle_w_per_device * dt;
  t.pool_energy_j += (idle * n.idle_w_per_device + n.jobs_power_w) * dt;
  t.busy_device_s += n.busy * dt;
}

void Meter::open(double now_s) {
  opened_s_ = now_s;
  for (PoolNow& n : now_) n.since_s = now_s;
}

void Meter::take(double now_s, const Holding& holding) {
  settle(holding.pool, now_s);
  PoolNow& n = now_[static_cast<std::size_t>(holding.pool)];
  n.allocated += holding.devices;
  n.jobs_power_w += holding.power_w;
  n.busy += holding.busy_devices;
  check(n.allocated <= n.devices, "a pool's devices are allocated twice", now_s);
}

void Meter::give_back(double now_s, double since_s, const Holding& holding, JobMeter& job) {
  settle(holding.pool, now_s);
  PoolNow& n = now_[static_cast<std::size_t>(holding.pool)];
  n.allocated -= holding.devices;
  n.jobs_power_w -= holding.power_w;
  n.busy -= holding.busy_devices;
  if (n.allocated == 0) n.jobs_power_w = n.busy = 0;  // sums and differences of doubles leave crumbs
  check(n.allocated >= 0, "a pool's devices are given back twice", now_s);
  const double held_s = now_s - since_s;
  const double device_s = holding.devices * held_s;
  const double usd = device_s * n.usd_per_device_s;
  const double energy = holding.power_w * held_s;
  PoolTotals& t = totals_[static_cast<std::size_t>(holding.pool)];
  t.jobs_device_s += device_s;
  t.jobs_usd += usd;
  t.jobs_energy_j += energy;
  job.device_s += device_s;
  job.energy_j += energy;
  job.usd += usd;
  if (per_pool_money_) {
    job.usd_of_pool.resize(now_.size(), 0.0);
    job.usd_of_pool[static_cast<std::size_t>(holding.pool)] += usd;
  }
}

void Meter::charge_parameter_servers(double usd, JobMeter& job) {
  parameter_servers_usd_ += usd;
  job.usd += usd;
}

void Meter::close(double now_s) {
  for (std::size_t p = 0; p < now_.size(); ++p) {
    settle(static_cast<PoolId>(p), now_s);
    check(now_[p].allocated == 0, "devices are still allocated at the end", now_s);
    const double span_s = now_s - opened_s_;
    totals_[p].pool_device_s = now_[p].devices * span_s;
    totals_[p].pool_usd = totals_[p].pool_device_s * now_[p].usd_per_device_s;
  }
}

PoolSample Meter::sample(double now_s, PoolId pool) const {
  const PoolNow& n = now_[static_cast<std::size_t>(pool)];
  return {.time_s = now_s,
          .pool = pool,
          .busy_devices = n.busy,
          .allocated_devices = n.allocated,
          .power_w = n.jobs_power_w + (n.devices - n.allocated) * n.idle_w_per_device};
}

void Meter::check_balance(double now_s) const {
  const auto balanced = [](double parts, double whole) {
    return std::abs(parts - whole) <= 1e-9 * std::max(std::abs(whole), 1e-9);
  };
  for (const PoolTotals& t : totals_) {
    check(balanced(t.jobs_device_s + t.idle_device_s, t.pool_device_s),
          "device-seconds of jobs and idle devices are not the pool's", now_s);
    check(balanced(t.jobs_usd + t.idle_usd, t.pool_usd), "money of jobs and idle devices is not the pool's", now_s);
    check(balanced(t.jobs_energy_j + t.idle_energy_j, t.pool_energy_j), "energy of jobs and idle devices is not the pool's",
          now_s);
  }
}

}  // namespace rehearse::sim
