// List schedulers on random graphs in which an operation reads one or two of the 16 before it: a CPU and 8 GPUs, every
// operation a group of its own.
#include <benchmark/benchmark.h>

#include "policies/place/methods/methods.hpp"
#include "sim/base/random.hpp"

namespace {

using namespace rehearse;

sim::Machine eight_gpus() {
  sim::Cluster cluster;
  cluster.devices = {{.name = "cpu", .kind = sim::DeviceKind::cpu, .cores = 32}, {.name = "gpu", .memory_bytes = 1e12}};
  sim::Instance instance;
  instance.gpus = {{.device = 1, .count = 8}};
  instance.cpu = 0;
  instance.inside = {.bandwidth_bytes_per_s = 1e10, .latency_s = 1e-5};
  return machine_of(cluster, instance, wiring_of(instance));
}

sim::StepGraph layered(int ops) {
  sim::Random random(sim::stream_key(1, 0, "bench", "step graph"));
  sim::StepGraphBuilder builder("layered", {"cpu", "gpu"});
  std::vector<int> tensors;
  for (int op = 0; op < ops; ++op) {
    const double seconds = random.uniform(2e-5, 4e-4);
    builder.add_op({.name = std::to_string(op), .workspace_bytes = 1000}, std::vector{10 * seconds, seconds});
    tensors.push_back(builder.add_tensor({.producer = op, .bytes = static_cast<std::int64_t>(random.below(4'000'000))}));
    for (int k = 0; k < 2 && op > 0; ++k)
      builder.add_reader(tensors[static_cast<std::size_t>(op - 1) - random.below(static_cast<std::uint64_t>(std::min(op, 16)))],
                         op);
  }
  return builder.build();
}

template <class Schedule>
void schedule(benchmark::State& state, Schedule&& make) {
  const sim::Machine machine = eight_gpus();
  const sim::StepGraph graph = layered(static_cast<int>(state.range(0)));
  policies::Groups groups{.of_op = {}, .count = graph.ops()};
  for (int op = 0; op < graph.ops(); ++op) groups.of_op.push_back(op);
  const policies::PlacementView view(graph, machine, groups, 1);
  const std::vector<std::int64_t> room(static_cast<std::size_t>(machine.devices()), std::int64_t{1} << 50);
  for (auto _ : state) benchmark::DoNotOptimize(make(view, policies::PlacementGraph(view), room).makespan());
}

void heft(benchmark::State& state) {
  schedule(state, [](const auto& view, const auto& groups, const auto& room) { return heft_schedule(view, groups, room); });
}

void m_etf(benchmark::State& state) {
  schedule(state, [](const auto& view, const auto& groups, const auto& room) { return etf_schedule(view, groups, room); });
}

}  // namespace

BENCHMARK(heft)->ArgName("ops")->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);
BENCHMARK(m_etf)->ArgName("ops")->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
