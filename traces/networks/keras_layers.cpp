#include "traces/networks/keras_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

namespace rehearse::traces {

using namespace workloads;
using sim::JsonValue;

std::optional<JsonValue> json_member(JsonValue object, std::string_view key) {
  for (const sim::JsonMember m : object.members())
    if (m.key.text() == key) return m.value;
  return std::nullopt;
}

std::string json_text(JsonValue object, std::string_view key, std::string_view fallback) {
  const auto value = json_member(object, key);
  return std::string(value && value->is_string() ? value->text() : fallback);
}

/// Whole numbers of at most 2^30; -1 for anything else.
int json_whole(JsonValue value) {
  if (!value.is_number() || value.number() < 0 || value.number() > double(kMostNumbers)) return -1;
  return static_cast<int>(value.number());
}

JsonValue keras_config(JsonValue layer) { return json_member(layer, "config").value_or(layer); }

namespace {

// Keys and arguments that cost nothing, whatever their values.
constexpr std::string_view kFree =
    " name trainable dtype seed batch_input_shape batch_shape shape batch_size input_shape input_dtype noise_shape momentum "
    "epsilon "
    "unit_forget_bias implementation unroll stateful go_backwards zero_output_for_mask use_cudnn recurrent_activation mask_zero "
    "input_length mask_value rate stddev l1 l2 alpha negative_slope theta max_value threshold scale_factor offset mean variance "
    "invert "
    "fused synchronized autocast query_shape key_shape value_shape flash_attention causal interpolation supports_masking "
    "ragged optional lora_alpha ";
constexpr std::array<std::string_view, 3> kFreeEnds{"_initializer", "_regularizer", "_constraint"};
constexpr std::string_view kFreeArguments = " training mask attention_mask query_mask value_mask key_mask use_causal_mask name ";

bool has_word(std::string_view words, std::string_view word) { return words.find(fmt::format(" {} ", word)) != words.npos; }

}  // namespace

/// The keys of a layer: those that were asked for are known, and all others must be free.
class KerasConfig {
 public:
  explicit KerasConfig(JsonValue value) : value_(value) {}

  std::optional<JsonValue> find(std::string_view key) {
    asked_.insert(std::string(key));
    const auto value = json_member(value_, key);
    return value && !value->is_null() ? value : std::nullopt;
  }
  int number(std::string_view key, std::optional<int> fallback = {}, int least = 1) {
    const auto value = find(key);
    if (!value && fallback) return *fallback;
    if (!value || json_whole(*value) < least)
      throw KerasRefusal{value.value_or(value_), fmt::format("{}, a whole number from {}", key, least)};

    return json_whole(*value);
  }
  bool flag(std::string_view key, bool fallback) {
    const auto value = find(key);
    if (value && !value->is_boolean()) throw KerasRefusal{*value, fmt::format("{} of true or false", key)};
    return value ? value->boolean() : fallback;
  }
  std::string word(std::string_view key, std::string_view fallback) {
    const auto value = find(key);
    if (value && !value->is_string()) throw KerasRefusal{*value, fmt::format("{}, a word", key)};
    return std::string(value ? value->text() : fallback);
  }
  /// All numbers of a list, of lists in it, or the one number; below 0 too.
  std::vector<int> list_of(std::string_view key) {
    std::vector<int> list;
    if (const auto value = find(key)) add_numbers(*value, list);
    return list;
  }
  /// A number for both sides, or one each; the width of a sequence is 1.
  std::array<int, 2> sides(std::string_view key, bool is_sequence, std::array<int, 2> fallback) {
    std::vector<int> list = list_of(key);
    if (list.empty()) return fallback;
    if (list.size() == 1)
      list.push_back(is_sequence ? 1 : list[0]);
    else if (is_sequence)
      list.clear();
    if (list.size() != 2 || std::min(list[0], list[1]) < 0)
      throw KerasRefusal{*find(key), fmt::format("{} of {}", key, is_sequence ? "one whole number" : "one or two whole numbers")};
    return {list[0], list[1]};
  }
  /// Only these values, as JSON, can be read.
  void only(std::string_view key, std::initializer_list<std::string_view> values) {
    const auto value = find(key);
    if (value && std::ranges::find(values, value->json()) == values.end())
      throw KerasRefusal{*value, values.size() == 0
                                     ? fmt::format("no {}, which is not read", key)
                                     : fmt::format("{} of {}; other values are not read", key, fmt::join(values, " or "))};
  }
  void finish() const {
    for (const sim::JsonMember m : value_.members()) {
      const std::string_view key = m.key.text();
      const auto ends = [&](std::string_view end) { return key.ends_with(end); };
      if (!asked_.contains(std::string(key)) && !has_word(kFree, key) && !std::ranges::any_of(kFreeEnds, ends) &&
          !m.value.is_null())
        throw KerasRefusal{m.key, fmt::format("no key \"{}\", which is not read", key)};
    }
  }

 private:
  void add_numbers(JsonValue value, std::vector<int>& list) {
    if (value.is_number() && std::abs(value.number()) <= double(kMostNumbers))
      return list.push_back(static_cast<int>(value.number()));
    if (!value.is_array()) throw KerasRefusal{value, "whole numbers"};
    for (const JsonValue one : value.elements()) add_numbers(one, list);
  }

