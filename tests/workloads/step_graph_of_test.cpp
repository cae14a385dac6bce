#include "workloads/step_graph_of.hpp"

#include <catch2/catch.hpp>

#include "sim/step/step_timer.hpp"
#include "tests/workloads/devices.hpp"
#include "workloads/memory.hpp"
#include "workloads/step_model.hpp"
#include "workloads/zoo.hpp"

using namespace rehearse;
using namespace rehearse::workloads;

namespace {

sim::Device host() {
  sim::Device cpu = tests::knl();
  cpu.name = "host";
  return cpu;
}

/// A CPU and `gpus` K80 without a limit of memory.
struct Node {
  explicit Node(int gpus) {
    cluster.devices = {host(), tests::k80()};
    cluster.devices[1].memory_bytes = 1e15;
    instance = {.name = "node", .gpus = {{.device = 1, .count = gpus}}, .cpu = 0, .memory_bytes = 1e15};
  }
  sim::Machine machine() const { return sim::machine_of(cluster, instance, sim::wiring_of(instance)); }
  std::vector<sim::Device> classes() const { return sim::class_devices(cluster, instance); }
  sim::Cluster cluster;
  sim::Instance instance;
};

}  // namespace

TEST_CASE("on one device the timer's makespan is the closed form's sum") {
  const auto model = GENERATE(as<std::string>(), "resnet50", "inception-v3", "vgg16", "alexnet");
  const auto batch = GENERATE(1, 32);
  const Node node(1);
  const sim::Machine machine = node.machine();
  const sim::OpGraph ops = zoo_graph(model);
  const sim::StepGraph graph = step_graph_of(ops, node.classes(), {.conditions = {.batch = static_cast<double>(batch)}});
  const auto timer = sim::make_fast_timer(graph, machine);
  for (std::int32_t device = 0; device < 2; ++device) {
    const std::vector<std::int32_t> all_there(graph.ops(), device);
    const ComputeTime sum = StepModel(ops).compute_time(node.classes()[device], {.batch = static_cast<double>(batch)});
    const sim::StepResult& timing = timer->time({.device_of_op = all_there});
    INFO(model << " on device " << device);
    CHECK(timing.makespan_s() == Approx(sum.forward_s + sum.backward_s + sum.update_s).epsilon(1e-9));
    CHECK(timing.busy[device] == timing.makespan);
    CHECK(timing.transfers == 0);
    CHECK_FALSE(timing.out_of_memory.happened());
  }
}

TEST_CASE("on one device the peak memory is below the closed form's, which keeps everything saved to the end") {
  const auto model = GENERATE(as<std::string>(), "resnet50", "inception-v3", "vgg16");
  const Node node(1);
  const sim::Machine machine = node.machine();
  const sim::OpGraph ops = zoo_graph(model);
  const sim::StepGraph graph = step_graph_of(ops, node.classes(), {.conditions = {.batch = 64}});
  const std::vector<std::int32_t> all_there(graph.ops(), 1);
  const auto peak =
      static_cast<double>(sim::make_fast_timer(graph, machine)->time({.device_of_op = all_there}).peak_memory_bytes[1]);
  const double closed = MemoryModel(ops, Optimizer::momentum).bytes(64) - kContextBytes - kBucketBytes;
  CHECK(peak > 0.75 * closed);
  CHECK(peak < 1.1 * closed);
}
