#include <catch2/catch.hpp>

#include "sim/step/step_timer.hpp"
#include "tests/workloads/devices.hpp"
#include "workloads/steps/placed_step.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/steps/step_model.hpp"
#include "workloads/zoo/zoo.hpp"

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

TEST_CASE("terms of a gradient are kept until all are there, on the update's device") {
  // Three time steps make a gradient of 8 bytes by turns: 1, 2, 3 -> update. An embedding's stay as they are.
  sim::OpGraph ops{.name = "terms"};
  for (int step = 0; step < 3; ++step)
    ops.ops.push_back(
        {.name = "gradient", .kind = sim::OpKind::gemm, .phase = sim::Phase::backward, .step = step, .bytes = {100, 0}});
  ops.ops.push_back({.name = "update", .kind = sim::OpKind::update, .phase = sim::Phase::update, .bytes = {1000, 0}});
  ops.edges = {{0, 1, {8, 0}}, {1, 2, {8, 0}}, {2, 3, {8, 0}}};
  const Node node(2);
  const std::vector<sim::Device> gpu{node.classes()[1]};
  const auto made = [&](GradientSum sum) { return step_graph_of(ops, gpu, {.conditions = {.batch = 1}, .gradient_sum = sum}); };
  const auto peak = [&](const sim::StepGraph& graph, int of_update) {
    const sim::Machine machine = sim::machine_of(node.cluster, node.instance, sim::wiring_of(node.instance), {.with_cpu = false});
    const std::vector<std::int32_t> devices{0, 0, 0, of_update};
    return sim::make_fast_timer(graph, machine)->time({.device_of_op = devices}).peak_memory_bytes;
  };
  const sim::StepGraph in_place = made(GradientSum::in_place), add_n = made(GradientSum::add_n);
  // In place: one buffer, which is the gradient's own (held): nothing more. Elsewhere a copy of 8 bytes.
  CHECK(peak(in_place, 0) == std::vector<std::int64_t>{0, 0});
  CHECK(peak(in_place, 1) == std::vector<std::int64_t>{0, 8});
  // Terms of the first two steps beside the buffer; on another device's update all three.
  CHECK(peak(add_n, 0) == std::vector<std::int64_t>{16, 0});
  CHECK(peak(add_n, 1)[1] == 24);
  // No step waits for another one, and the update reads 16 bytes more.
  CHECK(add_n.inputs_of(1).empty());
  CHECK(in_place.inputs_of(1).size() == 1);
  CHECK(add_n.duration(3, 0) >= in_place.duration(3, 0));
  for (sim::Op& op : ops.ops)
    if (op.phase == sim::Phase::backward) op.kind = sim::OpKind::embedding;
  CHECK(made(GradientSum::add_n).inputs_of(1).size() == 1);
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
