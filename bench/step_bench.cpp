// The fast step timer beside the least that timing a step can be: the same operations in the same order rule, a heap of ends and
// a queue a device, transfers as long as they take alone, no memory. Random graphs of about 1.7 inputs an operation on 8 GPUs.
#include <benchmark/benchmark.h>

#include <deque>
#include <numeric>
#include <queue>

#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "sim/step/step_timer.hpp"
#include "workloads/tensorflow/tf_step.hpp"

namespace {

using namespace rehearse::sim;

constexpr int kDevices = 8;
constexpr int kPlacements = 64;
constexpr int kRun = 25;  // operations, in the mean, that a local placement leaves on one GPU

/// Eight GPUs, four under each PCIe switch, as machine_of makes them.
Machine eight_gpus() {
  Cluster cluster;
  cluster.devices = {{.name = "cpu", .kind = DeviceKind::cpu, .cores = 32}, {.name = "gpu", .memory_bytes = 1e12}};
  Instance instance;
  instance.gpus = {{.device = 1, .count = kDevices}};
  instance.cpu = 0;
  instance.inside = {.bandwidth_bytes_per_s = 1e10, .latency_s = 1e-5};
  return machine_of(cluster, instance, wiring_of(instance));
}

/// Operation i reads one or two of the few before it. Most take 20 to 400 us; tensors have up to 4 MB.
StepGraph layered(int ops) {
  Random random(stream_key(1, 0, "bench", "step graph"));
  StepGraphBuilder builder("layered", {"cpu", "gpu"});
  std::vector<int> tensors;
  for (int op = 0; op < ops; ++op) {
    const double seconds = random.uniform(2e-5, 4e-4);
    builder.add_op({.name = std::to_string(op), .workspace_bytes = 1000}, std::vector{10 * seconds, seconds});
    tensors.push_back(builder.add_tensor({.producer = op, .bytes = static_cast<std::int64_t>(random.below(4'000'000))}));
    if (op == 0) continue;
    builder.add_reader(tensors[op - 1 - random.below(std::min(op, 16))], op);
    builder.add_reader(tensors[op - 1 - random.below(std::min(op, 16))], op);
  }
  return builder.build();
}

/// GPUs are the machine's devices 1 to 8. At random, or in runs of operations that change the GPU now and then.
/// As many as a search tries, so that no branch predictor learns one of them.
std::vector<std::vector<std::int32_t>> placed(const StepGraph& graph, bool local) {
  Random random(stream_key(1, 0, "bench", "placement"));
  std::vector<std::vector<std::int32_t>> result(kPlacements, std::vector<std::int32_t>(graph.ops()));
  for (std::vector<std::int32_t>& device_of_op : result) {
    std::int32_t device = 1;
    for (std::int32_t& d : device_of_op) {
      if (!local || random.below(kRun) == 0) device = 1 + static_cast<std::int32_t>(random.below(kDevices));
      d = device;
    }
  }
  return result;
}

/// The bare loop.
class HeapLoop {
 public:
  HeapLoop(const StepGraph& graph, const Machine& machine) : graph_(graph), machine_(machine), missing_(graph.ops()) {}

  Tick time(const std::vector<std::int32_t>& device_of_op) {
    queues_.assign(machine_.devices(), {});
    busy_.assign(machine_.devices(), false);
    for (int op = 0; op < graph_.ops(); ++op) {
      missing_[op] = static_cast<int>(graph_.inputs_of(op).size());
      if (missing_[op] == 0) queues_[device_of_op[op]].push_back(op);
    }
    Tick now = 0;
    for (int d = 0; d < machine_.devices(); ++d) start(d, now);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now = event.date;
      if (event.arrives) {
        give(event.op, device_of_op[event.op], now);
        continue;
      }
      const int device = device_of_op[event.op];
      busy_[device] = false;
      for (int t = graph_.first_tensor(event.op); t < graph_.first_tensor(event.op + 1); ++t)
        for (const std::int32_t reader : graph_.readers_of(t)) {
          const int to = device_of_op[reader];
          if (to == device) {
            give(reader, to, now);
            continue;
          }
          const Route route = machine_.route(device, to);
          const double bytes = static_cast<double>(graph_.tensor(t).bytes);
          events_.push({now + route.latency + ticks_up(bytes / route.bandwidth_bytes_per_s), reader, true});
        }
      start(device, now);
    }
    return now;
  }

