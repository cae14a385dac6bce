#include "traces/graphs/graph_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/base/text.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/shown.hpp"
#include "traces/graphs/profiled_graph.hpp"

namespace rehearse::traces {

namespace {

using sim::Affine;
using sim::at_least;
using sim::between;

constexpr double kMostOfOp = 1e18;  // or FLOPs; sums over a graph stay exact enough
constexpr double kMostSteps = 1e6;

/// A number, or [fixed, per_sample].
Affine read_affine(sim::ObjectReader& in, std::string_view key, sim::Mistakes& mistakes) {
  const auto value = in.child(key);
  if (!value) return {};
  const sim::NumberRange range = between(0, kMostOfOp);
  if (value->is_number()) return {sim::read_number(*value, range, mistakes), 0};
  if (!value->is_array() || value->size() != 2) {
    value->refuse("a number, or a list of two: fixed, and for each sample", mistakes);
    return {};
  }
  auto element = value->elements().begin();
  const double fixed = sim::read_number(*element, range, mistakes);
  return {fixed, sim::read_number(*++element, range, mistakes)};
}

sim::MatrixShape read_matrix(sim::ObjectReader& in, sim::Mistakes& mistakes) {
  const auto value = in.child("matrix");
  if (!value) return {};
  sim::ObjectReader matrix(*value, mistakes);
  const sim::MatrixShape shape{read_affine(matrix, "m", mistakes), read_affine(matrix, "n", mistakes),
                               read_affine(matrix, "k", mistakes)};
  matrix.finish();
  for (const Affine& side : {shape.m, shape.n, shape.k})
    if (side.at(1) <= 0) {
      value->refuse("m, n and k above 0", mistakes);
      break;
    }
  return shape;
}

sim::FastForm read_fast_form(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  sim::FastForm form;
  form.matrix = read_matrix(in, mistakes);
  form.products = in.number("products", between(1, 1e9), 1.0);
  form.relative_efficiency = in.number("relative_efficiency", {.low = 0, .high = 1, .low_excluded = true}, 1.0);
  form.transform_bytes = read_affine(in, "transform_bytes", mistakes);
  in.finish();
  return form;
}

std::array<int, 3> read_shape(sim::ObjectReader& in, sim::Mistakes& mistakes) {
  std::array<int, 3> shape{};
  const auto value = in.child("output_shape");
  if (!value) return shape;
  if (!value->is_array() || value->size() != shape.size()) {
    value->refuse("a list of three whole numbers", mistakes);
    return shape;
  }
  std::size_t i = 0;
  for (const sim::JsonValue side : value->elements())
    shape[i++] = static_cast<int>(sim::read_integer(side, between(0, 1 << 30), mistakes));
  return shape;
}

struct OpInput {
  sim::JsonValue from;
  int to = 0;
  Affine bytes;
};

class GraphReader {
 public:
  explicit GraphReader(const sim::JsonDocument& document) : document_(document) {}

  sim::OpGraph read() {
    sim::ObjectReader in(document_.root(), mistakes_);
    in.choice("format", formats_);
    graph_.name = in.text("name");
    const auto parameters = in.maybe_number("parameters", at_least(0));
    graph_.input_bytes = read_affine(in, "input_bytes", mistakes_);
    const auto ops = in.required("ops", "a list of operations");
    in.finish();
    if (ops) read_ops(*ops);
    connect();
    mistakes_.throw_if_any();
    graph_.parameters = parameters.value_or(parameter_bytes_ / 4);
    sort();
    return std::move(graph_);
  }

 private:
  void read_ops(sim::JsonValue ops) {
    for (const sim::JsonValue value : sim::read_list(ops, mistakes_)) read_op(value);
    if (ops.is_array() && ops.size() == 0) ops.refuse("at least one operation", mistakes_);
  }

