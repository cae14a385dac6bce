// The shapes of all values of an ONNX graph: by the ONNX project's library, node by node, with what is computed of shapes
// put in; by rules of our own where the library does not know an operation or its version.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/base/errors.hpp"
#include "traces/networks/onnx_graph.hpp"

namespace rehearse::traces {
namespace {

using Values = std::map<std::string, OnnxValue>;

constexpr std::array kKeepShape{"Gelu",
                                "FastGelu",
                                "BiasGelu",
                                "QuickGelu",
                                "HardSwish",
                                "Mish",
                                "Swish",
                                "LayerNormalization",
                                "RMSNormalization",
                                "SimplifiedLayerNormalization",
                                "GroupNormalization",
                                "InstanceNormalization",
                                "BatchNormalization",
                                "Softmax",
                                "LogSoftmax",
                                "Relu",
                                "LeakyRelu",
                                "PRelu",
                                "Elu",
                                "Selu",
                                "Celu",
                                "Sigmoid",
                                "Tanh",
                                "Clip",
                                "HardSigmoid",
                                "Softplus",
                                "Erf",
                                "Identity",
                                "Dropout"};
constexpr std::array kViews{"Identity", "Cast", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "DequantizeLinear"};
constexpr std::array kByNumber{"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Sum", "Mean", "Where"};

bool is_any(const std::string& type, const auto& names) { return std::ranges::find(names, type) != std::end(names); }

const OnnxValue* input(const OnnxNode& node, std::size_t i, const Values& values) {
  if (node.inputs.size() <= i || node.inputs[i].empty()) return nullptr;
  const auto found = values.find(node.inputs[i]);
  return found == values.end() ? nullptr : &found->second;
}

/// The numbers of an input that is a small constant.
const std::vector<double>* numbers(const OnnxNode& node, std::size_t i, const Values& values) {
  const OnnxValue* value = input(node, i, values);
  return value != nullptr && value->numbers ? &*value->numbers : nullptr;
}

using Shapes = std::optional<std::vector<OnnxShape>>;

Shapes by_number(const OnnxNode& node, const Values& values) {
  OnnxShape out;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const OnnxValue* value = input(node, i, values);
    if (value == nullptr || !value->shape) return std::nullopt;
    OnnxShape one = *value->shape;
    if (one.size() > out.size()) out.insert(out.begin(), one.size() - out.size(), 1);
    one.insert(one.begin(), out.size() - one.size(), 1);
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (out[k] != one[k] && out[k] != 1 && one[k] != 1) return std::nullopt;
      if (out[k] == 1) out[k] = one[k];
    }
  }
  return {{out}};
}

Shapes reduced(const OnnxNode& node, const OnnxShape& in, const Values& values) {
  const bool has_axes = node.has("axes") || input(node, 1, values) != nullptr;
  auto axes = onnx_axes(node, 1, in.size(), values);
  if (has_axes && !axes) return std::nullopt;
  if (!axes) axes.emplace();
  if (axes->empty()) {
    if (node.number("noop_with_empty_axes", 0) != 0) return {{in}};
    for (std::size_t k = 0; k < in.size(); ++k) axes->push_back(static_cast<std::int64_t>(k));
  }
  OnnxShape out;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const bool summed = std::ranges::find(*axes, static_cast<std::int64_t>(k)) != axes->end();
    if (!summed)
      out.push_back(in[k]);
    else if (node.number("keepdims", 1) != 0)
      out.push_back(1);
  }
  return {{out}};
}

Shapes split(const OnnxNode& node, const OnnxShape& in, const Values& values) {
  const auto rank = static_cast<std::int64_t>(in.size());
  std::int64_t axis = node.number("axis", 0);
  if (axis < 0) axis += rank;
  const auto parts = static_cast<std::int64_t>(node.outputs.size());
  if (axis < 0 || axis >= rank || parts == 0) return std::nullopt;
  const std::int64_t side = in[static_cast<std::size_t>(axis)], each = (side + parts - 1) / parts;
  std::vector<std::int64_t> sizes;
  if (const auto* given = numbers(node, 1, values))
    for (const double x : *given) sizes.push_back(onnx_whole(x));
  else if (node.has("split"))
    sizes = node.numbers.at("split");
  else
    for (std::int64_t k = 0; k < parts; ++k) sizes.push_back(std::min(each, side - k * each));
  if (static_cast<std::int64_t>(sizes.size()) != parts) return std::nullopt;
  std::vector<OnnxShape> out;
  for (const std::int64_t size : sizes) (out.emplace_back(in))[static_cast<std::size_t>(axis)] = size;
  return out;
}

