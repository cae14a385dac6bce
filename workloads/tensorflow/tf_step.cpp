#include "workloads/tensorflow/tf_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "workloads/steps/op_time.hpp"

namespace rehearse::workloads {

namespace {

constexpr double kLargestWorkspace = 0x1p32;  // TF_CUDNN_WORKSPACE_LIMIT_IN_MB's default

std::int64_t whole_bytes(double bytes) { return sim::whole<std::int64_t>(std::ceil(bytes), "bytes of a tensor"); }

double dispatch_s(const TfHostCosts& costs, TfDispatch dispatch) {
  const double of_kind[] = {costs.metadata_s, costs.elementwise_s, costs.movement_s, costs.product_s, costs.library_s};
  return costs.factor * of_kind[static_cast<std::size_t>(dispatch)];
}

}  // namespace

TfStep tensorflow_step(const TensorFlowGraph& made, std::span<const sim::Device> devices, double batch, const TfHostCosts& costs,
                       std::span<const int> groups) {
  const sim::OpGraph& graph = made.graph;
  sim::check(groups.empty() || groups.size() == graph.ops.size(), "an operation has a group");
  std::vector<std::string> classes;
  for (const sim::Device& device : devices) classes.push_back(device.name);
  sim::StepGraphBuilder builder(graph.name, classes);
  sim::HostModel host{.send = sim::ticks_up(costs.factor * costs.send_s),
                      .threads = costs.threads > 0 ? costs.threads : std::numeric_limits<int>::max(),
                      .chunks = true};
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const sim::Op& op = graph.ops[i];
    const TfOpFacts& facts = made.facts[i];
    std::vector<double> durations_s;
    for (const sim::Device& device : devices)
      durations_s.push_back(
          facts.dispatch == TfDispatch::metadata ? 0 : op_duration_s(work_of(op), device, {.batch = batch, .launch_factor = 0}));
    const double resident = facts.holds ? op.parameter_bytes : 0;
    builder.add_op({.name = op.name,
                    .kind = facts.recurrent && op.kind == sim::OpKind::gemm ? sim::OpKind::rnn : op.kind,
                    .phase = op.phase,
                    .layer = op.layer,
                    .group = groups.empty() ? -1 : groups[i],
                    .flops = op.flops.at(batch),
                    .parameter_bytes = whole_bytes(resident),
                    .workspace_bytes = whole_bytes(std::min(op.workspace_bytes.at(batch), kLargestWorkspace))},
                   durations_s);
    host.dispatch.push_back(sim::ticks_up(dispatch_s(costs, facts.dispatch)));
  }
  std::map<int, int> tensors;                     // of the builder, by the tensor that an edge carries
  std::vector<int> orders(graph.ops.size(), -1);  // likewise, without data, by producer
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const sim::Edge& edge = graph.edges[e];
    const auto from = static_cast<std::size_t>(edge.from);
    int& tensor = made.tensor_of_edge[e] >= 0 ? tensors.try_emplace(made.tensor_of_edge[e], -1).first->second : orders[from];
    if (tensor < 0)
      tensor =
          builder.add_tensor({.producer = edge.from, .bytes = whole_bytes(edge.bytes.at(batch)), .held = made.facts[from].holds});
    builder.add_reader(tensor, edge.to);
  }
  return {builder.build(), std::move(host)};
}

}  // namespace rehearse::workloads
