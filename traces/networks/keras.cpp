// Keras: the JSON of model.to_json(), a "Sequential" list of layers or a "Functional" graph whose layers name their inputs in
// inbound_nodes: [["input_1", 0, 0, {}]] (Keras 2), {"keras_history": ["input_1", 0, 0]} (Keras 3).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "traces/networks/network_builder.hpp"
#include "traces/networks/network_file.hpp"

namespace rehearse::traces {
namespace {

using namespace workloads;
using sim::JsonValue;

std::optional<JsonValue> member(JsonValue object, std::string_view key) {
  for (const sim::JsonMember m : object.members())
    if (m.key.text() == key) return m.value;
  return std::nullopt;
}

std::string text(JsonValue object, std::string_view key, std::string_view fallback = {}) {
  const auto value = member(object, key);
  return std::string(value && value->is_string() ? value->text() : fallback);
}

/// Whole numbers of at most 2^30; 0 for anything else.
int whole(JsonValue value) {
  if (!value.is_number() || value.number() < 0 || value.number() > (1 << 30)) return 0;
  return static_cast<int>(value.number());
}

int whole(JsonValue object, std::string_view key, int fallback = 0) {
  const auto value = member(object, key);
  return value && value->is_number() ? whole(*value) : fallback;
}

bool flag(JsonValue object, std::string_view key, bool fallback) {
  const auto value = member(object, key);
  return value && value->is_boolean() ? value->boolean() : fallback;
}

/// Height and width, of [a, b], of [a] (a sequence, whose width is 1) or of a alone.
std::array<int, 2> pair(JsonValue config, std::string_view key, bool is_sequence, std::array<int, 2> fallback) {
  const auto value = member(config, key);
  if (!value || value->is_null()) return fallback;
  if (value->is_number()) return {whole(*value), is_sequence ? 1 : whole(*value)};
  std::vector<int> numbers;
  for (const JsonValue one : value->elements()) numbers.push_back(whole(one));
  if (numbers.size() == 1) return {numbers[0], 1};
  return numbers.size() == 2 ? std::array{numbers[0], numbers[1]} : std::array{0, 0};
}

/// The names of tensors anywhere inside, in order: lists that begin with a text and two numbers.
void collect_inputs(JsonValue value, std::vector<std::string>& names) {
  std::vector<JsonValue> elements;
  for (const JsonValue one : value.elements()) elements.push_back(one);
  if (elements.size() >= 3 && elements[0].is_string() && elements[1].is_number() && elements[2].is_number()) {
    names.emplace_back(elements[0].text());
    return;
  }
  for (const JsonValue one : elements) collect_inputs(one, names);
  for (const sim::JsonMember m : value.members()) collect_inputs(m.value, names);
}

const std::vector<std::string_view> kKerasPlain{"Rescaling", "Normalization", "Masking", "GaussianNoise",
                                                "ActivityRegularization"};
const std::vector<std::string_view> kKerasActivations{"Activation", "ReLU",    "LeakyReLU",      "PReLU",
                                                      "ELU",        "Softmax", "ThresholdedReLU"};

const std::vector<std::string_view> kKerasOthers{"InputLayer",
                                                 "Conv1D",
                                                 "Conv2D",
                                                 "Conv2DTranspose",
                                                 "DepthwiseConv2D",
                                                 "SeparableConv2D",
                                                 "MaxPooling1D",
                                                 "MaxPooling2D",
                                                 "AveragePooling1D",
                                                 "AveragePooling2D",
                                                 "GlobalAveragePooling1D",
                                                 "GlobalAveragePooling2D",
                                                 "GlobalMaxPooling1D",
                                                 "GlobalMaxPooling2D",
                                                 "ZeroPadding2D",
                                                 "Dense",
                                                 "LSTM",
                                                 "GRU",
                                                 "SimpleRNN",
                                                 "Bidirectional",
                                                 "TimeDistributed",
                                                 "BatchNormalization",
                                                 "LayerNormalization",
                                                 "Dropout",
                                                 "SpatialDropout1D",
                                                 "SpatialDropout2D",
                                                 "GaussianDropout",
                                                 "AlphaDropout",
                                                 "Concatenate",
                                                 "Add",
                                                 "Flatten",
                                                 "Embedding"};

/// GELU and swish need their input again (Activation).
Activation activation(std::string_view name) { return {.in_place = name != "gelu" && name != "swish" && name != "silu"}; }

class KerasReader {
 public:
  explicit KerasReader(JsonValue model)
      : config_(member(model, "config").value_or(model)), net_(text(config_, "name", "keras")) {}

  Network read() {
    const auto layers = member(config_, "layers");
    const JsonValue list = layers ? *layers : config_;  // Keras 1 and 2.0: config is the list itself
    has_embedding_ = false;
    for (const JsonValue layer : list.elements()) has_embedding_ = has_embedding_ || text(layer, "class_name") == "Embedding";
    for (const JsonValue layer : list.elements()) judge(layer);  // all unsupported ones, before any shape
    count_ = 1;
    if (net_.good())
      for (const JsonValue layer : list.elements()) read_layer(layer);
    return net_.finish();
  }

