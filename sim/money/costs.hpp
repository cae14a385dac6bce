// What holding devices costs in money and power, and what switching costs in time.
#pragma once

#include <limits>
#include <optional>
#include <string_view>

#include "sim/cluster/cluster.hpp"
#include "sim/jobs/configuration.hpp"
#include "sim/jobs/models.hpp"

namespace rehearse::sim {

/// Who pays for what (docs/explain/model.md, "Money"): each job for the devices it holds; for whole nodes, as a cloud rents them;
/// all jobs for all nodes.
enum class Billing : std::uint8_t { allocated, node, pool };
/// As scenarios and results have it.
std::string_view name_of(Billing billing);

struct CostRules {
  Billing billing = Billing::allocated;
  double minimum_node_s = 0;  ///< under node billing: a node is paid for at least so long
  double preload_bytes_per_s = std::numeric_limits<double>::infinity();  ///< copying the data set to a job's nodes, at each start
  bool rigid_jobs_switch = false;                                        ///< stopping and starting again take rigid jobs time too
  double collect_s = 0;                         ///< fetching the results, before a job that has ended lets go
  double start_s = 30;                          ///< of a modelled job: containers, libraries, first batch
  double checkpoint_s = 10;                     ///< writing a checkpoint, before a preempted or resized job lets go
  double restore_bytes_per_s = 500e6;           ///< reading a checkpoint, when a job starts again
  double warmup_epochs = 0.1;                   ///< of the learning rate, after another batch size was taken up
  double parameter_server_usd_per_hour = 0.34;  ///< of each parameter server: a c5.2xlarge
};

/// Do stopping and starting again take the job any time? A rigid job's only where the rules say so.
inline bool switches(const Job& job, const CostRules& rules) { return job.work != Work::rigid || rules.rigid_jobs_switch; }

const Instance& instance_of(const Cluster& cluster, PoolId pool);
bool has_gpus(const Cluster& cluster, PoolId pool);

/// Devices of a node that count as workers: its GPUs, or the node itself.
int workers_per_node(const Cluster& cluster, PoolId pool);

/// The device that a worker of this pool is.
const Device& worker_device(const Cluster& cluster, PoolId pool);

/// Nodes that so many workers of one pool take where they are alone on them.
long nodes_for(const Cluster& cluster, PoolId pool, long workers);
/// Those that the configuration takes of the pool where it is alone.
long nodes_of(const Cluster& cluster, const Configuration& configuration, PoolId pool);

/// price/3600 x devices held / devices of the node, in dollars a second. One worker, at the instance's price.
double worker_usd_per_s(const Cluster& cluster, PoolId pool);

/// Dollars of one worker between two dates, at the prices of then.
double worker_usd(const Cluster& cluster, PoolId pool, double from_s, double to_s);

/// Watts of one worker and its share of the node, idle and computing.
double worker_idle_w(const Cluster& cluster, PoolId pool);
double worker_busy_w(const Cluster& cluster, PoolId pool);

/// Dollars a second of the configuration's parameter servers.
double servers_usd_per_s(const CostRules& rules, const Configuration& configuration);

/// Dollars a second while the configuration holds its devices, as the billing charges a job that is alone: parameter servers
/// included; under node billing of the nodes that it rents, whole ones; under pool billing of every node of its pools, for what a
/// job can change there is when it ends.
double usd_per_s(const Cluster& cluster, const CostRules& rules, const Configuration& configuration);

/// The same for a job among others: under pool billing for its own devices.
double share_usd_per_s(const Cluster& cluster, CostRules rules, const Configuration& configuration);

/// What the configuration pays for holding its devices so long: usd_per_s, and under node billing the nodes' minimum time.
double usd_for(const Cluster& cluster, const CostRules& rules, const Configuration& configuration, double time_s);

/// Under node billing what the configuration pays, a second, for the nodes that it would rent alone; else nothing.
double rent_usd_per_s(const Cluster& cluster, const CostRules& rules, const Configuration& configuration);

/// Until the nodes of autoscaled pools have booted where nobody else has any; those of `held` (null: none) are up.
double boot_seconds(const Cluster& cluster, const Configuration* held, const Configuration& next);

/// The mean over these dates, where prices change; else usd_per_s.
double mean_usd_per_s(const Cluster& cluster, const CostRules& rules, const Configuration& configuration, double from_s,
                      double to_s);

/// Watts of the workers of one group of the configuration at this StepTiming::power_fraction, 0 when idle; no device draws more
/// than its `power_limit_w`. A job that shares a device: its share of what an idle one draws, and all that it draws beyond that.
double power_w(const Cluster& cluster, const Configuration& configuration, const Group& group, double power_fraction);

/// Watts of all workers.
double power_w(const Cluster& cluster, const Configuration& configuration, double power_fraction);

/// Where the replay puts the configuration on an empty cluster: on the fewest nodes, from node 0 on. It must fit.
Layout empty_cluster_layout(const Cluster& cluster, const Configuration& configuration);

/// Could this ever run, on an empty cluster?
bool could_ever_fit(const Cluster& cluster, const Configuration& configuration);

/// Where a rigid job may run: in those of the pools it names that could ever hold it, in its order; if it names none, in the
/// first that could. A part of a GPU is of a pool that has some.
std::vector<PoolId> rigid_pools(const Job& job, const Cluster& cluster);
/// The first of them; none when no pool could.
std::optional<PoolId> rigid_pool(const Job& job, const Cluster& cluster);
/// Its menu: an entry for each of these, its GPUs on its nodes there.
Menu rigid_menu(const Job& job, const Cluster& cluster, const CostRules& rules);

}  // namespace rehearse::sim
