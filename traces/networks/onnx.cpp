// From an ONNX graph, all of whose shapes are known, to a network. Where each axis of a tensor lies in memory costs nothing here:
// an operation takes its input in the form that it works on (image, rows of features), and only what computes, or copies a part,
// is a layer. Sizes are divided by the batch, wherever it stands.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>

#include "traces/networks/network_builder.hpp"
#include "traces/networks/network_file.hpp"
#include "traces/networks/onnx_graph.hpp"

namespace rehearse::traces {
namespace {

using namespace workloads;

constexpr std::array kOnnxViews{"Identity", "Cast",    "Transpose", "Unsqueeze",      "Squeeze",
                                "Flatten",  "Reshape", "CastLike",  "ReverseSequence"};
/// Number by number, from one tensor.
constexpr std::array kOnnxActivations{"Relu",
                                      "LeakyRelu",
                                      "PRelu",
                                      "Elu",
                                      "Selu",
                                      "Celu",
                                      "Sigmoid",
                                      "Tanh",
                                      "Clip",
                                      "Softmax",
                                      "LogSoftmax",
                                      "Hardmax",
                                      "HardSigmoid",
                                      "HardSwish",
                                      "Softplus",
                                      "Softsign",
                                      "ThresholdedRelu",
                                      "Erf",
                                      "Exp",
                                      "Log",
                                      "Sqrt",
                                      "Reciprocal",
                                      "Abs",
                                      "Neg",
                                      "Sin",
                                      "Cos",
                                      "Floor",
                                      "Ceil",
                                      "Round",
                                      "Sign",
                                      "Not",
                                      "Mish",
                                      "LpNormalization",
                                      "MeanVarianceNormalization",
                                      "CumSum",
                                      "IsNaN",
                                      "IsInf",
                                      "Trilu"};
constexpr std::array kOnnxGelus{"Gelu", "FastGelu", "QuickGelu", "BiasGelu"};
/// Number by number, from several tensors: sums and choices, products.
constexpr std::array kOnnxSums{"Add",  "Sub",     "Sum",         "Mean",           "Max", "Min", "Where", "Equal",
                               "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or",  "Xor"};
constexpr std::array kOnnxProducts{"Mul", "Div", "Pow", "Mod"};
constexpr std::array kOnnxCopies{"Expand", "Tile", "Pad", "Upsample", "Resize"};
constexpr std::array kOnnxOthers{"Conv",
                                 "ConvTranspose",
                                 "Gemm",
                                 "MatMul",
                                 "Einsum",
                                 "MaxPool",
                                 "AveragePool",
                                 "GlobalAveragePool",
                                 "GlobalMaxPool",
                                 "BatchNormalization",
                                 "InstanceNormalization",
                                 "GroupNormalization",
                                 "LayerNormalization",
                                 "LRN",
                                 "LSTM",
                                 "GRU",
                                 "RNN",
                                 "Concat",
                                 "Dropout",
                                 "Gather",
                                 "Slice",
                                 "Split",
                                 "ReduceMean",
                                 "ReduceSum",
                                 "ReduceMax",
                                 "ReduceMin",
                                 "ReduceProd",
                                 "ReduceL1",
                                 "ReduceL2",
                                 "ReduceLogSum",
                                 "ReduceLogSumExp",
                                 "ReduceSumSquare",
                                 "ArgMax",
                                 "ArgMin",
                                 "DepthToSpace",
                                 "SpaceToDepth"};

bool is_supported(const OnnxNode& node) {
  const std::string& type = node.type;
  if (!node.domain.empty()) return is_one_of(type, kOnnxGelus);
  return is_one_of(type, kOnnxViews) || is_one_of(type, kOnnxActivations) || is_one_of(type, kOnnxGelus) ||
         is_one_of(type, kOnnxSums) || is_one_of(type, kOnnxProducts) || is_one_of(type, kOnnxCopies) ||
         is_one_of(type, kOnnxOthers);
}

/// What a node expects, and found. Thrown and caught within the reader, which adds the node's name.
sim::InputError unlike(std::string expected, std::string found) {
  return sim::InputError(sim::Mistake{.expected = std::move(expected), .found = std::move(found)});
}

class OnnxReader {
 public:
  OnnxReader(const OnnxGraph& graph, std::string file)
      : graph_(graph), file_(std::move(file)), net_(graph.name.empty() ? "onnx" : graph.name) {}

  Network read() {
    for (const OnnxNode& node : graph_.nodes)
      for (const std::string& name : node.inputs) readers_[name].push_back(&node);
    for (const std::string& name : graph_.outputs) readers_[name].push_back(nullptr);
    for (const std::string& name : graph_.inputs) layers_[name] = kInput;
    for (const OnnxNode& node : graph_.nodes) read_node(node);
    if (net_.good()) add_losses();
    return net_.finish();
  }

 private:
  static constexpr int kInput = -1;  // an input whose form the first operation that reads it says

  const OnnxShape& dims(const std::string& name) const {
    const auto found = graph_.values.find(name);
    if (found == graph_.values.end() || !found->second.shape) throw unlike("tensors of known shape", fmt::format("\"{}\"", name));
    return *found->second.shape;
  }
  static const std::string& source(const OnnxNode& node, std::size_t i) {
    if (node.inputs.size() <= i) throw unlike(fmt::format("at least {} inputs", i + 1), std::to_string(node.inputs.size()));
    return node.inputs[i];
  }
  static const std::string& result(const OnnxNode& node, std::size_t i = 0) {
    if (node.outputs.size() <= i || node.outputs[i].empty()) throw unlike("an output", "none");
    return node.outputs[i];
  }
  bool is_live(const OnnxNode& node, std::size_t i) const { return node.inputs.size() > i && layers_.contains(node.inputs[i]); }
  const OnnxValue* constant(const OnnxNode& node, std::size_t i) const {
    if (node.inputs.size() <= i || node.inputs[i].empty() || is_live(node, i)) return nullptr;
    return &graph_.values.at(node.inputs[i]);
  }
  /// The shape of a weight; throws when it is none, or has another number of dimensions.
  const OnnxShape& weight(const OnnxNode& node, std::size_t i, std::size_t low, std::size_t high, std::string_view what) const {
    const OnnxValue* value = constant(node, i);
    if (value == nullptr) throw unlike(std::string(what), "a tensor that is computed, or none");
    if (!value->shape || value->shape->size() < low || value->shape->size() > high)
      throw unlike(std::string(what), value->shape ? onnx_text(*value->shape) : "an unknown shape");
    return *value->shape;
  }

