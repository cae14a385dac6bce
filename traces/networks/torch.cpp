// From a printed program of PyTorch to a network. A weight is known by its type where torch.export has printed it, by its
// module's arguments where FX has; every shape that is printed is held against the one that the layers make.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "sim/io/shown.hpp"
#include "traces/networks/network_builder.hpp"
#include "traces/networks/network_file.hpp"
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

bool has_no_time(std::string_view name) {  // beside the layers around it
  return is_in(name, {"view",  "reshape", "unsafe_view", "_unsafe_view", "permute",  "transpose",      "t",         "contiguous",
                      "clone", "detach",  "to",          "_to_copy",     "alias",    "squeeze",        "unsqueeze", "expand",
                      "float", "half",    "type_as",     "slice",        "Identity", "lift_fresh_copy"});
}

bool is_activation(std::string_view name) {
  return is_in(name, {"relu",      "relu6",    "hardtanh",    "leaky_relu",   "elu",   "sigmoid", "hardsigmoid", "tanh",
                      "softmax",   "_softmax", "log_softmax", "_log_softmax", "clamp", "ReLU",    "ReLU6",       "Hardtanh",
                      "LeakyReLU", "ELU",      "Sigmoid",     "Hardsigmoid",  "Tanh",  "Softmax", "LogSoftmax"});
}

bool keeps_its_input(std::string_view name) {  // an activation whose gradient needs it
  return is_in(name, {"gelu", "silu", "hardswish", "mish", "GELU", "SiLU", "Hardswish", "Mish"});
}

class TorchReader {
 public:
  TorchReader(const TorchProgram& program, std::string file) : program_(program), file_(std::move(file)), net_("torch") {}

  Network read() {
    for (const auto& [name, type] : program_.arguments) read_argument(name, type);
    for (const TorchStatement& statement : program_.statements) read_statement(statement);
    return net_.finish();
  }

 private:
  void refuse(std::int64_t line, std::string expected, std::string found) {
    net_.mistakes().add({.file = file_, .line = line, .expected = std::move(expected), .found = std::move(found)});
  }
  void refuse(std::string expected) {
    refuse(now_->line, std::move(expected), sim::shown(now_->name + " = " + now_->value.text));
  }

  void read_argument(const std::string& name, const std::optional<TorchType>& type) {
    const bool is_input = program_.inputs.empty() ? !name.starts_with("p_") && !name.starts_with("b_") &&
                                                        !name.starts_with("c_") && !name.starts_with("obj_")
                                                  : std::ranges::find(program_.inputs, name) != program_.inputs.end();
    if (!is_input) {
      if (type) weights_[name] = type->sizes;
      return;
    }
    const auto bad = [](std::int64_t size) { return size < 1 || size > kMostSize; };
    if (!type || type->sizes.size() < 2 || type->sizes.size() > 4 || std::any_of(type->sizes.begin() + 1, type->sizes.end(), bad))
      return refuse(
          program_.forward_line,
          fmt::format("the type of {} behind its name, with the batch in front: {}: \"f32[1, 3, 224, 224]\", \"f32[1, steps, "
                      "features]\", \"i64[1, tokens]\" or \"f32[1, features]\"",
                      name, name),
          type ? fmt::format("{} sizes", type->sizes.size()) : "none");
    const auto size = [&](std::size_t i) { return static_cast<int>(type->sizes[i]); };
    if (batch_ == 0) batch_ = type->sizes[0];
    Shape shape{size(1), 1, 1};
    if (type->sizes.size() == 4) shape = {size(1), size(2), size(3)};
    if (type->sizes.size() == 3) shape = feeds_convolution(name) ? Shape{size(1), size(2), 1} : Shape{size(2), size(1), 1};
    if (type->sizes.size() == 2 && type->element.starts_with('i')) shape = {1, size(1), 1};
    net_.name(name, {net_.add(name, Input{shape}, {})});
  }

  /// Over steps, which takes (batch, channels, steps); everything else takes (batch, steps, features).
  bool feeds_convolution(const std::string& input) const {
    return std::ranges::any_of(program_.statements, [&](const TorchStatement& s) {
      if (s.value.items.empty() || s.value.items[0].text != input) return false;
      const auto module =
          s.value.text.starts_with("self.") ? program_.modules.find(s.value.text.substr(5)) : program_.modules.end();
      return is_in(module == program_.modules.end() ? operation(s.value.text) : module->second.text,
                   {"conv1d", "convolution", "Conv1d", "BatchNorm1d"});
    });
  }