  JsonValue value_;
  std::set<std::string> asked_;
};

namespace {

/// GELU and swish need their input again (Activation).
constexpr std::string_view kInPlace =
    " relu relu6 sigmoid hard_sigmoid tanh hard_tanh softmax log_softmax softplus softsign selu elu celu exponential "
    "leaky_relu ";
constexpr std::string_view kFromInput =
    " gelu swish silu hard_silu hard_swish mish glu log_sigmoid sparse_plus squareplus soft_shrink "
    "hard_shrink tanh_shrink threshold sparse_sigmoid sparsemax ";

}  // namespace

/// One call of a layer.
class KerasLayers::Call {
 public:
  Call(TensorNetwork& network, JsonValue layer, std::string name, KerasInputs inputs)
      : layers_(network),
        kind_(json_text(layer, "class_name")),
        name_(std::move(name)),
        json_(layer),
        in_(inputs.tensors),
        results_(std::move(inputs.tensors)),
        named_(std::move(inputs.named)) {}

  ShapedTensors read() {
    KerasConfig config(keras_config(json_));
    config_ = &config;
    (this->*handler_of(kind_))();
    config.finish();
    for (const auto& [key, tensors] : named_)
      if (!has_word(kFreeArguments, key)) refuse_layer(fmt::format("no argument \"{}\", which is not read", key));
    return std::move(results_);
  }

  using Handler = void (Call::*)();
  static Handler handler_of(std::string_view kind) {
    for (const Kind& one : kinds())
      if (has_word(one.names, kind)) return one.read;
    return nullptr;
  }

 private:
  struct Kind {
    std::string_view names;  ///< of classes that are read alike
    Handler read;
  };
  static const std::vector<Kind>& kinds();

  // Tensors as shapes, and layers behind them.

  [[noreturn]] void refuse_layer(std::string expected) const { throw KerasRefusal{json_, std::move(expected)}; }

  bool channels_first() {
    config_->only("data_format", {"\"channels_last\"", "\"channels_first\""});
    return config_->word("data_format", "channels_last") == "channels_first";
  }

  int layer_of(const ShapedTensor& tensor, std::optional<Shape> wanted = {}) { return layers_.layer_of(name_, tensor, wanted); }

  /// Appends a layer; the same layer of an earlier call has the weights. Its result has `sizes`.
  ShapedTensor put(LayerSpec spec, std::vector<int> inputs, Sizes sizes, std::string_view suffix = {}) {
    const std::string name = name_ + std::string(suffix);
    const int layer = layers_.put(name, std::move(spec), std::move(inputs), name);
    const Shape shape = layers_.shape(layer);
    if (shape.elements() != static_cast<double>(count_of(sizes)))
      refuse_layer(fmt::format("{} numbers a sample, where its layer makes {}", count_of(sizes), shape.elements()));
    return {.layer = layer, .shape = shape, .sizes = std::move(sizes)};
  }

  /// A layer that treats all numbers alike.
  ShapedTensor put_plain(LayerSpec spec, const ShapedTensor& in, std::string_view suffix = {}) {
    return put(std::move(spec), {layer_of(in)}, in.sizes, suffix);
  }

  void put_result(ShapedTensor tensor) { results_ = {std::move(tensor)}; }

  /// "relu", {"class_name": "ReLU"} or {"class_name": "function", "config": "relu"}.
  std::string activation_name(std::string_view key, std::string_view fallback) {
    const auto value = config_->find(key);
    if (!value) return std::string(fallback);
    if (value->is_string()) return std::string(value->text());
    std::string name = json_text(*value, "config", json_text(*value, "class_name"));
    if (name == "LeakyReLU") return "leaky_relu";
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
  }

  ShapedTensor activated(ShapedTensor in, std::string_view fallback = "linear") {
    const std::string name = activation_name("activation", fallback);
    if (name == "linear") return in;
    if (!has_word(kInPlace, name) && !has_word(kFromInput, name))
      throw KerasRefusal{*config_->find("activation"), "an activation of Keras"};
    return put_plain(Activation{.in_place = has_word(kInPlace, name)}, in, "/" + name);
  }

  std::vector<Sizes> sizes_of(const ShapedTensors& tensors) const {
    std::vector<Sizes> sizes;
    for (const ShapedTensor& t : tensors) sizes.push_back(t.sizes);
    return of_one_rank(std::move(sizes));
  }

  Arrangement arranged(const ShapedTensors& tensors, int special = -1) const {
    std::vector<Shape> shapes;
    for (const ShapedTensor& t : tensors) shapes.push_back(t.shape);
    const auto made = arrange(sizes_of(tensors), shapes, special);
    if (!made) refuse_layer("at most three axes besides the batch, each treated alike");
    return *made;
  }

  int axis_of(std::vector<int> numbers, int fallback, std::size_t rank) const {
    if (numbers.size() > 1) refuse_layer("one axis");
    const int axis = numbers.empty() ? fallback : numbers[0];
    const int place = axis < 0 ? axis + static_cast<int>(rank) : axis - 1;  // the batch is axis 0
    if (axis == 0 || place < 0 || place >= static_cast<int>(rank)) refuse_layer("an axis behind the batch's");
    return place;
  }

