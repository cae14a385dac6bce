// Keras: the JSON of model.to_json(), of Keras 2 and 3. A "Sequential" is a list of layers; in a "Functional" graph each layer
// lists its calls in inbound_nodes: [["input_1", 0, 0, {}]] (Keras 2), {"args": [{"keras_history": ["input_1", 0, 0]}]} (Keras
// 3). A layer that is called again has its weights once.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "traces/networks/keras_layers.hpp"
#include "traces/networks/network_file.hpp"
#include "traces/networks/tensors.hpp"

namespace rehearse::traces {
namespace {

using namespace workloads;
using sim::JsonValue;

/// A tensor by its layer, which call of it, and which result of the call.
struct Reference {
  std::string layer;
  int call = 0, result = 0;
};

/// One call of a layer.
struct Call {
  std::vector<Reference> inputs;
  std::map<std::string, std::vector<Reference>> named;
  std::vector<sim::JsonMember> options;  ///< arguments by name that hold no tensors
};

std::optional<Reference> reference(JsonValue value) {
  if (const auto config = json_text(value, "class_name") == "__keras_tensor__" ? json_member(value, "config") : std::nullopt)
    if (const auto history = json_member(*config, "keras_history")) return reference(*history);
  if (!value.is_array() || value.size() < 3) return std::nullopt;
  auto at = value.elements().begin();
  const JsonValue name = *at, call = *++at, result = *++at;
  if (!name.is_string() || json_whole(call) < 0 || json_whole(result) < 0) return std::nullopt;
  return Reference{std::string(name.text()), json_whole(call), json_whole(result)};
}

void collect(JsonValue value, std::vector<Reference>& references) {
  if (const auto one = reference(value)) return references.push_back(*one);
  for (const JsonValue one : value.elements()) collect(one, references);
  for (const sim::JsonMember m : value.members()) collect(m.value, references);
}

void collect_named(JsonValue arguments, Call& call) {
  for (const sim::JsonMember m : arguments.members()) {
    std::vector<Reference> found;
    collect(m.value, found);
    if (found.empty())
      call.options.push_back(m);
    else
      call.named[std::string(m.key.text())] = std::move(found);
  }
}

/// A node of Keras 2 is one reference, or a list of them, with arguments by name in fourth place.
void collect_node(JsonValue node, Call& call) {
  if (const auto args = json_member(node, "args")) {
    collect(*args, call.inputs);
    if (const auto named = json_member(node, "kwargs")) collect_named(*named, call);
  } else if (const auto one = reference(node)) {
    call.inputs.push_back(*one);
    int place = 0;
    for (const JsonValue element : node.elements())
      if (++place == 4) collect_named(element, call);
  } else {
    for (const JsonValue element : node.elements()) collect_node(element, call);
    for (const sim::JsonMember m : node.members()) collect_node(m.value, call);
  }
}

class KerasReader {
 public:
  explicit KerasReader(JsonValue model) : model_(model), network_(json_text(keras_config(model), "name", "keras")) {}

  Network read() {
    judge(model_);
    ShapedTensors outputs;
    try {
      if (net_.good()) outputs = read_model(model_, "", std::nullopt);
    } catch (const KerasRefusal& refusal) {
      refuse(refusal.at, refusal.expected);
    }
    return network_.finish(outputs);
  }

 private:
  static std::string name_of(JsonValue layer) { return json_text(keras_config(layer), "name", json_text(layer, "name")); }
  static bool is_model(std::string_view kind) { return kind == "Functional" || kind == "Model" || kind == "Sequential"; }
  static JsonValue layers_of(JsonValue model) {
    const JsonValue config = keras_config(model);
    return json_member(config, "layers").value_or(config);  // Keras 1 and 2.0: config is the list itself
  }
  void refuse(JsonValue at, std::string expected) {
    sim::Mistake mistake = at.mistake(std::move(expected));
    mistake.found = fmt::format("{} (layer \"{}\", a {})", mistake.found, name_, kind_);
    net_.mistakes().add(std::move(mistake));
  }

  /// Names all layers that cannot be read, before any shape.
  void judge(JsonValue model) {
    for (const JsonValue layer : layers_of(model).elements()) {
      kind_ = json_text(layer, "class_name");
      name_ = name_of(layer);
      channels_first_ = channels_first_ || json_text(keras_config(layer), "data_format") == "channels_first";
      const std::string registered = json_text(layer, "registered_name");
      if (is_model(kind_))
        judge(layer);
      else if (!KerasLayers::knows(kind_) || (registered.find('>') != registered.npos && !registered.starts_with("keras")))
        refuse(layer, "a layer that is supported (docs/guide/harness.md)");
    }
  }