  const NetworkBuilder::Source* layer_of(const TorchValue& value) const {
    return value.kind == Kind::name ? net_.find(value.text) : nullptr;
  }

  void read_statement(const TorchStatement& statement) {
    now_ = &statement;
    const TorchValue& value = statement.value;
    if (value.kind == Kind::name) {
      if (const auto* source = net_.find(value.text)) net_.name(statement.name, *source);
      return;
    }
    if (value.kind != Kind::call) return;
    inputs_.clear();
    collect(value);
    if (inputs_.empty()) return read_constant();
    try {
      add(value);
    } catch (const sim::InputError& error) {
      refuse(error.mistakes().front().expected + ", but found " + error.mistakes().front().found);
    }
    if (net_.good()) check_shape();
  }

  void collect(const TorchValue& value) {
    for (const TorchValue& item : value.items) {
      if (const auto* source = layer_of(item)) inputs_.push_back(source->layer);
      if (item.kind == Kind::list) collect(item);
    }
    for (const auto& [key, item] : value.named)
      if (const auto* source = layer_of(item)) inputs_.push_back(source->layer);
  }

  /// Of weights alone: a transposed one is a weight again.
  void read_constant() {
    const TorchValue& value = now_->value;
    if (now_->type) {
      weights_[now_->name] = now_->type->sizes;
    } else if (const TorchSizes* sizes = value.items.empty() ? nullptr : weight(value.items[0])) {
      TorchSizes turned = *sizes;
      if (is_in(operation(value.text), {"t", "transpose", "permute"})) std::reverse(turned.begin(), turned.end());
      weights_[now_->name] = turned;
    }
  }

  /// What is printed of the result must be what the layers make of it, whatever stands in front: batch, steps, heads.
  void check_shape() {
    const auto* source = net_.find(now_->name);
    if (source == nullptr || !now_->type || batch_ < 1) return;
    double printed = 1;
    for (const std::int64_t size : now_->type->sizes) {
      if (size < 0) return;
      printed *= static_cast<double>(size);
    }
    const Shape shape = net_.shape(source->layer);
    if (printed == shape.elements() * static_cast<double>(batch_)) return;
    refuse(fmt::format("{} x {} x {} numbers a sample", shape.channels, shape.height, shape.width));
  }

  // Arguments of the operation that is read.

