#include "sim/step/step_graph.hpp"

#include <catch2/catch.hpp>

#include "sim/step/machine.hpp"
#include "tests/sim/step/made_up.hpp"

using namespace rehearse::sim;
using namespace rehearse::tests;
using Catch::Matchers::Contains;

namespace {

StepGraphBuilder two_ops() {
  StepGraphBuilder builder("g", {"gpu"});
  builder.add_op({.name = "conv"}, std::vector{1.0});
  builder.add_op({.name = "relu"}, std::vector{1.0});
  return builder;
}

}  // namespace

TEST_CASE("tensors are numbered by producer, readers ascend, inputs know which reader they are") {
  StepGraphBuilder builder("g", {"cpu", "gpu"});
  for (const char* name : {"a", "b", "c"}) builder.add_op({.name = name}, std::vector{2e-9, 1e-9});
  const int of_b = builder.add_tensor({.producer = 1, .bytes = 7});
  const int of_a = builder.add_tensor({.producer = 0, .bytes = 5});
  for (const int op : {2, 1, 2}) builder.add_reader(of_a, op);
  builder.add_reader(of_b, 2);
  const StepGraph graph = builder.build();
  REQUIRE(graph.tensors() == 2);
  CHECK(graph.tensor(0).bytes == 5);
  CHECK(std::vector(graph.readers_of(0).begin(), graph.readers_of(0).end()) == std::vector{1, 2});
  CHECK(graph.first_tensor(1) == 1);
  REQUIRE(graph.inputs_of(2).size() == 2);
  for (const StepInput& input : graph.inputs_of(2)) CHECK(graph.readers()[input.reader] == 2);
  // 2e-9 s are 2.1 ticks, 1e-9 s 1.07: rounded up.
  CHECK(graph.duration(0, 0) == 3);
  CHECK(graph.duration(0, 1) == 2);
}

TEST_CASE("mistakes in a graph name the operation") {
  SECTION("none") {
    CHECK_THROWS_WITH(StepGraphBuilder("empty", {"gpu"}).build(), Contains("empty") && Contains("operations"));
    StepGraphBuilder without("g", {});
    without.add_op({.name = "a"}, {});
    CHECK_THROWS_WITH(without.build(), Contains("a class of devices"));
  }
  SECTION("costs") {
    for (const double wrong : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
      StepGraphBuilder builder("g", {"gpu"});
      builder.add_op({.name = "conv7"}, std::vector{wrong});
      CHECK_THROWS_AS(builder.build(), InputError);
    }
    StepGraphBuilder builder("g", {"gpu"});
    builder.add_op({.name = "conv7", .workspace_bytes = -5}, std::vector{1.0});
    CHECK_THROWS_WITH(builder.build(), Contains("conv7") && Contains("-5"));
    StepGraphBuilder output = two_ops();
    output.add_tensor({.producer = 1, .bytes = -3});
    CHECK_THROWS_WITH(output.build(), Contains("relu") && Contains("-3"));
  }
  SECTION("edges that hang") {
    StepGraphBuilder producer = two_ops();
    producer.add_tensor({.producer = 2});
    CHECK_THROWS_WITH(producer.build(), Contains("producer") && Contains("2"));
    StepGraphBuilder reader = two_ops();
    reader.add_reader(reader.add_tensor({.producer = 0}), 9);
    CHECK_THROWS_WITH(reader.build(), Contains("conv") && Contains("9"));
    StepGraphBuilder tensor = two_ops();
    tensor.add_reader(4, 1);
    CHECK_THROWS_WITH(tensor.build(), Contains("relu") && Contains("4"));
  }
  SECTION("cycles") {
    StepGraphBuilder builder = two_ops();
    builder.add_op({.name = "after"}, std::vector{1.0});
    builder.add_reader(builder.add_tensor({.producer = 0}), 1);
    builder.add_reader(builder.add_tensor({.producer = 1}), 0);
    builder.add_reader(builder.add_tensor({.producer = 1}), 2);
    CHECK_THROWS_WITH(builder.build(), Contains("no cycle") && Contains("conv") && Contains("relu") && !Contains("after"));
    StepGraphBuilder self = two_ops();
    self.add_reader(self.add_tensor({.producer = 0}), 0);
    CHECK_THROWS_WITH(self.build(), Contains("no cycle") && Contains("conv"));
  }
  SECTION("all at once") {
    StepGraphBuilder builder("g", {"gpu"});
    builder.add_op({.name = "a"}, std::vector{-1.0});
    builder.add_op({.name = "b", .parameter_bytes = -1}, std::vector{1.0});
    try {
      builder.build();
      FAIL("no error");
    } catch (const InputError& error) {
      CHECK(error.mistakes().size() == 2);
    }
  }
}