  /// A weight has so many numbers, where there is one.
  void require_count(const OnnxNode& node, std::size_t i, std::int64_t count, std::string_view what) const {
    const OnnxValue* value = constant(node, i);
    if (value != nullptr && value->shape && onnx_elements(*value->shape) != count)
      throw unlike(fmt::format("weights for the {} {} of its input", count, what),
                   fmt::format("weights {}", onnx_text(*value->shape)));
  }

  static int size_of(std::int64_t value) {
    constexpr std::int64_t kMost = 1 << 30;
    if (value < 0 || value >= kMost) throw unlike(fmt::format("sizes from 0 to {}", kMost - 1), std::to_string(value));
    return static_cast<int>(value);
  }
  static std::int64_t product(const OnnxShape& sizes, std::size_t from, std::size_t to) {
    return onnx_elements(
        OnnxShape(sizes.begin() + static_cast<std::ptrdiff_t>(from), sizes.begin() + static_cast<std::ptrdiff_t>(to)));
  }
  /// Of all samples, divided by them.
  int a_sample(std::int64_t count) const {
    if (count % graph_.batch != 0 || count <= 0)
      throw unlike("a tensor of which each sample of the batch has an equal part",
                   fmt::format("{} numbers for a batch of {}", count, graph_.batch));
    return size_of(count / graph_.batch);
  }
  /// The axis of the batch; nothing when it is folded into a larger one.
  std::optional<std::size_t> batch_axis(const OnnxShape& sizes) const {
    const auto found = std::ranges::find(sizes, graph_.batch);
    if (found == sizes.end()) return std::nullopt;
    return static_cast<std::size_t>(found - sizes.begin());
  }

  /// Rows of the last `inner` axes' product: a sequence, whose vectors are whole.
  Shape rows(const OnnxShape& sizes, std::size_t axis) const {
    const int features = size_of(product(sizes, axis, sizes.size()));
    return {features, a_sample(product(sizes, 0, axis)), 1};
  }
  /// (batch, channels, positions): of one or two dimensions.
  Shape image(const OnnxShape& sizes, std::size_t most = 4) const {
    if (sizes.size() < 2 || sizes.size() > most || sizes[0] != graph_.batch)
      throw unlike("(batch, channels, height, width) or (batch, channels, length)", onnx_text(sizes));
    Shape s{size_of(sizes[1]), 1, 1};
    if (sizes.size() > 2) s.height = size_of(sizes[2]);
    if (sizes.size() > 3) s.width = size_of(product(sizes, 3, sizes.size()));
    return s;
  }
  /// Of sizes that no operation has given a form: as images are, and sequences with their features last.
  Shape plain(const OnnxShape& sizes, std::optional<std::size_t> batch) const {
    OnnxShape rest = sizes;
    if (batch && *batch < rest.size()) {
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(*batch));
    } else if (const auto folded = std::ranges::find_if(rest, [&](std::int64_t n) { return n % graph_.batch == 0; });
               folded != rest.end()) {
      *folded /= graph_.batch;
    }
    if (rest.empty()) return {1, 1, 1};
    if (rest.size() == 1) return {size_of(rest[0]), 1, 1};
    if (rest.size() == 2) return {size_of(rest[1]), size_of(rest[0]), 1};
    return {size_of(rest[0]), size_of(rest[1]), size_of(product(rest, 2, rest.size()))};
  }
  Shape plain(const OnnxShape& sizes) const {
    (void)a_sample(onnx_elements(sizes));
    return plain(sizes, batch_axis(sizes));
  }

  /// A tensor in the form that a layer reads.
  int as(const std::string& name, const Shape& wanted) {
    int& layer = layers_.at(name);
    if (layer == kInput) {
      layer = net_.add(name, Input{wanted}, {});
      return layer;
    }
    const Shape shape = net_.shape(layer);
    if (shape == wanted) return layer;
    const auto [known, is_new] = forms_.try_emplace({layer, wanted.channels, wanted.height, wanted.width}, 0);
    if (is_new) {
      const bool flat = wanted.height == 1 && wanted.width == 1;
      const LayerSpec spec = flat ? LayerSpec{Flatten{}} : LayerSpec{Rearrange{wanted}};
      const std::string& before = net_.network().layers[static_cast<std::size_t>(layer)].name;
      const std::string shaped =
          flat ? before + "/flat" : fmt::format("{}/{}x{}x{}", before, wanted.channels, wanted.height, wanted.width);
      known->second = net_.add(shaped, spec, {layer});
      if (net_.shape(known->second) != wanted) throw unlike(form(wanted), form(shape));
    }
    return known->second;
  }
  static std::string form(const Shape& s) { return fmt::format("{} x {} x {} numbers a sample", s.channels, s.height, s.width); }
  /// The form that it has, or a plain one.
  Shape shape_of(const std::string& name) const {
    const int layer = layers_.at(name);
    return layer == kInput ? plain(dims(name)) : net_.shape(layer);
  }

