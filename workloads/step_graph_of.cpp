#include "workloads/step_graph_of.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/base/errors.hpp"
#include "workloads/memory.hpp"

namespace rehearse::workloads {
namespace {

class Converter {
 public:
  Converter(const sim::OpGraph& graph, std::span<const sim::Device> devices, const StepGraphOptions& options)
      : graph_(graph), devices_(devices), options_(options), builder_(graph.name, names(devices)) {
    trains_ = std::any_of(graph.ops.begin(), graph.ops.end(), [](const sim::Op& op) { return op.phase == sim::Phase::update; });
  }

  sim::StepGraph build() {
    sim::check(options_.groups.empty() || options_.groups.size() == graph_.ops.size(), "an operation has a group");
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
    const double part = options_.conditions.precision == sim::Precision::fp16 ? 0.5 : 1;
    return static_cast<std::int64_t>(std::ceil(size.fixed + part * size.per_sample * options_.conditions.batch));
  }

  void add_op(int index) {
    const sim::Op& op = graph_.ops[index];
    const OpWork work = work_of(op);
    std::vector<double> durations_s;
    for (const sim::Device& device : devices_) durations_s.push_back(op_duration_s(work, device, options_.conditions));
    const auto parameters = static_cast<std::int64_t>(std::ceil(op.parameter_bytes));
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
    const auto count = static_cast<int>(graph_.ops.size());
    const bool known = edge.from >= 0 && edge.from < count && edge.to >= 0 && edge.to < count;
    const bool gradient = known && graph_.ops[edge.to].phase == sim::Phase::update;
    const bool shared_parameters =
        known && edge.bytes.per_sample == 0 && edge.bytes.fixed > 0 && edge.bytes.fixed == graph_.ops[edge.from].parameter_bytes;
    const bool held = gradient || shared_parameters;
    const std::int64_t size = bytes(edge.bytes);
    const auto [found, is_new] = tensors_.try_emplace({edge.from, size, held}, 0);
    if (is_new) found->second = builder_.add_tensor({.producer = edge.from, .bytes = size, .held = held});
    builder_.add_reader(found->second, edge.to);
  }

  void add_private_tensors() {
    std::map<int, std::vector<int>> backward;  // operations of each layer
    for (std::size_t op = 0; op < graph_.ops.size(); ++op)
      if (graph_.ops[op].phase == sim::Phase::backward) backward[graph_.ops[op].layer].push_back(static_cast<int>(op));
    for (std::size_t op = 0; op < graph_.ops.size(); ++op) {
      const std::int64_t size = bytes(graph_.ops[op].private_bytes);
      const auto readers = backward.find(graph_.ops[op].layer);
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
};

}  // namespace

sim::StepGraph step_graph_of(const sim::OpGraph& graph, std::span<const sim::Device> devices, const StepGraphOptions& options) {
  return Converter(graph, devices, options).build();
}

}  // namespace rehearse::workloads
