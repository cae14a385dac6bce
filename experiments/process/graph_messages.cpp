#include "experiments/process/graph_messages.hpp"

#include <array>

namespace rehearse::scenarios {

namespace {

constexpr std::array kOpKinds{"conv",        "gemm",    "rnn",       "batch_norm", "pool",
                              "elementwise", "softmax", "embedding", "update",     "variable"};
constexpr std::array kPhases{"forward", "backward", "update"};
static_assert(kOpKinds.size() == static_cast<std::size_t>(sim::OpKind::variable) + 1);
static_assert(kPhases.size() == static_cast<std::size_t>(sim::Phase::update) + 1);

/// [fixed, per_sample]; left out when both are 0.
void write_affine(std::string_view name, const sim::Affine& value, JsonLine& out) {
  if (value.fixed == 0 && value.per_sample == 0) return;
  out.key(name).open('[').number(value.fixed).number(value.per_sample).close(']');
}

void write_op(const sim::Op& op, JsonLine& out) {
  out.open('{').key("name").text(op.name).key("kind").text(kOpKinds[static_cast<std::size_t>(op.kind)]);
  out.key("phase").text(kPhases[static_cast<std::size_t>(op.phase)]).key("layer").number(op.layer);
  if (op.step != 0) out.key("step").number(op.step);
  write_affine("flops", op.flops, out);
  write_affine("bytes", op.bytes, out);
  write_affine("output_bytes", op.output_bytes, out);
  write_affine("saved_bytes", op.saved_bytes, out);
  write_affine("workspace_bytes", op.workspace_bytes, out);
  out.maybe_number("parameter_bytes", op.parameter_bytes, 0).close('}');
}

}  // namespace

void ToldGraphs::write(const sim::OpGraph& graph, JsonLine& out) {
  const auto [known, is_new] = number_.emplace(&graph, static_cast<int>(number_.size()));
  out.key("graph").number(known->second);
  if (!is_new) return;
  out.key("new_graph").open('{').key("name").text(graph.name).key("ops").open('[');
  for (const sim::Op& op : graph.ops) write_op(op, out);
  out.close(']').key("edges").open('[');
  for (const sim::Edge& edge : graph.edges)
    out.open('[').number(edge.from).number(edge.to).number(edge.bytes.fixed).number(edge.bytes.per_sample).close(']');
  out.close(']').close('}');
}

}  // namespace rehearse::scenarios
