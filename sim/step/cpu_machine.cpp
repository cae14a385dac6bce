#include "sim/step/cpu_machine.hpp"

#include <algorithm>
#include <cstdlib>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

CpuMachine cpu_machine_of(const Device& cpu) {
  check(cpu.cores > 0 && cpu.peak_fp32_flops > 0 && cpu.memory_bandwidth_bytes_per_s > 0,
        "a CPU has cores, arithmetic and memory");
  const Threading& threading = cpu.threading;
  const double bandwidth = cpu.memory_bandwidth_bytes_per_s * cpu.efficiency.bandwidth;
  CpuMachine machine{
      .cores = cpu.cores,
      .sockets = std::clamp(cpu.sockets, 1, cpu.cores),
      .cores_per_tile = threading.cores_per_tile,
      .threads_per_core = std::max(1, cpu.threads_per_core),
      .bandwidth_bytes_per_s = bandwidth,
      .core_bandwidth_bytes_per_s = cpu.core_bandwidth_bytes_per_s > 0 ? cpu.core_bandwidth_bytes_per_s : bandwidth,
      .tile_cache_bytes = threading.tile_cache_bytes,
      .wake_s = threading.wake_s,
      .time_slice_s = threading.time_slice_s};
  // Of two threads; more of them gain nothing further.
  machine.smt_yield.assign(static_cast<std::size_t>(machine.threads_per_core), threading.smt_yield);
  machine.smt_yield.front() = 1;
  return machine;
}

double refill_bytes(const CpuMachine& machine, int to, double input_bytes) {
  const int tiles = (std::min(to, machine.cores) + machine.cores_per_tile - 1) / machine.cores_per_tile;
  return machine.rethreading * std::min(input_bytes, tiles * machine.tile_cache_bytes);
}

double rethreading_s(const CpuMachine& machine, int from, int to, double input_bytes) {
  const double bandwidth =
      std::min(std::min(to, machine.cores) * machine.core_bandwidth_bytes_per_s, machine.bandwidth_bytes_per_s);
  return machine.rethreading * machine.wake_s * std::abs(to - from) + refill_bytes(machine, to, input_bytes) / bandwidth;
}

CpuGraph cpu_graph(const OpGraph& graph, double batch, std::vector<std::int32_t> class_of) {
  const std::size_t ops = graph.ops.size();
  check(class_of.size() == ops, "a class for each operation");
  CpuGraph out{.class_of = std::move(class_of)};
  out.input_bytes.assign(ops, 0);
  out.predecessors.assign(ops, 0);
  out.first_successor.assign(ops + 1, 0);
  for (const Edge& edge : graph.edges) {
    check(edge.from >= 0 && edge.from < edge.to && edge.to < static_cast<int>(ops), "an edge leads forward");
    ++out.first_successor[static_cast<std::size_t>(edge.from) + 1];
    ++out.predecessors[static_cast<std::size_t>(edge.to)];
    out.input_bytes[static_cast<std::size_t>(edge.to)] += edge.bytes.at(batch);
  }
  for (std::size_t op = 0; op < ops; ++op) out.first_successor[op + 1] += out.first_successor[op];
  out.successors.resize(graph.edges.size());
  std::vector<std::int32_t> next(out.first_successor.begin(), out.first_successor.end() - 1);
  for (const Edge& edge : graph.edges)
    out.successors[static_cast<std::size_t>(next[static_cast<std::size_t>(edge.from)]++)] = edge.to;
  return out;
}

}  // namespace rehearse::sim