  ShapedTensor part(const ShapedTensor& whole, Sizes sizes, std::string_view suffix = {}) {
    const std::vector<Shape> shapes = arranged({whole, {.shape = {}, .sizes = sizes}}).shapes;
    return put(Slice{shapes[1]}, {layer_of(whole, shapes[0])}, std::move(sizes), suffix);
  }

  // Images and sequences.

  struct Picture {
    bool is_sequence = false, first = false;
    Shape shape;  ///< without zeros
    std::array<int, 4> zeros{};
    int layer = -1;
    Sizes sizes(const Shape& out) const {
      if (is_sequence) return first ? Sizes{out.channels, out.height} : Sizes{out.height, out.channels};
      return first ? Sizes{out.channels, out.height, out.width} : Sizes{out.height, out.width, out.channels};
    }
  };

  Picture picture() {
    Picture p{.is_sequence = kind_.find("1D") != std::string::npos, .first = channels_first(), .zeros = in_[0].zeros};
    Sizes sizes = in_[0].sizes;
    if (in_.size() != 1 || sizes.size() != (p.is_sequence ? 2u : 3u))
      refuse_layer(p.is_sequence ? "an input of [steps, features]" : "an input of [height, width, channels]");
    if (p.is_sequence) sizes.insert(sizes.begin() + (p.first ? 2 : 1), 1);
    p.shape = p.first ? Shape{sizes[0], sizes[1], sizes[2]} : Shape{sizes[2], sizes[0], sizes[1]};
    p.shape.height -= p.zeros[0] + p.zeros[1];
    p.shape.width -= p.zeros[2] + p.zeros[3];
    ShapedTensor bare = in_[0];
    bare.zeros = {};
    p.layer = layer_of(bare, p.shape);
    return p;
  }

  /// Zeros before and behind one side.
  static std::array<int, 2> zeros_of(std::string_view padding, int size, int reach, int stride) {
    if (padding == "causal") return {reach - 1, 0};
    if (padding != "same") return {0, 0};
    const int places = (size + stride - 1) / stride;
    const int zeros = std::max(0, bounded((places - 1) * std::int64_t{stride} + reach - size));
    return {zeros / 2, zeros - zeros / 2};
  }

  Window window(const Picture& p, std::string_view size_key, bool is_pool) {
    Window w;
    std::tie(w.height, w.width) = std::tuple_cat(config_->sides(size_key, p.is_sequence,
                                                                {is_pool ? 2 : 0, p.is_sequence ? 1
                                                                                  : is_pool     ? 2
                                                                                                : 0}));
    const std::array<int, 2> stride =
        config_->sides("strides", p.is_sequence, is_pool ? std::array{w.height, w.width} : std::array{1, 1});
    w.stride_height = stride[0];
    w.stride_width = stride[1];
    if (std::min({w.height, w.width, w.stride_height, w.stride_width}) < 1)
      refuse_layer(fmt::format("a {} and strides of one or two positive numbers", size_key));
    if (!is_pool)
      std::tie(w.dilation_height, w.dilation_width) = std::tuple_cat(config_->sides("dilation_rate", p.is_sequence, {1, 1}));
    if (std::min(w.dilation_height, w.dilation_width) < 1 ||
        std::max({w.height, w.width, w.stride_height, w.stride_width, w.dilation_height, w.dilation_width}) > kWidestWindow)
      refuse_layer(fmt::format("windows, strides and dilation from 1 to {}", kWidestWindow));
    return w;
  }

  /// With the zeros of the layer's padding and of a ZeroPadding in front.
  Window padded_window(const Picture& p, std::string_view size_key, bool is_pool) {
    Window w = window(p, size_key, is_pool);
    const bool is_causal = p.is_sequence && !is_pool;
    config_->only("padding", is_causal ? std::initializer_list<std::string_view>{"\"valid\"", "\"same\"", "\"causal\""}
                                       : std::initializer_list<std::string_view>{"\"valid\"", "\"same\""});
    const std::string padding = config_->word("padding", "valid");
    auto rows = zeros_of(padding, p.shape.height + p.zeros[0] + p.zeros[1], w.reach_height(), w.stride_height);
    auto columns =
        zeros_of(p.is_sequence ? "valid" : padding, p.shape.width + p.zeros[2] + p.zeros[3], w.reach_width(), w.stride_width);
    rows = {rows[0] + p.zeros[0], rows[1] + p.zeros[1]};
    columns = {columns[0] + p.zeros[2], columns[1] + p.zeros[3]};
    w.pad_height = rows[0];
    w.end_height = rows[1] - rows[0];
    w.pad_width = columns[0];
    w.end_width = columns[1] - columns[0];
    return w;
  }

  void read_convolution() {
    const Picture p = picture();
    const Window w = padded_window(p, "kernel_size", false);
    const bool bias = config_->flag("use_bias", true);
    const bool is_depthwise = kind_.starts_with("Depthwise"), is_separable = kind_.starts_with("Separable");
    if (!is_depthwise && !is_separable)
      return put_result(
          activated(put_picture(p, Conv{config_->number("filters"), w, config_->number("groups", 1), bias}, p.layer, "")));
    config_->only("groups", {"1"});
    if (is_depthwise) config_->find("filters");
    const int channels = bounded(std::int64_t{p.shape.channels} * config_->number("depth_multiplier", 1));
    ShapedTensor made =
        put_picture(p, Conv{channels, w, p.shape.channels, bias && is_depthwise}, p.layer, is_depthwise ? "" : "/depthwise");
    if (is_separable) made = put_picture(p, Conv{config_->number("filters"), square(1), 1, bias}, made.layer, "");
    put_result(activated(made));
  }