 private:
  void refuse(JsonValue layer, std::string expected) {
    sim::Mistake mistake = layer.mistake(std::move(expected));
    mistake.found = fmt::format("layer \"{}\", a {}", name_, kind_);
    net_.mistakes().add(std::move(mistake));
  }

  void name_layer(JsonValue layer) {
    kind_ = text(layer, "class_name");
    name_ = text(member(layer, "config").value_or(layer), "name", text(layer, "name", fmt::format("layer {}", count_)));
    ++count_;
  }

  void judge(JsonValue layer) {
    name_layer(layer);
    if (!is_one_of(kind_, kKerasOthers) && !is_one_of(kind_, kKerasPlain) && !is_one_of(kind_, kKerasActivations))
      refuse(layer, "a layer that is supported (docs/guide/harness.md)");
  }

  void read_layer(JsonValue layer) {
    name_layer(layer);
    const JsonValue config = member(layer, "config").value_or(layer);
    std::vector<std::string> names;
    if (const auto nodes = member(layer, "inbound_nodes")) collect_inputs(*nodes, names);
    if (names.empty() && !previous_.empty()) names.push_back(previous_);
    if (kind_ == "InputLayer" || (previous_.empty() && names.empty())) {
      read_input(layer, config);
      previous_ = name_;
      if (kind_ == "InputLayer") return;
      names = {name_};
    }
    inputs_.clear();
    for (const std::string& from : names) {
      const NetworkBuilder::Source* source = net_.find(from);
      if (source == nullptr) {
        if (net_.good()) refuse(layer, fmt::format("its input \"{}\" among the layers before it", from));
        return;
      }
      inputs_.push_back(*source);
    }
    try {
      add_layer(layer, config);
    } catch (const sim::InputError& error) {
      refuse(layer, error.mistakes().front().expected + ", but found " + error.mistakes().front().found);
    }
    previous_ = name_;
  }

  void read_input(JsonValue layer, JsonValue config) {
    auto shape = member(config, "batch_input_shape");
    if (!shape) shape = member(config, "batch_shape");
    std::vector<int> sizes;
    if (shape)
      for (const JsonValue one : shape->elements()) sizes.push_back(whole(one));
    if (sizes.size() < 2 || sizes.size() > 4 || std::any_of(sizes.begin() + 1, sizes.end(), [](int n) { return n < 1; })) {
      refuse(layer, "an input of fixed size: [null, height, width, channels], [null, steps, features] or [null, features]");
      return;
    }
    Shape s;
    if (sizes.size() == 4) s = {sizes[3], sizes[1], sizes[2]};
    if (sizes.size() == 3) s = {sizes[2], sizes[1], 1};
    if (sizes.size() == 2) s = has_embedding_ ? Shape{1, sizes[1], 1} : Shape{sizes[1], 1, 1};
    net_.name(name_, {net_.add(name_, Input{s}, {})});
  }

  /// Adds a layer behind the first input, or those given.
  void put(LayerSpec spec, std::string_view suffix = {}) {
    std::vector<int> from;
    for (const NetworkBuilder::Source& source : inputs_) from.push_back(source.layer);
    const int layer = net_.add(name_ + std::string(suffix), std::move(spec), std::move(from));
    inputs_ = {{layer}};
    net_.name(name_, {layer});
  }

  void put_activation(JsonValue config) {
    const std::string name = text(config, "activation", "linear");
    if (name != "linear") put(activation(name), "/" + name);
  }

  std::optional<Window> window(JsonValue layer, JsonValue config, std::string_view size_key, bool is_pool) {
    const bool is_sequence = kind_.ends_with("1D");
    const auto size = pair(config, size_key, is_sequence, {0, 0});
    const auto stride = pair(config, "strides", is_sequence, is_pool ? size : std::array{1, 1});
    Window w{size[0], size[1], stride[0], stride[1]};
    if (w.height < 1 || w.width < 1 || w.stride_height < 1 || w.stride_width < 1) {
      refuse(layer, fmt::format("a {} of one or two positive numbers", size_key));
      return std::nullopt;
    }
    const Shape in = net_.shape(inputs_[0].layer);
    if (text(config, "padding", "valid") == "same") {
      w.pad_height = same_padding(in.height, w.height, w.stride_height);
      w.pad_width = same_padding(in.width, w.width, w.stride_width);
      if (w.pad_height < 0 || w.pad_width < 0) {
        refuse(layer, "an odd window, for padding \"same\" with stride 1");
        return std::nullopt;
      }
    } else {
      w.pad_height = inputs_[0].padding.height;
      w.pad_width = inputs_[0].padding.width;
    }
    return w;
  }