  bool is_read(const OnnxNode& node, std::size_t output) const {
    return node.outputs.size() > output && !node.outputs[output].empty() && readers_.contains(node.outputs[output]);
  }
  /// A node's first output is a layer; its shape must be what the file's shapes say.
  int put(const OnnxNode& node, LayerSpec spec, std::vector<int> inputs, std::string_view weights = {}) {
    const int layer = net_.add(node.name, spec, std::move(inputs), owner(spec, weights));
    if (!weights.empty()) owners_.try_emplace(std::string(weights), layer);
    return bind(node, 0, layer);
  }
  int bind(const OnnxNode& node, std::size_t output, int layer) {
    const std::string& name = result(node, output);
    const std::int64_t numbers = onnx_elements(dims(name));
    if (net_.shape(layer).elements() * static_cast<double>(graph_.batch) != static_cast<double>(numbers))
      throw unlike(fmt::format("the shape that ONNX's rules give, {}", onnx_text(dims(name))), form(net_.shape(layer)));
    layers_[name] = layer;
    return layer;
  }
  static int biases(const LayerSpec& spec) {
    return std::visit(Overloaded{[](const Dense& l) { return int{l.bias}; }, [](const Conv& l) { return int{l.bias}; },
                                 [](const TransposedConv& l) { return int{l.bias}; }, [](const Recurrent& l) { return l.biases; },
                                 [](const auto&) { return 0; }},
                      spec);
  }
  /// The layer that has the same weights, if one does.
  int owner(const LayerSpec& spec, std::string_view weights) const {
    const auto found = owners_.find(std::string(weights));
    if (weights.empty() || found == owners_.end()) return -1;
    const Layer& first = net_.network().layers[static_cast<std::size_t>(found->second)];
    const bool tied = std::holds_alternative<Dense>(spec) && biases(spec) == 0 && std::holds_alternative<Embedding>(first.spec);
    const bool alike = first.spec.index() == spec.index() && biases(spec) == biases(first.spec);
    return tied || alike ? found->second : -1;
  }
  /// The only node that reads a tensor, when it is of a type; null when there are others.
  const OnnxNode* only_reader(const std::string& name, std::string_view type) const {
    const auto found = readers_.find(name);
    if (found == readers_.end() || found->second.size() != 1 || found->second[0] == nullptr) return nullptr;
    const OnnxNode& node = *found->second[0];
    return node.type == type && node.domain.empty() && !node.outputs.empty() && node.inputs.size() == (type == "Sqrt" ? 1 : 2)
               ? &node
               : nullptr;
  }
  /// The constant beside a tensor in an operation of two, which has so many numbers; null when it is none.
  const OnnxValue* beside(const OnnxNode& node, const std::string& name, std::int64_t count) const {
    const OnnxValue* other = constant(node, node.inputs[0] == name ? 1 : 0);
    return other != nullptr && other->shape && onnx_elements(*other->shape) == count ? other : nullptr;
  }
  /// Whether a sum with a constant of so many numbers is all that reads a node's output: a bias.
  bool has_bias_behind(const OnnxNode& node, std::int64_t units) const {
    const OnnxNode* sum = only_reader(result(node), "Add");
    return sum != nullptr && beside(*sum, result(node), units) != nullptr;
  }

  /// Layer normalisation as PyTorch wrote it before opset 17: (x - mean) / sqrt(mean((x - mean)^2) + e), times a scale, plus a
  /// shift. Called at its first mean. Whether it is one.
  bool add_layer_norm(const OnnxNode& mean) {
    const std::string& x = source(mean, 0);
    const OnnxNode* centre = only_reader(result(mean), "Sub");
    if (mean.type != "ReduceMean" || centre == nullptr || centre->inputs[0] != x || result(mean) == x) return false;
    const std::string& centred = result(*centre);
    const OnnxNode *square = nullptr, *quotient = nullptr;
    for (const OnnxNode* reader : readers_.contains(centred) ? readers_.at(centred) : std::vector<const OnnxNode*>{}) {
      if (reader == nullptr) return false;
      if (reader->type == "Pow" || reader->type == "Mul") square = reader;
      if (reader->type == "Div") quotient = reader;
    }
    if (square == nullptr || quotient == nullptr || quotient->inputs.size() != 2 || quotient->inputs[0] != centred) return false;
    const OnnxNode* variance = only_reader(result(*square), "ReduceMean");
    if (variance == nullptr) {  // its axes are an attribute, or an input
      const auto found = readers_.find(result(*square));
      if (found == readers_.end() || found->second.size() != 1 || found->second[0] == nullptr ||
          found->second[0]->type != "ReduceMean")
        return false;
      variance = found->second[0];
    }
    const OnnxNode* shifted = only_reader(result(*variance), "Add");
    const OnnxNode* root = shifted == nullptr ? nullptr : only_reader(result(*shifted), "Sqrt");
    if (root == nullptr || quotient->inputs[1] != result(*root) || only_reader(result(*root), "Div") != quotient) return false;
    const OnnxShape &in = dims(x), &reduced = dims(result(mean));
    if (reduced.size() != in.size()) return false;
    std::size_t axis = 0;
    while (axis + 1 < in.size() && in[axis] == reduced[axis]) ++axis;
    const std::int64_t features = product(in, axis, in.size());
    const OnnxNode* scale = only_reader(result(*quotient), "Mul");
    if (scale != nullptr && beside(*scale, result(*quotient), features) == nullptr) scale = nullptr;
    const OnnxNode* shift = scale == nullptr ? nullptr : only_reader(result(*scale), "Add");
    if (shift != nullptr && beside(*shift, result(*scale), features) == nullptr) shift = nullptr;
    const OnnxNode& last = shift != nullptr ? *shift : scale != nullptr ? *scale : *quotient;
    for (const OnnxNode* node : {&mean, centre, square, variance, shifted, root, static_cast<const OnnxNode*>(quotient)})
      done_.insert(node);
    if (scale != nullptr) done_.insert(scale);
    if (shift != nullptr) done_.insert(shift);
    put(last, LayerNorm{.scale = scale != nullptr, .shift = shift != nullptr}, {as(x, rows(in, axis))});
    return true;
  }

  std::string origin(const OnnxNode& node, std::size_t i) const {
    const OnnxValue* value = constant(node, i);
    return value == nullptr ? std::string{} : value->origin;
  }