  ShapedTensor put_picture(const Picture& p, LayerSpec spec, int from, std::string_view suffix) {
    const std::string name = name_ + std::string(suffix);
    const int layer = layers_.put(name, std::move(spec), {from}, name);
    return {.layer = layer, .shape = layers_.shape(layer), .sizes = p.sizes(layers_.shape(layer))};
  }

  /// Keras's rule for its size: "same" makes strides times the input, with output_padding what PyTorch makes.
  void read_transposed() {
    Picture p = picture();
    if (has_zeros(in_[0])) {
      p.layer = layer_of(in_[0]);
      p.shape = layers_.shape(p.layer);
    }
    Window w = window(p, "kernel_size", false);
    config_->only("padding", {"\"valid\"", "\"same\""});
    config_->only("groups", {"1"});
    const bool is_same = config_->word("padding", "valid") == "same";
    const std::vector<int> more = config_->list_of("output_padding");
    const auto end = [&](std::int64_t size, int reach, int stride, std::size_t side) {
      const int added = more.empty() ? 0 : more[std::min(side, more.size() - 1)];
      const std::int64_t out = !more.empty() ? (size - 1) * stride + reach - (is_same ? 2 * (reach / 2) : 0) + added
                               : is_same     ? size * stride
                                             : size * stride + std::max(reach - stride, 0);
      return bounded((size - 1) * stride + reach - out);
    };
    w.end_height = end(p.shape.height, w.reach_height(), w.stride_height, 0);
    if (!p.is_sequence) w.end_width = end(p.shape.width, w.reach_width(), w.stride_width, 1);
    put_result(
        activated(put_picture(p, TransposedConv{config_->number("filters"), w, config_->flag("use_bias", true)}, p.layer, "")));
  }

  void read_pool() {
    const Picture p = picture();
    put_result(put_picture(
        p, Pool{kind_.starts_with("Max") ? Pooling::max : Pooling::average, padded_window(p, "pool_size", true)}, p.layer, ""));
  }

  void read_global_pool() {
    const Picture p = picture();
    ShapedTensor made = put_picture(p, GlobalPool{}, layer_of(in_[0], with_zeros(p)), "");
    if (!config_->flag("keepdims", false)) made.sizes = {made.shape.channels};
    put_result(made);
  }

  static Shape with_zeros(const Picture& p) {
    return {p.shape.channels, p.shape.height + p.zeros[0] + p.zeros[1], p.shape.width + p.zeros[2] + p.zeros[3]};
  }

  /// [[top, bottom], [left, right]], [height, width] or one number.
  std::array<int, 4> borders(std::string_view key, bool is_sequence) {
    std::vector<int> list = config_->list_of(key);
    if (list.empty()) list = {1};
    if (is_sequence) {
      if (list.size() == 1) list.push_back(list[0]);
      list.resize(4, 0);
    }
    if (list.size() == 1) list.push_back(list[0]);
    if (list.size() == 2) list = {list[0], list[0], list[1], list[1]};
    if (list.size() != 4 || *std::ranges::min_element(list) < 0 || *std::ranges::max_element(list) > 1 << 20)
      refuse_layer(fmt::format("a {} of all sides", key));
    return {list[0], list[1], list[2], list[3]};
  }

  void read_zero_padding() {
    const Picture p = picture();
    ShapedTensor made{.layer = p.layer, .shape = p.shape, .zeros = borders("padding", p.is_sequence)};
    for (std::size_t i = 0; i < 4; ++i) made.zeros[i] += p.zeros[i];
    Picture around = p;
    around.zeros = made.zeros;
    made.sizes = p.sizes(with_zeros(around));
    put_result(made);
  }

  void read_cropping() {
    const Picture p = picture();
    const auto cut = borders("cropping", p.is_sequence);
    Shape shape = with_zeros(p);
    const int layer = layer_of(in_[0], shape);
    shape.height -= cut[0] + cut[1];
    shape.width -= cut[2] + cut[3];
    put_result(put_picture(p, Slice{shape}, layer, ""));
  }

  void read_upsampling() {
    const Picture p = picture();
    const auto factor = config_->sides("size", p.is_sequence, {2, p.is_sequence ? 1 : 2});
    Shape shape = with_zeros(p);
    const int layer = layer_of(in_[0], shape);
    if (std::max(factor[0], factor[1]) > 1 << 15) refuse_layer("a factor of at most 32768");
    shape.height = bounded(std::int64_t{shape.height} * factor[0]);
    shape.width = bounded(std::int64_t{shape.width} * factor[1]);
    put_result(put_picture(p, Resize{shape}, layer, ""));
  }

  // Products, recurrent layers, attention.