  void read_op(sim::JsonValue value) {
    sim::ObjectReader in(value, mistakes_);
    sim::Op op;
    op.name = in.text("name");
    op.kind = static_cast<sim::OpKind>(in.choice("type", kOpKinds));
    op.phase = static_cast<sim::Phase>(in.choice("phase", kPhases, 0));
    op.layer = static_cast<int>(in.integer("layer", between(0, kMostSteps), 0));
    op.step = static_cast<int>(in.integer("step", between(0, 2 * kMostSteps), 0));
    op.output_shape = read_shape(in, mistakes_);
    op.flops = read_affine(in, "flops", mistakes_);
    op.bytes = read_affine(in, "bytes", mistakes_);
    op.matrix = read_matrix(in, mistakes_);
    op.repeats = static_cast<int>(in.integer("repeats", between(1, kMostSteps), 1));
    op.relative_efficiency = in.number("relative_efficiency", {.low = 0, .high = 1, .low_excluded = true}, 1.0);
    op.output_bytes = read_affine(in, "output_bytes", mistakes_);
    op.saved_bytes = read_affine(in, "saved_bytes", mistakes_);
    op.private_bytes = read_affine(in, "private_bytes", mistakes_);
    op.workspace_bytes = read_affine(in, "workspace_bytes", mistakes_);
    op.parameter_bytes = in.number("parameter_bytes", between(0, kMostOfOp), 0.0);
    parameter_bytes_ += op.parameter_bytes;
    for (const sim::JsonValue form : in.list("fast_forms")) op.fast_forms.push_back(read_fast_form(form, mistakes_));
    const int index = static_cast<int>(graph_.ops.size());
    for (const sim::JsonValue input : in.list("inputs")) read_input(input, index);
    in.finish();
    if (!op.name.empty() && !by_name_.emplace(op.name, index).second)
      in.child("name")->refuse("a name that no operation before has", mistakes_);
    values_.push_back(value);
    graph_.ops.push_back(std::move(op));
  }

  void read_input(sim::JsonValue value, int to) {
    sim::ObjectReader in(value, mistakes_);
    const bool named = !in.text("from").empty();
    const Affine bytes = read_affine(in, "bytes", mistakes_);
    in.finish();
    if (named) inputs_.push_back({*in.child("from"), to, bytes});
  }

  void connect() {
    for (const OpInput& input : inputs_) {
      const auto found = by_name_.find(input.from.text());
      if (found != by_name_.end())
        graph_.edges.push_back({found->second, input.to, input.bytes});
      else
        mistakes_.add_from([&] { return unknown(input.from); });
    }
  }

  sim::Mistake unknown(sim::JsonValue from) const {
    std::vector<std::string> names;
    for (const sim::Op& op : graph_.ops) names.push_back(op.name);
    sim::Mistake mistake = from.mistake("the name of an operation");
    mistake.nearest = sim::nearest_name(from.text(), names);
    return mistake;
  }

  /// Graphs that are in order already stay as they are.
  void sort() {
    std::vector<std::pair<int, int>> pairs;
    for (const sim::Edge& edge : graph_.edges) pairs.emplace_back(edge.from, edge.to);
    const ForwardOrder order = forward_order(static_cast<int>(graph_.ops.size()), pairs);
    if (!order.cycle.empty()) throw sim::InputError(cycle(order.cycle));
    if (std::is_sorted(order.ops.begin(), order.ops.end())) return;
    std::vector<sim::Op> sorted;
    std::vector<int> place(graph_.ops.size());
    for (int op : order.ops) {
      place[op] = static_cast<int>(sorted.size());
      sorted.push_back(std::move(graph_.ops[op]));
    }
    graph_.ops = std::move(sorted);
    for (sim::Edge& edge : graph_.edges) edge = {place[edge.from], place[edge.to], edge.bytes};
  }

  sim::Mistake cycle(const std::vector<int>& ops) const {
    sim::Mistake mistake = values_[ops.front()].mistake("a graph without cycles");
    mistake.found = cycle_text(ops, [&](int op) -> std::string_view { return graph_.ops[op].name; });
    return mistake;
  }

  const sim::JsonDocument& document_;
  const std::vector<std::string> formats_{kGraphFormat};
  sim::Mistakes mistakes_;
  sim::OpGraph graph_;
  std::vector<sim::JsonValue> values_;  // of the operations
  std::vector<OpInput> inputs_;
  std::map<std::string, int, std::less<>> by_name_;
  double parameter_bytes_ = 0;
};

}  // namespace

sim::OpGraph read_graph(const sim::JsonDocument& document) { return GraphReader(document).read(); }

sim::OpGraph parse_graph(std::string text, std::string file) {
  return read_graph(sim::parse_json(std::move(text), std::move(file)));
}

sim::OpGraph read_graph(const std::string& path) { return read_graph(sim::read_json_file(path)); }

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
