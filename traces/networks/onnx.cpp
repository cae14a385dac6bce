// From an ONNX graph to a network: convolutions, products with weights, pooling, recurrent layers and what stands between them.
// Tensors are (batch, channels, height, width), (batch, features), and (steps, batch, features) for recurrent operations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "traces/networks/network_builder.hpp"
#include "traces/networks/network_file.hpp"
#include "traces/networks/onnx_graph.hpp"

namespace rehearse::traces {
namespace {

using namespace workloads;

constexpr std::array kOnnxPlain{"Identity", "Cast", "Transpose", "Unsqueeze", "Squeeze", "Constant", "Shape"};
constexpr std::array kOnnxActivations{"Relu", "LeakyRelu", "PRelu",   "Elu",        "Selu",        "Sigmoid",
                                      "Tanh", "Clip",      "Softmax", "LogSoftmax", "HardSigmoid", "HardSwish"};

constexpr std::array kOnnxOthers{"Conv",
                                 "ConvTranspose",
                                 "Gemm",
                                 "MatMul",
                                 "MaxPool",
                                 "AveragePool",
                                 "GlobalAveragePool",
                                 "GlobalMaxPool",
                                 "ReduceMean",
                                 "BatchNormalization",
                                 "LayerNormalization",
                                 "LRN",
                                 "Gelu",
                                 "LSTM",
                                 "GRU",
                                 "RNN",
                                 "Add",
                                 "Sum",
                                 "Mul",
                                 "Sub",
                                 "Div",
                                 "Concat",
                                 "Flatten",
                                 "Reshape",
                                 "Dropout",
                                 "Gather"};

class OnnxReader {
 public:
  OnnxReader(const OnnxGraph& graph, std::string file)
      : graph_(graph), file_(std::move(file)), net_(graph.name.empty() ? "onnx" : graph.name) {}

  Network read() {
    for (const OnnxNode& node : graph_.nodes)  // all unsupported ones, before any shape
      if (!is_one_of(node.type, kOnnxPlain) && !is_one_of(node.type, kOnnxActivations) && !is_one_of(node.type, kOnnxOthers))
        refuse(node, "an operation that is supported (docs/guide/harness.md)");
    for (const auto& [name, sizes] : graph_.inputs) read_input(name, sizes);
    if (net_.good())
      for (const OnnxNode& node : graph_.nodes) read_node(node);
    return net_.finish();
  }

 private:
  void refuse(const std::string& what, std::string expected) {
    net_.mistakes().add({.file = file_, .expected = std::move(expected), .found = what});
  }
  void refuse(const OnnxNode& node, std::string expected) {
    refuse(fmt::format("node \"{}\", a {}", node.name, node.type), std::move(expected));
  }

  /// A size or a step as the file has it. Throws what read_node tells with its node.
  static int size_of(std::int64_t value) {
    if (value < 0 || value >= kMost)
      throw sim::InputError({.expected = fmt::format("sizes from 0 to {}", kMost - 1), .found = std::to_string(value)});
    return static_cast<int>(value);
  }

  void read_input(const std::string& name, const std::vector<std::int64_t>& sizes) {
    const bool fixed = sizes.size() >= 2 && sizes.size() <= 4 &&
                       std::all_of(sizes.begin() + 1, sizes.end(), [](std::int64_t n) { return n > 0 && n < kMost; });
    if (!fixed)
      return refuse(
          fmt::format("input \"{}\" of {} dimensions", name, sizes.size()),
          "an input of fixed size, but for the batch in front: (batch, channels, height, width), (batch, steps, features) "
          "or (batch, features)");
    const auto size = [&](std::size_t i) { return static_cast<int>(sizes[i]); };
    const bool tokens = std::ranges::any_of(
        graph_.nodes, [&](const OnnxNode& n) { return n.type == "Gather" && n.inputs.size() > 1 && n.inputs[1] == name; });
    Shape s{size(1), 1, 1};
    if (sizes.size() == 4) s = {size(1), size(2), size(3)};
    if (sizes.size() == 3) s = {size(2), size(1), 1};
    if (sizes.size() == 2 && tokens) s = {1, size(1), 1};
    net_.name(name, {net_.add(name, Input{s}, {})});
  }

