// Planning threads for a large graph, and timing one step of it: eleven Inception-v3 one after the other, on a Xeon Phi 7250.
#include <benchmark/benchmark.h>

#include "policies/threads/planner.hpp"
#include "workloads/zoo/zoo.hpp"

namespace {

using namespace rehearse;

constexpr int kCopies = 11;
constexpr double kBatch = 16;

/// As sim/cluster/catalogue/devices.json has it.
sim::Device knl() {
  sim::Device cpu{.name = "knl-7250",
                  .kind = sim::DeviceKind::cpu,
                  .peak_fp32_flops = 6.09e12,
                  .memory_bandwidth_bytes_per_s = 4e11,
                  .cores = 68,
                  .threads_per_core = 4,
                  .core_bandwidth_bytes_per_s = 9e9,
                  .efficiency = {.conv = 0.75, .gemm = 0.71, .rnn = 0.76, .bandwidth = 0.945, .launch_s = 16.9e-6}};
  cpu.threading.cores_per_tile = 2;
  return cpu;
}

sim::OpGraph large_graph() {
  const sim::OpGraph one = workloads::zoo_graph("inception-v3", "imagenet");
  const int ops = static_cast<int>(one.ops.size());
  sim::OpGraph all{.name = "inception-v3, repeated"};
  for (int copy = 0; copy < kCopies; ++copy) {
    all.ops.insert(all.ops.end(), one.ops.begin(), one.ops.end());
    for (const sim::Edge& edge : one.edges) all.edges.push_back({edge.from + copy * ops, edge.to + copy * ops, edge.bytes});
    if (copy > 0) all.edges.push_back({copy * ops - 1, copy * ops, {}});
  }
  return all;
}

policies::StrategyPlanner planner() {
  return {std::make_unique<policies::HillClimbing>(4),
          {.own_counts = true, .type_counts = true, .co_run = true, .spare_threads = true},
          policies::StrategyPlanner::Use::or_uniform};
}

/// From the operations to their plan: classes, hill climbing, all combinations of strategies.
void plan(benchmark::State& state) {
  const sim::Device cpu = knl();
  const sim::OpGraph graph = large_graph();
  for (auto _ : state) {
    const workloads::CpuStepModel model = workloads::cpu_step_model(graph, cpu, kBatch);
    policies::StepBench bench(model, cpu, kBatch, {.deviation = 0.05, .key = 1});
    benchmark::DoNotOptimize(planner().plan(bench));
  }
  state.counters["ops"] = static_cast<double>(graph.ops.size());
}

void time_step(benchmark::State& state) {
  const sim::Device cpu = knl();
  const workloads::CpuStepModel model = workloads::cpu_step_model(large_graph(), cpu, kBatch);
  policies::StepBench bench(model, cpu, kBatch, {.deviation = 0.05, .key = 1});
  const sim::CpuPlan planned = planner().plan(bench);
  for (auto _ : state) benchmark::DoNotOptimize(sim::time_cpu_step(model.graph, *model.costs, model.machine, planned).makespan);
}

BENCHMARK(plan)->Unit(benchmark::kMillisecond);
BENCHMARK(time_step)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