  void read_node(const OnnxNode& node) {
    const bool live = std::ranges::any_of(node.inputs, [&](const std::string& name) { return layers_.contains(name); });
    if (!live || node.type == "Shape" || node.type == "Size") return;  // works on weights or shapes alone
    if (done_.contains(&node)) return;
    if (!net_.good()) return;
    try {
      if (std::ranges::all_of(node.outputs, [](const std::string& name) { return name.empty(); })) return;
      for (std::size_t k = 1; k < node.outputs.size(); ++k)
        if (is_read(node, k) && !has_more_outputs(node, k))
          throw unlike("no reader of its output \"" + node.outputs[k] + "\"", "one");
      add_node(node);
    } catch (const sim::InputError& error) {
      const sim::Mistake& mistake = error.mistakes().front();
      net_.mistakes().add(
          {.file = file_, .expected = mistake.expected, .found = fmt::format("{} with {}", onnx_text(node), mistake.found)});
    }
  }
  static bool has_more_outputs(const OnnxNode& node, std::size_t) {
    return node.type == "Split" || node.type == "LSTM" || node.type == "GRU" || node.type == "RNN";
  }

  void add_node(const OnnxNode& node) {
    const std::string& type = node.type;
    if (type == "Conv" || type == "ConvTranspose") return add_convolution(node);
    if (type == "Gemm" || type == "MatMul") return add_product(node);
    if (type == "Einsum") return add_einsum(node);
    if (type == "LSTM" || type == "GRU" || type == "RNN") return add_recurrent(node);
    if (type == "Gather") return add_gather(node);
    if (type == "Concat") return add_concat(node);
    if (is_one_of(type, kOnnxSums) || is_one_of(type, kOnnxProducts)) return add_by_number(node);
    if (!is_live(node, 0)) throw unlike("a first input that follows from the model's inputs", "a constant");
    const std::string& x = node.inputs[0];
    if (is_one_of(type, kOnnxViews)) {
      layers_[result(node)] = layers_.at(x);
      if (layers_.at(x) == kInput) pending_view(node);
    } else if (type == "MaxPool" || type == "AveragePool") {
      const OnnxShape& in = dims(x);
      const auto kernel = node.numbers.find("kernel_shape");
      if (kernel == node.numbers.end()) throw unlike("a kernel_shape", "none");
      put(node, Pool{type == "MaxPool" ? Pooling::max : Pooling::average, window(node, in, kernel->second)}, {as(x, image(in))});
    } else if (type == "GlobalAveragePool" || type == "GlobalMaxPool") {
      put(node, GlobalPool{}, {as(x, image(dims(x), 5))});
    } else if (type == "BatchNormalization" || type == "InstanceNormalization" || type == "GroupNormalization") {
      const OnnxShape& in = dims(x);
      const Shape now = shape_of(x);
      const std::int64_t channels = in.size() > 1 ? in[1] : 1;
      if (type != "GroupNormalization") require_count(node, 1, channels, "channels");
      const Shape apart{size_of(channels), a_sample(onnx_elements(in) / channels), 1};
      put(node, BatchNorm{}, {as(x, now.channels == channels ? now : apart)});
    } else if (type == "LayerNormalization") {
      const OnnxShape& in = dims(x);
      const std::int64_t axis = node.number("axis", -1);
      const auto at =
          static_cast<std::size_t>(std::clamp<std::int64_t>(axis < 0 ? axis + std::ssize(in) : axis, 0, std::ssize(in)));
      require_count(node, 1, product(in, at, in.size()), "features");
      put(node, LayerNorm{.scale = constant(node, 1) != nullptr, .shift = constant(node, 2) != nullptr}, {as(x, rows(in, at))});
    } else if (type == "LRN") {
      put(node, LocalResponseNorm{size_of(node.number("size", 5))}, {as(x, shape_of(x))});
    } else if (is_one_of(type, kOnnxGelus)) {
      put(node, Activation{.in_place = false}, {as(x, shape_of(x))});
    } else if (is_one_of(type, kOnnxActivations)) {
      put(node, Activation{.in_place = readers_.at(x).size() < 2}, {as(x, shape_of(x))});
    } else if (type == "Dropout") {
      put(node, Dropout{}, {as(x, shape_of(x))});
    } else if (type == "Slice") {
      add_part(node, 0, {});
    } else if (type == "Split") {
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        if (is_read(node, k)) add_part(node, k, k == 0 ? "" : fmt::format("/{}", k));
    } else if (type.starts_with("Reduce") || type.starts_with("Arg")) {
      if (!add_layer_norm(node)) add_reduction(node);
    } else if (type == "DepthToSpace" || type == "SpaceToDepth") {
      put(node, Rearrange{image(dims(result(node))), true}, {as(x, image(dims(x)))});
    } else {
      add_copies(node);
    }
  }

  /// A view of an input that has no form yet: the first operation behind it says which. One name stands for all views.
  void pending_view(const OnnxNode& node) {
    const std::string& x = node.inputs[0];
    layers_[x] = net_.add(x, Input{input_form(result(node))}, {});
    layers_[result(node)] = layers_.at(x);
  }
  /// What the first operation that reads a tensor, through views, works on.
  Shape input_form(const std::string& name) const {
    std::string at = name;
    for (const OnnxNode& node : graph_.nodes) {
      const auto found = std::ranges::find(node.inputs, at);
      if (found == node.inputs.end() || node.outputs.empty()) continue;
      const OnnxShape& sizes = dims(at);
      if (is_one_of(node.type, kOnnxViews)) {
        at = node.outputs[0];
        continue;
      }
      if (node.type == "Conv" || node.type.ends_with("Pool")) return image(sizes, 5);
      if (node.type == "LSTM" || node.type == "GRU" || node.type == "RNN") return steps(node, sizes);
      if (node.type == "Gather" && found != node.inputs.begin()) return {1, a_sample(onnx_elements(sizes)), 1};
      if (node.type == "Gemm" || node.type == "MatMul") return rows(sizes, sizes.empty() ? 0 : sizes.size() - 1);
      break;
    }
    return plain(dims(at));
  }

  // Windows.

