#include "sim/replay/decisions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/money/costs.hpp"
#include "sim/step/cpu_step.hpp"

namespace rehearse::sim {

namespace {

/// Says what is wrong only when it is: menus are long.
template <class... Values>
void require(bool ok, fmt::format_string<const Values&...> what, const Values&... values) {
  if (!ok) throw PolicyError(fmt::format(what, values...));
}

void validate_configuration(const Cluster& cluster, const Job& job, const Configuration& c) {
  require(!c.groups.empty(), "a configuration without any workers");
  for (const Group& group : c.groups) {
    require(group.pool >= 0 && static_cast<std::size_t>(group.pool) < cluster.pools.size(), "a pool that does not exist");
    require(group.workers > 0, "{} workers", group.workers);
    require(group.nodes == 0 || (group.nodes > 0 && group.workers % group.nodes == 0), "{} workers on {} nodes", group.workers,
            group.nodes);
    require(group.batch_per_worker > 0 || job.work == Work::rigid, "a batch of {} samples a worker", group.batch_per_worker);
    const double busy_w = worker_device(cluster, group.pool).busy_w;
    require(c.power_limit_w == 0 || (c.power_limit_w > worker_device(cluster, group.pool).idle_w && c.power_limit_w <= busy_w),
            "a power limit of {} W", c.power_limit_w);
  }
  require(std::isfinite(c.learning_rate) && c.learning_rate >= 0, "a learning rate of {}", c.learning_rate);
  require(c.sync.servers >= 0 && (c.sync.kind == SyncKind::ring) == (c.sync.servers == 0), "{} parameter servers",
          c.sync.servers);
  if (job.work == Work::steps && job.batch_size > 0 && c.sync.kind != SyncKind::servers_async)
    require(c.batch_size() == job.batch_size, "a global batch of {} for a job whose batch is fixed at {}", c.batch_size(),
            job.batch_size);
}

}  // namespace

void validate_menu(const Cluster& cluster, const Job& job, const Menu& menu, double trained_epochs) {
  require(!menu.ranked.empty() || !menu.feasible, "a menu without any choice");
  for (const Choice& choice : menu.ranked) {
    validate_configuration(cluster, job, choice.configuration);
    require(choice.until_epochs > trained_epochs &&
                (choice.until_epochs == std::floor(choice.until_epochs) || std::isinf(choice.until_epochs)),
            "a stage until epoch {} of a job with {} trained", choice.until_epochs, trained_epochs);
    for (const double value : {choice.predicted.time_s, choice.predicted.cost_usd, choice.predicted.epochs})
      require(!(value < 0) && !std::isinf(value), "a prediction of {}", value);
    require(!(choice.predicted.accuracy < 0 || choice.predicted.accuracy > 1), "a predicted accuracy of {}",
            choice.predicted.accuracy);
  }
}

void validate_step_plan(const OpGraph& graph, int workers_on_node, const StepPlan& plan) {
  require(plan.evaluations >= 0 && plan.reinitialisation_s >= 0, "{} evaluations, {} s before each", plan.evaluations,
          plan.reinitialisation_s);
  if (plan.device_of_op.empty()) {
    require(plan.replicas == workers_on_node, "{} replicas for the {} workers of a node", plan.replicas, workers_on_node);
    return;
  }
  require(plan.replicas == 1, "{} model-parallel replicas on a node", plan.replicas);
  require(plan.device_of_op.size() == graph.ops.size(), "devices for {} of the graph's {} operations", plan.device_of_op.size(),
          graph.ops.size());
  for (const DeviceIndex device : plan.device_of_op)
    require(device >= 0 && device < workers_on_node, "an operation on device {} of {}", device, workers_on_node);
}

void validate_thread_plan(const OpGraph& graph, const Device& cpu, const ThreadPlan& plan) {
  const int most = cpu.cores * cpu.threads_per_core;
  const auto valid = [most](int threads) { return threads >= 1 && threads <= most; };
  require(valid(plan.intra_op), "{} threads an operation on a CPU of {}", plan.intra_op, most);
  require(valid(plan.inter_op), "{} operations side by side on a CPU of {} threads", plan.inter_op, most);
  require(plan.profiling_steps >= 0, "{} profiling steps", plan.profiling_steps);
  if (plan.schedule == nullptr) return;
  const CpuPlan& schedule = *plan.schedule;
  require(schedule.threads.size() == graph.ops.size(), "threads for {} of the graph's {} operations", schedule.threads.size(),
          graph.ops.size());
  const int most_of_one = schedule.dispatch == Dispatch::slots ? most : cpu.cores;
  for (const int threads : schedule.threads)
    require(threads >= 1 && threads <= most_of_one, "{} threads an operation on a CPU of {}", threads, most_of_one);
  require(schedule.priority.empty() || schedule.priority.size() == graph.ops.size(), "priorities for {} of {} operations",
          schedule.priority.size(), graph.ops.size());
  require(valid(schedule.slots), "{} operations side by side on a CPU of {} threads", schedule.slots, most);
  require(!(schedule.co_run || schedule.spare_threads) || schedule.belief != nullptr,
          "operations beside others, and no believed times");
}

void validate_layout(const Cluster& cluster, const Configuration& configuration, const Layout& layout) {
  require(layout.size() == configuration.groups.size(), "nodes for another number of groups");
  std::vector<std::pair<PoolId, int>> seen;
  for (std::size_t g = 0; g < layout.size(); ++g) {
    const Group& group = configuration.groups[g];
    const int nodes = cluster.pools[static_cast<std::size_t>(group.pool)].nodes;
    long devices = 0;
    for (const NodeShare& share : layout[g]) {
      require(share.node >= 0 && share.node < nodes, "node {} of {}", share.node, nodes);
      require(share.devices > 0, "{} devices of a node", share.devices);
      seen.emplace_back(group.pool, share.node);
      devices += share.devices;
    }
    require(devices == group.workers, "{} devices for {} workers", devices, group.workers);
    if (group.nodes == 0) continue;
    const auto is_even = [&](const NodeShare& share) { return share.devices == group.workers_per_node(); };
    require(static_cast<int>(layout[g].size()) == group.nodes && std::ranges::all_of(layout[g], is_even),
            "{} nodes for a job that needs {} with {} devices each", layout[g].size(), group.nodes, group.workers_per_node());
  }
  std::sort(seen.begin(), seen.end());
  require(std::adjacent_find(seen.begin(), seen.end()) == seen.end(), "a node named twice");
}

}  // namespace rehearse::sim
