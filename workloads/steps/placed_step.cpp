#include "workloads/steps/placed_step.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/money/costs.hpp"
#include "workloads/steps/profiles.hpp"

namespace rehearse::workloads {

sim::Machine replica_machine(const ReplicaSetting& setting) {
  const sim::Pool& pool = setting.cluster->pools[static_cast<std::size_t>(setting.pool)];
  const sim::Instance& instance = setting.cluster->instances[static_cast<std::size_t>(pool.instance)];
  return sim::machine_of(*setting.cluster, instance, sim::wiring_of(instance), {.gpus = setting.gpus, .with_cpu = false});
}

sim::StepGraph replica_graph(const ReplicaSetting& setting, std::span<const int> groups) {
  const sim::Device& gpu = sim::worker_device(*setting.cluster, setting.pool);
  return step_graph_of(setting.model->graph, std::span(&gpu, 1),
                       {.conditions = setting.conditions, .optimizer = setting.model->optimizer, .groups = groups});
}

ReplicaTime time_replica(const ReplicaSetting& setting, std::span<const sim::DeviceIndex> device_of_op, MakeTimer make) {
  const sim::Machine machine = replica_machine(setting);
  const sim::StepGraph graph = replica_graph(setting);
  const auto timer = make(graph, machine);
  const sim::StepResult& result = timer->time({.device_of_op = device_of_op});
  const sim::Tick busy = std::accumulate(result.busy.begin(), result.busy.end(), sim::Tick{0});
  return {
      .makespan = result.makespan,
      .busy_fraction = static_cast<double>(busy) / (static_cast<double>(result.makespan) * setting.gpus),
      .memory_bytes = static_cast<double>(*std::max_element(result.peak_memory_bytes.begin(), result.peak_memory_bytes.end())) +
                      sim::kContextBytes,
      .fits = !result.out_of_memory.happened()};
}

ReplicaSetting setting_of(const TimedReplica& timed, const ProfileModel& model, const sim::Cluster& cluster,
                          sim::Precision precision) {
  const Conditions conditions{
      .batch = timed.batch, .precision = precision, .time_factor = timed.time_factor, .power_limit_w = timed.power_limit_w};
  return {.model = &model,
          .cluster = &cluster,
          .pool = timed.pool,
          .gpus = timed.gpus,
          .conditions = corrected(conditions, sim::worker_device(cluster, timed.pool), model.model, model.dataset)};
}

namespace {

class Converter {
 public:
  Converter(const sim::OpGraph& graph, std::span<const sim::Device> devices, const StepGraphOptions& options)
      : graph_(graph), devices_(devices), options_(options), builder_(graph.name, names(devices)) {
    trains_ = std::any_of(graph.ops.begin(), graph.ops.end(), [](const sim::Op& op) { return op.phase == sim::Phase::update; });
  }

  sim::StepGraph build() {
    sim::check(options_.groups.empty() || options_.groups.size() == graph_.ops.size(), "an operation has a group");
    if (options_.gradient_sum == GradientSum::add_n) find_terms();
    for (std::size_t op = 0; op < graph_.ops.size(); ++op) add_op(static_cast<int>(op));
    for (const sim::Edge& edge : graph_.edges) add_edge(edge);
    add_private_tensors();
    return builder_.build();
  }

 private:
  static std::vector<std::string> names(std::span<const sim::Device> devices) {
    std::vector<std::string> result;
    for (const sim::Device& device : devices) result.push_back(device.name);
    return result;
  }

  /// Half precision halves what grows with the batch, as in MemoryModel.
  std::int64_t bytes(const sim::Affine& size) const {
    const double part = is_half(options_.conditions.precision) ? 0.5 : 1;
    return sim::whole<std::int64_t>(std::ceil(size.fixed + part * size.per_sample * options_.conditions.batch),
                                    "bytes of a tensor");
  }

  /// From a term of a gradient to the next time step's, which adds to it.
  bool joins_terms(const sim::Edge& edge) const {
    const auto is_term = [&](int op) {
      return graph_.ops[op].phase == sim::Phase::backward && graph_.ops[op].kind != sim::OpKind::embedding;
    };
    return edge.bytes.fixed > 0 && edge.bytes.per_sample == 0 && is_term(edge.from) && is_term(edge.to);
  }

