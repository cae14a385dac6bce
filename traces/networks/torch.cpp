// From a printed program of torch.export to a network. Every shape is the one that is printed behind a statement's name; a weight
// is known by its type, and counts once however often it is used. What a layer makes must have the printed shape.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/io/shown.hpp"
#include "traces/networks/network_file.hpp"
#include "traces/networks/tensors.hpp"
#include "traces/networks/torch_program.hpp"

namespace rehearse::traces {

namespace {

using namespace workloads;
using Kind = TorchValue::Kind;

constexpr std::int64_t kMostSize = 1 << 24;

/// torch.ops.aten.relu_.default, torch.nn.functional.relu, torch.relu_ and .relu are all "relu".
std::string operation(std::string name) {
  constexpr std::string_view kAten = "torch.ops.aten.";
  if (name.starts_with(kAten)) {
    name = name.substr(kAten.size());
    name = name.substr(0, name.find('.'));
  } else {
    name = name.substr(name.rfind('.') + 1);
  }
  while (name.size() > 1 && name.ends_with('_')) name.pop_back();
  return name;
}

bool is_in(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_same_numbers(std::string_view name) {  // at no cost
  return is_in(name, {"alias", "detach", "to", "_to_copy", "float", "half", "type_as", "lift_fresh_copy"});
}

bool is_view(std::string_view name) {
  return is_in(name, {"view", "reshape", "unsafe_view", "_unsafe_view", "squeeze", "unsqueeze", "flatten", "unflatten",
                      "contiguous", "clone"});
}

bool is_activation(std::string_view name) {
  return is_in(name, {"relu", "relu6", "hardtanh", "leaky_relu", "elu", "sigmoid", "hardsigmoid", "tanh", "softmax", "_softmax",
                      "log_softmax", "_log_softmax", "clamp", "exp", "sqrt", "rsqrt"});
}

bool keeps_its_input(std::string_view name) {  // an activation whose gradient needs it
  return is_in(name, {"gelu", "silu", "hardswish", "mish", "softplus", "pow", "abs", "neg", "log", "sin", "cos", "erf",
                      "reciprocal", "masked_fill"});
}

bool makes_no_numbers(std::string_view name) {
  return is_in(name, {"size", "sym_size", "shape", "dim", "sym_constrain_range_for_size"}) || name.starts_with("_assert") ||
         name.starts_with("_guard");
}

/// What a name of the program stands for.
struct Known {
  enum class Is : std::uint8_t {
    tensor,   ///< that layers make
    weight,   ///< of parameters and constants alone, of these sizes
    aside,    ///< whole numbers and truth values of the input
    several,  ///< results, one each
    parts,    ///< of the tensor, along one axis
    states,   ///< last states of `layers`
    unread    ///< that no layer makes
  };
  Is is = Is::unread;
  ShapedTensor tensor{};
  TorchSizes sizes{};
  std::string parameters{};  ///< names, one behind the other; of a weight
  std::vector<Known> several{};
  std::vector<int> layers{};
};

class TorchReader {
 public:
  TorchReader(const TorchProgram& program, std::string file) : program_(program), file_(std::move(file)), net_("torch") {}

  Network read() {
    find_batch();
    for (const auto& [name, type] : program_.arguments) read_argument(name, type);
    for (const TorchStatement& statement : program_.statements) read_statement(statement);
    ShapedTensors results;
    if (net_.builder().good())
      for (const std::string& name : program_.results)
        if (const auto found = known_.find(name); found != known_.end() && found->second.is == Known::Is::tensor)
          results.push_back(found->second.tensor);
    return net_.finish(results);
  }

 private:
  /// A statement that cannot be read.
  struct Refusal {
    std::string expected;
  };

  void refuse(std::int64_t line, std::string expected, std::string found) {
    net_.builder().mistakes().add({.file = file_, .line = line, .expected = std::move(expected), .found = std::move(found)});
  }

  // Sizes of one sample.

  const TorchType* type_of(const std::string& name) const {
    for (const auto& [argument, type] : program_.arguments)
      if (argument == name && type) return &*type;
    for (const TorchStatement& statement : program_.statements)
      if (statement.name == name && statement.type) return &*statement.type;
    return nullptr;
  }

  /// The batch stands in front, but a recurrent layer that reads steps first has it behind them.
  void find_batch() {
    for (const TorchStatement& statement : program_.statements) {
      const TorchValue& call = statement.value;
      if (!is_in(operation(call.text), {"lstm", "gru", "rnn_tanh", "rnn_relu"}) || call.items.size() < 9 ||
          call.items[8].text != "False")
        continue;
      const TorchType* type = type_of(call.items[0].text);
      if (type == nullptr || type->sizes.size() != 3) continue;
      batch_ = type->sizes[1];
      batch_axis_ = 1;
      return;
    }
  }

  /// The axis of the batch, and sizes with one sample on it.
  std::optional<std::pair<Sizes, int>> sample(const TorchSizes& printed) const {
    std::vector<std::size_t> axes(printed.size());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = i;
    if (batch_axis_ == 1 && axes.size() > 1) std::swap(axes[0], axes[1]);
    const auto find = [&](const auto& fits) {
      return std::ranges::find_if(axes, [&](std::size_t i) { return fits(printed[i]); });
    };
    auto axis = find([&](std::int64_t n) { return n == batch_ || n < 0; });
    if (axis == axes.end()) axis = find([&](std::int64_t n) { return n % batch_ == 0; });
    if (axis == axes.end()) return std::nullopt;
    Sizes sizes;
    for (std::size_t i = 0; i < printed.size(); ++i) {
      const std::int64_t size = i != *axis ? printed[i] : printed[i] < 0 ? 1 : printed[i] / batch_;
      if (size < 1 || size > kMostSize) return std::nullopt;
      sizes.push_back(static_cast<int>(size));
    }
    return std::pair(sizes, static_cast<int>(*axis));
  }

  void read_argument(const std::string& name, const std::optional<TorchType>& type) {
    const bool is_input = program_.inputs.empty() ? !name.starts_with("p_") && !name.starts_with("b_") &&
                                                        !name.starts_with("c_") && !name.starts_with("obj_")
                                                  : std::ranges::find(program_.inputs, name) != program_.inputs.end();
    if (!is_input) {
      if (type)
        known_[name] = {.is = Known::Is::weight,
                        .sizes = type->sizes,
                        .parameters = name.starts_with("b_") || name.starts_with("c_") ? "" : name};
      return;
    }
    if (type && !type->sizes.empty() && batch_ == 0) batch_ = type->sizes[0] < 0 ? 1 : type->sizes[0];
    const auto one = type && batch_ > 0 ? sample(type->sizes) : std::nullopt;
    if (!one || one->first.size() < 2 || one->first.size() > 4)
      return refuse(
          program_.forward_line,
          fmt::format("the type of {} behind its name, with the batch in front: {}: \"f32[1, 3, 224, 224]\", \"f32[1, steps, "
                      "features]\", \"i64[1, tokens]\" or \"f32[1, features]\"",
                      name, name),
          type ? fmt::format("{} sizes", type->sizes.size()) : "none");
    Known input{.is = Known::Is::tensor};
    input.tensor = net_.input(
        name, one->first, natural(one->first, one->second, type->element.starts_with('f') || type->element.starts_with("bf")));
    input.tensor.batch = one->second;
    known_[name] = std::move(input);
  }

  /// (c, h, w) are an image, two sizes steps of features, whole numbers tokens.
  static Shape natural(Sizes sizes, int batch, bool is_float) {
    if (!is_float) return {1, static_cast<int>(count_of(sizes)), 1};
    if (sizes[static_cast<std::size_t>(batch)] == 1) sizes.erase(sizes.begin() + batch);
    return natural_shape(sizes, true);
  }

  // Statements.

  void read_statement(const TorchStatement& statement) {
    now_ = &statement;
    call_ = &statement.value;
    if (call_->kind == Kind::name) {
      if (const auto found = known_.find(call_->text); found != known_.end()) known_[statement.name] = found->second;
      return;
    }
    if (call_->kind != Kind::call || makes_no_numbers(operation(call_->text))) return;
    try {
      Known made = result();
      if (made.is == Known::Is::tensor) check_shape(made.tensor);
      known_[statement.name] = std::move(made);
    } catch (const Refusal& refusal) {
      refuse(statement.line, refusal.expected, sim::shown(statement.name + " = " + call_->text));
    } catch (const sim::InputError& error) {
      refuse(statement.line, error.mistakes().front().expected + ", but found " + error.mistakes().front().found,
             sim::shown(statement.name + " = " + call_->text));
    }
  }

  /// What is printed must be what the layer makes of a sample.
  void check_shape(const ShapedTensor& made) const {
    if (!now_->type) return;
    const auto printed = sample(now_->type->sizes);
    if (!printed || count_of(printed->first) != count_of(made.sizes))
      throw Refusal{fmt::format("{} numbers a sample", fmt::join(made.sizes, " x "))};
  }

  /// As printed; where nothing is, `fallback`.
  ShapedTensor made(int layer, const Sizes& fallback, int batch) const {
    ShapedTensor tensor{.layer = layer, .shape = net_.shape(layer), .sizes = fallback, .batch = batch};
    if (const auto printed = now_->type ? sample(now_->type->sizes) : std::nullopt) {
      tensor.sizes = printed->first;
      tensor.batch = printed->second;
    }
    const Shape& s = tensor.shape;
    if (s.elements() != static_cast<double>(count_of(tensor.sizes)))
      throw Refusal{fmt::format("{} x {} x {} numbers a sample", s.channels, s.height, s.width)};
    return tensor;
  }
  static Known as_tensor(ShapedTensor tensor) { return {.is = Known::Is::tensor, .tensor = std::move(tensor)}; }

  Sizes printed_sizes() const {
    const auto one = now_->type ? sample(now_->type->sizes) : std::nullopt;
    if (!one) throw Refusal{"the printed type of its result, with the batch"};
    return one->first;
  }

  const Known* find(const TorchValue& value) const {
    const auto found = value.kind == Kind::name ? known_.find(value.text) : known_.end();
    return found == known_.end() ? nullptr : &found->second;
  }

  void collect(const TorchValue& value, std::vector<const Known*>& all) const {
    for (const TorchValue& item : value.items) {
      if (const Known* one = find(item)) all.push_back(one);
      if (item.kind == Kind::list) collect(item, all);
    }
    for (const auto& [key, item] : value.named)
      if (const Known* one = find(item)) all.push_back(one);
  }

  Known result() {
    const std::string name = operation(call_->text);
    if (call_->text.starts_with("self.")) throw Refusal{"a program of torch.export, whose weights are arguments"};
    if (name == "getitem" && call_->items.size() > 1)
      if (const Known* of = find(call_->items[0]); of && (of->is == Known::Is::several || of->is == Known::Is::parts))
        return item(*of);
    std::vector<const Known*> inputs;
    collect(*call_, inputs);
    const auto has = [&](Known::Is is) { return std::ranges::any_of(inputs, [&](const Known* one) { return one->is == is; }); };
    if (has(Known::Is::unread) || has(Known::Is::several))
      throw Refusal{"results that layers make: this one reads a statistic, an index or all results at once"};
    const bool whole = now_->type && !now_->type->element.starts_with('f') && !now_->type->element.starts_with("bf");
    const bool of_tensors = has(Known::Is::tensor) || has(Known::Is::states);
    if (name == "embedding" && of_tensors) return as_tensor(embedding());
    if (has(Known::Is::aside) && !of_tensors) return {.is = Known::Is::aside};
    if (!of_tensors) return constant(name, inputs);
    if (whole) return whole_numbers(name);
    return operate(name);
  }

  /// Tokens that stay tokens; else masks, positions and indices, which cost nothing.
  Known whole_numbers(const std::string& name) {
    if (is_same_numbers(name) || is_view(name)) return as_tensor(viewed(name));
    if (is_in(name, {"slice", "select", "narrow"})) return as_tensor(cut(tensor(0, "self"), printed_sizes()));
    return {.is = Known::Is::aside};
  }

  Known constant(const std::string& name, const std::vector<const Known*>& inputs) {
    Known made{.is = Known::Is::weight};
    for (const Known* one : inputs)
      if (!one->parameters.empty() && made.parameters.find(one->parameters) == std::string::npos)
        made.parameters += (made.parameters.empty() ? "" : "+") + one->parameters;
    if (now_->type)
      made.sizes = now_->type->sizes;
    else if (!inputs.empty())
      made.sizes = inputs[0]->sizes;
    if (!now_->type && is_in(name, {"t", "transpose", "permute"})) std::reverse(made.sizes.begin(), made.sizes.end());
    return made;
  }

  Known item(const Known& of) {
    const TorchValue& index = call_->items[1];
    if (of.is == Known::Is::parts) return as_tensor(cut(of.tensor, printed_sizes()));
    if (index.kind != Kind::number || index.number < 0 || index.number >= static_cast<double>(of.several.size())) return {};
    return of.several[static_cast<std::size_t>(index.number)];
  }

  // Arguments of the operation that is read.

  const TorchValue* argument(std::size_t i, std::string_view name) const {
    for (const auto& [key, item] : call_->named)
      if (key == name) return &item;
    return i < call_->items.size() ? &call_->items[i] : nullptr;
  }
  std::vector<int> ints(std::size_t i, std::string_view name) const {
    const TorchValue* value = argument(i, name);
    std::vector<int> list;
    const auto add_one = [&](const TorchValue& one) {
      if (one.kind == Kind::number && std::abs(one.number) <= kMostSize) list.push_back(static_cast<int>(one.number));
    };
    if (value != nullptr && value->kind == Kind::list)
      for (const TorchValue& one : value->items) add_one(one);
    else if (value != nullptr)
      add_one(*value);
    return list;
  }
  int integer(std::size_t i, std::string_view name, int fallback) const {
    const std::vector<int> list = ints(i, name);
    return list.empty() ? fallback : list[0];
  }
  bool truth(std::size_t i, std::string_view name, bool fallback) const {
    const TorchValue* value = argument(i, name);
    return value == nullptr ? fallback : value->text == "True";
  }
  const Known* weight(std::size_t i, std::string_view name, std::size_t rank) const {
    const TorchValue* value = argument(i, name);
    const Known* known = value != nullptr ? find(*value) : nullptr;
    const bool fits = known != nullptr && known->is == Known::Is::weight && known->sizes.size() == rank &&
                      std::ranges::all_of(known->sizes, [](std::int64_t n) { return n > 0 && n <= kMostSize; });
    return fits ? known : nullptr;
  }
  /// The numbers of a bias, or none.
  const Known* bias(std::size_t i) const { return weight(i, "bias", 1); }

  ShapedTensor tensor(std::size_t i, std::string_view name) {
    const TorchValue* value = argument(i, name);
    const Known* known = value != nullptr ? find(*value) : nullptr;
    if (known == nullptr) throw Refusal{"a tensor"};
    return tensor_of(*known);
  }

  ShapedTensor tensor_of(const Known& known) {
    if (known.is == Known::Is::tensor) return known.tensor;
    if (known.is == Known::Is::states) return last_states(known);
    if (known.is == Known::Is::weight) return parameter(known);
    throw Refusal{"a tensor that layers make"};
  }

  int layer_of(const ShapedTensor& tensor, std::optional<Shape> wanted = {}) { return net_.layer_of(now_->name, tensor, wanted); }
  int put(LayerSpec spec, std::vector<int> inputs, const std::string& weights = {}) {
    if (!weights.empty())
      for (std::string_view rest = weights; !rest.empty();) {
        const std::string one(rest.substr(0, rest.find('+')));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        const auto [at, is_new] = used_.try_emplace(one, weights);
        if (!is_new && at->second != weights)
          throw Refusal{fmt::format("{} in one layer, or with the same weights beside it", one)};
      }
    return net_.put(now_->name, std::move(spec), std::move(inputs), weights);
  }
  static std::string key(const Known& weight, const Known* bias) {
    return bias == nullptr || bias->parameters.empty() ? weight.parameters : weight.parameters + "+" + bias->parameters;
  }

  /// Parameters that are added, multiplied or put beside something are rows of a table.
  ShapedTensor parameter(const Known& weight) {
    Sizes sizes;
    for (const std::int64_t size : weight.sizes) sizes.push_back(static_cast<int>(std::clamp<std::int64_t>(size, 1, kMostSize)));
    const int width = sizes.empty() ? 1 : sizes.back();
    const int rows = static_cast<int>(count_of(sizes) / width);
    std::int64_t all = 1;
    if (const TorchType* type = type_of(weight.parameters))
      for (const std::int64_t size : type->sizes) all = std::min(all * std::max<std::int64_t>(size, 1), kMostNumbers);
    const int from = net_.put(now_->name + "/rows", Input{{weight.parameters.empty() ? width : 1, rows, 1}}, {});
    if (weight.parameters.empty()) return {.layer = from, .shape = net_.shape(from), .sizes = sizes, .batch = -1};
    if (all % width != 0) throw Refusal{"parameters whose type is printed"};
    const int table = put(Embedding{static_cast<int>(all / width), width}, {from}, weight.parameters);
    return {.layer = table, .shape = net_.shape(table), .sizes = sizes, .batch = -1};
  }

  // Operations.

  Known operate(const std::string& name) {
    const auto first = [&](ShapedTensor made) {
      return Known{.is = Known::Is::several, .several = {as_tensor(std::move(made)), {}, {}, {}, {}}};
    };
    if (is_in(name, {"conv1d", "conv2d", "convolution", "conv_transpose1d", "conv_transpose2d"}))
      return as_tensor(convolution(name));
    if (is_in(name, {"linear", "addmm", "mm", "matmul", "bmm"})) return as_tensor(product(name));
    if (is_in(name, {"max_pool1d", "max_pool2d"})) return as_tensor(pool(Pooling::max));
    if (name == "max_pool2d_with_indices") return first(pool(Pooling::max));
    if (is_in(name, {"avg_pool1d", "avg_pool2d"})) return as_tensor(pool(Pooling::average));
    if (name.starts_with("adaptive_avg_pool") || name.starts_with("_adaptive_avg_pool")) return as_tensor(adaptive());
    if (is_in(name, {"mean", "sum", "amax", "amin"})) return as_tensor(reduced());
    if (name == "batch_norm")
      return as_tensor(channel_norm(BatchNorm{weight(1, "weight", 1) != nullptr, weight(2, "bias", 1) != nullptr}));
    if (name.find("batch_norm") != name.npos)
      return first(channel_norm(BatchNorm{weight(1, "weight", 1) != nullptr, weight(2, "bias", 1) != nullptr}));
    if (name == "group_norm")
      return as_tensor(channel_norm(LayerNorm{weight(2, "weight", 1) != nullptr, weight(3, "bias", 1) != nullptr}, 2));
    if (name == "native_group_norm")
      return first(channel_norm(LayerNorm{weight(1, "weight", 1) != nullptr, weight(2, "bias", 1) != nullptr}));
    if (name == "layer_norm") return as_tensor(layer_norm());
    if (name == "native_layer_norm") return first(layer_norm());
    if (name == "native_dropout") return first(plain(Dropout{}));
    if (is_in(name, {"dropout", "feature_dropout"})) return as_tensor(truth(2, "train", true) ? plain(Dropout{}) : viewed(name));
    if (is_in(name, {"add", "sub", "rsub", "maximum", "minimum"})) return as_tensor(elementwise(false));
    if (is_in(name, {"mul", "div"})) return as_tensor(elementwise(true));
    if (is_in(name, {"cat", "concat"})) return as_tensor(concatenated());
    if (is_in(name, {"lstm", "gru", "rnn_tanh", "rnn_relu"})) return recurrent(name);
    if (name == "scaled_dot_product_attention") return as_tensor(attention());
    if (is_in(name, {"select", "slice", "narrow", "getitem"})) return as_tensor(part(name));
    if (is_in(name, {"split", "chunk", "split_with_sizes", "unbind", "tensor_split", "unsafe_split"}))
      return {.is = Known::Is::parts, .tensor = tensor(0, "self")};
    if (is_in(name, {"pad", "constant_pad_nd"})) return as_tensor(padded());
    if (is_in(name, {"expand", "repeat", "upsample_nearest2d", "upsample_bilinear2d", "upsample_nearest1d", "upsample_linear1d"}))
      return as_tensor(resized());
    if (is_in(name, {"permute", "transpose", "t"})) return as_tensor(permuted());
    if (is_same_numbers(name) || is_view(name)) return as_tensor(viewed(name));
    if (is_activation(name)) return as_tensor(plain(Activation{}));
    if (keeps_its_input(name)) return as_tensor(plain(Activation{.in_place = false}));
    throw Refusal{"an operation that is supported (docs/guide/harness.md)"};
  }

  ShapedTensor plain(LayerSpec spec) {
    const ShapedTensor in = tensor(0, "self");
    ShapedTensor out = made(put(std::move(spec), {layer_of(in)}), in.sizes, in.batch);
    out.is_permuted = in.is_permuted;
    return out;
  }

  /// The same numbers under the printed sizes. A copy of permuted ones moves them.
  ShapedTensor viewed(const std::string& name) {
    ShapedTensor in = tensor(0, "self");
    const auto printed = now_->type ? sample(now_->type->sizes) : std::nullopt;
    if (!printed && is_view(name) && !is_in(name, {"contiguous", "clone"}))
      throw Refusal{"the printed type of its result, with the batch"};
    if (in.is_permuted && !is_in(name, {"squeeze", "unsqueeze"}) && is_view(name)) {
      const int layer = put(Rearrange{in.shape, true}, {layer_of(in)});
      in = {.layer = layer, .shape = in.shape, .sizes = in.sizes, .batch = in.batch};
    }
    if (!printed) return in;
    in.sizes = printed->first;
    in.batch = printed->second;
    return in;
  }

  ShapedTensor permuted() {
    ShapedTensor in = tensor(0, "self");
    const auto printed = now_->type ? sample(now_->type->sizes) : std::nullopt;
    if (!printed) throw Refusal{"the printed type of its result, with the batch"};
    in.is_permuted = true;
    in.sizes = printed->first;
    in.batch = printed->second;
    return in;
  }

  /// (batch, channels, height, width) or (batch, channels, steps).
  struct Picture {
    Shape shape;
    std::array<int, 4> zeros{};
    int layer = -1;
    std::size_t dims = 2;
  };

  Picture picture() {
    ShapedTensor in = tensor(0, "input");
    if (in.batch != 0 || in.sizes.size() < 3 || in.sizes.size() > 4 || in.sizes[0] != 1)
      throw Refusal{"an input of (batch, channels, height, width) or (batch, channels, steps)"};
    Picture p{.shape = {in.sizes[1], in.sizes[2], in.sizes.size() > 3 ? in.sizes[3] : 1},
              .zeros = in.zeros,
              .dims = in.sizes.size() - 2};
    p.shape.height -= in.zeros[0] + in.zeros[1];
    p.shape.width -= in.zeros[2] + in.zeros[3];
    in.zeros = {};
    p.layer = layer_of(in, p.shape);
    return p;
  }

  /// Size, stride, padding and dilation of a window, each one number or one a side; `first` is the place of the stride.
  /// "same", zeros in front and, of a pool, ceil_mode add rows at the end: as many as the printed places need.
  Window window(const Picture& p, std::vector<int> size, std::size_t first, bool is_pool, bool is_ceil) const {
    const auto two = [&](std::vector<int> list, int fallback, int width) {
      if (list.empty()) list = {fallback};
      return std::array{list[0], p.dims == 1 ? width : list.size() > 1 ? list[1] : list[0]};
    };
    const auto k = two(std::move(size), 1, 1);
    std::vector<int> strides = ints(first, "stride");
    if (strides.empty() && is_pool) strides = {k[0], k[1]};
    const auto stride = two(strides, 1, 1), dilation = two(ints(first + 2, "dilation"), 1, 1);
    auto pad = two(ints(first + 1, "padding"), 0, 0);
    for (const auto& sides : {k, stride, dilation, pad})
      if (std::max(sides[0], sides[1]) > kWidestWindow) throw Refusal{fmt::format("windows of at most {}", kWidestWindow)};
    Window w{k[0], k[1], std::max(1, stride[0]),   std::max(1, stride[1]),
             0,    0,    std::max(1, dilation[0]), std::max(1, dilation[1])};
    const TorchValue* word = argument(first + 1, "padding");
    const bool is_same = word != nullptr && word->text == "same";
    if (is_same) pad = {(w.reach_height() - 1) / 2, (w.reach_width() - 1) / 2};
    w.pad_height = std::max(0, pad[0]) + p.zeros[0];
    w.pad_width = std::max(0, pad[1]) + p.zeros[2];
    const Sizes out = printed_or_empty();
    const bool reaches_over = (is_same || is_ceil) && out.size() == p.dims + 2;
    const auto end = [&](int size_of, std::size_t axis, int pad_of, int zeros, int reach, std::int64_t stride_of) {
      return reaches_over ? std::max(bounded((out[axis] - 1) * stride_of + reach - size_of - 2 * pad_of), zeros) : zeros;
    };
    w.end_height = end(p.shape.height, 2, w.pad_height, p.zeros[1] - p.zeros[0], w.reach_height(), w.stride_height);
    w.end_width = p.dims == 1 ? 0 : end(p.shape.width, 3, w.pad_width, p.zeros[3] - p.zeros[2], w.reach_width(), w.stride_width);
    return w;
  }
  Sizes printed_or_empty() const {
    const auto one = now_->type ? sample(now_->type->sizes) : std::nullopt;
    return one ? one->first : Sizes{};
  }

  /// A layer on a picture; its sides must be the printed ones.
  ShapedTensor pictured(LayerSpec spec, const Picture& p, const std::string& weights = {}) {
    const int layer = put(std::move(spec), {p.layer}, weights);
    const Shape s = net_.shape(layer);
    Sizes sizes{1, s.channels, s.height};
    if (p.dims == 2) sizes.push_back(s.width);
    const Sizes printed = printed_or_empty();
    if (!printed.empty() && printed != sizes)
      throw Refusal{fmt::format("{} x {} x {} numbers a sample", s.channels, s.height, s.width)};
    return made(layer, sizes, 0);
  }

  ShapedTensor convolution(const std::string& name) {
    const Picture p = picture();
    const Known* w = weight(1, "weight", p.dims + 2);
    if (w == nullptr) throw Refusal{"a weight whose type is printed"};
    std::vector<int> kernel;
    for (std::size_t i = 2; i < w->sizes.size(); ++i) kernel.push_back(static_cast<int>(w->sizes[i]));
    const bool named = name.starts_with("conv_transpose"),
               turned = named || (name == "convolution" && truth(6, "transposed", false));
    const int groups = integer(name == "convolution" ? 8 : 6, "groups", 1);
    const Known* b = bias(2);
    const std::int64_t channels = turned ? w->sizes[0] : w->sizes[1] * groups;
    if (channels != p.shape.channels) throw Refusal{fmt::format("weights for {} channels", p.shape.channels)};
    Window form = window(p, kernel, 3, false, false);
    if (!turned) return pictured(Conv{static_cast<int>(w->sizes[0]), form, groups, b != nullptr}, p, key(*w, b));
    if (named) {  // stride, padding, output_padding, groups, dilation
      const std::vector<int> dilation = ints(7, "dilation");
      form.dilation_height = dilation.empty() ? 1 : std::max(1, dilation[0]);
      form.dilation_width = dilation.size() > 1 ? std::max(1, dilation[1]) : p.dims == 2 ? form.dilation_height : 1;
    }
    const Sizes out = printed_sizes();
    if (std::max(form.dilation_height, form.dilation_width) > kWidestWindow || out.size() != p.dims + 2)
      throw Refusal{"the printed type of its result, and windows that are not huge"};
    const auto end = [](std::int64_t size, int stride, int pad, int reach, int places) {
      return bounded((size - 1) * stride - 2 * std::int64_t{pad} + reach - places);
    };
    form.end_height = end(p.shape.height, form.stride_height, form.pad_height, form.reach_height(), out[2]);
    form.end_width = p.dims == 1 ? 0 : end(p.shape.width, form.stride_width, form.pad_width, form.reach_width(), out[3]);
    return pictured(TransposedConv{bounded(w->sizes[1] * groups), form, b != nullptr, groups}, p, key(*w, b));
  }

  ShapedTensor pool(Pooling kind) {
    const Picture p = picture();
    const std::vector<int> size = ints(1, "kernel_size");
    if (size.empty()) throw Refusal{"a kernel_size"};
    Window w = window(p, size, 2, true, truth(kind == Pooling::max ? 5 : 4, "ceil_mode", false));
    if (kind == Pooling::average) w.dilation_height = w.dilation_width = 1;  // its next arguments are others
    return pictured(Pool{kind, w}, p);
  }

  ShapedTensor adaptive() {
    const Picture p = picture();
    const Sizes out = printed_sizes();
    if (out.size() != p.dims + 2) throw Refusal{"the printed type of its result"};
    const int height = out[2], width = p.dims == 2 ? out[3] : 1;
    if (height == 1 && width == 1) return pictured(GlobalPool{}, p);
    const int down = p.shape.height / height, across = p.shape.width / width;
    if (down < 1 || across < 1) return pictured(Resize{{p.shape.channels, height, width}}, p);
    return pictured(
        Pool{Pooling::average, {p.shape.height - (height - 1) * down, p.shape.width - (width - 1) * across, down, across}}, p);
  }

  /// (batch, channels, ...), the other axes as positions.
  ShapedTensor channel_norm(LayerSpec spec, std::size_t first = 1) {
    const ShapedTensor in = tensor(0, "input");
    if (in.sizes.size() < 2) throw Refusal{"an input of (batch, channels, ...)"};
    const int channels = in.sizes[1];
    Shape shape{channels, static_cast<int>(count_of(in.sizes) / channels), 1};
    if (in.sizes.size() == 4 && in.sizes[0] == 1) shape = {channels, in.sizes[2], in.sizes[3]};
    return made(put(std::move(spec), {layer_of(in, shape)}, norm_key(first)), in.sizes, in.batch);
  }

  std::string norm_key(std::size_t first) const {
    const Known *scale = weight(first, "weight", 1), *shift = weight(first + 1, "bias", 1);
    if (scale == nullptr) return shift == nullptr ? "" : shift->parameters;
    return key(*scale, shift);
  }

  ShapedTensor layer_norm() {
    const ShapedTensor in = tensor(0, "input");
    std::int64_t channels = 1;
    for (const int size : ints(1, "normalized_shape")) channels = std::min(channels * std::max(size, 1), kMostNumbers);
    const std::int64_t all = count_of(in.sizes);
    if (all % channels != 0) throw Refusal{"a normalized_shape of its last sizes"};
    const auto rank = ints(1, "normalized_shape").size();
    const Known *scale = weight(2, "weight", rank), *shift = weight(3, "bias", rank);
    const std::string weights = scale == nullptr ? "" : key(*scale, shift);
    const Shape shape{static_cast<int>(channels), static_cast<int>(all / channels), 1};
    return made(put(LayerNorm{scale != nullptr, shift != nullptr}, {layer_of(in, shape)}, weights), in.sizes, in.batch);
  }

  /// The last size as channels, the others as positions.
  int rows_of(const ShapedTensor& in) {
    if (in.sizes.empty() || (in.batch == static_cast<int>(in.sizes.size()) - 1 && in.sizes.size() > 1))
      throw Refusal{"features on the last axis"};
    return layer_of(in, Shape{in.sizes.back(), static_cast<int>(count_of(in.sizes) / in.sizes.back()), 1});
  }

  /// linear(x, w (out, in)), addmm(b, x, w (in, out)), mm and matmul(x, w (in, out)); matmul and bmm of two tensors.
  ShapedTensor product(const std::string& name) {
    const bool is_linear = name == "linear", adds = name == "addmm";
    const Known* w = weight(adds ? 2 : 1, is_linear ? "weight" : "mat2", 2);
    if (w == nullptr) return matrix_product(name);
    const ShapedTensor in = tensor(adds ? 1 : 0, "input");
    const std::int64_t units = w->sizes[is_linear ? 0 : 1], features = w->sizes[is_linear ? 1 : 0];
    const Known* b = is_linear ? bias(2) : adds ? weight(0, "bias", 1) : nullptr;
    if (in.sizes.empty() || in.sizes.back() != features) throw Refusal{fmt::format("{} features, as its weights have", features)};
    Sizes sizes = in.sizes;
    sizes.back() = static_cast<int>(units);
    const int from = rows_of(in);
    if (b == nullptr || !net_.knows(w->parameters))
      return made(put(Dense{static_cast<int>(units), b != nullptr}, {from}, key(*w, b)), sizes, in.batch);
    const int layer =
        put(Dense{static_cast<int>(units), false}, {from}, w->parameters);  // weights of an earlier layer, a bias of its own
    const ShapedTensor shift = parameter(*b);
    return made(put(Add{}, {layer, layer_of(shift)}), sizes, in.batch);
  }

  ShapedTensor matrix_product(const std::string& name) {
    if (name == "linear" || name == "addmm") throw Refusal{"a product with a matrix of weights whose type is printed"};
    const ShapedTensor a = tensor(0, "self"), b = tensor(1, "mat2");
    if (a.sizes.size() < 3 || b.sizes.size() != a.sizes.size())
      throw Refusal{"a product with a matrix of weights whose type is printed, or of two tensors of (batch, ..., n, k)"};
    const std::size_t rank = a.sizes.size();
    const int m = a.sizes[rank - 2], k = a.sizes[rank - 1], n = b.sizes[rank - 1];
    const auto groups = static_cast<int>(count_of(a.sizes) / (std::int64_t{m} * k));
    if (b.sizes[rank - 2] != k || count_of(b.sizes) != std::int64_t{groups} * k * n)
      throw Refusal{"matrices (n, k) and (k, m), as many of each"};
    Sizes sizes = a.sizes;
    sizes.back() = n;
    return made(put(MatrixProduct{}, {layer_of(a, Shape{groups, m, k}), layer_of(b, Shape{groups, k, n})}), sizes, a.batch);
  }

  ShapedTensor embedding() {
    const Known* table = weight(0, "weight", 2);
    if (table == nullptr) throw Refusal{"a table of weights whose type is printed"};
    const ShapedTensor in = tensor(1, "indices");
    Sizes sizes = in.sizes;
    sizes.push_back(static_cast<int>(table->sizes[1]));
    const int from = layer_of(in, Shape{1, static_cast<int>(count_of(in.sizes)), 1});
    return made(put(Embedding{static_cast<int>(table->sizes[0]), sizes.back()}, {from}, table->parameters), sizes, in.batch);
  }

  // Several tensors, and other shapes.

  /// With a number, a mask or a constant a tensor passes at no cost; sides of 1 are repeated.
  ShapedTensor elementwise(bool multiplies) {
    ShapedTensors in;
    for (const TorchValue& item : call_->items) {
      const Known* one = find(item);
      const bool counts = one != nullptr && (one->is == Known::Is::tensor || one->is == Known::Is::states ||
                                             (one->is == Known::Is::weight && !one->parameters.empty()));
      if (counts) in.push_back(tensor_of(*one));
    }
    if (in.size() < 2) {
      if (in.empty()) throw Refusal{"a tensor that layers make"};
      return printed_or_empty().empty() || count_of(printed_or_empty()) == count_of(in[0].sizes) ? in[0] : grown(in[0]);
    }
    in.resize(2);
    std::vector<Sizes> sizes;
    for (const ShapedTensor& t : in) sizes.push_back(t.sizes);
    sizes = of_one_rank(std::move(sizes));
    const auto [shapes, axis] = arranged(sizes, {in[0].shape, in[1].shape});
    std::vector<int> layers{layer_of(in[0], shapes[0]), layer_of(in[1], shapes[1])};
    const int batch = in[0].batch >= 0 ? in[0].batch : in[1].batch;
    if (multiplies) return made(put(Multiply{}, layers), broadcast_sizes(sizes), batch);
    return made(put(Add{}, layers), broadcast_sizes(sizes), batch);
  }

  static Arrangement arranged(const std::vector<Sizes>& sizes, const std::vector<Shape>& shapes, int special = -1) {
    auto made = arrange(sizes, shapes, special);
    if (!made) throw Refusal{"at most three axes besides the batch, each treated alike"};
    return *made;
  }

  ShapedTensor concatenated() {
    const TorchValue* list = argument(0, "tensors");
    ShapedTensors in;
    if (list != nullptr)
      for (const TorchValue& item : list->items)
        if (const Known* one = find(item)) in.push_back(tensor_of(*one));
    if (list == nullptr || in.size() != list->items.size() || in.empty()) throw Refusal{"tensors that layers make"};
    std::vector<Sizes> sizes;
    std::vector<Shape> shapes;
    for (const ShapedTensor& t : in) {
      sizes.push_back(t.sizes);
      shapes.push_back(t.shape);
      if (t.sizes.size() != in[0].sizes.size()) throw Refusal{"tensors with the same number of sizes"};
    }
    const int rank = static_cast<int>(sizes[0].size()), given = integer(1, "dim", 0), dim = given < 0 ? given + rank : given;
    if (dim < 0 || dim >= rank || std::ranges::any_of(in, [&](const ShapedTensor& t) { return t.batch == dim; }))
      throw Refusal{"tensors side by side along another axis than the batch's"};
    const auto [wanted, axis] = arranged(sizes, shapes, dim);
    std::vector<int> layers;
    Sizes out = sizes[0];
    out[static_cast<std::size_t>(dim)] = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      layers.push_back(layer_of(in[i], wanted[i]));
      out[static_cast<std::size_t>(dim)] += sizes[i][static_cast<std::size_t>(dim)];
    }
    return made(put(Concat{axis}, layers), out, in[0].batch);
  }

  /// A part of a tensor with the printed sizes, of which an axis of one place may be left out.
  ShapedTensor cut(const ShapedTensor& whole, const Sizes& printed, bool is_last = false) {
    if (count_of(printed) == count_of(whole.sizes)) {
      ShapedTensor same = whole;
      same.sizes = printed;
      if (now_->type) same.batch = sample(now_->type->sizes)->second;
      return same;
    }
    Sizes kept = printed;
    if (kept.size() < whole.sizes.size()) {
      const auto fits = [&](std::size_t at) {
        Sizes with = printed;
        with.insert(with.begin() + static_cast<std::ptrdiff_t>(at), 1);
        for (std::size_t i = 0; i < with.size(); ++i)
          if (with[i] != whole.sizes[i] && i != at) return false;
        return true;
      };
      std::size_t at = 0;
      const int dim = integer(1, "dim", -1);
      if (dim >= 0 && dim <= static_cast<int>(printed.size()) && operation(call_->text) == "select")
        at = static_cast<std::size_t>(dim);
      while (at <= printed.size() && !fits(at)) ++at;
      if (at > printed.size() || kept.size() + 1 != whole.sizes.size()) throw Refusal{"a part along one axis"};
      kept.insert(kept.begin() + static_cast<std::ptrdiff_t>(at), 1);
    }
    if (kept.size() != whole.sizes.size()) throw Refusal{"a part with the sizes of the whole"};
    if (whole.batch >= 0 && kept[static_cast<std::size_t>(whole.batch)] != whole.sizes[static_cast<std::size_t>(whole.batch)])
      throw Refusal{"all samples of the batch"};
    const auto [shapes, axis] = arranged({whole.sizes, kept}, {whole.shape, {}});
    const int from = layer_of(whole, shapes[0]);
    if (is_last && shapes[0].width == 1 && shapes[1] == Shape{shapes[0].channels, 1, 1})
      return made(put(LastStep{}, {from}), printed, 0);
    return made(put(Slice{shapes[1]}, {from}), printed, 0);
  }

  ShapedTensor part(const std::string& name) {
    const ShapedTensor in = tensor(0, "self");
    const int dim = integer(1, "dim", 0), at = dim < 0 ? dim + static_cast<int>(in.sizes.size()) : dim,
              index = integer(2, "index", 0);
    if (name == "select" && at == in.batch && at >= 0 && in.sizes[static_cast<std::size_t>(at)] == 1)
      throw Refusal{"all samples of the batch"};
    const bool is_last = name == "select" && at >= 0 && at < static_cast<int>(in.sizes.size()) &&
                         (index == -1 || index == in.sizes[static_cast<std::size_t>(at)] - 1);
    return cut(in, printed_sizes(), is_last);
  }

  /// A mean, sum or maximum over axes.
  ShapedTensor reduced() {
    const ShapedTensor in = tensor(0, "self");
    std::vector<int> dims = ints(1, "dim");
    Sizes kept = in.sizes;
    if (dims.empty()) throw Refusal{"axes to take the mean of"};
    for (int dim : dims) {
      if (dim < 0) dim += static_cast<int>(kept.size());
      if (dim < 0 || dim >= static_cast<int>(kept.size()) || dim == in.batch) throw Refusal{"other axes than the batch's"};
      kept[static_cast<std::size_t>(dim)] = 1;
    }
    const Sizes printed = printed_sizes();
    if (count_of(kept) == count_of(in.sizes)) return cut(in, printed);
    const auto [shapes, axis] = arranged({in.sizes, kept}, {in.shape, {}});
    const int from = layer_of(in, shapes[0]);
    if (shapes[1] == Shape{shapes[0].channels, 1, 1}) return made(put(GlobalPool{}, {from}), kept, in.batch);
    return made(put(Reduce{shapes[1]}, {from}), kept, in.batch);
  }

  ShapedTensor padded() {
    ShapedTensor in = tensor(0, "self");
    std::vector<int> sides = ints(1, "pad");
    sides.resize(4, 0);
    if (in.sizes.size() == 3) sides = {0, 0, sides[0], sides[1]};
    if (in.batch != 0 || in.sizes.size() < 3 || in.sizes.size() > 4 || in.sizes[0] != 1 || *std::ranges::min_element(sides) < 0 ||
        has_zeros(in))
      throw Refusal{"zeros around an image or a sequence"};
    const Shape shape{in.sizes[1], in.sizes[2], in.sizes.size() > 3 ? in.sizes[3] : 1};
    ShapedTensor out{.layer = layer_of(in, shape),
                     .shape = shape,
                     .sizes = printed_sizes(),
                     .zeros = {sides[2], sides[3], sides[0], sides[1]}};
    if (out.sizes[2] != shape.height + sides[2] + sides[3])
      throw Refusal{fmt::format("{} rows", shape.height + sides[2] + sides[3])};
    return out;
  }

  ShapedTensor resized() { return grown(tensor(0, "self")); }

  ShapedTensor grown(const ShapedTensor& in) {
    const Sizes out = printed_sizes();
    const std::vector<Sizes> sizes = of_one_rank({in.sizes, out});
    if (count_of(out) == count_of(in.sizes)) return cut(in, out);
    const auto [shapes, axis] = arranged(sizes, {in.shape, {}});
    return made(put(Resize{shapes[1]}, {layer_of(in, shapes[0])}), out, in.batch);
  }

  // Recurrent layers and attention.

  /// (input, states, [weights], has_biases, num_layers, dropout, train, bidirectional, batch_first); of each layer and direction
  /// the weights (gates x hidden, features) and (gates x hidden, hidden), and two biases.
  Known recurrent(const std::string& name) {
    const Cell cell = name == "lstm" ? Cell::lstm : name == "gru" ? Cell::gru : Cell::vanilla;
    const ShapedTensor in = tensor(0, "input");
    const TorchValue *list = argument(2, "params"), *states = argument(1, "hx");
    const bool biases = truth(3, "has_biases", true), both = truth(7, "bidirectional", false);
    const int layers = integer(4, "num_layers", 1), ways = both ? 2 : 1, each = biases ? 4 : 2;
    if (in.sizes.size() != 3 || in.batch != (truth(8, "batch_first", false) ? 0 : 1))
      throw Refusal{"a sequence, with the batch where batch_first says"};
    std::vector<const Known*> weights;
    if (list != nullptr)
      for (const TorchValue& item : list->items) weights.push_back(find(item));
    if (layers < 1 || weights.size() != static_cast<std::size_t>(layers) * static_cast<std::size_t>(ways * each) ||
        std::ranges::any_of(weights,
                            [](const Known* w) { return w == nullptr || w->is != Known::Is::weight || w->sizes.empty(); }))
      throw Refusal{"weights whose types are printed, and no proj_size"};
    if (weights[0]->sizes[0] % gates(cell) != 0 || weights[0]->sizes[0] > kMostSize) throw Refusal{"weights of all gates"};
    Known made_all{.is = Known::Is::states};
    Recurrent spec{cell, static_cast<int>(weights[0]->sizes[0]) / gates(cell), both, false, biases ? 2 : 0};
    int current = rows_of(in);
    for (int l = 0; l < layers; ++l) {
      std::string key;
      for (int i = 0; i < ways * each; ++i)
        key += (i == 0 ? "" : "+") + weights[static_cast<std::size_t>(l * ways * each + i)]->parameters;
      std::vector<int> inputs{current};
      if (states != nullptr) add_states(*states, inputs, layers, spec);
      current = put(spec, inputs, key);
      made_all.layers.push_back(current);
      const TorchValue* drop = argument(5, "dropout");
      if (l + 1 < layers && drop != nullptr && drop->number > 0) current = put(Dropout{}, {current});
    }
    Sizes sizes = in.sizes;
    sizes.back() = spec.hidden * ways;
    const ShapedTensor sequence{
        .layer = made_all.layers.back(), .shape = net_.shape(made_all.layers.back()), .sizes = sizes, .batch = in.batch};
    return {.is = Known::Is::several, .several = {as_tensor(sequence), made_all, made_all}};
  }

  /// Of a list or one tensor of (layers x directions, batch, hidden): those of one layer.
  void add_states(const TorchValue& given, std::vector<int>& inputs, int layers, const Recurrent& spec) {
    std::vector<const Known*> all{find(given)};
    if (given.kind == Kind::list) {
      all.clear();
      for (const TorchValue& item : given.items) all.push_back(find(item));
    }
    const int width = spec.hidden * (spec.bidirectional ? 2 : 1);
    for (const Known* one : all) {
      if (one == nullptr || one->is == Known::Is::weight) continue;
      const ShapedTensor state = tensor_of(*one);
      if (count_of(state.sizes) != std::int64_t{width} * layers) throw Refusal{"states of its own layers"};
      const int from = layer_of(state, Shape{width, layers, 1});
      inputs.push_back(layers == 1 ? from : put(Slice{{width, 1, 1}}, {from}));
    }
  }

  /// (layers x directions, batch, hidden).
  ShapedTensor last_states(const Known& known) {
    std::vector<int> ends;
    int all = 0;
    for (const int layer : known.layers) {
      ends.push_back(put(LastStep{}, {layer}));
      all += net_.shape(ends.back()).channels;
    }
    const int joined = ends.size() == 1 ? ends[0] : put(Concat{}, ends);
    const Recurrent& spec = std::get<Recurrent>(net_.builder().network().layers[static_cast<std::size_t>(known.layers[0])].spec);
    const int rows = all / spec.hidden;
    ShapedTensor made{.layer = joined, .shape = {all, 1, 1}, .sizes = {rows, 1, spec.hidden}, .batch = 1};
    if (rows > 1) {
      made.shape = {spec.hidden, rows, 1};
      made.layer = put(Rearrange{made.shape}, {joined});
    }
    return made;
  }

  /// Queries, keys and values of (batch, heads, steps, features).
  ShapedTensor attention() {
    std::vector<int> inputs;
    Sizes sizes;
    int heads = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const ShapedTensor t = tensor(i, "query");
      const std::size_t rank = t.sizes.size();
      if (rank < 3 || rank > 4 || t.batch != 0 || t.sizes[0] != 1)
        throw Refusal{"queries, keys and values of (batch, heads, steps, features)"};
      if (i == 0) heads = rank == 4 ? t.sizes[1] : 1;
      if (i == 0) sizes = t.sizes;
      if (rank == 4 && t.sizes[1] != heads) throw Refusal{fmt::format("{} heads, as the queries have", heads)};
      inputs.push_back(layer_of(t, Shape{heads * t.sizes[rank - 1], t.sizes[rank - 2], 1}));
      sizes.back() = t.sizes.back();
    }
    return made(put(Attention{heads}, inputs), sizes, 0);
  }

  const TorchProgram& program_;
  std::string file_;
  TensorNetwork net_;
  std::map<std::string, Known> known_;
  std::map<std::string, std::string> used_;  ///< parameters, and with which others a layer has them
  const TorchStatement* now_ = nullptr;
  const TorchValue* call_ = nullptr;
  std::int64_t batch_ = 0;
  int batch_axis_ = 0;
};

}  // namespace

Network read_torch(std::string_view text, const std::string& file) {
  const TorchProgram program = read_torch_program(text, file);
  return TorchReader(program, file).read();
}

}  // namespace rehearse::traces