  /// At every position of the last axis.
  ShapedTensor dense(const ShapedTensor& in, int units, bool bias, std::string_view suffix = {}) {
    const int width = in.sizes.back();
    Sizes sizes = in.sizes;
    sizes.back() = units;
    return put(Dense{units, bias}, {layer_of(in, Shape{width, static_cast<int>(count_of(in.sizes) / width), 1})}, sizes, suffix);
  }

  void read_dense() {
    config_->only("lora_rank", {});
    put_result(activated(dense(in_[0], config_->number("units"), config_->flag("use_bias", true))));
  }

  void read_embedding() {
    config_->only("sparse", {"false"});
    config_->only("lora_rank", {});
    Sizes sizes = in_[0].sizes;
    const int tokens = static_cast<int>(count_of(sizes)), width = config_->number("output_dim");
    sizes.push_back(width);
    put_result(put(Embedding{config_->number("input_dim"), width}, {layer_of(in_[0], Shape{1, tokens, 1})}, sizes));
  }

  struct Rnn {
    std::string kind;
    bool sequences = false, states = false;
    Recurrent spec;
  };

  Rnn recurrent(std::string_view kind) {
    Rnn rnn{.kind = std::string(kind)};
    const bool is_library = kind.starts_with("CuDNN"), is_gru = kind.find("GRU") != kind.npos;
    config_->only("time_major", {"false"});
    activation_name("activation", "tanh");
    rnn.sequences = config_->flag("return_sequences", false);
    rnn.states = config_->flag("return_state", false);
    const bool bias = config_->flag("use_bias", true), twice = config_->flag("reset_after", false);
    rnn.spec = {.cell = kind.find("LSTM") != kind.npos ? Cell::lstm
                        : is_gru                       ? Cell::gru
                                                       : Cell::vanilla,
                .hidden = config_->number("units")};
    rnn.spec.biases = !bias ? 0 : is_library || (is_gru && twice) ? 2 : 1;
    return rnn;
  }

  /// The sequence of all steps, from the first input, with further inputs and initial_state as states.
  ShapedTensor run(const Rnn& rnn) {
    ShapedTensor in = in_[0];
    if (in.sizes.size() != 2) refuse_layer("an input of [steps, features]");
    if (drops_) in = put_plain(Dropout{}, in, "/dropout");
    ShapedTensors states(in_.begin() + 1, in_.end());
    if (const auto named = named_.find("initial_state"); named != named_.end()) {
      states.insert(states.end(), named->second.begin(), named->second.end());
      named_.erase(named);
    }
    std::vector<int> inputs{layer_of(in, Shape{in.sizes[1], in.sizes[0], 1})};
    for (const ShapedTensor& state : states)
      inputs.push_back(layer_of(state, Shape{static_cast<int>(count_of(state.sizes)), 1, 1}));
    const int width = rnn.spec.bidirectional && !rnn.spec.sum_directions ? 2 * rnn.spec.hidden : rnn.spec.hidden;
    return put(rnn.spec, inputs, {in.sizes[0], width});
  }

  bool drops(KerasConfig& config) {
    bool any = false;
    for (const std::string_view key : {"dropout", "recurrent_dropout"}) {
      const auto value = config.find(key);
      if (value && (!value->is_number() || value->number() < 0 || value->number() > 1))
        throw KerasRefusal{*value, fmt::format("{}, a number from 0 to 1", key)};
      any = any || (value && value->number() > 0);
    }
    return any;
  }

  ShapedTensor last(const ShapedTensor& sequence, std::string_view suffix = "/last") {
    return put(LastStep{}, {layer_of(sequence)}, {sequence.sizes[1]}, suffix);
  }

  void read_recurrent() {
    drops_ = drops(*config_);
    const Rnn rnn = recurrent(kind_);
    const ShapedTensor all = run(rnn);
    results_ = {rnn.sequences ? all : last(all)};
    if (!rnn.states) return;
    const ShapedTensor state = rnn.sequences ? last(all) : results_[0];
    results_.insert(results_.end(), rnn.spec.cell == Cell::lstm ? 2 : 1, state);
  }

  void read_bidirectional() {
    config_->only("merge_mode", {"\"concat\"", "\"sum\"", "\"ave\"", "\"mul\""});
    const auto mode = json_member(keras_config(json_), "merge_mode");
    const std::string merge = mode && mode->is_null() ? "" : config_->word("merge_mode", "concat");
    const auto inner = config_->find("layer"), backward = config_->find("backward_layer");
    const std::string kind = inner ? json_text(*inner, "class_name") : "";
    if (kind != "LSTM" && kind != "GRU" && kind != "SimpleRNN" && !kind.starts_with("CuDNN"))
      refuse_layer("a recurrent layer in Bidirectional");
    KerasConfig inside(keras_config(*inner));
    const auto swapped = std::exchange(config_, &inside);
    drops_ = drops(inside);
    Rnn rnn = recurrent(kind);
    inside.finish();
    config_ = swapped;
    if (backward && (json_text(*backward, "class_name") != kind ||
                     json_whole(json_member(keras_config(*backward), "units").value_or(*backward)) != rnn.spec.hidden))
      throw KerasRefusal{*backward, "a backward layer like the forward one"};
    rnn.spec.bidirectional = true;
    rnn.spec.sum_directions = merge == "sum" || merge == "ave";
    const int hidden = rnn.spec.hidden;
    const ShapedTensor all = run(rnn), made = rnn.sequences ? all : last(all);
    Sizes half = made.sizes;
    half.back() = hidden;
    if (merge == "concat" || rnn.spec.sum_directions) {
      results_ = {made};
    } else {
      results_ = {part(made, half, "/forward"), part(made, half, "/backward")};
      if (merge == "mul") results_ = {multiplied(results_)};
    }
    if (!rnn.states) return;
    if (rnn.spec.sum_directions) refuse_layer("return_state with merge_mode concat, mul or null");
    const ShapedTensor states = rnn.sequences ? last(all) : made;
    const ShapedTensor ways[] = {part(states, {hidden}, "/forward_state"), part(states, {hidden}, "/backward_state")};
    for (const ShapedTensor& way : ways) results_.insert(results_.end(), rnn.spec.cell == Cell::lstm ? 2 : 1, way);
  }

