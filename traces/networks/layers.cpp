// Networks as a list of layers of our own: {"name", "layers": [{"name", "type", "inputs": [names of earlier layers], ...}]}. A
// layer without inputs is fed by the one before it.
#include <fmt/format.h>

#include <optional>

#include "sim/io/object_reader.hpp"
#include "sim/io/shown.hpp"
#include "traces/networks/network_builder.hpp"
#include "traces/networks/network_file.hpp"

namespace rehearse::traces {
namespace {

using namespace workloads;
using sim::between;

const std::vector<std::string> kTypes{
    "input",  "conv", "dense",   "batch_norm", "layer_norm", "relu", "gelu", "max_pool", "average_pool", "global_pool", "dropout",
    "concat", "add",  "flatten", "last_step",  "embedding",  "lstm", "gru",  "vanilla",  "attention",    "loss"};

Window read_window(sim::ObjectReader& in, int size, int stride) {
  const int k = static_cast<int>(in.integer("kernel", between(1, 1e4), size));
  return square(k, static_cast<int>(in.integer("stride", between(1, 1e4), stride)),
                static_cast<int>(in.integer("pad", between(0, 1e4), 0)));
}

LayerSpec read_recurrent(sim::ObjectReader& in, Cell cell) {
  return Recurrent{cell, static_cast<int>(in.integer("units", between(1, 1e6))), in.boolean("bidirectional", false)};
}

LayerSpec read_spec(sim::ObjectReader& in, const std::string& type) {
  const auto count = [&](const char* key, std::optional<std::int64_t> fallback = {}) {
    return static_cast<int>(in.integer(key, between(1, 1e8), fallback));
  };
  if (type == "input") return Input{{count("channels", 1), count("height", 1), count("width", 1)}};
  if (type == "conv") {
    const int filters = count("filters");
    const Window window = read_window(in, 3, 1);
    return Conv{filters, window, count("groups", 1), in.boolean("bias", true)};
  }
  if (type == "dense") return Dense{count("units"), in.boolean("bias", true)};
  if (type == "batch_norm") return BatchNorm{};
  if (type == "layer_norm") return LayerNorm{};
  if (type == "relu") return Activation{};
  if (type == "gelu") return Activation{.in_place = false};
  if (type == "max_pool") return Pool{Pooling::max, read_window(in, 2, 2)};
  if (type == "average_pool") return Pool{Pooling::average, read_window(in, 2, 2)};
  if (type == "global_pool") return GlobalPool{};
  if (type == "dropout") return Dropout{};
  if (type == "concat") return Concat{};
  if (type == "add") return Add{};
  if (type == "flatten") return Flatten{};
  if (type == "last_step") return LastStep{};
  if (type == "embedding") return Embedding{count("vocabulary"), count("units")};
  if (type == "lstm") return read_recurrent(in, Cell::lstm);
  if (type == "gru") return read_recurrent(in, Cell::gru);
  if (type == "vanilla") return read_recurrent(in, Cell::vanilla);
  if (type == "attention") return Attention{count("heads", 1)};
  return Loss{};
}

void read_layer(sim::JsonValue value, NetworkBuilder& net, int number) {
  sim::ObjectReader in(value, net.mistakes());
  const std::string type = kTypes[in.choice("type", kTypes)];
  const std::string name = in.text("name", fmt::format("{}{}", type, number));
  std::vector<int> inputs;
  bool known = true;
  if (in.has("inputs")) {
    for (const sim::JsonValue from : in.list("inputs")) {
      const NetworkBuilder::Source* source = from.is_string() ? net.find(std::string(from.text())) : nullptr;
      if (source != nullptr)
        inputs.push_back(source->layer);
      else if (net.good())
        from.refuse("the name of an earlier layer", net.mistakes());
      known = known && source != nullptr;
    }
  } else if (type != "input" && net.network().last() >= 0) {
    inputs.push_back(net.network().last());
  }
  LayerSpec spec = read_spec(in, type);
  in.finish();
  if (!net.good() || !known) return;
  if (inputs.empty() && type != "input") return value.refuse("an input before other layers", net.mistakes());
  try {
    net.name(name, {net.add(name, std::move(spec), std::move(inputs))});
  } catch (const sim::InputError& error) {
    sim::Mistake mistake = value.mistake(error.mistakes().front().expected);
    mistake.found = fmt::format("layer \"{}\" with {}", name, error.mistakes().front().found);
    net.mistakes().add(std::move(mistake));
  }
}

}  // namespace

Network read_layers(sim::JsonValue model) {
  sim::Mistakes mistakes;
  sim::ObjectReader in(model, mistakes);
  NetworkBuilder net(in.text("name", "network"));
  int number = 0;
  for (const sim::JsonValue layer : in.list("layers")) read_layer(layer, net, ++number);
  in.finish();
  mistakes.throw_if_any();
  return net.finish();
}

namespace {

std::string with_window(std::string text, const Window& w) {
  sim::check(w.height == w.width && w.stride_height == w.stride_width && w.pad_height == w.pad_width,
             "square windows in a list of layers");
  return text + fmt::format(R"(, "kernel": {}, "stride": {}, "pad": {})", w.height, w.stride_height, w.pad_height);
}

std::string spec_json(const LayerSpec& spec) {
  const auto type = [](std::string_view name) { return fmt::format(R"("type": "{}")", name); };
  return std::visit(
      Overloaded{[&](const Input& l) {
                   return type("input") + fmt::format(R"(, "channels": {}, "height": {}, "width": {})", l.shape.channels,
                                                      l.shape.height, l.shape.width);
                 },
                 [&](const Conv& l) {
                   const std::string text = fmt::format(R"({}, "filters": {})", type("conv"), l.filters);
                   return with_window(text, l.window) + fmt::format(R"(, "groups": {}, "bias": {})", l.groups, l.bias);
                 },
                 [&](const Dense& l) { return fmt::format(R"({}, "units": {}, "bias": {})", type("dense"), l.units, l.bias); },
                 [&](const Pool& l) { return with_window(type(l.kind == Pooling::max ? "max_pool" : "average_pool"), l.window); },
                 [&](const Embedding& l) {
                   return fmt::format(R"({}, "vocabulary": {}, "units": {})", type("embedding"), l.vocabulary, l.width);
                 },
                 [&](const Recurrent& l) {
                   sim::check(!l.sum_directions, "directions side by side in a list of layers");
                   return fmt::format(R"({}, "units": {}, "bidirectional": {})",
                                      type(l.cell == Cell::lstm  ? "lstm"
                                           : l.cell == Cell::gru ? "gru"
                                                                 : "vanilla"),
                                      l.hidden, l.bidirectional);
                 },
                 [&](const Attention& l) { return fmt::format(R"({}, "heads": {})", type("attention"), l.heads); },
                 [&](const Activation& l) { return type(l.in_place ? "relu" : "gelu"); },
                 [&](const BatchNorm&) { return type("batch_norm"); }, [&](const LayerNorm&) { return type("layer_norm"); },
                 [&](const GlobalPool&) { return type("global_pool"); }, [&](const Dropout&) { return type("dropout"); },
                 [&](const Concat&) { return type("concat"); }, [&](const Add&) { return type("add"); },
                 [&](const Flatten&) { return type("flatten"); }, [&](const LastStep&) { return type("last_step"); },
                 [&](const Loss&) { return type("loss"); },
                 [&](const auto&) -> std::string { sim::fail_check("a layer that a list of layers has"); }},
      spec);
}

}  // namespace

std::string layers_json(const Network& network) {
  std::string text = fmt::format("{{\"name\": {}, \"layers\": [", sim::json_string(network.name));
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    sim::check(layer.shares < 0, "layers with parameters of their own in a list of layers");
    std::vector<std::string> inputs;
    for (const int input : layer.inputs) inputs.push_back(sim::json_string(network.layers[static_cast<std::size_t>(input)].name));
    text += fmt::format("{}\n  {{\"name\": {}, {}", i == 0 ? "" : ",", sim::json_string(layer.name), spec_json(layer.spec));
    text += inputs.empty() ? "}" : fmt::format(", \"inputs\": [{}]}}", fmt::join(inputs, ", "));
  }
  return text + "]}";
}

}  // namespace rehearse::traces