/// Sizes for some axes, or for all of them, by `size`: of an input's numbers and the side before.
Shapes resized(const OnnxNode& node, const OnnxShape& in, const std::vector<double>& given, const Values& values,
               std::size_t axes_input, auto size) {
  OnnxShape out = in;
  const auto axes = onnx_axes(node, axes_input, in.size(), values);
  const std::size_t count = axes ? axes->size() : in.size();
  if (count == 0 || given.size() % count != 0) return std::nullopt;
  for (std::size_t k = 0; k < count; ++k) {
    const auto at = axes ? static_cast<std::size_t>((*axes)[k]) : k;
    if (at >= in.size()) return std::nullopt;
    out[at] = size(in[at], k, count);
  }
  return {{out}};
}

constexpr std::size_t kNoInput = 99;

Shapes interpolated(const OnnxNode& node, const OnnxShape& in, const Values& values) {
  if (in.empty()) return std::nullopt;
  const auto* sizes = numbers(node, 3, values);
  const auto* scales = numbers(node, node.inputs.size() == 2 ? 1 : 2, values);
  if (sizes != nullptr && !sizes->empty())
    return resized(node, in, *sizes, values, kNoInput,
                   [&](std::int64_t, std::size_t k, std::size_t) { return onnx_whole((*sizes)[k]); });
  if (scales == nullptr || scales->empty()) return std::nullopt;
  return resized(node, in, *scales, values, kNoInput, [&](std::int64_t side, std::size_t k, std::size_t) {
    return onnx_whole(std::floor(static_cast<double>(side) * (*scales)[k]));
  });
}

Shapes padded(const OnnxNode& node, const OnnxShape& in, const Values& values) {
  std::vector<double> pads;
  if (const auto* given = numbers(node, 1, values))
    pads = *given;
  else if (node.has("pads"))
    pads.assign(node.numbers.at("pads").begin(), node.numbers.at("pads").end());
  if (pads.empty() || in.empty()) return std::nullopt;
  return resized(node, in, pads, values, 3, [&](std::int64_t side, std::size_t k, std::size_t count) {
    return count + k < pads.size() ? onnx_whole(static_cast<double>(side) + pads[k] + pads[count + k]) : side;
  });
}

Shapes summed(const OnnxNode& node, const Values& values) {
  const auto equation = onnx_equation(node);
  if (!equation) return std::nullopt;
  std::map<char, std::int64_t> sides;
  for (std::size_t i = 0; i < equation->inputs.size(); ++i) {
    const OnnxValue* value = input(node, i, values);
    const std::string& letters = equation->inputs[i];
    if (value == nullptr || !value->shape || value->shape->size() != letters.size()) return std::nullopt;
    for (std::size_t k = 0; k < letters.size(); ++k)
      if (const auto [known, is_new] = sides.try_emplace(letters[k], (*value->shape)[k]);
          !is_new && known->second != (*value->shape)[k])
        return std::nullopt;
  }
  OnnxShape out;
  for (const char letter : equation->output) out.push_back(sides.at(letter));
  return {{out}};
}

/// Walks the nodes of a graph in their order.
class ShapeFinder {
 public:
  ShapeFinder(const OnnxModel& model, OnnxGraph& graph, std::string file)
      : model_(model), graph_(graph), file_(std::move(file)), constants_(onnx_constants(graph)) {}