  void read_time_distributed() {
    constexpr std::string_view kAtEachStep =
        " Dense Activation ReLU LeakyReLU ELU Softmax Dropout LayerNormalization BatchNormalization Masking GaussianNoise ";
    const auto inner = config_->find("layer");
    const std::string kind = inner ? json_text(*inner, "class_name") : "";
    if (!has_word(kAtEachStep, kind)) refuse_layer(fmt::format("in TimeDistributed one of{}", kAtEachStep));
    KerasConfig inside(keras_config(*inner));
    const auto swapped = std::exchange(config_, &inside);
    (this->*handler_of(kind))();
    inside.finish();
    config_ = swapped;
  }

  void read_multi_head_attention() {
    const int heads = config_->number("num_heads"), width = config_->number("key_dim"),
              values = config_->number("value_dim", width);
    const bool bias = config_->flag("use_bias", true);
    if (std::max(width, values) > kMostNumbers / heads) refuse_layer("heads and widths that are not huge");
    drops(*config_);
    config_->only("attention_axes", {"[1]"});
    const std::vector<int> shape = config_->list_of("output_shape");
    const auto take = [&](std::string_view key, std::size_t place) -> std::optional<ShapedTensor> {
      const auto named = named_.find(std::string(key));
      if (named != named_.end()) {
        const ShapedTensor found = named->second[0];
        named_.erase(named);
        return found;
      }
      return place < in_.size() ? std::optional(in_[place]) : std::nullopt;
    };
    const ShapedTensor query = *take("query", 0);
    const auto value = take("value", 1);
    if (!value) refuse_layer("a query and a value");
    const ShapedTensor key = take("key", 2).value_or(*value);
    for (const ShapedTensor& t : {query, *value, key})
      if (t.sizes.size() != 2) refuse_layer("inputs of [steps, features]");
    const ShapedTensor q = dense(query, heads * width, bias, "/query"), k = dense(key, heads * width, bias, "/key"),
                       v = dense(*value, heads * values, bias, "/value");
    const ShapedTensor context =
        put(Attention{heads}, {q.layer, k.layer, v.layer}, {query.sizes[0], heads * values}, "/attention");
    put_result(dense(context, shape.empty() ? query.sizes[1] : shape[0], bias));
  }

  /// Of query, value and, where it is another, key; without weights.
  void read_attention() {
    config_->only("use_scale", {"false"});
    config_->only("score_mode", {"\"dot\""});
    drops(*config_);
    if (in_.size() < 2 || in_.size() > 3) refuse_layer("a query, a value and perhaps a key");
    for (const ShapedTensor& t : in_)
      if (t.sizes.size() != 2) refuse_layer("inputs of [steps, features]");
    const auto sequence = [&](const ShapedTensor& t) { return layer_of(t, Shape{t.sizes[1], t.sizes[0], 1}); };
    put_result(put(Attention{1}, {sequence(in_[0]), sequence(in_.back()), sequence(in_[1])}, {in_[0].sizes[0], in_[1].sizes[1]}));
  }

  // Normalisation and what treats numbers one by one.

  /// The axes that are normalised together as channels, the others as positions.
  ShapedTensor normalised(LayerSpec spec, const ShapedTensor& in, std::vector<int> axes) {
    std::set<int> places;
    for (const int axis : axes) places.insert(axis_of({axis}, -1, in.sizes.size()));
    std::int64_t channels = 1;
    for (const int place : places) channels *= in.sizes[static_cast<std::size_t>(place)];
    Shape shape{static_cast<int>(channels), static_cast<int>(count_of(in.sizes) / channels), 1};
    if (places.size() == 1 && in.sizes.size() == 3) {  // an image stays one
      const auto [shapes, place] = arranged({in}, *places.begin());
      if (place == Axis::channels) shape = shapes[0];
    }
    return put(std::move(spec), {layer_of(in, shape)}, in.sizes);
  }

  void read_batch_norm() {
    config_->only("renorm", {"false"});
    config_->only("virtual_batch_size", {});
    config_->only("adjustment", {});
    std::vector<int> axis = config_->list_of("axis");
    if (axis.empty()) axis = {-1};
    const bool scale = config_->flag("scale", true);
    put_result(normalised(BatchNorm{.scale = scale, .shift = config_->flag("center", true)}, in_[0], axis));
  }

