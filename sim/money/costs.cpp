#include "sim/money/costs.hpp"

#include <algorithm>
#include <map>

#include "sim/base/units.hpp"
#include "sim/nodes/nodes.hpp"

namespace rehearse::sim {

std::string_view name_of(Billing billing) {
  return billing == Billing::node ? "node" : billing == Billing::pool ? "pool" : "allocated";
}

const Instance& instance_of(const Cluster& cluster, PoolId pool) {
  return cluster.instances[static_cast<std::size_t>(cluster.pools[static_cast<std::size_t>(pool)].instance)];
}

bool has_gpus(const Cluster& cluster, PoolId pool) { return !instance_of(cluster, pool).gpus.empty(); }

int workers_per_node(const Cluster& cluster, PoolId pool) {
  const Instance& instance = instance_of(cluster, pool);
  return instance.gpus.empty() ? 1 : instance.gpus.front().count;
}

const Device& worker_device(const Cluster& cluster, PoolId pool) {
  const Instance& instance = instance_of(cluster, pool);
  return cluster.devices[static_cast<std::size_t>(instance.gpus.empty() ? instance.cpu : instance.gpus.front().device)];
}

double worker_usd_per_s(const Cluster& cluster, PoolId pool) {
  return instance_of(cluster, pool).price_usd_per_hour / kSecondsPerHour / workers_per_node(cluster, pool);
}

double worker_idle_w(const Cluster& cluster, PoolId pool) {
  const Instance& instance = instance_of(cluster, pool);
  if (instance.gpus.empty()) return instance.host_idle_w;
  return worker_device(cluster, pool).idle_w + instance.host_idle_w / workers_per_node(cluster, pool);
}

double worker_busy_w(const Cluster& cluster, PoolId pool) {
  const Instance& instance = instance_of(cluster, pool);
  if (instance.gpus.empty()) return instance.host_busy_w;
  return worker_device(cluster, pool).busy_w + instance.host_busy_w / workers_per_node(cluster, pool);
}

long nodes_for(const Cluster& cluster, PoolId pool, long workers) {
  const long per_node = workers_per_node(cluster, pool);
  return (workers + per_node - 1) / per_node;
}

long nodes_of(const Cluster& cluster, const Configuration& configuration, PoolId pool) {
  for (const Group& group : configuration.groups)
    if (group.pool == pool && group.nodes > 0) return group.nodes;
  return nodes_for(cluster, pool, configuration.workers_of(pool));
}

double boot_seconds(const Cluster& cluster, const Configuration* held, const Configuration& next) {
  double longest_s = 0;
  for (const Group& group : next.groups) {
    const auto& autoscale = cluster.pools[static_cast<std::size_t>(group.pool)].autoscale;
    if (!autoscale) continue;
    const long up = std::max<long>(autoscale->min_nodes, held == nullptr ? 0 : nodes_of(cluster, *held, group.pool));
    if (nodes_of(cluster, next, group.pool) > up) longest_s = std::max(longest_s, autoscale->boot_s);
  }
  return longest_s;
}

double servers_usd_per_s(const CostRules& rules, const Configuration& configuration) {
  return configuration.sync.servers * rules.parameter_server_usd_per_hour / kSecondsPerHour;
}

namespace {

/// Nodes of a pool that are paid for while the configuration runs there and nobody else.
long paid_nodes(const Cluster& cluster, Billing billing, PoolId pool, const Configuration& configuration) {
  const Pool& of = cluster.pools[static_cast<std::size_t>(pool)];
  const long own = nodes_of(cluster, configuration, pool);
  if (billing == Billing::node) return own;
  return of.autoscale ? std::max<long>(own, of.autoscale->min_nodes) : of.nodes;
}

/// Dollars a second of the nodes that are paid for, whole, where the configuration runs alone.
double nodes_usd_per_s(const Cluster& cluster, Billing billing, const Configuration& configuration) {
  double rate = 0;
  for (std::size_t g = 0; g < configuration.groups.size(); ++g) {
    const PoolId pool = configuration.groups[g].pool;
    // Groups of one pool share its nodes: counted with the first of them.
    const bool is_first =
        std::none_of(configuration.groups.begin(), configuration.groups.begin() + static_cast<std::ptrdiff_t>(g),
                     [&](const Group& other) { return other.pool == pool; });
    if (is_first)
      rate += static_cast<double>(paid_nodes(cluster, billing, pool, configuration)) * workers_per_node(cluster, pool) *
              worker_usd_per_s(cluster, pool);
  }
  return rate;
}

}  // namespace

double rent_usd_per_s(const Cluster& cluster, const CostRules& rules, const Configuration& configuration) {
  return rules.billing == Billing::node ? nodes_usd_per_s(cluster, rules.billing, configuration) : 0;
}

double usd_per_s(const Cluster& cluster, const CostRules& rules, const Configuration& configuration) {
  double rate = servers_usd_per_s(rules, configuration);
  if (rules.billing != Billing::allocated) return rate + nodes_usd_per_s(cluster, rules.billing, configuration);
  for (const Group& group : configuration.groups)
    rate += configuration.devices_held(group) * worker_usd_per_s(cluster, group.pool);
  return rate;
}

double share_usd_per_s(const Cluster& cluster, CostRules rules, const Configuration& configuration) {
  if (rules.billing == Billing::pool) rules.billing = Billing::allocated;
  return usd_per_s(cluster, rules, configuration);
}

double usd_for(const Cluster& cluster, const CostRules& rules, const Configuration& configuration, double time_s) {
  double usd = usd_per_s(cluster, rules, configuration) * time_s;
  if (rules.billing == Billing::node && time_s < rules.minimum_node_s)
    usd += rent_usd_per_s(cluster, rules, configuration) * (rules.minimum_node_s - time_s);
  return usd;
}

double mean_usd_per_s(const Cluster& cluster, const CostRules& rules, const Configuration& configuration, double from_s,
                      double to_s) {
  double rate = servers_usd_per_s(rules, configuration);
  for (const Group& group : configuration.groups) {
    const auto& prices = cluster.pools[static_cast<std::size_t>(group.pool)].prices_usd_per_hour;
    const double worker = !prices         ? worker_usd_per_s(cluster, group.pool)
                          : to_s > from_s ? worker_usd(cluster, group.pool, from_s, to_s) / (to_s - from_s)
                                          : 0;
    rate += configuration.devices_held(group) * worker;
  }
  return rate;
}

double worker_usd(const Cluster& cluster, PoolId pool, double from_s, double to_s) {
  const auto& prices = cluster.pools[static_cast<std::size_t>(pool)].prices_usd_per_hour;
  if (!prices) return worker_usd_per_s(cluster, pool) * (to_s - from_s);
  return prices->integral(from_s, to_s) / kSecondsPerHour / workers_per_node(cluster, pool);
}

double power_w(const Cluster& cluster, const Configuration& configuration, const Group& group, double power_fraction) {
  const double idle = worker_idle_w(cluster, group.pool), busy = worker_busy_w(cluster, group.pool);
  const Device& device = worker_device(cluster, group.pool);
  const double device_w = device.idle_w + (device.busy_w - device.idle_w) * power_fraction;
  const double limit_w = configuration.power_limit_w;
  const double over = limit_w > 0 ? std::max(0.0, device_w - limit_w) : 0;
  const double of_others = idle * (1 - configuration.share.fraction);
  const int places = configuration.share.is_part() ? configuration.share.parts : group.workers;
  return places * (std::max(idle, idle + (busy - idle) * power_fraction - over) - of_others);
}

double power_w(const Cluster& cluster, const Configuration& configuration, double power_fraction) {
  double watts = 0;
  for (const Group& group : configuration.groups) watts += power_w(cluster, configuration, group, power_fraction);
  return watts;
}

Layout empty_cluster_layout(const Cluster& cluster, const Configuration& configuration) {
  Layout layout;
  if (configuration.groups.size() == 1) {
    const Group& group = configuration.groups.front();
    const int per_node = group.nodes > 0 ? group.workers_per_node() : workers_per_node(cluster, group.pool);
    std::vector<NodeShare>& shares = layout.emplace_back();
    for (int left = group.workers; left > 0; left -= per_node)
      shares.push_back({static_cast<int>(shares.size()), std::min(left, per_node)});
    return layout;
  }
  std::map<PoolId, Nodes> nodes;  // groups of one pool share its nodes
  for (const Group& group : configuration.groups) {
    const auto pool = nodes.try_emplace(group.pool, cluster.pools[static_cast<std::size_t>(group.pool)].nodes,
                                        workers_per_node(cluster, group.pool));
    pool.first->second.take(Placement::consolidated, group, layout.emplace_back());
  }
  return layout;
}

bool could_ever_fit(const Cluster& cluster, const Configuration& configuration) {
  return std::all_of(configuration.groups.begin(), configuration.groups.end(), [&](const Group& group) {
    const long nodes = cluster.pools[static_cast<std::size_t>(group.pool)].nodes;
    const long per_node = workers_per_node(cluster, group.pool);
    return configuration.workers_of(group.pool) <= nodes * per_node &&
           (group.nodes == 0 || (group.nodes <= nodes && group.workers_per_node() <= per_node));
  });
}

namespace {

/// Of a rigid job.
DeviceShare share_of(const Job& job) {
  if (job.gpu_fraction == 1) return {};
  return {.fraction = on_share_grid(job.gpu_fraction), .parts = job.gpus};
}

/// Of a rigid job. One GPU, or parts of GPUs, are on any nodes, whatever is said.
Configuration rigid_configuration(const Job& job, PoolId pool) {
  Configuration configuration;
  configuration.share = share_of(job);
  const bool part = configuration.share.is_part();
  configuration.groups.push_back(
      {.pool = pool, .workers = part ? configuration.share.devices() : job.gpus, .nodes = !part && job.gpus > 1 ? job.nodes : 0});
  return configuration;
}

}  // namespace

std::vector<PoolId> rigid_pools(const Job& job, const Cluster& cluster) {
  std::vector<PoolId> named;
  for (const PoolSpeed& pool : job.pools) named.push_back(pool.pool);
  if (named.empty() && job.pool >= 0) named.push_back(job.pool);
  const bool any = named.empty();
  for (PoolId pool = 0; any && pool < static_cast<PoolId>(cluster.pools.size()); ++pool) named.push_back(pool);
  std::erase_if(named, [&](PoolId pool) {
    return !could_ever_fit(cluster, rigid_configuration(job, pool)) || (job.gpu_fraction < 1 && !has_gpus(cluster, pool));
  });
  if (any && named.size() > 1) named.resize(1);
  return named;
}

std::optional<PoolId> rigid_pool(const Job& job, const Cluster& cluster) {
  const std::vector<PoolId> pools = rigid_pools(job, cluster);
  return pools.empty() ? std::nullopt : std::optional(pools.front());
}

Menu rigid_menu(const Job& job, const Cluster& cluster, const CostRules& rules) {
  Menu menu;
  for (const PoolId pool : rigid_pools(job, cluster)) {
    Choice choice;
    choice.configuration = rigid_configuration(job, pool);
    choice.predicted.time_s = job.duration_on_s(pool);
    choice.predicted.cost_usd = usd_for(cluster, rules, choice.configuration, choice.predicted.time_s);
    menu.ranked.push_back(std::move(choice));
  }
  return menu;
}

}  // namespace rehearse::sim