  void find() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) find(i);
    for (const OnnxDeclared& value : model_.declared()) compare(value);
    mistakes_.throw_if_any();
  }

 private:
  static constexpr std::size_t kMostKept = std::size_t{1} << 22;  // of computed constants together

  void refuse(std::string what, std::string expected) {
    mistakes_.add({.file = file_, .expected = std::move(expected), .found = std::move(what)});
  }

  void find(std::size_t index) {
    const OnnxNode& node = graph_.nodes[index];
    for (const std::string& name : node.inputs) {
      if (name.empty()) continue;
      const auto found = graph_.values.find(name);
      if (found == graph_.values.end()) {
        if (mistakes_.empty())
          refuse(fmt::format("{} that reads \"{}\"", onnx_text(node), name), "an input among the nodes before it");
        return;
      }
      if (!found->second.shape && !found->second.constant) return;  // refused before
    }
    try {
      std::vector<OnnxValue> outputs = made(index);
      for (std::size_t k = 0; k < node.outputs.size() && k < outputs.size(); ++k)
        if (!node.outputs[k].empty()) graph_.values[node.outputs[k]] = std::move(outputs[k]);
    } catch (const sim::InputError& error) {
      refuse(onnx_text(node), fmt::format("inputs that fit ({})", error.mistakes().front().expected));
    }
  }

  std::vector<OnnxValue> made(std::size_t index) {
    const OnnxNode& node = graph_.nodes[index];
    if (auto constant = onnx_constant(node, graph_.values)) {
      numbers_kept_ += constant->numbers ? constant->numbers->size() : 0;
      if (numbers_kept_ > kMostKept) constant->numbers.reset();
      return {std::move(*constant)};
    }
    const bool is_new = graph_.opset > OnnxModel::newest_opset() || !node.domain.empty();
    Shapes own = is_new ? onnx_shapes(node, graph_.values) : std::nullopt;
    std::vector<OnnxValue> outputs(node.outputs.size());
    if (!own) {
      outputs = model_.infer(index, graph_.values);
      outputs.resize(node.outputs.size());
      if (!is_new && !outputs.empty() && !outputs[0].shape) own = onnx_shapes(node, graph_.values);
    }
    const bool constant = !node.outputs.empty() && constants_.contains(node.outputs[0]);
    const OnnxValue* first = input(node, 0, graph_.values);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      OnnxValue& value = outputs[k];
      if (own && k < own->size()) value.shape = (*own)[k];
      if (value.type == 0 && first != nullptr) value.type = first->type;
      value.constant = constant;
      if (constant && first != nullptr && is_any(node.type, kViews)) value.origin = first->origin;
      const bool read = !node.outputs[k].empty() && (k == 0 || is_read(node.outputs[k]));
      if (constant || !read) continue;
      if (!value.shape)
        refuse(onnx_text(node),
               fmt::format("an operation of ONNX up to opset {} whose shape follows from the file (this file: opset {})",
                           OnnxModel::newest_opset(), graph_.opset));
      else if (onnx_elements(*value.shape) <= 0)
        refuse(fmt::format("{} that makes {}", onnx_text(node), onnx_text(*value.shape)),
               "sizes of at least 1, and fewer than 2^53 numbers");
    }
    return outputs;
  }

  bool is_read(const std::string& name) const {
    if (std::ranges::find(graph_.outputs, name) != graph_.outputs.end()) return true;
    return std::ranges::any_of(graph_.nodes,
                               [&](const OnnxNode& node) { return std::ranges::find(node.inputs, name) != node.inputs.end(); });
  }

  /// Sizes that hold an open batch may be stated in any way.
  void compare(const OnnxDeclared& stated) {
    const auto found = graph_.values.find(stated.name);
    if (found == graph_.values.end() || !found->second.shape || !stated.shape || !mistakes_.empty()) return;
    const OnnxShape& shape = *found->second.shape;
    bool same = shape.size() == stated.shape->size();
    for (std::size_t k = 0; same && k < shape.size(); ++k)
      same = (*stated.shape)[k] < 0 || (*stated.shape)[k] == shape[k] || shape[k] % kOnnxOpenBatch == 0;
    if (!same)
      refuse(fmt::format("value \"{}\" of shape {}", stated.name, onnx_text(shape)),
             fmt::format("the shape that the file states for it, {}", onnx_text(*stated.shape)));
  }

  const OnnxModel& model_;
  OnnxGraph& graph_;
  std::string file_;
  std::set<std::string> constants_;
  std::size_t numbers_kept_ = 0;
  sim::Mistakes mistakes_;
};