  // Models: layers and their calls.

  struct Layer {
    JsonValue json;
    std::string name;
    std::vector<Call> calls;
    int first_call = 0;  ///< the number under which other layers know the first call
    std::vector<std::optional<ShapedTensors>> results;
  };

  /// Results of a model, on `given` inputs where it is a layer of another.
  ShapedTensors read_model(JsonValue model, const std::string& path, const std::optional<ShapedTensors>& given) {
    std::vector<Layer> layers;
    std::vector<Reference> inputs, outputs;
    const bool is_sequence = json_text(model, "class_name") == "Sequential";
    for (const JsonValue json : layers_of(model).elements()) {
      layers.push_back({json, name_of(json)});
      Layer& layer = layers.back();
      if (layer.name.empty()) layer.name = fmt::format("layer{}", layers.size());
      if (const auto nodes = json_member(json, "inbound_nodes"); nodes && !is_sequence)
        for (const JsonValue node : nodes->elements()) collect_node(node, layer.calls.emplace_back());
    }
    if (is_sequence) return read_sequence(model, layers, path, given);
    if (const auto named = json_member(keras_config(model), "input_layers")) collect(*named, inputs);
    if (const auto named = json_member(keras_config(model), "output_layers")) collect(*named, outputs);
    number_calls(layers, outputs);
    for (Layer& layer : layers) {
      if (json_text(layer.json, "class_name") != "InputLayer") continue;
      const auto place = std::ranges::find(inputs, layer.name, &Reference::layer) - inputs.begin();
      if (given && static_cast<std::size_t>(place) >= given->size())
        throw KerasRefusal{layer.json, "an input that the model is called with"};
      layer.calls.resize(1);
      layer.results.resize(1);
      layer.results[0] = given ? ShapedTensors{(*given)[static_cast<std::size_t>(place)]}
                               : read_input(layer.json, layer.json, path + layer.name);
    }
    call_all(layers, path);
    ShapedTensors results;
    if (!net_.good()) return results;
    if (outputs.empty() && !layers.empty()) outputs.push_back({layers.back().name, layers.back().first_call});
    for (const Reference& output : outputs) {
      const auto found = result(layers, output);
      if (!found) throw KerasRefusal{model, fmt::format("its output \"{}\" among its layers", output.layer)};
      results.push_back(*found);
    }
    return results;
  }

  /// Keras counts a model's own inputs as its first call, so that other layers know its first call there by 1.
  static void number_calls(std::vector<Layer>& layers, const std::vector<Reference>& outputs) {
    for (Layer& layer : layers) {
      if (!is_model(json_text(layer.json, "class_name"))) continue;
      layer.first_call = 1;
      const auto look = [&](const std::vector<Reference>& references) {
        for (const Reference& r : references)
          if (r.layer == layer.name && r.call == 0) layer.first_call = 0;
      };
      look(outputs);
      for (const Layer& other : layers)
        for (const Call& call : other.calls) {
          look(call.inputs);
          for (const auto& [key, references] : call.named) look(references);
        }
    }
  }

  static std::optional<ShapedTensor> result(const std::vector<Layer>& layers, const Reference& reference) {
    const auto layer = std::ranges::find(layers, reference.layer, &Layer::name);
    if (layer == layers.end()) return std::nullopt;
    const auto call = static_cast<std::size_t>(reference.call - layer->first_call);
    if (reference.call < layer->first_call || call >= layer->results.size() || !layer->results[call]) return std::nullopt;
    const ShapedTensors& results = *layer->results[call];
    if (static_cast<std::size_t>(reference.result) >= results.size()) return std::nullopt;
    return results[static_cast<std::size_t>(reference.result)];
  }

  /// Calls layers as soon as their inputs are known, until none is left.
  void call_all(std::vector<Layer>& layers, const std::string& path) {
    bool goes_on = true;
    for (Layer& layer : layers) layer.results.resize(layer.calls.size());
    while (goes_on && net_.good()) {
      goes_on = false;
      for (Layer& layer : layers)
        for (std::size_t i = 0; i < layer.calls.size() && net_.good(); ++i) {
          if (layer.results[i]) continue;
          if (const auto given = known(layers, layer.calls[i].inputs); given && take_named(layers, layer.calls[i])) {
            layer.results[i] = call(layer, *given, &layer.calls[i], path);
            goes_on = true;
          }
        }
    }
    for (const Layer& layer : layers)
      for (std::size_t i = 0; i < layer.calls.size() && net_.good(); ++i)
        if (!layer.results[i]) {
          name_ = layer.name;
          kind_ = json_text(layer.json, "class_name");
          refuse(layer.json, "inputs among the results of the other layers");
        }
  }