  /// From what the file says, and the output's size: `end` takes up what is not the same on both sides, ceil mode included.
  Window window(const OnnxNode& node, const OnnxShape& in, const std::vector<std::int64_t>& kernel) const {
    const std::size_t axes = in.size() - std::min<std::size_t>(2, in.size());
    if (axes < 1 || axes > 2 || kernel.size() != axes) throw unlike("a window over one or two axes", onnx_text(in));
    const auto list = [&](const char* key, std::int64_t fallback) {
      const auto found = node.numbers.find(key);
      std::vector<std::int64_t> all = found == node.numbers.end() ? std::vector<std::int64_t>(axes, fallback) : found->second;
      if (all.size() < axes) throw unlike(fmt::format("{} for each axis", key), fmt::format("{}", all.size()));
      return all;
    };
    const auto stride = list("strides", 1), dilation = list("dilations", 1), pads = list("pads", 0);
    const std::string automatic = node.text("auto_pad");
    const bool transposed = node.type == "ConvTranspose";
    const OnnxShape& out = dims(result(node));
    if (out.size() != in.size()) throw unlike("as many axes as its input", onnx_text(out));
    Window w;
    const auto side = [&](std::size_t k, int& size, int& step, int& pad, int& apart, int& end) {
      size = size_of(kernel[k]);
      step = size_of(stride[k]);
      apart = size_of(dilation[k]);
      const std::int64_t before = size_of(in[2 + k]), after = size_of(out[2 + k]);
      // The window slides over the larger side of a convolution's, and over the output of a transposed one.
      const std::int64_t narrow = transposed ? after : before, places = transposed ? before : after;
      const std::int64_t reach = (std::int64_t{size} - 1) * apart + 1, needed = (places - 1) * step + reach - narrow;
      std::int64_t begin = pads.size() >= 2 * axes ? size_of(pads[k]) : 0,
                   least = pads.size() >= 2 * axes ? size_of(pads[axes + k]) : 0;
      if (automatic.starts_with("SAME")) {
        const std::int64_t zeros = std::max<std::int64_t>(0, needed);
        begin = automatic == "SAME_LOWER" ? zeros - zeros / 2 : zeros / 2;
        least = zeros - begin;
      }
      // Ceil mode adds zeros at the end, fewer than a step; a transposed window's end follows from the output.
      const std::int64_t last = transposed ? needed - begin : std::max(least, std::min(needed - begin, least + step));
      pad = size_of(begin);
      end = static_cast<int>(std::clamp<std::int64_t>(last - begin, -(1 << 20), 1 << 20));
    };
    side(0, w.height, w.stride_height, w.pad_height, w.dilation_height, w.end_height);
    if (axes > 1) side(1, w.width, w.stride_width, w.pad_width, w.dilation_width, w.end_width);
    return w;
  }

  void add_convolution(const OnnxNode& node) {
    const OnnxShape& in = dims(source(node, 0));
    const OnnxShape& sizes = weight(node, 1, 3, 4, "weights of three or four dimensions (filters, channels, window)");
    const Shape shape = image(in);
    const std::int64_t group = node.number("group", 1);
    const bool transposed = node.type == "ConvTranspose";
    if (group < 1 || (transposed ? sizes[0] : sizes[1] * group) != shape.channels)
      throw unlike(fmt::format("weights for the {} channels of its input", shape.channels),
                   fmt::format("weights {} in {} groups, for {} channels", onnx_text(sizes), group,
                               transposed ? sizes[0] : sizes[1] * group));
    if (sizes.size() != in.size()) throw unlike("weights with as many axes as the input", onnx_text(sizes));
    const Window w = window(node, in, OnnxShape(sizes.begin() + 2, sizes.end()));
    const std::int64_t filters = transposed ? sizes[1] * group : sizes[0];
    if (const OnnxValue* own = constant(node, 2); own != nullptr && own->shape && onnx_elements(*own->shape) != filters)
      throw unlike(fmt::format("a bias for its {} filters", filters), fmt::format("a bias {}", onnx_text(*own->shape)));
    const bool bias = (node.inputs.size() > 2 && !node.inputs[2].empty()) || has_bias_behind(node, filters);
    const int input = as(node.inputs[0], shape);
    const std::string weights = origin(node, 1);
    if (transposed)
      put(node, TransposedConv{size_of(filters), w, bias, size_of(group)}, {input}, weights);
    else
      put(node, Conv{size_of(filters), w, size_of(group), bias}, {input}, weights);
  }

  // Products.

  void add_product(const OnnxNode& node) {
    const bool left = is_live(node, 0), right = is_live(node, 1), gemm = node.type == "Gemm";
    if (left && right) return add_matrix_product(node);
    const std::size_t w = left ? 1 : 0, x = left ? 0 : 1;
    const OnnxShape& in = dims(source(node, x));
    const OnnxShape& all = weight(node, w, 1, 8, "a matrix of weights");
    const bool turned = gemm && node.number(left ? "transB" : "transA", 0) != 0;
    const bool input_turned = gemm && node.number(left ? "transA" : "transB", 0) != 0;
    if (all.size() > 2 && product(all, 0, all.size() - 2) != 1) throw unlike("one matrix of weights", onnx_text(all));
    OnnxShape sizes(all.end() - std::min<std::ptrdiff_t>(2, std::ssize(all)), all.end());
    if (sizes.size() == 1) sizes.insert(left ? sizes.end() : sizes.begin(), 1);
    const std::int64_t inner = sizes[left == turned ? 1 : 0], units = sizes[left == turned ? 0 : 1];
    // The axis that is summed over: the last one of what stands on the left, the last but one on the right.
    const bool last = left != input_turned || in.size() < 2;
    const std::size_t axis = in.empty() ? 0 : in.size() - (last ? 1 : 2);
    if (in.empty() || in[axis] != inner)
      throw unlike(fmt::format("weights for the {} features of its input", in.empty() ? 0 : in[axis]),
                   fmt::format("weights {}", onnx_text(all)));
    const Shape shape{size_of(inner), a_sample(onnx_elements(in) / inner), 1};
    if (gemm && is_live(node, 2)) throw unlike("a constant C", "a tensor that is computed");
    const bool bias = (gemm && constant(node, 2) != nullptr) || has_bias_behind(node, units);
    put(node, Dense{size_of(units), bias}, {as(node.inputs[x], shape)}, origin(node, w));
  }

