// A small space of chains of layers, for tests of searches.
#pragma once

#include <memory>
#include <string>

#include "policies/search/spaces.hpp"
#include "tests/workloads/real_world.hpp"
#include "workloads/steps/graph_builder.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/training/architecture_accuracy.hpp"
#include "workloads/training/convergence.hpp"

namespace rehearse::tests {

/// Two architectures, a node with four K80s for $4 an hour and one with a V100.
struct Chains {
  sim::Cluster cluster = real_cluster({{"a", "k80", 1, 4, 4.0}, {"b", "v100", 1, 1, 3.0}});
  sim::CostRules costs;
  workloads::ProfileTable profiles;
  workloads::ProfileModels models;
  std::unique_ptr<policies::ChainSpace> space;

  Chains() {
    policies::Architectures architectures{.genes = {{.name = "layers", .levels = {"3", "6"}}}, .profiles = {}, .epochs = 9};
    for (const int layers : {3, 6}) {
      const std::string name = "cnn-" + std::to_string(layers);
      const workloads::CnnStructure structure = workloads::residual_cnn(layers, 64, 3, 32);
      const workloads::ConvergenceParameters& like = *workloads::find_convergence("resnet18", "cifar10");
      architectures.profiles.push_back(profiles.intern(name, "cifar10"));
      models.add({.graph = build_graph(make_network(structure)),
                  .model = name,
                  .dataset = "cifar10",
                  .training_samples = 50000,
                  .validation_samples = 10000,
                  .publication_batch = 128,
                  .convergence = workloads::trained_to(like, 1 - workloads::cnn_error(structure))});
    }
    space = std::make_unique<policies::ChainSpace>(
        policies::ChainSpace::Inputs{.cluster = &cluster,
                                     .costs = &costs,
                                     .models = &models,
                                     .architectures = std::move(architectures),
                                     .resources = {.pools = {0, 1}, .workers = {1, 2}, .batches = {128, 8192}},
                                     .deployed_on = &sim::worker_device(cluster, 0)});
  }
};

}  // namespace rehearse::tests
