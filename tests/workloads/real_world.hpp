// A small cluster of real devices and zoo models on real data sets, for tests of worlds and of policies in them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"
#include "tests/workloads/devices.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/training/datasets.hpp"
#include "workloads/world/world.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::tests {

/// A pool of its own instance type.
struct PoolSheet {
  std::string name;
  std::string device;  ///< "k80", "v100" or "knl7250"
  int nodes = 1;
  int gpus = 1;  ///< of a node; 0: a CPU node
  double usd_per_hour = 1;
};

struct ModelSheet {
  std::string model, dataset;
};

inline sim::Cluster real_cluster(const std::vector<PoolSheet>& pools, std::vector<sim::Device> devices = {k80(), v100(), knl()}) {
  sim::Cluster cluster;
  for (sim::Device& device : devices) {
    device.idle_w = 50;
    device.busy_w = 250;
  }
  cluster.devices = std::move(devices);
  for (const PoolSheet& pool : pools) {
    int index = 0;
    while (cluster.devices[static_cast<std::size_t>(index)].name != pool.device) ++index;
    sim::Instance instance{.name = "node of " + pool.name,
                           .cpu = pool.gpus == 0 ? index : -1,
                           .price_usd_per_hour = pool.usd_per_hour,
                           .inside = {.bandwidth_bytes_per_s = 10e9, .latency_s = 10e-6},
                           .network = {.bandwidth_bytes_per_s = 1.25e9, .latency_s = 30e-6},
                           .storage_bandwidth_bytes_per_s = 1e9,
                           .host_idle_w = 100,
                           .host_busy_w = 200};
    if (pool.gpus > 0) instance.gpus.push_back({.device = index, .count = pool.gpus});
    cluster.pools.push_back({.name = pool.name, .instance = static_cast<int>(cluster.instances.size()), .nodes = pool.nodes});
    cluster.instances.push_back(std::move(instance));
  }
  return cluster;
}

/// The publication's batch is the convergence's reference batch, where there is one.
inline workloads::ProfileModelInputs profile_inputs(const std::string& model, const std::string& dataset) {
  const workloads::ZooEntry& entry = workloads::zoo_entry(model);
  const workloads::Dataset& data = workloads::dataset(dataset);
  workloads::ProfileModelInputs inputs{.graph = workloads::zoo_graph(model, dataset),
                                       .model = model,
                                       .dataset = dataset,
                                       .optimizer = entry.optimizer,
                                       .training_samples = data.training_samples,
                                       .validation_samples = data.validation_samples,
                                       .publication_batch = static_cast<double>(entry.global_batch)};
  if (const auto* convergence = workloads::find_convergence(model, dataset)) {
    inputs.convergence = *convergence;
    inputs.publication_batch = convergence->reference_batch;
  }
  return inputs;
}

struct RealWorld {
  sim::Cluster cluster;
  workloads::ProfileTable table;
  workloads::ProfileModels models;
  std::unique_ptr<workloads::Belief> belief;

  RealWorld(sim::Cluster pools, const std::vector<ModelSheet>& sheets) : cluster(std::move(pools)) {
    for (const ModelSheet& sheet : sheets) {
      table.intern(sheet.model, sheet.dataset);
      models.add(profile_inputs(sheet.model, sheet.dataset));
    }
    belief = std::make_unique<workloads::Belief>(cluster, models);
  }
  RealWorld(const RealWorld&) = delete;
  RealWorld& operator=(const RealWorld&) = delete;

  const sim::Profile& profile(std::size_t index = 0) const { return table.profiles()[index]; }
  const sim::Profile& profile(std::string_view model) const {
    for (const sim::Profile& p : table.profiles())
      if (p.model == model) return p;
    sim::fail_check("no such profile in this test");
  }
  int pool(std::string_view name) const {
    int index = 0;
    while (cluster.pools[static_cast<std::size_t>(index)].name != name) ++index;
    return index;
  }
  workloads::World world(const workloads::WorldErrors& errors, std::uint64_t seed = 1, int repetition = 0) const {
    return {*belief, errors, seed, repetition};
  }
};

inline sim::Configuration configuration(int pool, int workers, int batch_per_worker) {
  sim::Configuration c;
  c.groups.push_back({.pool = pool, .workers = workers, .batch_per_worker = batch_per_worker});
  return c;
}

}  // namespace rehearse::tests