  void read_layer_norm() {
    std::vector<int> axis = config_->list_of("axis");
    if (axis.empty()) axis = {-1};
    const bool is_rms = kind_ == "RMSNormalization", is_group = kind_ == "GroupNormalization",
               is_unit = kind_ == "UnitNormalization";
    if (is_group) config_->find("groups");
    const bool rms = config_->flag("rms_scaling", is_rms);
    const bool scale = !is_unit && config_->flag("scale", true), shift = !rms && !is_unit && config_->flag("center", true);
    put_result(normalised(LayerNorm{.scale = scale, .shift = shift}, in_[0], axis));
  }

  void read_activation() { put_result(activated(in_[0], "relu")); }
  void read_simple_activation() {
    config_->find("axis");  // of a softmax: any costs the same
    put_result(put_plain(Activation{}, in_[0]));
  }
  void read_dropout() {
    config_->find("data_format");
    put_result(put_plain(Dropout{}, in_[0]));
  }
  void read_nothing() {
    config_->find("scale");
    config_->find("axis");
  }

  /// A factor for each number of a sample, or for each along the axes that are not shared.
  void read_prelu() {
    Sizes sizes = in_[0].sizes;
    for (const int axis : config_->list_of("shared_axes")) sizes[static_cast<std::size_t>(axis_of({axis}, -1, sizes.size()))] = 1;
    const ShapedTensor made = put_plain(Activation{.in_place = false}, in_[0], "/activation");
    const int count = static_cast<int>(count_of(sizes));
    const int rows = layers_.put(name_ + "/rows", Input{{1, 1, 1}}, {});
    const ShapedTensor factors = put(Embedding{1, count}, {rows}, sizes, "/factors");
    put_result(multiplied({made, factors}));
  }

  // Several inputs, and other shapes.

  ShapedTensor multiplied(const ShapedTensors& tensors) {
    ShapedTensor made = tensors[0];
    for (std::size_t i = 1; i < tensors.size(); ++i)
      made = merged(Multiply{}, {made, tensors[i]}, i > 1 ? fmt::format("/{}", i) : "");
    return made;
  }

  /// Number by number; sides of 1 are repeated.
  ShapedTensor merged(LayerSpec spec, const ShapedTensors& tensors, std::string_view suffix = {}) {
    const std::vector<Shape> shapes = arranged(tensors).shapes;
    std::vector<int> layers;
    for (std::size_t i = 0; i < tensors.size(); ++i) layers.push_back(layer_of(tensors[i], shapes[i]));
    return put(std::move(spec), layers, broadcast_sizes(sizes_of(tensors)), suffix);
  }

  void read_merge() { put_result(kind_ == "Multiply" ? multiplied(in_) : merged(Add{}, in_)); }

  void read_concatenate() {
    const int place = axis_of(config_->list_of("axis"), -1, in_[0].sizes.size());
    const auto at = static_cast<std::size_t>(place);
    Sizes sizes = in_[0].sizes;
    sizes[at] = 0;
    for (const ShapedTensor& t : in_) {
      if (t.sizes.size() != sizes.size()) refuse_layer("inputs with the same number of axes");
      sizes[at] = bounded(std::int64_t{sizes[at]} + t.sizes[at]);
    }
    const auto [shapes, axis] = arranged(in_, place);
    std::vector<int> layers;
    for (std::size_t i = 0; i < in_.size(); ++i) layers.push_back(layer_of(in_[i], shapes[i]));
    put_result(put(Concat{axis}, layers, sizes));
  }

  /// The product over one axis of each.
  void read_dot() {
    config_->only("normalize", {"false", "true"});
    std::vector<int> axes = config_->list_of("axes");
    if (axes.size() == 1) axes.push_back(axes[0]);
    if (in_.size() != 2 || axes.size() != 2) refuse_layer("two inputs and an axis of each");
    std::array<std::int64_t, 2> inner{}, outer{};
    Sizes sizes;
    for (std::size_t i = 0; i < 2; ++i) {
      const Sizes& of = in_[i].sizes;
      if (of.size() > 2) refuse_layer("inputs of [steps, features] or [features]");
      const int place = axis_of({axes[i]}, -1, of.size());
      inner[i] = of[static_cast<std::size_t>(place)];
      outer[i] = count_of(of) / inner[i];
      if (of.size() == 2) sizes.push_back(static_cast<int>(outer[i]));
    }
    if (inner[0] != inner[1]) refuse_layer("axes of equal size");
    if (sizes.empty()) sizes = {1};
    const int k = static_cast<int>(inner[0]), m = static_cast<int>(outer[0]), n = static_cast<int>(outer[1]);
    put_result(put(MatrixProduct{}, {layer_of(in_[0], Shape{1, m, k}), layer_of(in_[1], Shape{1, k, n})}, sizes));
  }

  void read_flatten() {
    config_->find("data_format");
    const int count = static_cast<int>(count_of(in_[0].sizes));
    if (in_[0].sizes.size() == 1) return;
    put_result(put(Flatten{}, {layer_of(in_[0])}, {count}));
  }

