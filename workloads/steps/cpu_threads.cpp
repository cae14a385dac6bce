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

}  // namespace rehearse::workloads