  const std::vector<std::int64_t>* weight(const OnnxNode& node, std::size_t input) const {
    if (node.inputs.size() <= input) return nullptr;
    const auto found = graph_.weights.find(node.inputs[input]);
    return found == graph_.weights.end() ? nullptr : &found->second;
  }

  void read_node(const OnnxNode& node) {
    inputs_.clear();
    for (const std::string& name : node.inputs)
      if (const NetworkBuilder::Source* source = net_.find(name)) inputs_.push_back(source->layer);
    if (inputs_.empty()) {  // works on weights or constants alone: not a part of a training step
      const bool constant = works_on_weights(node) || is_one_of(node.type, kOnnxPlain);
      if (!constant && net_.good()) refuse(node, "an input among the nodes before it");
      return;
    }
    try {
      add_node(node);
    } catch (const sim::InputError& error) {
      refuse(node, error.mistakes().front().expected + ", but found " + error.mistakes().front().found);
    }
  }

  /// Its results are constants as well, then.
  bool works_on_weights(const OnnxNode& node) {
    const bool constant = std::ranges::all_of(node.inputs, [&](const std::string& name) {
      return name.empty() || graph_.weights.contains(name) || constants_.contains(name);
    });
    if (constant) constants_.insert(node.outputs.begin(), node.outputs.end());
    return constant;
  }

  void put(const OnnxNode& node, LayerSpec spec, std::string_view suffix = {}) {
    inputs_ = {net_.add(node.name + std::string(suffix), std::move(spec), inputs_)};
    for (const std::string& name : node.outputs)
      if (!name.empty()) net_.name(name, {inputs_[0]});
  }

  std::optional<Window> window(const OnnxNode& node, std::array<std::int64_t, 2> size) {
    const auto two = [&](const char* key, std::int64_t fallback) {
      const auto found = node.numbers.find(key);
      if (found == node.numbers.end()) return std::array{fallback, fallback};
      return std::array{found->second.front(), found->second.size() > 1 ? found->second[1] : std::int64_t{1}};
    };
    const auto stride = two("strides", 1), dilation = two("dilations", 1);
    Window w{size_of(size[0]), size_of(size[1]), size_of(stride[0]), size_of(stride[1])};
    if (dilation[0] != 1 || dilation[1] != 1) {
      refuse(node, "a window without dilation");
      return std::nullopt;
    }
    const auto pads = node.numbers.find("pads");
    const auto automatic = node.texts.find("auto_pad");
    if (pads != node.numbers.end() && pads->second.size() >= 2) {
      const std::vector<std::int64_t>& p = pads->second;
      const std::size_t half = p.size() / 2;
      w.pad_height = size_of(std::max(p[0], p[half]));
      if (half > 1) w.pad_width = size_of(std::max(p[1], p[half + 1]));
    } else if (automatic != node.texts.end() && automatic->second.starts_with("SAME")) {
      const Shape in = net_.shape(inputs_[0]);
      w.pad_height = std::max(0, same_padding(in.height, std::max(1, w.height), std::max(1, w.stride_height)));
      w.pad_width = std::max(0, same_padding(in.width, std::max(1, w.width), std::max(1, w.stride_width)));
    }
    return w;
  }

  void add_convolution(const OnnxNode& node) {
    const auto* shape = weight(node, 1);
    if (shape == nullptr || (shape->size() != 3 && shape->size() != 4))
      return refuse(node, "weights of three or four dimensions");
    const auto w = window(node, {(*shape)[2], shape->size() > 3 ? (*shape)[3] : 1});
    if (!w) return;
    const bool bias = node.inputs.size() > 2;
    if (node.type == "ConvTranspose")
      put(node, TransposedConv{size_of((*shape)[1]), *w, bias});
    else
      put(node, Conv{size_of((*shape)[0]), *w, size_of(node.number("group", 1)), bias});
  }

