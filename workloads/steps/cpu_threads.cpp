#include "workloads/steps/cpu_threads.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/base/errors.hpp"
#include "sim/step/cpu_step.hpp"
#include "workloads/layers/layer_cost.hpp"

namespace rehearse::workloads {

namespace {

using sim::OpKind;

constexpr double kShortestPiece = 256;  // of the inner dimension, worth a piece of its own
constexpr double kPiecesPerThread = 4;  // that a split of the inner dimension aims at

/// The longest that `pieces` of unequal length take on k threads, of their sum: Graham, SIAM J. Appl. Math. 17(2), 1969,
/// theorem 1.
double granularity(double pieces, double k) { return 1 / k + (1 - 1 / k) / std::max(1.0, pieces); }

/// A convolution's filter gradient sums over all samples: each thread keeps a filter of its own.
bool is_filter_gradient(const OpWork& work) { return work.kind == OpKind::conv && work.matrix.k.per_sample > 0; }

struct SplitPieces {
  double count = 1;
  double partial_bytes = 0;  // of results that are summed at the end
};

SplitPieces pieces_of(const OpWork& work, const Product& p, double k) {
  const double tiles = std::ceil(p.m / kCpuTile) * std::ceil(p.n / kCpuTile), result_bytes = kBytesPerNumber * p.m * p.n;
  const double most = std::max(1.0, std::floor(p.k / kShortestPiece));
  if (is_filter_gradient(work)) {
    const double splits = std::min(k, most);
    return {.count = tiles * most, .partial_bytes = splits > 1 ? splits * result_bytes : 0};
  }
  const double splits = std::clamp(kPiecesPerThread * k / tiles, 1.0, most);
  return {.count = tiles * splits, .partial_bytes = splits > 1 ? splits * result_bytes : 0};
}

}  // namespace

sim::CpuOpCost cpu_op_cost(const OpWork& work, const sim::Device& cpu, double batch, int threads, const ThreadFactors& factors) {
  const sim::Efficiency& e = cpu.efficiency;
  const double k = threads, repeats = work.repeats, bandwidth = cpu.memory_bandwidth_bytes_per_s * e.bandwidth;
  const double core_flops = cpu.peak_fp32_flops / cpu.cores * efficiency_of(e, work.kind) * work.relative_efficiency;
  sim::check(core_flops > 0 && bandwidth > 0 && batch > 0 && threads > 0, "an operation needs samples, threads and a CPU");
  const sim::Threading& t = cpu.threading;
  const double thread_s = e.launch_s * (1 - t.dispatch_share) / cpu.cores * factors.per_thread;
  sim::CpuOpCost cost{.fixed_s = repeats * (e.launch_s * t.dispatch_share + thread_s * k), .bytes = work.bytes.at(batch)};
  const Product product{.m = work.matrix.m.at(batch), .n = work.matrix.n.at(batch), .k = work.matrix.k.at(batch)};
  if (product.m <= 0) {
    const double one_core_s = work.flops.at(batch) / core_flops;
    cost.fixed_s += t.serial_share * one_core_s;
    cost.arithmetic_s = (1 - t.serial_share) * one_core_s * granularity(cost.bytes / kCpuChunkBytes, k);
    return cost;
  }
  const double vectors = std::ceil(product.n / kCpuVector) * kCpuVector / product.n;
  const double one_core_s = repeats * product.flops() * vectors / core_flops;
  const SplitPieces pieces = pieces_of(work, product, k);
  cost.further_bytes = repeats * pieces.partial_bytes * factors.partial_results;
  cost.fixed_s += t.serial_share * one_core_s + cost.further_bytes / bandwidth;
  cost.arithmetic_s = (1 - t.serial_share) * one_core_s * granularity(pieces.count, k);
  cost.packs = work.kind != OpKind::conv;
  return cost;
}

OpClasses classes_of(const sim::OpGraph& graph) {
  OpClasses out;
  using Type = std::tuple<sim::OpKind, sim::Phase, bool>;
  std::map<Type, std::int32_t> types;
  for (const sim::Op& op : graph.ops) {
    const OpWork work = work_of(op);
    const auto same = std::find(out.works.begin(), out.works.end(), work);
    out.class_of.push_back(static_cast<std::int32_t>(same - out.works.begin()));
    if (same != out.works.end()) continue;
    out.works.push_back(work);
    out.first_op.push_back(static_cast<std::int32_t>(out.class_of.size()) - 1);
    const Type type{op.kind, op.phase, op.matrix.k.per_sample > 0};
    out.type_of.push_back(types.emplace(type, static_cast<std::int32_t>(types.size())).first->second);
  }
  out.types = static_cast<int>(types.size());
  return out;
}

CpuOpCosts::CpuOpCosts(std::span<const OpWork> works, const sim::Device& cpu, double batch, const ThreadFactors& factors)
    : classes_(static_cast<int>(works.size())), most_(static_cast<std::size_t>(sim::cpu_machine_of(cpu).logical_cores())) {
  costs_.reserve(works.size() * most_);
  for (const OpWork& work : works)
    for (std::size_t k = 1; k <= most_; ++k) costs_.push_back(cpu_op_cost(work, cpu, batch, static_cast<int>(k), factors));
}

double CpuStepModel::alone_s(int op_class, int threads) const {
  return sim::cpu_alone_s(machine, costs->cost(op_class, threads), threads);
}

CpuStepModel cpu_step_model(const sim::OpGraph& graph, const sim::Device& cpu, double batch, const Sensitivity& sensitivity) {
  CpuStepModel model{.machine = sim::cpu_machine_of(cpu), .classes = classes_of(graph)};
  model.machine.rethreading = sensitivity.rethreading;
  for (double& yield : model.machine.smt_yield) yield = 1 + (yield - 1) * sensitivity.smt_gain;
  model.graph = sim::cpu_graph(graph, batch, model.classes.class_of);
  model.costs = std::make_unique<CpuOpCosts>(model.classes.works, cpu, batch, sensitivity.factors);
  model.name = graph.name;
  return model;
}

sim::CpuPlan uniform_plan(const sim::CpuGraph& graph, const UniformSetting& setting) {
  return {.dispatch = sim::Dispatch::slots,
          .threads = std::vector<std::int32_t>(static_cast<std::size_t>(graph.ops()), setting.intra_op),
          .slots = setting.inter_op};
}

double recommended_step_s(const CpuStepModel& model) {
  const sim::CpuPlan plan = uniform_plan(model.graph, {.intra_op = model.machine.cores, .inter_op = model.machine.sockets});
  return sim::time_cpu_step(model.graph, *model.costs, model.machine, plan).makespan_s();
}

namespace {

constexpr double kLineBytes = 64;
constexpr double kFlopsPerCycle = 64;        // of a core with two AVX-512 units, to take the clock from its peak
constexpr double kFlopsPerInstruction = 32;  // a fused multiply-add of 16 numbers
constexpr double kVectorBytes = 64;
constexpr double kOverhead = 0.25;  // of further instructions: addresses, loops

}  // namespace

CpuCounters cpu_counters(const OpWork& work, const sim::Device& cpu, double batch, int threads, double alone_s) {
  const double flops = work.flops.at(batch), bytes = work.bytes.at(batch);
  const double cores = std::min(threads, cpu.cores), clock_hz = cpu.peak_fp32_flops / cpu.cores / kFlopsPerCycle;
  CpuCounters read{.time_s = alone_s, .cycles = alone_s * clock_hz * cores};
  // A multiply-add of matrices loads one operand; a stream loads and stores what it reads and writes.
  const double arithmetic = flops / kFlopsPerInstruction;
  const double loads = work.matrix.m.at(batch) > 0 ? arithmetic : bytes / kVectorBytes;
  read.instructions = (arithmetic + loads) * (1 + kOverhead);
  // The last-level cache sees each thread's part of the data once, and what several threads read again.
  const double shared = 1 + 0.1 * std::log2(cores);
  read.llc_accesses = std::max(1.0, bytes / kLineBytes * shared);
  const double cache = cpu.threading.tile_cache_bytes * std::ceil(cores / cpu.threading.cores_per_tile);
  read.llc_misses = std::max(1.0, bytes / kLineBytes * bytes / (bytes + cache));
  read.l1_hits = std::max(1.0, loads - read.llc_accesses);
  return read;
}

CpuCounters noisy(CpuCounters counters, const CounterNoise& noise, sim::Random& random) {
  for (double* value : {&counters.time_s, &counters.cycles, &counters.instructions})
    *value *= random.log_normal_factor(noise.fixed);
  for (double* value : {&counters.l1_hits, &counters.llc_accesses, &counters.llc_misses})
    *value *= random.log_normal_factor(noise.multiplexed);
  return counters;
}

}  // namespace rehearse::workloads