bool is_recurrent(const OnnxNode& node) { return node.type == "LSTM" || node.type == "GRU" || node.type == "RNN"; }

/// Whether an input's second axis is the batch: it is what a recurrent operation reads, whose first axis are the steps, through
/// nothing that changes these axes.
bool has_steps_first(const OnnxGraph& graph, const std::string& name) {
  if (std::ranges::none_of(graph.nodes, is_recurrent)) return false;
  std::set<std::string> same{name};
  const auto two = [&](const std::string& value) -> std::optional<OnnxShape> {
    const auto found = graph.values.find(value);
    if (found == graph.values.end() || !found->second.shape || found->second.shape->size() < 3) return std::nullopt;
    return OnnxShape(found->second.shape->begin(), found->second.shape->begin() + 2);
  };
  for (const OnnxNode& node : graph.nodes) {
    if (node.inputs.empty() || node.outputs.empty() || !same.contains(node.inputs[0])) continue;
    if (is_recurrent(node) && node.number("layout", 0) == 0) return true;
    const bool moves = node.type == "Transpose" || node.type == "Reshape" || node.type == "Flatten";
    const auto sides = two(node.inputs[0]);
    const bool kept = sides ? !moves && two(node.outputs[0]) == sides : node.type == "Identity" || node.type == "Cast";
    if (kept) same.insert(node.outputs[0]);
  }
  return false;
}

/// Which size of each input is the batch, where the file leaves sizes open; the graph's batch and its inputs' shapes follow.
void open_sizes(const OnnxModel& model, OnnxGraph& graph, std::int64_t batch, const std::string& file) {
  const OnnxDeclared* first = nullptr;
  std::set<std::string> names;
  for (const OnnxDeclared& input : model.declared_inputs())
    for (std::size_t k = 0; input.shape && k < input.shape->size(); ++k)
      if ((*input.shape)[k] < 0) {
        if (first == nullptr) first = &input;
        names.insert(input.symbols[k].empty() ? fmt::format("{}/{}", input.name, k) : input.symbols[k]);
      }
  sim::Mistakes mistakes;
  std::string symbol;  // of the batch
  if (first != nullptr) {
    const std::size_t axis = has_steps_first(graph, first->name) && first->shape->size() > 1 ? 1 : 0;
    if (names.size() == 1)
      symbol = *names.begin();
    else if ((*first->shape)[axis] < 0)
      symbol = first->symbols[axis];
    graph.batch = batch;
  }
  for (const OnnxDeclared& input : model.declared_inputs()) {
    OnnxValue value{.shape = input.shape, .type = input.type};
    std::vector<std::string> open;
    const std::size_t axis = has_steps_first(graph, input.name) ? 1 : 0;
    for (std::size_t k = 0; value.shape && k < value.shape->size(); ++k) {
      std::int64_t& size = (*value.shape)[k];
      if (size > 0) continue;
      const bool is_batch = names.size() == 1 || k == axis || (!symbol.empty() && input.symbols[k] == symbol);
      if (!is_batch) open.push_back(input.symbols[k].empty() ? std::to_string(k) : input.symbols[k]);
      size = batch;
    }
    if (!value.shape)
      mistakes.add(
          {.file = file, .expected = "a shape for every input", .found = fmt::format("input \"{}\" without one", input.name)});
    if (!open.empty())
      mistakes.add(
          {.file = file,
           .expected = fmt::format("an input of fixed size, but for the batch: export the model with fixed sizes, or fix them: "
                                   "python3 -m onnxruntime.tools.make_dynamic_shape_fixed --dim_param {} --dim_value SIZE "
                                   "{} fixed.onnx",
                                   open.front(), file),
           .found = fmt::format("input \"{}\" with sizes that are open: {}", input.name, fmt::join(open, ", "))});
    graph.values[input.name] = std::move(value);
  }
  mistakes.throw_if_any();
}