  /// The update at the end of each chain of terms.
  void find_terms() {
    update_of_.assign(graph_.ops.size(), -1);
    std::vector<const sim::Edge*> edges;
    for (const sim::Edge& edge : graph_.edges) edges.push_back(&edge);
    std::stable_sort(edges.begin(), edges.end(), [](const auto* a, const auto* b) { return a->from > b->from; });
    for (const sim::Edge* edge : edges) {
      if (edge->bytes.per_sample != 0 || graph_.ops[edge->from].phase != sim::Phase::backward) continue;
      if (graph_.ops[edge->to].phase == sim::Phase::update) update_of_[edge->from] = edge->to;
      if (joins_terms(*edge)) update_of_[edge->from] = update_of_[edge->to];
    }
    for (const sim::Edge& edge : graph_.edges)
      if (joins_terms(edge) && update_of_[edge.from] >= 0) term_bytes_[update_of_[edge.from]] += edge.bytes.fixed;
  }

  void add_op(int index) {
    const sim::Op& op = graph_.ops[index];
    OpWork work = work_of(op);
    if (const auto terms = term_bytes_.find(index); terms != term_bytes_.end()) work.bytes.fixed += terms->second;
    std::vector<double> durations_s;
    for (const sim::Device& device : devices_) durations_s.push_back(op_duration_s(work, device, options_.conditions));
    const auto parameters = sim::whole<std::int64_t>(std::ceil(op.parameter_bytes), "bytes of an operation's parameters");
    builder_.add_op({.name = op.name,
                     .kind = op.kind,
                     .phase = op.phase,
                     .layer = op.layer,
                     .group = options_.groups.empty() ? -1 : options_.groups[index],
                     .flops = op.flops.at(options_.conditions.batch),
                     .parameter_bytes = parameters,
                     .gradient_bytes = trains_ ? parameters : 0,
                     .optimizer_bytes = trains_ ? parameters * optimizer_slots(options_.optimizer) : 0,
                     .workspace_bytes = std::min(bytes(op.workspace_bytes), static_cast<std::int64_t>(kLargestWorkspaceBytes))},
                    durations_s);
  }

  void add_edge(const sim::Edge& edge) {
    const bool held = edge.bytes.per_sample == 0;  // parameters and their gradients lie in buffers
    const std::int64_t size = bytes(edge.bytes);
    if (!update_of_.empty() && joins_terms(edge) && update_of_[edge.from] >= 0) {
      builder_.add_reader(builder_.add_tensor({.producer = edge.from, .bytes = size}), update_of_[edge.from]);
      return;
    }
    const auto [found, is_new] = tensors_.try_emplace({edge.from, size, held}, 0);
    if (is_new) found->second = builder_.add_tensor({.producer = edge.from, .bytes = size, .held = held});
    builder_.add_reader(found->second, edge.to);
  }

  void add_private_tensors() {
    std::map<std::pair<int, int>, std::vector<int>> backward;  // operations of each layer and time step
    for (std::size_t op = 0; op < graph_.ops.size(); ++op)
      if (graph_.ops[op].phase == sim::Phase::backward)
        backward[{graph_.ops[op].layer, graph_.ops[op].step}].push_back(static_cast<int>(op));
    for (std::size_t op = 0; op < graph_.ops.size(); ++op) {
      const std::int64_t size = bytes(graph_.ops[op].private_bytes);
      const auto readers = backward.find({graph_.ops[op].layer, graph_.ops[op].step});
      if (size == 0 || readers == backward.end()) continue;
      const int tensor = builder_.add_tensor({.producer = static_cast<int>(op), .bytes = size});
      for (const int reader : readers->second) builder_.add_reader(tensor, reader);
    }
  }

  const sim::OpGraph& graph_;
  std::span<const sim::Device> devices_;
  const StepGraphOptions& options_;
  sim::StepGraphBuilder builder_;
  std::map<std::tuple<int, std::int64_t, bool>, int> tensors_;  // by producer, size, held
  bool trains_ = false;
  // With GradientSum::add_n: the update that reads each term, and the bytes of all terms that an update reads.
  std::vector<int> update_of_;
  std::map<int, double> term_bytes_;
};

}  // namespace

sim::StepGraph step_graph_of(const sim::OpGraph& graph, std::span<const sim::Device> devices, const StepGraphOptions& options) {
  return Converter(graph, devices, options).build();
}

}  // namespace rehearse::workloads
