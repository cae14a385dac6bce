#include "workloads/steps/placed_step.hpp"

#include <algorithm>
#include <numeric>

#include "sim/money/costs.hpp"
#include "workloads/steps/step_graph_of.hpp"

namespace rehearse::workloads {

sim::Machine replica_machine(const ReplicaSetting& setting) {
  const sim::Pool& pool = setting.cluster->pools[static_cast<std::size_t>(setting.pool)];
  const sim::Instance& instance = setting.cluster->instances[static_cast<std::size_t>(pool.instance)];
  return sim::machine_of(*setting.cluster, instance, sim::wiring_of(instance), {.gpus = setting.gpus, .with_cpu = false});
}

sim::StepGraph replica_graph(const ReplicaSetting& setting, std::span<const int> groups) {
  const sim::Device& gpu = sim::worker_device(*setting.cluster, setting.pool);
  return step_graph_of(setting.model->graph, std::span(&gpu, 1),
                       {.conditions = setting.conditions, .optimizer = setting.model->optimizer, .groups = groups});
}

ReplicaTime time_replica(const ReplicaSetting& setting, std::span<const sim::DeviceIndex> device_of_op, MakeTimer make) {
  const sim::Machine machine = replica_machine(setting);
  const sim::StepGraph graph = replica_graph(setting);
  const auto timer = make(graph, machine);
  const sim::StepResult& result = timer->time({.device_of_op = device_of_op});
  const sim::Tick busy = std::accumulate(result.busy.begin(), result.busy.end(), sim::Tick{0});
  return {
      .makespan = result.makespan,
      .busy_fraction = static_cast<double>(busy) / (static_cast<double>(result.makespan) * setting.gpus),
      .memory_bytes = static_cast<double>(*std::max_element(result.peak_memory_bytes.begin(), result.peak_memory_bytes.end())) +
                      sim::kContextBytes,
      .fits = !result.out_of_memory.happened()};
}

ReplicaSetting setting_of(const TimedReplica& timed, const ProfileModel& model, const sim::Cluster& cluster,
                          sim::Precision precision) {
  const Conditions conditions{
      .batch = timed.batch, .precision = precision, .time_factor = timed.time_factor, .power_limit_w = timed.power_limit_w};
  return {.model = &model,
          .cluster = &cluster,
          .pool = timed.pool,
          .gpus = timed.gpus,
          .conditions = corrected(conditions, sim::worker_device(cluster, timed.pool), model.model, model.dataset)};
}

}  // namespace rehearse::workloads
