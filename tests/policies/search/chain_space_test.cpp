#include "policies/search/chain_space.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/workloads/real_world.hpp"
#include "workloads/architecture_accuracy.hpp"
#include "workloads/convergence_table.hpp"
#include "workloads/graph_builder.hpp"
#include "workloads/profiles.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

/// Two architectures, a node with four K80s for $4 an hour and one with a V100.
struct Chains {
  sim::Cluster cluster = tests::real_cluster({{"a", "k80", 1, 4, 4.0}, {"b", "v100", 1, 1, 3.0}});
  sim::CostRules costs;
  workloads::ProfileTable profiles;
  workloads::ProfileModels models;
  std::unique_ptr<ChainSpace> space;

  Chains() {
    Architectures architectures{.genes = {{.name = "layers", .levels = {"3", "6"}}}, .profiles = {}, .epochs = 9};
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
    space =
        std::make_unique<ChainSpace>(ChainSpace::Inputs{.cluster = &cluster,
                                                        .costs = &costs,
                                                        .models = &models,
                                                        .architectures = std::move(architectures),
                                                        .resources = {.pools = {0, 1}, .workers = {1, 2}, .batches = {128, 8192}},
                                                        .deployed_on = &sim::worker_device(cluster, 0)});
  }
};

}  // namespace

TEST_CASE("candidates of a chain space") {
  const Chains chains;
  const ChainSpace& space = *chains.space;
  const Genes genes{1, 0, 1, 0};
  CHECK(space.name(genes) == "layers=6 pool=a workers=2 batch=128");
  CHECK(space.configuration(genes).groups == std::vector<sim::Group>{{.pool = 0, .workers = 2, .batch_per_worker = 64}});
  CHECK(space.architecture(genes) == 1);
  const Measures whole = space.measure(genes, 1), third = space.measure(genes, 1.0 / 3), least = space.measure(genes, 1e-9);
  REQUIRE(whole.fits);
  CHECK(space.epochs(1) == 9);
  CHECK(space.epochs(1.0 / 3) == 3);
  CHECK(space.epochs(1e-9) == 1);
  // Only the accuracy hangs on how long it has trained.
  CHECK(whole.accuracy > third.accuracy);
  CHECK(third.accuracy > least.accuracy);
  CHECK(whole.training_s == third.training_s);
  CHECK(whole.gpu_hours == Approx(2 * whole.training_s / 3600));
  // A GPU of the node is a quarter of its price.
  CHECK(whole.cost_usd == Approx(2 * whole.training_s / 3600));
  // Latency and memory are the architecture's and the batch's, wherever it is trained.
  const Measures elsewhere = space.measure({1, 1, 0, 0}, 1);
  CHECK(elsewhere.latency_s == whole.latency_s);
  CHECK(elsewhere.training_s < whole.training_s);
  CHECK(space.measure({0, 0, 1, 0}, 1).latency_s < whole.latency_s);
  CHECK(space.measure({1, 1, 0, 1}, 1).memory_bytes > elsewhere.memory_bytes);
}

TEST_CASE("candidates that do not fit") {
  const Chains chains;
  CHECK_FALSE(chains.space->measure({0, 1, 1, 0}, 1).fits);  // two workers, one device
  // 8192 samples of 64 filters at 32 x 32 in 4-byte numbers are 2.1 GB a layer: over the 12 GB of a K80.
  CHECK_FALSE(chains.space->measure({1, 0, 0, 1}, 1).fits);
  CHECK(chains.space->measure({1, 0, 0, 0}, 1).fits);
}