  /// A product for each sample, and for each of the axes before the last two. The smaller input is repeated.
  void add_matrix_product(const OnnxNode& node) {
    if (node.type == "Gemm") throw unlike("a product with a matrix of weights", "two tensors that are computed");
    const OnnxShape &a = dims(node.inputs[0]), &b = dims(node.inputs[1]), &out = dims(result(node));
    if (a.size() < 2 || b.size() < 2) throw unlike("two matrices", onnx_text(a.size() < 2 ? a : b));
    const std::int64_t n = a[a.size() - 2], k = a.back(), m = b.back();
    const int many = a_sample(onnx_elements(out) / (n * m));
    const auto operand = [&](const std::string& name, const OnnxShape& sizes, std::int64_t height, std::int64_t width) {
      const int own = a_sample(onnx_elements(sizes) / (height * width));
      const int layer = as(name, {own, size_of(height), size_of(width)});
      if (own == many) return layer;
      return net_.add(node.name + "/repeated", Resize{{many, size_of(height), size_of(width)}}, {layer});
    };
    const int left = operand(node.inputs[0], a, n, k);
    put(node, MatrixProduct{}, {left, operand(node.inputs[1], b, k, m)});
    if (many == 1) layers_[result(node)] = as(result(node), {size_of(m), size_of(n), 1});  // a sequence, as others are
  }

  /// A product of two tensors, whose axes are summed over, their own, or shared. Of one with weights a dense layer.
  void add_einsum(const OnnxNode& node) {
    const auto equation = onnx_equation(node);
    if (!equation || equation->inputs.size() != 2)
      throw unlike("an equation of two inputs without \"...\"", node.text("equation"));
    const std::string &left = equation->inputs[0], &right = equation->inputs[1], &out = equation->output;
    const auto has = [](const std::string& letters, char letter) { return letters.find(letter) != letters.npos; };
    OnnxShape shared, inner, rows, columns;  // sizes
    const auto sort = [&](std::size_t i, const std::string& other, OnnxShape& own) {
      for (std::size_t k = 0; k < equation->inputs[i].size(); ++k) {
        const char letter = equation->inputs[i][k];
        const bool both = has(other, letter), kept = has(out, letter);
        if (!both && !kept) throw unlike("axes that stand in both inputs or in the output", node.text("equation"));
        if (both && i == 1) continue;
        (!both ? own : kept ? shared : inner).push_back(dims(source(node, i)).at(k));
      }
    };
    sort(0, right, rows);
    sort(1, left, columns);
    const auto all = [](const OnnxShape& sizes) { return onnx_elements(sizes); };
    if (is_live(node, 0) && is_live(node, 1)) {
      const int many = a_sample(all(shared)), depth = size_of(all(inner));
      const int a = as(node.inputs[0], {many, size_of(all(rows)), depth});
      put(node, MatrixProduct{}, {a, as(node.inputs[1], {many, depth, size_of(all(columns))})});
      return;
    }
    const std::size_t w = is_live(node, 0) ? 1 : 0;
    if (!shared.empty()) throw unlike("weights whose axes are summed over or their own", node.text("equation"));
    const std::int64_t units = all(w == 1 ? columns : rows);
    const Shape shape{size_of(all(inner)), a_sample(all(w == 1 ? rows : columns)), 1};
    put(node, Dense{size_of(units), has_bias_behind(node, units)}, {as(node.inputs[1 - w], shape)}, origin(node, w));
  }

  void add_gather(const OnnxNode& node) {
    if (!is_live(node, 0)) {
      const OnnxShape& table = weight(node, 0, 1, 8, "rows of a table of weights (an embedding)");
      const std::int64_t axis = node.number("axis", 0);
      if (axis != 0) throw unlike("rows of a table (axis 0)", fmt::format("axis {}", axis));
      const Shape tokens{1, a_sample(onnx_elements(dims(source(node, 1)))), 1};
      put(node, Embedding{size_of(table[0]), size_of(product(table, 1, table.size()))}, {as(node.inputs[1], tokens)},
          origin(node, 0));
      return;
    }
    if (is_live(node, 1)) throw unlike("constant indices, or a constant table", "both computed");
    add_part(node, 0, {});
  }

  // Recurrent layers.

  Shape steps(const OnnxNode& node, const OnnxShape& in) const {
    const bool batch_first = node.number("layout", 0) != 0;
    if (in.size() != 3 || in[batch_first ? 0 : 1] != graph_.batch)
      throw unlike(batch_first
                       ? "(batch, steps, features), as layout = 1 says"
                       : "(steps, batch, features), the batch on the second axis (export batch_first=True with a Transpose)",
                   onnx_text(in));
    return {size_of(in[2]), size_of(in[batch_first ? 1 : 0]), 1};
  }

  void add_recurrent(const OnnxNode& node) {
    const Cell cell = node.type == "LSTM" ? Cell::lstm : node.type == "GRU" ? Cell::gru : Cell::vanilla;
    const OnnxShape& sizes = weight(node, 1, 3, 3, "weights (directions, gates x hidden, features)");
    if (!is_live(node, 0)) throw unlike("a sequence that follows from the model's inputs", "a constant");
    const OnnxShape& in = dims(node.inputs[0]);
    const Shape shape = steps(node, in);
    const std::int64_t hidden = node.number("hidden_size", sizes[1] / gates(cell));
    if (sizes[2] != in[2] || sizes[1] != hidden * gates(cell))
      throw unlike(fmt::format("weights for {} features and {} hidden units", in[2], hidden), onnx_text(sizes));
    const bool both = node.text("direction") == "bidirectional";
    const OnnxShape& recurrent = weight(node, 2, 3, 3, "recurrent weights (directions, gates x hidden, hidden)");
    if (recurrent != OnnxShape{sizes[0], sizes[1], hidden})
      throw unlike(fmt::format("recurrent weights {}", onnx_text(OnnxShape{sizes[0], sizes[1], hidden})), onnx_text(recurrent));
    if (sizes[0] != (both ? 2 : 1)) throw unlike(fmt::format("weights of {} directions", both ? 2 : 1), onnx_text(sizes));
    const Recurrent spec{
        .cell = cell, .hidden = size_of(hidden), .bidirectional = both, .biases = constant(node, 3) != nullptr ? 2 : 0};
    std::vector<int> inputs{as(node.inputs[0], shape)};
    for (const std::size_t first_state : {5, 6})
      if (is_live(node, first_state)) inputs.push_back(as(node.inputs[first_state], {size_of(hidden * sizes[0]), 1, 1}));
    const int layer = net_.add(node.name, spec, inputs, owner(spec, origin(node, 1)));
    owners_.try_emplace(origin(node, 1), layer);
    if (is_read(node, 0)) bind(node, 0, layer);
    for (const std::size_t state : {1, 2})
      if (is_read(node, state)) {
        const int last = net_.add(fmt::format("{}/{}", node.name, state == 1 ? "last" : "cell"), LastStep{}, {layer});
        bind(node, state, last);
      }
  }

