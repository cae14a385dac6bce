#include "sim/money/meter.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace rehearse::sim {

Meter::Meter(const Cluster& cluster, const CostRules& rules)
    : per_pool_money_(rules.billing == Billing::pool),
      carbon_(cluster.carbon_g_per_kwh ? &*cluster.carbon_g_per_kwh : nullptr),
      totals_(cluster.pools.size()) {
  for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
    const auto pool = static_cast<PoolId>(p);
    scalers_.push_back(cluster.pools[p].autoscale ? std::make_unique<Autoscaler>(cluster.pools[p]) : nullptr);
    const bool rents = rules.billing == Billing::node;
    if (rents)
      rented_.emplace_back(cluster.pools[p], worker_usd_per_s(cluster, pool) * workers_per_node(cluster, pool),
                           rules.minimum_node_s);
    if (per_pool_money_)
      kept_.emplace_back(cluster.pools[p], worker_usd_per_s(cluster, pool) * workers_per_node(cluster, pool), 0, !scalers_[p]);
    const int nodes = scalers_[p] ? scalers_[p]->nodes_up() : rents ? 0 : cluster.pools[p].nodes;
    now_.push_back({.devices = nodes * workers_per_node(cluster, pool),
                    .usd_per_device_s = worker_usd_per_s(cluster, pool),
                    .idle_w_per_device = worker_idle_w(cluster, pool),
                    .prices = cluster.pools[p].prices_usd_per_hour ? &*cluster.pools[p].prices_usd_per_hour : nullptr,
                    .nodes = nodes,
                    .devices_per_node = workers_per_node(cluster, pool)});
  }
}

double Meter::PoolNow::usd(double from_s, double to_s) const {
  return prices->integral(from_s, to_s) / kSecondsPerHour / devices_per_node;
}

/// Grams a kWh times seconds, of one watt.
double Meter::co2_kg_per_w(double from_s, double to_s) const {
  return carbon_ == nullptr ? 0 : carbon_->integral(from_s, to_s) / kJoulesPerKwh / 1000;
}

/// Nodes that nobody has held for long enough go away at their own dates, before `now_s`.
void Meter::settle(PoolId pool, double now_s) {
  if (Autoscaler* scaler = scalers_[static_cast<std::size_t>(pool)].get(); scaler != nullptr) {
    for (double gone_s = scaler->next_release_s(); gone_s < now_s; gone_s = scaler->next_release_s()) {
      scaler->release();
      set_nodes(pool, scaler->nodes_up(), gone_s);
    }
  }
  settle_held(pool, now_s);
}

/// By itself, so that what is summed elsewhere does not depend on who waits.
void Meter::settle_waiting(PoolId pool, double now_s) {
  PoolNow& n = now_[static_cast<std::size_t>(pool)];
  const double since_s = std::exchange(n.waiting_since_s, now_s);
  if (!work_waits_ || since_s == now_s) return;
  const double usd = n.prices != nullptr ? n.usd(since_s, now_s) : n.usd_per_device_s * (now_s - since_s);
  PoolTotals& t = totals_[static_cast<std::size_t>(pool)];
  t.waiting_busy_usd += n.busy * usd;
  t.waiting_pool_usd += n.devices * usd;
}

void Meter::set_waiting(double now_s, bool work_waits) {
  if (work_waits == work_waits_) return;
  for (std::size_t p = 0; p < now_.size(); ++p) {
    const auto pool = static_cast<PoolId>(p);
    if (scalers_[p]) settle(pool, now_s);  // nodes that have gone meanwhile went at dates of their own
    settle_waiting(pool, now_s);
  }
  work_waits_ = work_waits;
}

void Meter::settle_held(PoolId pool, double now_s) {
  if (work_waits_) settle_waiting(pool, now_s);
  PoolNow& n = now_[static_cast<std::size_t>(pool)];
  PoolTotals& t = totals_[static_cast<std::size_t>(pool)];
  const double dt = now_s - n.since_s;
  const double since_s = std::exchange(n.since_s, now_s);
  if (dt == 0) return;
  const double idle = n.devices - n.allocated;
  t.idle_device_s += idle * dt;
  if (rented_.empty()) t.idle_usd += n.prices != nullptr ? idle * n.usd(since_s, now_s) : idle * n.usd_per_device_s * dt;
  if (carbon_ != nullptr) {
    const double kg_per_w = co2_kg_per_w(since_s, now_s);
    t.idle_co2_kg += idle * n.idle_w_per_device * kg_per_w;
    t.pool_co2_kg += (idle * n.idle_w_per_device + n.jobs_power_w) * kg_per_w;
  }
  t.idle_energy_j += idle * n.idle_w_per_device * dt;
  t.pool_energy_j += (idle * n.idle_w_per_device + n.jobs_power_w) * dt;
  t.busy_device_s += n.busy * dt;
}