/// Of a file that fixes all sizes: the first one of the first input, unless recurrent operations have another.
std::int64_t fixed_batch(const OnnxGraph& graph) {
  std::int64_t batch = 1;
  bool steps_first = false;
  for (const std::string& name : graph.inputs) {
    const OnnxShape& shape = *graph.values.at(name).shape;
    if (shape.size() < 2) continue;
    batch = shape[0];
    steps_first = has_steps_first(graph, name);
    if (steps_first) batch = shape[1];
    break;
  }
  for (const OnnxNode& node : graph.nodes) {
    if (!is_recurrent(node) || node.inputs.empty() || steps_first) continue;
    const auto found = graph.values.find(node.inputs[0]);
    if (found == graph.values.end() || !found->second.shape || found->second.shape->size() != 3) continue;
    const std::int64_t own = (*found->second.shape)[node.number("layout", 0) == 0 ? 1 : 0];
    if (own > 0 && own % batch != 0) batch = own;
  }
  return batch;
}

/// Of the first input that has two.
std::int64_t second_size(const OnnxGraph& graph) {
  for (const std::string& name : graph.inputs)
    if (const OnnxShape& shape = *graph.values.at(name).shape; shape.size() > 1) return shape[1];
  return 1;
}

}  // namespace

std::int64_t OnnxNode::number(const std::string& attribute, std::int64_t fallback) const {
  const auto found = numbers.find(attribute);
  return found == numbers.end() || found->second.empty() ? fallback : found->second.front();
}

std::string OnnxNode::text(const std::string& attribute) const {
  const auto found = texts.find(attribute);
  return found == texts.end() ? std::string{} : found->second;
}

std::int64_t onnx_elements(const OnnxShape& shape) {
  double count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) return -1;
    count *= static_cast<double>(size);
  }
  return count < 0x1p53 ? static_cast<std::int64_t>(count) : -1;
}

std::int64_t onnx_whole(double x) {
  constexpr double kLimit = 9.2e18;
  if (x >= kLimit) return std::numeric_limits<std::int64_t>::max();
  if (x <= -kLimit) return std::numeric_limits<std::int64_t>::min();
  return x == x ? static_cast<std::int64_t>(x) : 0;
}

std::string onnx_text(const OnnxShape& shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) {
    const bool open = size > 0 && size % kOnnxOpenBatch == 0;
    sizes.push_back(!open                    ? std::to_string(size)
                    : size == kOnnxOpenBatch ? "batch"
                                             : fmt::format("{} batch", size / kOnnxOpenBatch));
  }
  return fmt::format("({})", fmt::join(sizes, ", "));
}

std::string onnx_text(const OnnxNode& node) {
  return fmt::format("node \"{}\", a {}{}{}", node.name, node.domain, node.domain.empty() ? "" : ".", node.type);
}

std::set<std::string> onnx_constants(const OnnxGraph& graph) {
  std::set<std::string> names{""};
  for (const auto& [name, value] : graph.values)
    if (value.constant) names.insert(name);
  for (const OnnxNode& node : graph.nodes) {
    const bool of_shape = node.domain.empty() && (node.type == "Shape" || node.type == "Size");
    if (of_shape || std::ranges::all_of(node.inputs, [&](const std::string& name) { return names.contains(name); }))
      names.insert(node.outputs.begin(), node.outputs.end());
  }
  return names;
}

std::optional<std::vector<std::int64_t>> onnx_axes(const OnnxNode& node, std::size_t in, std::size_t rank, const Values& values) {
  std::vector<std::int64_t> axes;
  if (const auto* given = numbers(node, in, values))
    for (const double x : *given) axes.push_back(onnx_whole(x));
  else if (node.has("axes"))
    axes = node.numbers.at("axes");
  else
    return std::nullopt;
  for (std::int64_t& axis : axes)
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
  return axes;
}

std::optional<OnnxEquation> onnx_equation(const OnnxNode& node) {
  std::string text = node.text("equation");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  OnnxEquation equation;
  std::string left = text.substr(0, arrow);
  for (std::size_t comma = 0; comma != left.npos; left = comma == left.npos ? "" : left.substr(comma + 1)) {
    comma = left.find(',');
    equation.inputs.push_back(left.substr(0, comma));
  }
  std::string all = equation.inputs.size() == node.inputs.size() ? "" : "...";
  for (const std::string& letters : equation.inputs) {
    all += letters;
    if (std::set(letters.begin(), letters.end()).size() != letters.size()) return std::nullopt;
  }
  if (arrow != text.npos) {
    equation.output = text.substr(arrow + 2);
  } else {  // the letters that stand once, in the order of the alphabet
    for (const char letter : std::set(all.begin(), all.end()))
      if (std::ranges::count(all, letter) == 1) equation.output += letter;
  }
  const bool known = std::ranges::all_of(equation.output, [&](char letter) { return all.find(letter) != all.npos; });
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!known || !std::ranges::all_of(all + equation.output, is_letter)) return std::nullopt;
  return equation;
}