  // Number by number.

  /// All live inputs in forms that fit each other: the one that they have, or sides of 1 where one is repeated.
  std::vector<int> fitting(const std::vector<std::string>& names, const OnnxShape& out) {
    const bool equal =
        std::ranges::all_of(names, [&](const std::string& name) { return onnx_elements(dims(name)) == onnx_elements(out); });
    const auto batch = batch_axis(out);
    std::vector<int> layers;
    std::optional<Shape> common;
    for (const std::string& name : names) {
      if (!equal || layers_.at(name) == kInput) continue;
      const Shape shape = net_.shape(layers_.at(name));
      if (!common || shape == plain(out)) common = shape;
    }
    for (const std::string& name : names) {
      OnnxShape sizes = dims(name);
      sizes.insert(sizes.begin(), out.size() - sizes.size(), 1);
      if (!equal && out.size() - (batch ? 1 : 0) > 3)
        throw unlike("tensors of at most three axes besides the batch, to be repeated", onnx_text(out));
      layers.push_back(as(name, equal ? common.value_or(plain(out)) : plain(sizes, batch)));
    }
    return layers;
  }

  void add_by_number(const OnnxNode& node) {
    std::vector<std::string> live;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (is_live(node, i)) live.push_back(node.inputs[i]);
    const OnnxShape& out = dims(result(node));
    if (live.size() > 1) {
      const std::vector<int> inputs = fitting(live, out);
      if (is_one_of(node.type, kOnnxProducts))
        put(node, Multiply{}, inputs);
      else
        put(node, Add{}, inputs);
    } else if (onnx_elements(out) != onnx_elements(dims(live[0]))) {
      put(node, Resize{plain(out)}, {as(live[0], shape_of(live[0]))});
    } else {
      (void)as(live[0], shape_of(live[0]));
      layers_[result(node)] = layers_.at(live[0]);  // with a constant: a part of the layer before
    }
  }

  // Parts, copies and sums.

  void add_part(const OnnxNode& node, std::size_t output, std::string_view suffix) {
    const std::string& x = source(node, 0);
    const OnnxShape &in = dims(x), &out = dims(result(node, output));
    const Shape from = shape_of(x);
    const int input = as(x, from);
    if (onnx_elements(out) == onnx_elements(in)) {
      layers_[result(node, output)] = input;
      return;
    }
    // One step of a sequence, whichever it is: the others' gradients are zero.
    std::size_t axis = 0;
    if (in.size() == out.size())
      while (axis + 1 < in.size() && in[axis] == out[axis]) ++axis;
    else
      axis = static_cast<std::size_t>(node.number("axis", 0) + (node.number("axis", 0) < 0 ? std::ssize(in) : 0));
    const bool step = from.width == 1 && from.height > 1 && axis < in.size() && in[axis] == from.height &&
                      (axis + 1 < in.size() || from.height != from.channels) &&
                      onnx_elements(out) * from.height == onnx_elements(in);
    const std::string name = node.name + std::string(suffix);
    bind(node, output, net_.add(name, step ? LayerSpec{LastStep{}} : LayerSpec{Slice{plain(out)}}, {input}));
  }

  void add_reduction(const OnnxNode& node) {
    const std::string& x = node.inputs[0];
    const OnnxShape &in = dims(x), &out = dims(result(node));
    const Shape from = shape_of(x);
    if (onnx_elements(out) == onnx_elements(in)) {
      layers_[result(node)] = as(x, from);
      return;
    }
    const bool image_like =
        in.size() > 2 && in.size() < 6 && in[0] == graph_.batch && in[1] == from.channels && from == image(in, 5);
    const bool positions =
        image_like && out.size() >= 2 && out[0] == in[0] && out[1] == in[1] && onnx_elements(out) == in[0] * in[1];
    const Shape to = plain(out);
    if (positions)
      put(node, GlobalPool{}, {as(x, from)});
    else
      put(node, Reduce{to}, {as(x, from)});
  }

  void add_copies(const OnnxNode& node) {
    const std::string& x = node.inputs[0];
    const OnnxShape &in = dims(x), &out = dims(result(node));
    const bool image_like =
        in.size() > 2 && in.size() < 5 && out.size() == in.size() && in[0] == graph_.batch && out[0] == in[0];
    const Shape from = image_like ? image(in) : shape_of(x), to = image_like ? image(out) : plain(out);
    if (onnx_elements(out) == onnx_elements(in)) {
      layers_[result(node)] = as(x, from);
      return;
    }
    const int input = as(x, from), factor = to.height / from.height;
    const bool enlarges = node.type == "Resize" || node.type == "Upsample";
    if (enlarges && to == Shape{from.channels, from.height * factor, from.width * factor})
      put(node, Upsample{factor}, {input});
    else
      put(node, Resize{to}, {input});
  }

