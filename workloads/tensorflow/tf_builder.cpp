#include "workloads/tensorflow/tf_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/errors.hpp"

namespace rehearse::workloads {

using sim::Affine;

namespace {

Affine operator+(const Affine& a, const Affine& b) { return {a.fixed + b.fixed, a.per_sample + b.per_sample}; }

bool is_zero(const Affine& a) { return a.fixed == 0 && a.per_sample == 0; }

}  // namespace

std::string TfBuilder::name_for(const std::string& type) {
  const Layer& layer = network_.layers[static_cast<std::size_t>(place_.layer)];
  const char* before = place_.phase == sim::Phase::backward ? "gradients/" : place_.phase == sim::Phase::update ? "train/" : "";
  const std::string name = fmt::format("{}{}/step{}/{}", before, layer.name, place_.step, type);
  const int again = named_[name]++;
  return again == 0 ? name : fmt::format("{}_{}", name, again);
}

int TfBuilder::add(const TfSpec& spec, std::span<const TfTensor> inputs, std::span<const int> after) {
  const int index = static_cast<int>(made_.graph.ops.size());
  sim::Op op = spec.cost;
  op.name = name_for(spec.type);
  op.phase = place_.phase;
  op.layer = place_.layer;
  op.step = place_.step;
  const bool sums_bytes = spec.dispatch != TfDispatch::metadata && is_zero(op.bytes);
  std::vector<std::pair<int, int>> seen;  // producers, and which tensor of theirs
  const auto connect = [&](int from, int tensor, const Affine& bytes) {
    const std::pair key{from, tensor};
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) return;
    seen.push_back(key);
    made_.graph.edges.push_back({from, index, bytes});
    made_.tensor_of_edge.push_back(tensor);
  };
  for (const TfTensor input : inputs) {
    if (!input.exists()) continue;
    const Tensor& t = tensors_[static_cast<std::size_t>(input.id)];
    connect(t.op, t.root, t.bytes);
    if (t.via >= 0) connect(t.via, -1, {});
    if (sums_bytes) op.bytes = op.bytes + t.bytes;
  }
  for (const int before : after) connect(before, -1, {});
  made_.graph.ops.push_back(std::move(op));
  const bool recurrent = std::holds_alternative<Recurrent>(network_.layers[static_cast<std::size_t>(place_.layer)].spec);
  made_.facts.push_back({.dispatch = spec.dispatch, .recurrent = recurrent});
  return index;
}

void TfBuilder::add_metadata(std::initializer_list<const char*> types) {
  for (const char* type : types) add({.type = type}, {});
}

TfTensor TfBuilder::output(int op, const Affine& bytes, bool wanted) {
  tensors_.push_back({.op = op, .root = static_cast<int>(tensors_.size()), .bytes = bytes, .wanted = wanted});
  sim::Op& by = this->op(op);
  by.output_bytes = by.output_bytes + bytes;
  return {static_cast<int>(tensors_.size()) - 1};
}

TfTensor TfBuilder::view(const std::string& type, TfTensor of, std::span<const int> after) {
  const int op = add({.type = type}, std::span(&of, 1), after);
  Tensor t = tensors_[static_cast<std::size_t>(of.id)];
  t.via = op;
  tensors_.push_back(t);
  return {static_cast<int>(tensors_.size()) - 1};
}

TfTensor TfBuilder::make(const TfSpec& spec, std::initializer_list<TfTensor> inputs, const Affine& bytes) {
  const bool any = std::any_of(inputs.begin(), inputs.end(), [&](TfTensor t) { return wanted(t); });
  const int index = add(spec, inputs);
  if (spec.dispatch != TfDispatch::metadata && is_zero(spec.cost.bytes)) op(index).bytes = op(index).bytes + bytes;
  return output(index, bytes, any);
}

void TfBuilder::differentiate(TfTensors inputs, TfTensors outputs, TfGradient gradient) {
  if (std::none_of(inputs.begin(), inputs.end(), [&](TfTensor t) { return wanted(t); })) return;
  tape_.push_back({std::move(inputs), std::move(outputs), std::move(gradient), place_});
}