std::optional<std::vector<OnnxCut>> onnx_cuts(const OnnxNode& node, const OnnxShape& in, const Values& values) {
  const auto setting = [&](std::size_t i, const char* attribute) {
    std::vector<std::int64_t> all;
    if (const auto* given = numbers(node, i, values))
      for (const double x : *given) all.push_back(onnx_whole(x));
    else if (node.has(attribute))
      all = node.numbers.at(attribute);
    return all;
  };
  const auto starts = setting(1, "starts"), ends = setting(2, "ends");
  auto steps = setting(4, "steps");
  auto axes = onnx_axes(node, 3, in.size(), values);
  if (!axes) {
    axes.emplace();
    for (std::size_t k = 0; k < starts.size(); ++k) axes->push_back(static_cast<std::int64_t>(k));
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (starts.empty() || ends.size() != starts.size() || axes->size() != starts.size() || steps.size() != starts.size())
    return std::nullopt;
  std::vector<OnnxCut> cuts;
  for (const std::int64_t side : in) cuts.push_back({0, 1, side});
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const std::int64_t axis = (*axes)[k], step = steps[k];
    if (axis < 0 || axis >= std::ssize(in) || step == 0 || step == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    const std::int64_t side = in[static_cast<std::size_t>(axis)];
    const auto place = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
      return std::clamp(at < 0 ? at + side : at, low, high);
    };
    const std::int64_t from = place(starts[k], 0, step > 0 ? side : std::max<std::int64_t>(0, side - 1));
    const std::int64_t to = step > 0 ? place(ends[k], 0, side) : place(ends[k], -1, side - 1);
    const std::int64_t room = step > 0 ? to - from : from - to, wide = step > 0 ? step : -step;
    cuts[static_cast<std::size_t>(axis)] = {from, step, room > 0 && side > 0 ? (room - 1) / wide + 1 : 0};
  }
  return cuts;
}

std::optional<std::vector<OnnxShape>> onnx_shapes(const OnnxNode& node, const Values& values) {
  const OnnxValue* first = input(node, 0, values);
  if (first == nullptr || !first->shape) return std::nullopt;
  const OnnxShape& in = *first->shape;
  if (is_any(node.type, kKeepShape)) return {{in}};
  if (is_any(node.type, kByNumber)) return by_number(node, values);
  if (node.type.starts_with("Reduce")) return reduced(node, in, values);
  if (node.type == "Split") return split(node, in, values);
  if (node.type == "Resize" || node.type == "Upsample") return interpolated(node, in, values);
  if (node.type == "Pad") return padded(node, in, values);
  if (node.type == "Einsum") return summed(node, values);
  if (node.type == "Slice") {
    const auto cuts = onnx_cuts(node, in, values);
    if (!cuts) return std::nullopt;
    OnnxShape out;
    for (const OnnxCut& cut : *cuts) out.push_back(cut.size);
    return {{out}};
  }
  return std::nullopt;
}

bool OnnxModel::is_open() const {
  return std::ranges::any_of(inputs_, [](const OnnxDeclared& input) {
    return input.shape && std::ranges::any_of(*input.shape, [](std::int64_t size) { return size < 0; });
  });
}

OnnxGraph onnx_with_shapes(const OnnxModel& model, std::int64_t open_batch, bool steps_first, const std::string& file) {
  OnnxGraph graph = model.graph();
  graph.batch = 0;
  open_sizes(model, graph, open_batch, file);
  ShapeFinder(model, graph, file).find();
  if (graph.batch == 0) graph.batch = steps_first ? second_size(graph) : fixed_batch(graph);
  return graph;
}

}  // namespace rehearse::traces