  static std::optional<ShapedTensors> known(const std::vector<Layer>& layers, const std::vector<Reference>& references) {
    ShapedTensors found;
    for (const Reference& one : references) {
      const auto tensor = result(layers, one);
      if (!tensor) return std::nullopt;
      found.push_back(*tensor);
    }
    return found;
  }

  bool take_named(const std::vector<Layer>& layers, const Call& call) {
    named_.clear();
    for (const auto& [key, references] : call.named) {
      auto found = known(layers, references);
      if (!found) return false;
      named_[key] = std::move(*found);
    }
    return true;
  }

  ShapedTensors read_sequence(JsonValue model, std::vector<Layer>& layers, const std::string& path,
                              const std::optional<ShapedTensors>& given) {
    ShapedTensors current = given.value_or(ShapedTensors{});
    for (Layer& layer : layers) {
      if (!net_.good()) return {};
      if (json_text(layer.json, "class_name") == "InputLayer") {
        if (!given) current = read_input(layer.json, layer.json, path + layer.name);
        continue;
      }
      if (current.empty() && !is_model(json_text(layer.json, "class_name")))
        current = read_input(layer.json, model, path + layer.name + "/input");
      named_.clear();
      current = call(layer, current, nullptr, path);
    }
    return current;
  }

  /// From the layer's shape, or that of the model which begins with it.
  ShapedTensors read_input(JsonValue layer, JsonValue model, const std::string& name) {
    std::optional<JsonValue> shape;
    for (const JsonValue from : {keras_config(layer), keras_config(model)})
      for (const std::string_view key : {"batch_input_shape", "batch_shape", "build_input_shape"})
        if (const auto found = json_member(from, key); found && found->is_array() && !shape) shape = found;
    for (const JsonValue from : {layer, model})
      if (const auto build = json_member(from, "build_config"); build && !shape)
        if (const auto found = json_member(*build, "input_shape"); found && found->is_array()) shape = found;
    Sizes sizes;
    if (shape)
      for (const JsonValue one : shape->elements()) sizes.push_back(json_whole(one));
    if (sizes.size() < 2 || sizes.size() > 4 ||
        std::ranges::any_of(sizes.begin() + 1, sizes.end(), [](int n) { return n < 1; })) {
      kind_ = json_text(layer, "class_name");
      name_ = name_of(layer);
      refuse(shape.value_or(layer),
             "an input of fixed size: [null, height, width, channels], [null, steps, features] or [null, features]");
      return {};
    }
    sizes.erase(sizes.begin());
    if (json_text(layer, "class_name") == "InputLayer") KerasLayers::require_dense_input(layer);
    return {network_.input(name, sizes, natural_shape(sizes, channels_first_))};
  }

  ShapedTensors call(const Layer& layer, const ShapedTensors& given, const Call* call, const std::string& path) {
    if (is_model(json_text(layer.json, "class_name")))
      return read_model(layer.json, path + layer.name + "/", given.empty() ? std::nullopt : std::optional(given));
    name_ = path + layer.name;
    kind_ = json_text(layer.json, "class_name");
    try {
      return layers_.read(layer.json, name_,
                          {given, std::move(named_), call != nullptr ? call->options : std::vector<sim::JsonMember>{}});
    } catch (const KerasRefusal& refusal) {
      refuse(refusal.at, refusal.expected);
    } catch (const sim::InputError& error) {
      refuse(layer.json, error.mistakes().front().expected + ", but found " + error.mistakes().front().found);
    }
    return {};
  }

  JsonValue model_;
  TensorNetwork network_;
  NetworkBuilder& net_ = network_.builder();
  KerasLayers layers_{network_};
  std::string kind_, name_;  ///< of the layer that is read
  std::map<std::string, ShapedTensors> named_;
  bool channels_first_ = false;  ///< some layer of the model reads images so
};

}  // namespace

Network read_keras(JsonValue model) { return KerasReader(model).read(); }

}  // namespace rehearse::traces