  /// The same numbers in the same order.
  void read_reshape() {
    Sizes sizes = config_->list_of("target_shape");
    const auto open = std::ranges::find(sizes, -1);
    const std::int64_t all = count_of(in_[0].sizes);
    if (open != sizes.end()) {
      *open = 1;
      *open = static_cast<int>(all / std::max<std::int64_t>(1, count_of(sizes)));
    }
    if (sizes.empty() || *std::ranges::min_element(sizes) < 1 || count_of(sizes) != all)
      refuse_layer(fmt::format("a target_shape of {} numbers", all));
    ShapedTensor made = in_[0];
    if (has_zeros(made)) {
      made.layer = layer_of(in_[0]);
      made = {.layer = made.layer, .shape = layers_.shape(made.layer)};
    }
    made.sizes = sizes;
    put_result(made);
  }

  void read_permute() {
    const std::vector<int> dims = config_->list_of("dims");
    const Sizes& old = in_[0].sizes;
    std::vector<int> sorted = dims, all(old.size());
    std::iota(all.begin(), all.end(), 1);
    std::ranges::sort(sorted);
    if (sorted != all) refuse_layer("dims that name each axis once, from 1");
    Sizes sizes;
    for (const int axis : dims) sizes.push_back(old[static_cast<std::size_t>(axis - 1)]);
    if (dims == all) return;
    put_result(put(Rearrange{natural_shape(sizes), true}, {layer_of(in_[0])}, sizes));
  }

  void read_repeat() {
    if (in_[0].sizes.size() != 1) refuse_layer("an input of [features]");
    const int width = in_[0].sizes[0], times = config_->number("n");
    put_result(put(Resize{{width, times, 1}}, {layer_of(in_[0], Shape{width, 1, 1})}, {times, width}));
  }

  TensorNetwork& layers_;
  std::string kind_, name_;
  JsonValue json_;
  KerasConfig* config_ = nullptr;
  ShapedTensors in_, results_;
  std::map<std::string, ShapedTensors> named_;
  bool drops_ = false;
};

const std::vector<KerasLayers::Call::Kind>& KerasLayers::Call::kinds() {
  using K = KerasLayers::Call;
  static const std::vector<Kind> kinds{
      {" InputLayer Rescaling Normalization Masking GaussianNoise ActivityRegularization ", &K::read_nothing},
      {" Conv1D Conv2D DepthwiseConv1D DepthwiseConv2D SeparableConv1D SeparableConv2D ", &K::read_convolution},
      {" Conv1DTranspose Conv2DTranspose ", &K::read_transposed},
      {" MaxPooling1D MaxPooling2D AveragePooling1D AveragePooling2D ", &K::read_pool},
      {" GlobalAveragePooling1D GlobalAveragePooling2D GlobalMaxPooling1D GlobalMaxPooling2D ", &K::read_global_pool},
      {" ZeroPadding1D ZeroPadding2D ", &K::read_zero_padding},
      {" Cropping1D Cropping2D ", &K::read_cropping},
      {" UpSampling1D UpSampling2D ", &K::read_upsampling},
      {" Dense ", &K::read_dense},
      {" Embedding ", &K::read_embedding},
      {" LSTM GRU SimpleRNN CuDNNLSTM CuDNNGRU ", &K::read_recurrent},
      {" Bidirectional ", &K::read_bidirectional},
      {" TimeDistributed ", &K::read_time_distributed},
      {" MultiHeadAttention ", &K::read_multi_head_attention},
      {" Attention ", &K::read_attention},
      {" BatchNormalization ", &K::read_batch_norm},
      {" LayerNormalization GroupNormalization UnitNormalization RMSNormalization ", &K::read_layer_norm},
      {" Activation ", &K::read_activation},
      {" ReLU LeakyReLU ELU Softmax ThresholdedReLU ", &K::read_simple_activation},
      {" PReLU ", &K::read_prelu},
      {" Dropout SpatialDropout1D SpatialDropout2D GaussianDropout AlphaDropout ", &K::read_dropout},
      {" Add Subtract Average Maximum Minimum Multiply ", &K::read_merge},
      {" Concatenate ", &K::read_concatenate},
      {" Dot ", &K::read_dot},
      {" Flatten ", &K::read_flatten},
      {" Reshape ", &K::read_reshape},
      {" Permute ", &K::read_permute},
      {" RepeatVector ", &K::read_repeat},
  };
  return kinds;
}

KerasLayers::KerasLayers(TensorNetwork& network) : network_(network) {}
KerasLayers::~KerasLayers() = default;

bool KerasLayers::knows(std::string_view kind) { return Call::handler_of(kind) != nullptr; }

ShapedTensors KerasLayers::read(JsonValue layer, const std::string& name, KerasInputs inputs) {
  if (inputs.tensors.empty()) throw KerasRefusal{layer, "an input before other layers"};
  for (const sim::JsonMember& option : inputs.options)
    if (!has_word(kFreeArguments, option.key.text()) && !option.value.is_null() && option.value.json() != "false")
      throw KerasRefusal{option.value, fmt::format("no argument \"{}\", which is not read", option.key.text())};
  return Call(network_, layer, name, std::move(inputs)).read();
}

void KerasLayers::require_dense_input(JsonValue layer) { KerasConfig(keras_config(layer)).only("sparse", {"false"}); }

}  // namespace rehearse::traces