 private:
  struct Event {
    Tick date;
    std::int32_t op;
    bool arrives;
    bool operator<(const Event& o) const { return date != o.date ? date > o.date : op > o.op; }
  };
  void give(int op, int device, Tick now) {
    if (--missing_[op] > 0) return;
    queues_[device].push_back(op);
    start(device, now);
  }
  void start(int device, Tick now) {
    if (busy_[device] || queues_[device].empty()) return;
    const int op = queues_[device].front();
    queues_[device].pop_front();
    busy_[device] = true;
    events_.push({now + graph_.duration(op, machine_.device(device).device_class), op, false});
  }
  const StepGraph& graph_;
  const Machine& machine_;
  std::vector<int> missing_;
  std::vector<std::deque<int>> queues_;
  std::vector<bool> busy_;
  std::priority_queue<Event> events_;
};

void count(benchmark::State& state, int ops) {
  state.counters["us_per_op"] =
      benchmark::Counter(1e-6 * ops, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void heap_loop(benchmark::State& state) {
  const Machine machine = eight_gpus();
  const StepGraph graph = layered(static_cast<int>(state.range(0)));
  const auto placements = placed(graph, state.range(1) != 0);
  HeapLoop loop(graph, machine);
  std::size_t next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(loop.time(placements[next++ % kPlacements]));
  count(state, graph.ops());
}

void timer(benchmark::State& state) {
  const Machine machine = eight_gpus();
  const StepGraph graph = layered(static_cast<int>(state.range(0)));
  const auto placements = placed(graph, state.range(1) != 0);
  const auto timer = make_fast_timer(graph, machine);
  std::size_t next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(timer->time({.device_of_op = placements[next++ % kPlacements]}).makespan);
  count(state, graph.ops());
  state.counters["transfers_per_op"] = static_cast<double>(timer->time({.device_of_op = placements[0]}).transfers) / graph.ops();
}

/// Inception-v3 in TensorFlow's operations on five GPUs: every operation at random, or every (layer, step).
void tensorflow(benchmark::State& state) {
  const rehearse::workloads::TensorFlowGraph made = rehearse::workloads::tensorflow_graph("inception-v3");
  const Device k80{.name = "gpu", .peak_fp32_flops = 4.37e12, .memory_bandwidth_bytes_per_s = 2.4e11, .multiprocessors = 13};
  const rehearse::workloads::TfStep step = rehearse::workloads::tensorflow_step(made, std::span(&k80, 1), 32, {});
  Cluster cluster;
  cluster.devices = {{.name = "cpu", .kind = DeviceKind::cpu, .cores = 32}, {.name = "gpu", .memory_bytes = 1e12}};
  Instance instance;
  instance.gpus = {{.device = 1, .count = 5}};
  instance.cpu = 0;
  instance.inside = {.bandwidth_bytes_per_s = 5.7e9, .latency_s = 1.34e-4};
  const Machine machine = machine_of(cluster, instance, wiring_of(instance), {.with_cpu = false});
  Random random(stream_key(1, 0, "bench", "placement"));
  std::vector<std::int32_t> of_layer(made.graph.ops.size()), devices;
  for (std::int32_t& device : of_layer) device = static_cast<std::int32_t>(random.below(5));
  for (std::size_t op = 0; op < made.graph.ops.size(); ++op)
    devices.push_back(state.range(0) == 0 ? of_layer[op] : of_layer[static_cast<std::size_t>(made.graph.ops[op].layer)]);
  const auto timer = make_fast_timer(step.graph, machine, step.host);
  for (auto _ : state) benchmark::DoNotOptimize(timer->time({.device_of_op = devices}).makespan);
  state.counters["transfers"] = static_cast<double>(timer->time({.device_of_op = devices}).transfers);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"ops", "local"})->ArgsProduct({{100, 1000, 10000}, {0, 1}})->Unit(benchmark::kMicrosecond);
}

}  // namespace

BENCHMARK(heap_loop)->Apply(sizes);
BENCHMARK(timer)->Apply(sizes);
BENCHMARK(tensorflow)->ArgName("by_layer")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
