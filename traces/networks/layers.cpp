// Networks as a list of layers of our own: {"name", "layers": [{"name", "type", "inputs": [names of earlier layers], ...}]}. A
// layer without inputs is fed by the one before it.
#include <fmt/format.h>

#include <optional>
#include <tuple>

#include "sim/io/object_reader.hpp"
#include "sim/io/shown.hpp"
#include "traces/networks/network_builder.hpp"
#include "traces/networks/network_file.hpp"

namespace rehearse::traces {
namespace {

using namespace workloads;
using sim::between;

const std::vector<std::string> kTypes{"input",
                                      "conv",
                                      "transposed_conv",
                                      "dense",
                                      "batch_norm",
                                      "layer_norm",
                                      "relu",
                                      "gelu",
                                      "max_pool",
                                      "average_pool",
                                      "global_pool",
                                      "upsample",
                                      "local_response_norm",
                                      "dropout",
                                      "resize",
                                      "slice",
                                      "reduce",
                                      "reshape",
                                      "transpose",
                                      "concat",
                                      "add",
                                      "multiply",
                                      "product",
                                      "flatten",
                                      "to_sequence",
                                      "last_step",
                                      "detach",
                                      "embedding",
                                      "lstm",
                                      "gru",
                                      "vanilla",
                                      "attention",
                                      "loss"};
const std::vector<std::string> kAxes{"channels", "height", "width"};  // in Axis's order

/// A number for both sides, or [height, width].
std::pair<int, int> read_sides(sim::ObjectReader& in, std::string_view key, const sim::NumberRange& range, int fallback,
                               sim::Mistakes& mistakes) {
  const auto value = in.child(key);
  if (!value) return {fallback, fallback};
  const auto side = [&](sim::JsonValue one) { return static_cast<int>(read_integer(one, range, mistakes)); };
  if (!value->is_array()) return {side(*value), side(*value)};
  std::vector<int> sides;
  for (const sim::JsonValue one : value->elements()) sides.push_back(side(one));
  if (sides.size() == 2) return {sides[0], sides[1]};
  value->refuse("a whole number, or a list of height and width", mistakes);
  return {fallback, fallback};
}

Window read_window(sim::ObjectReader& in, int size, int stride, sim::Mistakes& mistakes) {
  Window w;
  std::tie(w.height, w.width) = read_sides(in, "kernel", between(1, 1e4), size, mistakes);
  std::tie(w.stride_height, w.stride_width) = read_sides(in, "stride", between(1, 1e4), stride, mistakes);
  std::tie(w.pad_height, w.pad_width) = read_sides(in, "pad", between(0, 1e4), 0, mistakes);
  std::tie(w.dilation_height, w.dilation_width) = read_sides(in, "dilation", between(1, 1e4), 1, mistakes);
  std::tie(w.end_height, w.end_width) = read_sides(in, "end", between(-1e4, 1e4), 0, mistakes);
  return w;
}

LayerSpec read_recurrent(sim::ObjectReader& in, Cell cell) {
  return Recurrent{cell,
                   static_cast<int>(in.integer("units", between(1, 1e6))),
                   in.boolean("bidirectional", false),
                   in.boolean("sum_directions", false),
                   static_cast<int>(in.integer("biases", between(0, 2), 1)),
                   static_cast<int>(in.integer("projection", between(0, 1e6), 0))};
}

LayerSpec read_spec(sim::ObjectReader& in, const std::string& type, sim::Mistakes& mistakes) {
  const auto count = [&](const char* key, std::optional<std::int64_t> fallback = {}) {
    return static_cast<int>(in.integer(key, between(1, 1e8), fallback));
  };
  const auto shape = [&] {
    const int channels = count("channels", 1), height = count("height", 1);
    return Shape{channels, height, count("width", 1)};
  };
  const auto pool = [&](Pooling kind) { return Pool{kind, read_window(in, 2, 2, mistakes)}; };
  if (type == "input") return Input{shape()};
  if (type == "conv" || type == "transposed_conv") {
    const int filters = count("filters"), groups = count("groups", 1);
    const bool bias = in.boolean("bias", true);
    const Window window = read_window(in, 3, 1, mistakes);
    if (type == "conv") return Conv{filters, window, groups, bias};
    return TransposedConv{filters, window, bias, groups};
  }
  if (type == "dense") return Dense{count("units"), in.boolean("bias", true)};
  if (type == "batch_norm") return BatchNorm{in.boolean("scale", true), in.boolean("shift", true)};
  if (type == "layer_norm") return LayerNorm{in.boolean("scale", true), in.boolean("shift", true)};
  if (type == "relu") return Activation{};
  if (type == "gelu") return Activation{.in_place = false};
  if (type == "max_pool") return pool(Pooling::max);
  if (type == "average_pool") return pool(Pooling::average);
  if (type == "global_pool") return GlobalPool{};
  if (type == "upsample") return Upsample{count("factor", 2)};
  if (type == "local_response_norm") return LocalResponseNorm{count("size", 5)};
  if (type == "dropout") return Dropout{};
  if (type == "resize") return Resize{shape()};
  if (type == "slice") return Slice{shape()};
  if (type == "reduce") return Reduce{shape()};
  if (type == "reshape" || type == "transpose") return Rearrange{shape(), type == "transpose"};
  if (type == "concat") return Concat{static_cast<Axis>(in.choice("axis", kAxes, 0))};
  if (type == "add") return Add{};
  if (type == "multiply") return Multiply{};
  if (type == "product") return MatrixProduct{};
  if (type == "flatten") return Flatten{};
  if (type == "to_sequence") return ToSequence{};
  if (type == "last_step") return LastStep{};
  if (type == "detach") return Detach{};
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
  const auto earlier = [&](sim::JsonValue from) {
    const auto layer = from.is_string() ? net.find(std::string(from.text())) : std::nullopt;
    if (!layer && net.good()) from.refuse("the name of an earlier layer", net.mistakes());
    known = known && layer;
    return layer.value_or(-1);
  };
  if (in.has("inputs")) {
    for (const sim::JsonValue from : in.list("inputs")) inputs.push_back(earlier(from));
  } else if (type != "input" && net.network().last() >= 0) {
    inputs.push_back(net.network().last());
  }
  int shares = -1;
  if (const auto owner = in.child("shares")) shares = earlier(*owner);
  LayerSpec spec = read_spec(in, type, net.mistakes());
  in.finish();
  if (!net.good() || !known) return;
  if (inputs.empty() && type != "input") return value.refuse("an input before other layers", net.mistakes());
  try {
    net.name(name, net.add(name, std::move(spec), std::move(inputs), shares));
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
  const bool only_costs = in.boolean("only_costs", false);
  in.finish();
  mistakes.throw_if_any();
  Network network = net.finish();
  network.only_costs = only_costs;
  return network;
}

namespace {

std::string with_window(std::string text, const Window& w) {
  const auto add = [&](std::string_view key, int height, int width) {
    text += fmt::format(R"(, "{}": )", key) + (height == width ? std::to_string(height) : fmt::format("[{}, {}]", height, width));
  };
  add("kernel", w.height, w.width);
  add("stride", w.stride_height, w.stride_width);
  add("pad", w.pad_height, w.pad_width);
  if (w.is_dilated()) add("dilation", w.dilation_height, w.dilation_width);
  if (w.end_height != 0 || w.end_width != 0) add("end", w.end_height, w.end_width);
  return text;
}

std::string spec_json(const LayerSpec& spec) {
  const auto type = [](std::string_view name) { return fmt::format(R"("type": "{}")", name); };
  const auto shaped = [&](std::string_view name, const Shape& s) {
    return type(name) + fmt::format(R"(, "channels": {}, "height": {}, "width": {})", s.channels, s.height, s.width);
  };
  const auto trained = [](std::string text, const auto& norm) {
    return text + (norm.scale ? "" : R"(, "scale": false)") + (norm.shift ? "" : R"(, "shift": false)");
  };
  return std::visit(
      Overloaded{[&](const Input& l) { return shaped("input", l.shape); },
                 [&](const Resize& l) { return shaped("resize", l.shape); },
                 [&](const Slice& l) { return shaped("slice", l.shape); },
                 [&](const Reduce& l) { return shaped("reduce", l.shape); },
                 [&](const Rearrange& l) { return shaped(l.moves ? "transpose" : "reshape", l.shape); },
                 [&](const TransposedConv& l) {
                   const std::string text = fmt::format(R"({}, "filters": {})", type("transposed_conv"), l.filters);
                   return with_window(text, l.window) + fmt::format(R"(, "groups": {}, "bias": {})", l.groups, l.bias);
                 },
                 [&](const Upsample& l) { return type("upsample") + fmt::format(R"(, "factor": {})", l.factor); },
                 [&](const LocalResponseNorm& l) { return type("local_response_norm") + fmt::format(R"(, "size": {})", l.size); },
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
                   return fmt::format(R"({}, "units": {}, "bidirectional": {})",
                                      type(l.cell == Cell::lstm  ? "lstm"
                                           : l.cell == Cell::gru ? "gru"
                                                                 : "vanilla"),
                                      l.hidden, l.bidirectional) +
                          (l.sum_directions ? R"(, "sum_directions": true)" : "") +
                          (l.biases != 1 ? fmt::format(R"(, "biases": {})", l.biases) : "") +
                          (l.projection != 0 ? fmt::format(R"(, "projection": {})", l.projection) : "");
                 },
                 [&](const Attention& l) { return fmt::format(R"({}, "heads": {})", type("attention"), l.heads); },
                 [&](const Activation& l) { return type(l.in_place ? "relu" : "gelu"); },
                 [&](const BatchNorm& l) { return trained(type("batch_norm"), l); },
                 [&](const LayerNorm& l) { return trained(type("layer_norm"), l); },
                 [&](const GlobalPool&) { return type("global_pool"); },
                 [&](const Dropout&) { return type("dropout"); },
                 [&](const Concat& l) {
                   return type("concat") + (l.axis == Axis::channels
                                                ? ""
                                                : fmt::format(R"(, "axis": "{}")", kAxes[static_cast<std::size_t>(l.axis)]));
                 },
                 [&](const Add&) { return type("add"); },
                 [&](const Multiply&) { return type("multiply"); },
                 [&](const MatrixProduct&) { return type("product"); },
                 [&](const ToSequence&) { return type("to_sequence"); },
                 [&](const Detach&) { return type("detach"); },
                 [&](const Flatten&) { return type("flatten"); },
                 [&](const LastStep&) { return type("last_step"); },
                 [&](const Loss&) { return type("loss"); }},
      spec);
}

}  // namespace

std::string layers_json(const Network& network) {
  std::string text = fmt::format("{{\"name\": {}, {}\"layers\": [", sim::json_string(network.name),
                                 network.only_costs ? "\"only_costs\": true, " : "");
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    std::vector<std::string> inputs;
    for (const int input : layer.inputs) inputs.push_back(sim::json_string(network.layers[static_cast<std::size_t>(input)].name));
    text += fmt::format("{}\n  {{\"name\": {}, {}", i == 0 ? "" : ",", sim::json_string(layer.name), spec_json(layer.spec));
    if (layer.shares >= 0)
      text += fmt::format(", \"shares\": {}", sim::json_string(network.layers[static_cast<std::size_t>(layer.shares)].name));
    text += inputs.empty() ? "}" : fmt::format(", \"inputs\": [{}]}}", fmt::join(inputs, ", "));
  }
  return text + "]}";
}

}  // namespace rehearse::traces