TEST_CASE("mistakes in a machine") {
  CHECK_THROWS_WITH(MachineBuilder().build(), Contains("a device"));
  MachineBuilder lonely;
  const int gpu = lonely.add_class("gpu");
  lonely.add_device({.name = "left", .device_class = gpu});
  lonely.add_device({.name = "right", .device_class = gpu});
  lonely.add_link({"wire", LinkKind::other, 1e9});
  lonely.set_route(0, 1, {0}, 0);
  CHECK_THROWS_WITH(lonely.build(), Contains("right") && Contains("route to device left"));
  for (const double bandwidth : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    MachineBuilder builder;
    builder.add_device({.name = "only", .device_class = builder.add_class("gpu")});
    builder.add_link({"wire", LinkKind::other, bandwidth});
    CHECK_THROWS_WITH(builder.build(), Contains("wire"));
  }
  MachineBuilder twice;
  for (const char* name : {"a", "b"})
    twice.add_device({.name = name, .device_class = name[0] == 'a' ? twice.add_class("gpu") : 0});
  twice.add_link({"wire", LinkKind::other, 1});
  twice.set_route(0, 1, {0, 0}, 0);
  CHECK_THROWS_WITH(twice.build(), Contains("route 0 -> 1"));
}

namespace {

Cluster dgx_like() {
  Cluster cluster;
  cluster.devices = {{.name = "xeon", .kind = DeviceKind::cpu, .cores = 40}, {.name = "k80", .memory_bytes = 12e9}};
  return cluster;
}

Instance eight_k80() {
  return {.name = "eight",
          .gpus = {{.device = 1, .count = 8}},
          .cpu = 0,
          .memory_bytes = 100e9,
          .inside = {.bandwidth_bytes_per_s = 1e10, .latency_s = 1e-5},
          .network = {.bandwidth_bytes_per_s = 1e9, .latency_s = 5e-5}};
}

/// Kinds of the links from one device to another, in the order of the links.
std::vector<LinkKind> kinds(const Machine& machine, int from, int to) {
  std::vector<LinkKind> result;
  for (const std::int32_t link : machine.route(from, to).links) result.push_back(machine.links()[link].kind);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

TEST_CASE("a node's GPUs hang under PCIe switches, those under sockets") {
  NodeWiring wiring = wiring_of(eight_k80());
  wiring.gpus_per_switch = 2;
  const Machine machine = machine_of(dgx_like(), eight_k80(), wiring);
  REQUIRE(machine.devices() == 9);
  CHECK(machine.has_cpu());
  // 0.94 x 12e9 - 0.6e9 = 10.68e9; the host's 0.94 x 100e9.
  CHECK(machine.device(1).memory_bytes == 10'680'000'000);
  CHECK(machine.device(0).memory_bytes == 94'000'000'000);
  using enum LinkKind;
  CHECK(kinds(machine, 1, 2) == std::vector{pcie, pcie});
  CHECK(kinds(machine, 1, 3) == std::vector{pcie, pcie, pcie_switch, pcie_switch});
  CHECK(kinds(machine, 1, 8) == std::vector{pcie, pcie, pcie_switch, pcie_switch, qpi});
  CHECK(kinds(machine, 0, 1) == std::vector{pcie, pcie_switch});
  CHECK(kinds(machine, 8, 0) == std::vector{pcie, pcie_switch, qpi});
  // 1e-5 s = 10737.42 ticks; over QPI 1.1e-5 s = 11811.16.
  CHECK(machine.route(1, 2).latency == 10738);
  CHECK(machine.route(1, 8).latency == 11812);
  CHECK(machine.route(1, 2).links[0] != machine.route(2, 1).links[0]);  // each direction has its own
}

TEST_CASE("GPUs with NVLink talk over it, and to the host over PCIe; nodes over their NICs") {
  Instance instance = eight_k80();
  instance.inside.bandwidth_bytes_per_s = 6.5e10;
  using enum LinkKind;
  const Machine machine = machine_of(dgx_like(), instance, wiring_of(instance), {.nodes = 2, .gpus = 2});
  REQUIRE(machine.devices() == 6);
  CHECK(kinds(machine, 1, 2) == std::vector{nvlink, nvlink});
  CHECK(kinds(machine, 1, 0) == std::vector{pcie, pcie_switch});
  CHECK(kinds(machine, 1, 4) == std::vector{pcie, pcie, pcie_switch, pcie_switch, nic, nic});
  CHECK(machine.route(1, 4).bandwidth_bytes_per_s == 1e9);
}

TEST_CASE("an instance without a CPU, or with too few GPUs, is the user's mistake") {
  Instance instance = eight_k80();
  CHECK_THROWS_WITH(machine_of(dgx_like(), instance, wiring_of(instance), {.gpus = 9}), Contains("9 GPUs") && Contains("8"));
  instance.cpu = -1;
  CHECK_THROWS_WITH(machine_of(dgx_like(), instance, wiring_of(instance)), Contains("a CPU"));
}