TfTensor TfBuilder::add_variable(const VariableSpec& spec) {
  const sim::OpKind kind = spec.shared ? sim::OpKind::variable : sim::OpKind::elementwise;
  const double bytes = kBytesPerNumber * spec.numbers;
  const int op = add({.type = spec.name, .cost = {.kind = kind, .parameter_bytes = bytes}}, {});
  made_.facts.back().holds = true;
  const TfTensor read = view(spec.name + "/read", output(op, fixed(bytes), spec.trained));
  this->op(op + 1).kind = kind;
  variables_.push_back({.spec = spec, .read = read, .op = op, .place = place_, .slots = {}});
  if (!spec.trained) return read;
  made_.graph.parameters += spec.numbers;
  ++made_.variables;
  return read;
}

void TfBuilder::add_slots(Variable& variable, int count) {
  enter(variable.place);
  const sim::OpKind kind = variable.spec.shared ? sim::OpKind::variable : sim::OpKind::elementwise;
  for (int i = 0; i < count; ++i) {
    const double bytes = kBytesPerNumber * variable.spec.numbers;
    variable.slots.push_back(add({.type = variable.spec.name + "/slot", .cost = {.kind = kind, .parameter_bytes = bytes}}, {}));
    made_.facts.back().holds = true;
  }
}

/// control_flow_ops.tuple, which GATE_OP asks for: no gradient of an operation goes on before all of them are there.
TfTensors TfBuilder::gated(const TfTensors& inputs, TfTensors gradients) {
  std::vector<int> given;
  int count = 0;
  for (const TfTensor g : gradients) {
    if (!g.exists()) continue;
    const Tensor& t = tensors_[static_cast<std::size_t>(g.id)];
    given.push_back(t.via >= 0 ? t.via : t.op);
    ++count;
  }
  if (count < 2) return gradients;
  const int barrier = add({.type = "group_deps"}, {}, given);
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (!gradients[k].exists()) continue;
    if (wanted(inputs[k])) {
      gradients[k] = view("control_dependency", gradients[k], std::span(&barrier, 1));
    } else {
      gradients[k] = {};
      ++made_.outside_step;  // its Identity, which nobody reads
    }
  }
  return gradients;
}

TfTensor TfBuilder::add_n(const TfTensors& parts) {
  const bool rows = std::all_of(parts.begin(), parts.end(), [&](TfTensor t) { return is_rows(t); });
  Affine sum;
  for (const TfTensor part : parts) sum = sum + bytes(part);
  const auto dense = std::find_if(parts.begin(), parts.end(), [&](TfTensor t) { return !is_rows(t); });
  const Affine size = rows ? sum : bytes(*dense);
  if (rows) add_metadata({"ConcatV2", "axis", "axis"});  // of the indices
  const int op =
      add({.type = rows ? "ConcatV2" : "AddN", .dispatch = rows ? TfDispatch::movement : TfDispatch::elementwise}, parts);
  this->op(op).bytes = this->op(op).bytes + size;
  const TfTensor all = output(op, size, true);
  if (rows) mark_rows(all);
  return all;
}

TfTensor TfBuilder::gradient_of(TfTensor tensor) {
  const auto found = arriving_.find(tensor.id);
  if (found == arriving_.end() || found->second.empty()) return {};
  if (found->second.size() > 1) found->second = {add_n(found->second)};
  return found->second[0];
}

void TfBuilder::gradients(TfTensor loss) {
  arriving_[loss.id] = {make({.type = "ones"}, {}, bytes(loss))};
  for (std::size_t i = tape_.size(); i-- > 0;) {
    const Taped& taped = tape_[i];
    enter({taped.place.layer, taped.place.step, sim::Phase::backward});
    TfTensors from;
    bool any = false;
    for (const TfTensor output : taped.outputs) {
      from.push_back(gradient_of(output));
      any = any || from.back().exists();
    }
    if (!any) continue;
    const TfTensors sent = gated(taped.inputs, taped.gradient(from));
    sim::check(sent.size() == taped.inputs.size(), "an operation has a gradient for each input");
    for (std::size_t k = 0; k < sent.size(); ++k)
      if (sent[k].exists() && wanted(taped.inputs[k])) arriving_[taped.inputs[k].id].push_back(sent[k]);
  }
}

}  // namespace rehearse::workloads