  /// Along the axis that the file says; constants among the inputs are copied with the rest.
  void add_concat(const OnnxNode& node) {
    const OnnxShape& out = dims(result(node));
    std::int64_t axis = node.number("axis", 0);
    if (axis < 0) axis += std::ssize(out);
    if (axis < 0 || axis >= std::ssize(out)) throw unlike("an axis of its inputs", std::to_string(axis));
    const auto at = static_cast<std::size_t>(axis);
    std::vector<std::string> live;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (is_live(node, i)) live.push_back(node.inputs[i]);
    const auto batch = batch_axis(dims(live[0]));
    if (batch == at && graph_.batch > 1) throw unlike("an axis other than the batch", fmt::format("axis {}", axis));
    // Of the sizes besides the batch: (c, h, w), or (n, f) with features last, or (c, n) where a layer has them so.
    const std::size_t rest = out.size() - (batch ? 1 : 0), place = at - (batch && *batch < at ? 1 : 0);
    const Shape first = shape_of(live[0]);
    const OnnxShape& sizes = dims(live[0]);
    const bool channels_first = rest == 2 && batch == 0 && layers_.at(live[0]) != kInput && sizes.size() == 3 &&
                                first == Shape{size_of(sizes[1]), size_of(sizes[2]), 1};
    Axis along = Axis::channels;
    const auto form_of = [&](const OnnxShape& one) -> Shape {
      if (channels_first) return image(one);
      if (rest <= 3 && rest > 0 && batch != at) return plain(one, batch);
      const std::int64_t before = product(one, 0, at), after = product(one, at + 1, one.size());
      return {size_of(one[at]), batch && batch != at ? a_sample(before * after) : size_of(before * after), 1};
    };
    if (rest <= 3 && rest > 0 && batch != at) {
      if (rest == 2) along = (place == 1) != channels_first ? Axis::channels : Axis::height;
      if (rest == 3) along = place == 0 ? Axis::channels : place == 1 ? Axis::height : Axis::width;
    }
    std::vector<int> inputs;
    for (const std::string& name : live) inputs.push_back(as(name, form_of(dims(name))));
    const bool whole = live.size() == node.inputs.size() - static_cast<std::size_t>(std::ranges::count(node.inputs, ""));
    if (whole && inputs.size() > 1)
      put(node, Concat{along}, inputs);
    else if (whole)
      bind(node, 0, inputs[0]);
    else
      put(node, Resize{form_of(out)}, {inputs.size() > 1 ? net_.add(node.name + "/parts", Concat{along}, inputs) : inputs[0]});
  }

  /// At every output, but for the states that recurrent layers hand out beside others.
  void add_losses() {
    std::vector<int> ends;
    for (const std::string& name : graph_.outputs) {
      const auto found = layers_.find(name);
      if (found == layers_.end() || found->second == kInput || std::ranges::find(ends, found->second) != ends.end()) continue;
      ends.push_back(found->second);
    }
    const auto is_state = [&](int layer) {
      return std::holds_alternative<LastStep>(net_.network().layers[static_cast<std::size_t>(layer)].spec);
    };
    if (!std::ranges::all_of(ends, is_state)) std::erase_if(ends, is_state);
    for (std::size_t k = 0; k < ends.size(); ++k) net_.add(k == 0 ? "loss" : fmt::format("loss{}", k + 1), Loss{}, {ends[k]});
  }

  const OnnxGraph& graph_;
  std::string file_;
  NetworkBuilder net_;
  std::map<std::string, int> layers_;                            // what follows from the model's inputs, by name
  std::map<std::string, std::vector<const OnnxNode*>> readers_;  // null: it is an output of the model
  std::set<const OnnxNode*> done_;                               // parts of operations that are read as one
  std::map<std::array<int, 4>, int> forms_;                      // by layer and shape: the same numbers in another form
  std::map<std::string, int> owners_;                            // by the weights' name: the first layer that has them
};

/// Whether a Reshape states every size, the first as 1: the file was exported with one sample, and its batch was opened later.
bool has_sizes_of_one_sample(const OnnxGraph& graph) {
  std::map<std::string, const OnnxValue*> constants;
  for (const auto& [name, value] : graph.values) constants[name] = &value;
  for (const OnnxNode& node : graph.nodes)
    if (node.type == "Constant" && node.tensor && !node.outputs.empty()) constants[node.outputs[0]] = &*node.tensor;
  return std::ranges::any_of(graph.nodes, [&](const OnnxNode& node) {
    if (node.type != "Reshape" || node.inputs.size() < 2 || !constants.contains(node.inputs[1])) return false;
    const OnnxValue& sizes = *constants[node.inputs[1]];
    return sizes.numbers && !sizes.numbers->empty() && sizes.numbers->front() == 1;
  });
}

/// Whether the first input may be (steps, batch, features).
bool has_three_axes(const OnnxModel& model) {
  const auto& inputs = model.declared_inputs();
  return !inputs.empty() && inputs[0].shape && inputs[0].shape->size() == 3;
}

}  // namespace

Network read_onnx(std::string_view bytes, const std::string& file) {
  const auto check = [&](const OnnxGraph& graph) {
    const std::set<std::string> constants = onnx_constants(graph);
    sim::Mistakes mistakes;
    for (const OnnxNode& node : graph.nodes) {
      const bool works_on_constants = node.outputs.empty() || std::ranges::all_of(node.outputs, [&](const std::string& name) {
                                        return constants.contains(name);
                                      });
      if (works_on_constants || is_supported(node)) continue;
      mistakes.add(
          {.file = file, .expected = "an operation that is supported (docs/guide/harness.md)", .found = onnx_text(node)});
    }
    mistakes.throw_if_any();
  };
  OnnxModel model(bytes, file);
  check(model.graph());
  const auto read = [&](std::int64_t open_batch, bool steps_first) {
    const OnnxGraph graph = onnx_with_shapes(model, open_batch, steps_first, file);
    return OnnxReader(graph, file).read();
  };
  try {
    return read(kOnnxOpenBatch, false);
  } catch (const sim::InputError& error) {
    const bool open = model.is_open();
    if (open ? !has_sizes_of_one_sample(model.graph()) : !has_three_axes(model)) throw;
    try {
      return read(1, !open);
    } catch (const sim::InputError&) {
      throw error;
    }
  }
}

}  // namespace rehearse::traces