void Meter::open(double now_s) {
  std::fill(totals_.begin(), totals_.end(), PoolTotals{});  // nodes that came and went before are nobody's
  for (PoolNow& n : now_) n.since_s = n.devices_since_s = n.waiting_since_s = now_s;
}

/// Of the devices that have been there since the last time.
void Meter::settle_devices(PoolId pool, double now_s) {
  PoolNow& n = now_[static_cast<std::size_t>(pool)];
  PoolTotals& t = totals_[static_cast<std::size_t>(pool)];
  const double since_s = std::exchange(n.devices_since_s, now_s);
  const double device_s = n.devices * (now_s - since_s);
  t.pool_device_s += device_s;
  if (rented_.empty()) t.pool_usd += n.prices != nullptr ? n.devices * n.usd(since_s, now_s) : device_s * n.usd_per_device_s;
}

void Meter::set_nodes(PoolId pool, int nodes, double now_s) {
  settle_held(pool, now_s);
  settle_devices(pool, now_s);
  PoolNow& n = now_[static_cast<std::size_t>(pool)];
  n.nodes = nodes;
  n.devices = nodes * n.devices_per_node;
  check(n.allocated <= n.devices, "devices that are held go away", now_s);
}

double Meter::take_nodes(double now_s, PoolId pool, std::span<const NodeShare> shares) {
  Autoscaler* scaler = scalers_[static_cast<std::size_t>(pool)].get();
  if (scaler == nullptr) return 0;
  settle(pool, now_s);
  if (scaler->take(shares) == 0) return 0;
  set_nodes(pool, scaler->nodes_up(), now_s);
  return scaler->boot_s();
}

void Meter::give_back_nodes(double now_s, PoolId pool, std::span<const NodeShare> shares) {
  if (Autoscaler* scaler = scalers_[static_cast<std::size_t>(pool)].get(); scaler != nullptr) scaler->give_back(now_s, shares);
}

std::vector<NodeRent> Meter::rent(double now_s, const Configuration& configuration, const Layout& layout) {
  std::vector<NodeRent> rents;
  if (rented_.empty() && kept_.empty()) return rents;
  for (std::size_t g = 0; g < layout.size(); ++g) {
    const PoolId pool = configuration.groups[g].pool;
    const bool as_one = rented_.empty() && !scalers_[static_cast<std::size_t>(pool)];
    for (const NodeShare& share : layout[g]) {
      const int node = as_one ? 0 : share.node;
      // The nodes of one group differ, and a job may have a thousand of them.
      const auto at = g == 0 && !as_one ? rents.end() : std::ranges::find_if(rents, [&](const NodeRent& rent) {
        return rent.pool == pool && rent.node == node;
      });
      NodeRent& rent = at != rents.end() ? *at : rents.emplace_back(NodeRent{.pool = pool, .node = node});
      rent.devices = rented_.empty() ? 1 : rent.devices + share.devices * configuration.share.fraction;
    }
  }
  for (NodeRent& rent : rents) rent = renting(rent.pool).take(now_s, rent.pool, rent.node, rent.devices);
  if (!rented_.empty())
    for (const Group& group : configuration.groups) count_rented(group.pool, now_s);
  return rents;
}

void Meter::settle_rent(double now_s, std::vector<NodeRent>& rents, JobMeter& job) {
  for (NodeRent& rent : rents) charge_rent(rent.pool, renting(rent.pool).settle(now_s, rent), job);
}

void Meter::end_rent(double now_s, std::vector<NodeRent>& rents, JobMeter& job) {
  for (NodeRent& rent : rents) {
    RentedNodes& rented = renting(rent.pool);
    charge_rent(rent.pool, rented.give_back(now_s, rent), job);
    if (rented_.empty()) continue;
    totals_[static_cast<std::size_t>(rent.pool)].pool_usd = rented.ended_usd();
    count_rented(rent.pool, now_s);
  }
  rents.clear();
}