  void add_convolution(JsonValue layer, JsonValue config) {
    const auto w = window(layer, config, "kernel_size", false);
    if (!w) return;
    const bool bias = flag(config, "use_bias", true);
    const int channels = net_.shape(inputs_[0].layer).channels, filters = whole(config, "filters");
    const int multiplier = whole(config, "depth_multiplier", 1);
    if (kind_ == "Conv2DTranspose") {
      put(TransposedConv{filters, *w, bias});
    } else if (kind_ == "DepthwiseConv2D") {
      put(Conv{channels * multiplier, *w, channels, bias});
    } else if (kind_ == "SeparableConv2D") {
      put(Conv{channels * multiplier, *w, channels, false}, "/depthwise");
      put(Conv{filters, square(1), 1, bias});
    } else {
      put(Conv{filters, *w, whole(config, "groups", 1), bias});
    }
    put_activation(config);
  }

  void add_recurrent(JsonValue layer, JsonValue config, std::string_view kind, bool both_ways) {
    const Cell cell = kind == "LSTM" ? Cell::lstm : kind == "GRU" ? Cell::gru : Cell::vanilla;
    if (whole(config, "units") < 1) return refuse(layer, "units of at least 1");
    put(Recurrent{cell, whole(config, "units"), both_ways});
    if (!flag(config, "return_sequences", false)) put(LastStep{}, "/last");
  }

  void add_wrapped(JsonValue layer, JsonValue config) {
    const auto inner = member(config, "layer");
    const std::string kind = inner ? text(*inner, "class_name") : "";
    const JsonValue inside = inner ? member(*inner, "config").value_or(*inner) : config;
    if (kind_ == "Bidirectional" && (kind == "LSTM" || kind == "GRU" || kind == "SimpleRNN"))
      add_recurrent(layer, inside, kind, true);
    else if (kind_ == "TimeDistributed" && kind == "Dense")
      add_dense(inside);
    else
      refuse(layer, "a recurrent layer in Bidirectional, or a Dense one in TimeDistributed");
  }

  void add_dense(JsonValue config) {
    put(Dense{whole(config, "units"), flag(config, "use_bias", true)});
    put_activation(config);
  }

  void add_pool(JsonValue layer, JsonValue config) {
    const auto w = window(layer, config, "pool_size", true);
    if (w) put(Pool{kind_.starts_with("Max") ? Pooling::max : Pooling::average, *w});
  }

  void add_layer(JsonValue layer, JsonValue config) {
    if (kind_.find("Conv") != std::string::npos)
      add_convolution(layer, config);
    else if (kind_ == "MaxPooling2D" || kind_ == "AveragePooling2D" || kind_ == "MaxPooling1D" || kind_ == "AveragePooling1D")
      add_pool(layer, config);
    else if (kind_ == "Dense")
      add_dense(config);
    else if (kind_ == "LSTM" || kind_ == "GRU" || kind_ == "SimpleRNN")
      add_recurrent(layer, config, kind_, false);
    else if (kind_ == "Bidirectional" || kind_ == "TimeDistributed")
      add_wrapped(layer, config);
    else if (kind_.starts_with("Global")) {
      put(GlobalPool{});
      if (!flag(config, "keepdims", false)) put(Flatten{}, "/flatten");
    } else if (kind_ == "ZeroPadding2D")
      add_zeros(layer, config);
    else
      add_simple(layer, config);
  }

  void add_simple(JsonValue layer, JsonValue config) {
    if (is_one_of(kind_, kKerasPlain))
      net_.name(name_, inputs_[0]);
    else if (kind_ == "BatchNormalization")
      put(BatchNorm{});
    else if (kind_ == "LayerNormalization")
      put(LayerNorm{});
    else if (is_one_of(kind_, kKerasActivations))
      put(activation(text(config, "activation", "relu")));
    else if (kind_.find("Dropout") != std::string::npos)
      put(Dropout{});
    else if (kind_ == "Concatenate")
      put(Concat{});
    else if (kind_ == "Add")
      put(Add{});
    else if (kind_ == "Flatten")
      put(Flatten{});
    else if (kind_ == "Embedding")
      put(Embedding{whole(config, "input_dim"), whole(config, "output_dim")});
    else
      refuse(layer, "a layer that is supported (docs/guide/harness.md)");
  }

  /// [[top, bottom], [left, right]], [height, width] or one number; taken by the next window.
  void add_zeros(JsonValue layer, JsonValue config) {
    std::vector<int> zeros;
    if (const auto padding = member(config, "padding"))
      for (const JsonValue side : padding->elements()) {
        if (side.is_number()) zeros.insert(zeros.end(), 2, whole(side));
        for (const JsonValue one : side.elements()) zeros.push_back(whole(one));
      }
    if (zeros.empty()) zeros.assign(4, whole(config, "padding"));
    if (zeros.size() != 4) return refuse(layer, "padding of all four sides");
    // A window of odd size that steps by two takes as much from uneven padding, (0, 1), as from one zero on each side.
    net_.name(name_, {inputs_[0].layer, {std::max(zeros[0], zeros[1]), std::max(zeros[2], zeros[3])}});
  }

  JsonValue config_;
  NetworkBuilder net_;
  bool has_embedding_ = false;
  int count_ = 1;
  std::string kind_, name_, previous_;  ///< of the layer that is read; of the one before
  std::vector<NetworkBuilder::Source> inputs_;
};

}  // namespace

Network read_keras(JsonValue model) { return KerasReader(model).read(); }

}  // namespace rehearse::traces