  const TorchValue* argument(std::size_t i, std::string_view name) const {
    for (const auto& [key, item] : now_call_->named)
      if (key == name) return &item;
    return i < now_call_->items.size() ? &now_call_->items[i] : nullptr;
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
  bool is_given(std::size_t i, std::string_view name) const {
    const TorchValue* value = argument(i, name);
    return value != nullptr && value->kind != Kind::none;
  }
  const TorchSizes* weight(const TorchValue& value) const {
    const auto found = weights_.find(value.text);
    return value.kind == Kind::name && found != weights_.end() ? &found->second : nullptr;
  }
  const TorchSizes* weight(std::size_t i, std::string_view name, std::size_t rank) const {
    const TorchValue* value = argument(i, name);
    const TorchSizes* sizes = value != nullptr ? weight(*value) : nullptr;
    const bool fits = sizes != nullptr && sizes->size() == rank &&
                      std::ranges::all_of(*sizes, [](std::int64_t n) { return n > 0 && n <= kMostSize; });
    return fits ? sizes : nullptr;
  }

  void put(LayerSpec spec) {
    inputs_ = {net_.add(now_->name, std::move(spec), inputs_)};
    net_.name(now_->name, {inputs_[0]});
  }
  void pass_on(int layer) { net_.name(now_->name, {layer}); }

  /// Size, stride, padding and dilation of a window, each one number or one a side; `first` is the place of the stride.
  std::optional<Window> window(std::vector<int> size, std::size_t first, bool dilates, bool stride_is_size) {
    const auto two = [&](std::vector<int> list, int fallback) {
      if (list.empty()) list = {fallback};
      return std::array{list[0], list.size() > 1 ? list[1] : is_flat() ? fallback : list[0]};
    };
    const auto k = two(std::move(size), 1);
    std::vector<int> strides = ints(first, "stride");
    if (strides.empty() && stride_is_size) strides = {k[0], k[1]};
    const auto stride = two(strides, 1);
    auto pad = two(ints(first + 1, "padding"), 0);
    if (const TorchValue* word = argument(first + 1, "padding"); word != nullptr && word->text == "same")
      pad = {k[0] / 2, k[1] / 2};
    const auto dilation = dilates ? two(ints(first + 2, "dilation"), 1) : std::array{1, 1};
    if (dilation[0] != 1 || (!is_flat() && dilation[1] != 1)) {
      refuse("a window without dilation");
      return std::nullopt;
    }
    return Window{k[0], k[1], std::max(1, stride[0]), std::max(1, stride[1]), std::max(0, pad[0]), std::max(0, pad[1])};
  }
  bool is_flat() const { return net_.shape(inputs_[0]).width == 1; }

  void add(const TorchValue& call) {
    now_call_ = &call;
    if (call.text.starts_with("self.")) {
      const std::string path = call.text.substr(5);
      const auto module = program_.modules.find(path);
      if (module == program_.modules.end()) return refuse("a module of the tree above forward (print(module) writes both)");
      now_call_ = &module->second;
      return add_module(module->second.text);
    }
    add_operation(operation(call.text));
  }

  void add_module(const std::string& kind) {
    if (is_in(kind, {"Conv1d", "Conv2d", "ConvTranspose2d"})) {
      const auto w = window(ints(2, "kernel_size"), 3, true, false);
      if (!w) return;
      if (kind.starts_with("ConvT")) return put(TransposedConv{integer(1, "out_channels", 0), *w, truth(8, "bias", true)});
      return put(Conv{integer(1, "out_channels", 0), *w, integer(6, "groups", 1), truth(7, "bias", true)});
    }
    if (kind == "Linear") return put(Dense{integer(1, "out_features", 0), truth(2, "bias", true)});
    if (is_in(kind, {"MaxPool1d", "MaxPool2d"})) return add_pool(Pooling::max, 0, 5);
    if (is_in(kind, {"AvgPool1d", "AvgPool2d"})) return add_pool(Pooling::average, 0, 3);
    if (is_in(kind, {"AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveMaxPool2d"})) return add_adaptive(ints(0, "output_size"));
    if (is_in(kind, {"BatchNorm1d", "BatchNorm2d", "SyncBatchNorm"})) return put(BatchNorm{});
    if (kind == "LayerNorm") return put(LayerNorm{});
    if (kind == "LocalResponseNorm") return put(LocalResponseNorm{integer(0, "size", 5)});
    if (is_in(kind, {"Dropout", "Dropout2d"})) return put(Dropout{});
    if (kind == "Flatten") return put(Flatten{});
    if (kind == "Embedding") return put(Embedding{integer(0, "num_embeddings", 0), integer(1, "embedding_dim", 0)});
    if (is_in(kind, {"LSTM", "GRU", "RNN"}))
      return add_recurrent(kind == "LSTM"  ? Cell::lstm
                           : kind == "GRU" ? Cell::gru
                                           : Cell::vanilla,
                           integer(1, "hidden_size", 0), integer(2, "num_layers", 1), truth(6, "bidirectional", false));
    if (!add_simple(kind)) refuse("a module that is supported (docs/guide/harness.md)");
  }

  bool add_simple(const std::string& name) {
    if (is_activation(name))
      put(Activation{});
    else if (keeps_its_input(name))
      put(Activation{.in_place = false});
    else if (has_no_time(name))
      add_view(name);
    else
      return false;
    return true;
  }

  void add_operation(const std::string& name) {
    if (is_in(name, {"conv1d", "conv2d", "convolution", "conv_transpose2d"})) return add_convolution(name);
    if (is_in(name, {"linear", "addmm", "mm", "matmul", "bmm"})) return add_product(name);
    if (name.starts_with("max_pool")) return add_pool(Pooling::max, 1, 5);
    if (name.starts_with("avg_pool")) return add_pool(Pooling::average, 1, 4);
    if (name.starts_with("adaptive_avg_pool") || name.starts_with("_adaptive_avg_pool"))
      return add_adaptive(ints(1, "output_size"));
    if (name == "mean") return put(GlobalPool{});
    if (name.find("batch_norm") != name.npos) return put(BatchNorm{});
    if (name.find("layer_norm") != name.npos) return put(LayerNorm{});
    if (is_in(name, {"dropout", "native_dropout"})) return put(Dropout{});
    if (name == "flatten") return put(Flatten{});
    if (is_in(name, {"add", "sub", "mul", "div", "truediv", "iadd", "imul"})) return add_elementwise();
    if (is_in(name, {"cat", "concat"})) return add_concat();
    if (name == "embedding") return add_embedding();
    if (is_in(name, {"lstm", "gru", "rnn_tanh", "rnn_relu"})) return add_aten_recurrent(name);
    if (name == "scaled_dot_product_attention") return add_attention();
    if (name == "select") return put(LastStep{});
    if (name == "getitem") return add_item();
    if (is_in(name, {"size", "sym_size", "shape", "dim"}) || name.starts_with("_assert") || name.starts_with("_guard")) return;
    if (!add_simple(name)) refuse("an operation that is supported (docs/guide/harness.md)");
  }

  void add_convolution(const std::string& name) {
    const auto* sizes = weight(1, "weight", name == "conv1d" || is_flat() ? 3 : 4);
    if (sizes == nullptr) return refuse("a weight whose type is printed");
    std::vector<int> kernel;
    for (std::size_t i = 2; i < sizes->size(); ++i) kernel.push_back(static_cast<int>((*sizes)[i]));
    const bool turned = name == "conv_transpose2d" || (name == "convolution" && truth(6, "transposed", false));
    const auto w = window(kernel, 3, name != "conv_transpose2d", false);
    if (!w) return;
    const bool bias = is_given(2, "bias");
    if (turned) return put(TransposedConv{static_cast<int>((*sizes)[1]), *w, bias});
    put(Conv{static_cast<int>((*sizes)[0]), *w, integer(name == "convolution" ? 8 : 6, "groups", 1), bias});
  }

  /// linear(x, w (out, in)), addmm(b, x, w (in, out)), mm and matmul(x, w (in, out)).
  void add_product(const std::string& name) {
    const bool is_linear = name == "linear";
    const auto* sizes = weight(name == "addmm" ? 2 : 1, is_linear ? "weight" : "mat2", 2);
    if (sizes == nullptr)
      return refuse("a product with a matrix of weights whose type is printed (attention: scaled_dot_product_attention)");
    put(Dense{static_cast<int>((*sizes)[is_linear ? 0 : 1]), is_linear ? is_given(2, "bias") : name == "addmm"});
  }

  void add_pool(Pooling kind, std::size_t first, std::size_t ceil) {
    const std::vector<int> size = ints(first, "kernel_size");
    const auto w = window(size, first + 1, kind == Pooling::max, true);
    if (!w || size.empty()) return size.empty() ? refuse("a kernel_size") : void();
    const Shape in = net_.shape(inputs_[0]);
    const bool comes_out = (in.height + 2 * w->pad_height - w->height) % w->stride_height == 0 &&
                           (in.width + 2 * w->pad_width - w->width) % w->stride_width == 0;
    if (truth(ceil, "ceil_mode", false) && !comes_out) return refuse("no ceil_mode where windows stand over the edge");
    put(Pool{kind, *w});
  }

  void add_adaptive(const std::vector<int>& out) {
    const Shape in = net_.shape(inputs_[0]);
    const int height = out.empty() ? 1 : out[0], width = out.size() > 1 ? out[1] : is_flat() ? 1 : height;
    if (height == in.height && width == in.width && height * width > 1) return pass_on(inputs_[0]);
    if (height == 1 && width == 1) return put(GlobalPool{});
    if (height < 1 || width < 1 || in.height % height != 0 || in.width % width != 0)
      return refuse("an output size that divides the input's");
    put(Pool{Pooling::average, {in.height / height, in.width / width, in.height / height, in.width / width}});
  }

  /// Of a tensor and a weight or a number: nothing that takes time beside the layer before. One number a channel is spread.
  void add_elementwise() {
    if (inputs_.size() < 2) return pass_on(inputs_[0]);
    const Shape a = net_.shape(inputs_[0]), b = net_.shape(inputs_[1]);
    if (a.channels == b.channels && a.positions() != b.positions() && (a.positions() == 1 || b.positions() == 1))
      return pass_on(inputs_[a.positions() == 1 ? 1 : 0]);
    put(Add{});
  }

  void add_concat() {
    const int axis = integer(1, "dim", 0), channels = now_->type && now_->type->sizes.size() == 3 ? 2 : 1;
    if (axis != channels && axis != -1) return refuse("tensors side by side along their channels or features");
    put(Concat{});
  }

  void add_embedding() {
    const auto* table = weight(0, "weight", 2);
    if (table == nullptr) table = weight(1, "weight", 2);
    if (table == nullptr) return refuse("a table of weights whose type is printed");
    put(Embedding{static_cast<int>((*table)[0]), static_cast<int>((*table)[1])});
  }

  void add_recurrent(Cell cell, int hidden, int layers, bool bidirectional) {
    if (layers < 1 || layers > 1000) return refuse("from 1 to 1000 layers");
    inputs_.resize(1);  // initial states
    for (int l = 0; l < layers; ++l) put(Recurrent{cell, hidden, bidirectional});
  }

  /// (input, states, [weights], has_biases, num_layers, dropout, train, bidirectional, batch_first); the first weight is (gates x
  /// hidden, features).
  void add_aten_recurrent(const std::string& name) {
    const Cell cell = name == "lstm" ? Cell::lstm : name == "gru" ? Cell::gru : Cell::vanilla;
    const TorchValue* list = argument(2, "params");
    const TorchSizes* first =
        list != nullptr && list->kind == Kind::list && !list->items.empty() ? weight(list->items[0]) : nullptr;
    if (first == nullptr || first->size() != 2 || (*first)[0] < gates(cell) || (*first)[0] > kMostSize)
      return refuse("weights whose types are printed");
    add_recurrent(cell, static_cast<int>((*first)[0]) / gates(cell), integer(4, "num_layers", 1),
                  truth(7, "bidirectional", false));
  }

  /// Queries of (batch, heads, steps, features).
  void add_attention() {
    const TorchValue* queries = argument(0, "query");
    const auto sizes = queries == nullptr ? printed_.end() : printed_.find(queries->text);
    if (inputs_.size() < 3 || sizes == printed_.end() || sizes->second.size() != 4 || sizes->second[1] < 1)
      return refuse("queries, keys and values, with the printed type (batch, heads, steps, features)");
    inputs_.resize(3);
    put(Attention{static_cast<int>(std::min(sizes->second[1], kMostSize))});
  }

  /// The first of several results is the layer's; others are statistics, indices or states. An index into a tensor takes a step.
  void add_item() {
    const TorchValue* index = argument(1, "");
    if (index != nullptr && index->kind == Kind::list) return put(LastStep{});
    if (index != nullptr && index->kind == Kind::number && index->number == 0) pass_on(inputs_[0]);
  }

  /// A view that makes a vector of an image flattens it.
  void add_view(const std::string& name) {
    const Shape in = net_.shape(inputs_[0]);
    if (now_->type) printed_[now_->name] = now_->type->sizes;
    constexpr int kUnknown = -2;  // the batch, as a name
    std::vector<int> sizes;
    const TorchValue* given = argument(1, "size");
    const bool is_list = given != nullptr && given->kind == Kind::list;
    const std::vector<TorchValue>& list = is_list ? given->items : now_call_->items;
    for (std::size_t i = is_list ? 0 : 1; i < list.size(); ++i)
      sizes.push_back(list[i].kind == Kind::number ? static_cast<int>(std::clamp(list[i].number, -1.0, 1e9)) : kUnknown);
    std::int64_t last = sizes.size() == 2 ? sizes[1] : 0;
    if (now_->type && now_->type->sizes.size() == 2) last = now_->type->sizes[1];
    const bool is_view = is_in(name, {"view", "reshape", "_unsafe_view", "unsafe_view"});
    const bool flattens =
        is_view && in.positions() > 1 && (static_cast<double>(last) == in.elements() || (sizes.size() == 2 && last == -1));
    flattens ? put(Flatten{}) : pass_on(inputs_[0]);
  }

  const TorchProgram& program_;
  std::string file_;
  NetworkBuilder net_;
  std::map<std::string, TorchSizes> weights_;
  std::map<std::string, TorchSizes> printed_;  ///< of views, of which some are queries
  const TorchStatement* now_ = nullptr;
  const TorchValue* now_call_ = nullptr;  ///< whose arguments count: the statement's, or those of its module
  std::int64_t batch_ = 0;
  std::vector<int> inputs_;
};

}  // namespace

Network read_torch(std::string_view text, const std::string& file) {
  const TorchProgram program = read_torch_program(text, file);
  return TorchReader(program, file).read();
}

}  // namespace rehearse::traces
