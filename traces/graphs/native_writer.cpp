#include <fmt/format.h>

#include "sim/io/shown.hpp"
#include "traces/graphs/native.hpp"
#include "traces/graphs/op_names.hpp"

namespace rehearse::traces {
namespace {

using sim::Affine;
using sim::json_string;

/// A number, or [fixed, per_sample] of what grows with the batch.
std::string text(const Affine& a) {
  return a.per_sample == 0 ? fmt::format("{}", a.fixed) : fmt::format("[{}, {}]", a.fixed, a.per_sample);
}

bool is_zero(const Affine& a) { return a.fixed == 0 && a.per_sample == 0; }
bool is_zero(const sim::MatrixShape& m) { return is_zero(m.m) && is_zero(m.n) && is_zero(m.k); }

std::string text(const sim::MatrixShape& m) {
  return fmt::format(R"({{"m": {}, "n": {}, "k": {}}})", text(m.m), text(m.n), text(m.k));
}

std::string text(const sim::FastForm& f) {
  return fmt::format(R"({{"matrix": {}, "products": {}, "relative_efficiency": {}, "transform_bytes": {}}})", text(f.matrix),
                     f.products, f.relative_efficiency, text(f.transform_bytes));
}

void add_costs(const sim::Op& op, std::string& out) {
  const auto add = [&](const char* key, const Affine& value) {
    if (!is_zero(value)) out += fmt::format(R"(, "{}": {})", key, text(value));
  };
  add("flops", op.flops);
  add("bytes", op.bytes);
  if (!is_zero(op.matrix)) out += fmt::format(R"(, "matrix": {})", text(op.matrix));
  if (op.repeats != 1) out += fmt::format(R"(, "repeats": {})", op.repeats);
  if (op.relative_efficiency != 1) out += fmt::format(R"(, "relative_efficiency": {})", op.relative_efficiency);
  add("output_bytes", op.output_bytes);
  add("saved_bytes", op.saved_bytes);
  add("private_bytes", op.private_bytes);
  add("workspace_bytes", op.workspace_bytes);
  add("parameter_bytes", {op.parameter_bytes, 0});
  std::string forms;
  for (const sim::FastForm& form : op.fast_forms) forms += (forms.empty() ? "" : ", ") + text(form);
  if (!forms.empty()) out += fmt::format(R"(, "fast_forms": [{}])", forms);
}

void add_op(const sim::Op& op, const std::string& inputs, std::string& out) {
  out += fmt::format(R"(    {{"name": {}, "type": "{}", "phase": "{}", "layer": {}, "step": {}, "output_shape": [{}])",
                     json_string(op.name), kOpKinds[static_cast<std::size_t>(op.kind)],
                     kPhases[static_cast<std::size_t>(op.phase)], op.layer, op.step, fmt::join(op.output_shape, ", "));
  add_costs(op, out);
  if (!inputs.empty()) out += fmt::format(R"(, "inputs": [{}])", inputs);
  out += '}';
}

}  // namespace

std::string to_json(const sim::OpGraph& graph) {
  std::vector<std::string> inputs(graph.ops.size());
  for (const sim::Edge& edge : graph.edges) {
    std::string& list = inputs[edge.to];
    list += fmt::format(R"({}{{"from": {}, "bytes": {}}})", list.empty() ? "" : ", ", json_string(graph.ops[edge.from].name),
                        text(edge.bytes));
  }
  std::string out =
      fmt::format("{{\n  \"format\": \"{}\",\n  \"name\": {},\n  \"parameters\": {},\n  \"input_bytes\": {},\n  \"ops\": [\n",
                  kGraphFormat, json_string(graph.name), graph.parameters, text(graph.input_bytes));
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    add_op(graph.ops[op], inputs[op], out);
    out += op + 1 < graph.ops.size() ? ",\n" : "\n";
  }
  return out + "  ]\n}\n";
}

}  // namespace rehearse::traces