  void add_product(const OnnxNode& node) {
    const auto* shape = weight(node, 1);
    if (shape == nullptr || shape->size() != 2) return refuse(node, "a product with a matrix of weights");
    const bool turned = node.type == "Gemm" && node.number("transB", 0) != 0;
    put(node, Dense{size_of((*shape)[turned ? 0 : 1]), node.type == "Gemm" && node.inputs.size() > 2});
  }

  void add_recurrent(const OnnxNode& node) {
    const std::int64_t hidden = node.number("hidden_size", 0);
    if (hidden < 1 || hidden > 1 << 20) return refuse(node, "a hidden_size");
    const auto direction = node.texts.find("direction");
    inputs_.resize(1);  // initial states
    put(node, Recurrent{node.type == "LSTM"  ? Cell::lstm
                        : node.type == "GRU" ? Cell::gru
                                             : Cell::vanilla,
                        static_cast<int>(hidden), direction != node.texts.end() && direction->second == "bidirectional"});
  }

  /// Of a tensor with a weight or a constant: nothing that takes time beside the layer before; of two tensors a layer.
  void add_elementwise(const OnnxNode& node) {
    if (inputs_.size() < 2)
      for (const std::string& name : node.outputs) net_.name(name, {inputs_[0]});
    else
      put(node, Add{});
  }

  void add_node(const OnnxNode& node) {
    const std::string& type = node.type;
    if (type == "Conv" || type == "ConvTranspose")
      add_convolution(node);
    else if (type == "Gemm" || (type == "MatMul" && inputs_.size() == 1))
      add_product(node);
    else if (type == "MaxPool" || type == "AveragePool") {
      const auto kernel = node.numbers.find("kernel_shape");
      if (kernel == node.numbers.end()) return refuse(node, "a kernel_shape");
      const auto w = window(node, {kernel->second.front(), kernel->second.size() > 1 ? kernel->second[1] : 1});
      if (w) put(node, Pool{type == "MaxPool" ? Pooling::max : Pooling::average, *w});
    } else if (type == "GlobalAveragePool" || type == "GlobalMaxPool" || type == "ReduceMean")
      put(node, GlobalPool{});
    else if (type == "BatchNormalization")
      put(node, BatchNorm{});
    else if (type == "LayerNormalization")
      put(node, LayerNorm{});
    else if (type == "LRN")
      put(node, LocalResponseNorm{size_of(node.number("size", 5))});
    else if (type == "Gelu")
      put(node, Activation{.in_place = false});
    else if (is_one_of(type, kOnnxActivations))
      put(node, Activation{});
    else if (type == "LSTM" || type == "GRU" || type == "RNN")
      add_recurrent(node);
    else if (type == "Add" || type == "Sum" || type == "Mul" || type == "Sub" || type == "Div")
      add_elementwise(node);
    else if (type == "Concat")
      put(node, Concat{});
    else if (type == "Flatten" || type == "Reshape")
      put(node, Flatten{});
    else if (type == "Dropout")
      put(node, Dropout{});
    else if (type == "Gather")
      add_embedding(node);
    else if (is_one_of(type, kOnnxPlain))
      for (const std::string& name : node.outputs) net_.name(name, {inputs_[0]});
    else
      refuse(node, "an operation that is supported (docs/guide/harness.md)");
  }

  void add_embedding(const OnnxNode& node) {
    const auto* table = weight(node, 0);
    if (table == nullptr || table->size() != 2) return refuse(node, "rows of a table of weights (an embedding)");
    put(node, Embedding{size_of((*table)[0]), size_of((*table)[1])});
  }

  static constexpr std::int64_t kMost = 1 << 24;

  const OnnxGraph& graph_;
  std::string file_;
  NetworkBuilder net_;
  std::set<std::string> constants_;
  std::vector<int> inputs_;
};

}  // namespace

Network read_onnx(std::string_view bytes, const std::string& file) {
  const OnnxGraph graph = read_onnx_graph(bytes, file);
  return OnnxReader(graph, file).read();
}

}  // namespace rehearse::traces