void Meter::charge_rent(PoolId pool, const RentCharge& charge, JobMeter& job) {
  job.marginal_usd += charge.alone_usd;
  if (rented_.empty()) return;  // the pool's bill is another
  totals_[static_cast<std::size_t>(pool)].jobs_usd += charge.usd();
  job.usd += charge.usd();
}

RentedNodes& Meter::renting(PoolId pool) { return (rented_.empty() ? kept_ : rented_)[static_cast<std::size_t>(pool)]; }

/// Only nodes that are rented are there; an autoscaler counts them itself.
void Meter::count_rented(PoolId pool, double now_s) {
  if (!scalers_[static_cast<std::size_t>(pool)]) set_nodes(pool, rented_[static_cast<std::size_t>(pool)].rented(), now_s);
}

void Meter::lose_node(double now_s, PoolId pool, int node) {
  settle(pool, now_s);
  Autoscaler* scaler = scalers_[static_cast<std::size_t>(pool)].get();
  if (scaler == nullptr && !rented_.empty()) return;  // nobody rents it, or it has just been given back
  if (scaler != nullptr) scaler->lose(node);
  set_nodes(pool, scaler != nullptr ? scaler->nodes_up() : now_[static_cast<std::size_t>(pool)].nodes - 1, now_s);
}

void Meter::replace_node(double now_s, PoolId pool, int node) {
  settle(pool, now_s);
  Autoscaler* scaler = scalers_[static_cast<std::size_t>(pool)].get();
  if (scaler == nullptr && !rented_.empty()) return;
  if (scaler != nullptr) scaler->replace(node);
  set_nodes(pool, scaler != nullptr ? scaler->nodes_up() : now_[static_cast<std::size_t>(pool)].nodes + 1, now_s);
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
  const double usd = !rented_.empty()      ? 0  // charged by node
                     : n.prices != nullptr ? holding.devices * n.usd(since_s, now_s)
                                           : device_s * n.usd_per_device_s;
  const double energy = holding.power_w * held_s;
  const double co2_kg = holding.power_w * co2_kg_per_w(since_s, now_s);
  PoolTotals& t = totals_[static_cast<std::size_t>(holding.pool)];
  t.jobs_device_s += device_s;
  t.jobs_usd += usd;
  t.jobs_energy_j += energy;
  t.jobs_co2_kg += co2_kg;
  job.device_s += device_s;
  job.energy_j += energy;
  job.co2_kg += co2_kg;
  job.usd += usd;
  if (!per_pool_money_) job.marginal_usd += usd;
  if (per_pool_money_) {
    job.usd_of_pool.resize(now_.size(), 0.0);
    job.usd_of_pool[static_cast<std::size_t>(holding.pool)] += usd;
  }
}

void Meter::charge_parameter_servers(double usd, JobMeter& job) {
  parameter_servers_usd_ += usd;
  job.usd += usd;
  job.marginal_usd += usd;
}

void Meter::close(double now_s) {
  for (std::size_t p = 0; p < now_.size(); ++p) {
    settle(static_cast<PoolId>(p), now_s);
    settle_devices(static_cast<PoolId>(p), now_s);
    check(now_[p].allocated == 0, "devices are still allocated at the end", now_s);
  }
}

PoolSample Meter::sample(double now_s, PoolId pool) {
  if (scalers_[static_cast<std::size_t>(pool)]) settle(pool, now_s);
  const PoolNow& n = now_[static_cast<std::size_t>(pool)];
  return {.time_s = now_s,
          .pool = pool,
          .busy_devices = n.busy,
          .allocated_devices = n.allocated,
          .power_w = n.jobs_power_w + (n.devices - n.allocated) * n.idle_w_per_device};
}

void Meter::tell(ReplayProgress& progress) const {
  for (const PoolNow& n : now_) {
    progress.allocated_devices += n.allocated;
    progress.devices += n.devices;
  }
  for (const PoolTotals& t : totals_) progress.jobs_usd += t.jobs_usd;
  progress.jobs_usd += parameter_servers_usd_;
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
    check(balanced(t.jobs_co2_kg + t.idle_co2_kg, t.pool_co2_kg), "carbon dioxide of jobs and idle devices is not the pool's",
          now_s);
  }
}

}  // namespace rehearse::sim
