#include <catch2/catch.hpp>

#include "tests/workloads/devices.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;
namespace tests = rehearse::tests;

TEST_CASE("memory by hand", "[memory]") {
  sim::OpGraph graph;
  graph.parameters = 1e6;
  graph.ops.resize(2);
  graph.ops[0].saved_bytes = {0, 3e6};
  graph.ops[1].saved_bytes = {0, 1e6};
  graph.ops[0].workspace_bytes = {0, 2e6};
  graph.ops[1].workspace_bytes = {0, 5e6};
  // Adam: 4e6 x 4; 10 samples of 4e6 saved and 5e6 scratch; buckets 128e6; context 0.6e9.
  CHECK(MemoryModel(graph, Optimizer::adam).bytes(10) == 16e6 + 40e6 + 50e6 + 128e6 + 0.6e9);
  CHECK(MemoryModel(graph, Optimizer::sgd).bytes(10) == 8e6 + 40e6 + 50e6 + 128e6 + 0.6e9);
  // Half precision halves what a sample takes; scratch stops at 512e6.
  CHECK(MemoryModel(graph, Optimizer::adam).bytes(10, sim::Precision::fp16) == 16e6 + 20e6 + 25e6 + 128e6 + 0.6e9);
  CHECK(MemoryModel(graph, Optimizer::adam).bytes(1000) == 16e6 + 4e9 + 512e6 + 128e6 + 0.6e9);

  // 0.94 x 1e9 - 744e6 leave 196e6 for 9e6 a sample: 21.
  sim::Device device;
  device.memory_bytes = 1e9;
  CHECK(MemoryModel(graph, Optimizer::adam).largest_batch(device) == 21);
  device.memory_bytes = 0.7e9;
  CHECK(MemoryModel(graph, Optimizer::adam).largest_batch(device) == 0);
}

TEST_CASE("what fits and what does not", "[memory]") {
  const MemoryModel resnet50(zoo_graph("resnet50"), Optimizer::momentum), resnet152(zoo_graph("resnet152"), Optimizer::momentum);
  CHECK(resnet152.fits(64, tests::p100()));
  CHECK_FALSE(resnet152.fits(64, tests::k80()));
  CHECK(resnet152.fits(32, tests::k80()));  // ran there (tf_benchmarks)
  CHECK(resnet50.fits(128, tests::k80()));  // ran there (Gavel)
  CHECK_FALSE(resnet50.fits(256, tests::p100()));
  INFO(resnet50.bytes(128) << " " << resnet152.bytes(64));
  CHECK(resnet50.largest_batch(tests::k80()) >= 128);
  CHECK(resnet50.largest_batch(tests::v100(), sim::Precision::fp16) > resnet50.largest_batch(tests::v100()));
}

TEST_CASE("a step is computed in the fewest passes that fit, by hand", "[memory]") {
  // As above: 21 samples fit. 40 in 2 passes of 20, 43 in 4 of 11, 84 in 4 of 21, 85 in 8.
  ProfileModelInputs inputs{.optimizer = Optimizer::adam, .max_accumulation = 4};
  inputs.graph.parameters = 1e6;
  inputs.graph.ops.resize(1);
  inputs.graph.ops[0].saved_bytes = {0, 4e6};
  inputs.graph.ops[0].workspace_bytes = {0, 5e6};
  ProfileModels models;
  models.add(inputs);
  const ProfileModel& model = models.of({.index = 0});
  sim::Device device;
  device.memory_bytes = 1e9;
  const auto passes = [&](double batch) { return model.passes(batch, device, sim::Precision::fp32); };
  CHECK(passes(21) == 1);
  CHECK(passes(40) == 2);
  CHECK(passes(43) == 4);
  CHECK(passes(84) == 4);
  CHECK(passes(85) == 0);  // 8 are too many
  // A pass that needs a quarter more: 0.94e9 / 1.25 - 744e6 leave 8e6, less than a sample.
  CHECK(model.passes(1, device, sim::Precision::fp32, 1.25) == 0);
}
