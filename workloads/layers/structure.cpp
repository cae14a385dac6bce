#include "workloads/layers/structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "sim/base/errors.hpp"
#include "workloads/layers/layer_cost.hpp"

namespace rehearse::workloads {

namespace {

constexpr int kMostLayers = 10'000;

void require_layers(sim::Mistakes& mistakes, std::string_view key, int count) {
  if (count < 0 || count > kMostLayers)
    mistakes.add({.pointer = std::string(key), .expected = fmt::format("0 to {}", kMostLayers), .found = std::to_string(count)});
}

void dense_layers(Network& net, int count, int nodes, int classes) {
  for (int i = 1; i <= count; ++i) {
    net.add(fmt::format("dense{}", i), Dense{nodes});
    net.add(fmt::format("dense{}/relu", i), Activation{});
  }
  net.add("classifier", Dense{classes});
  net.add("loss", Loss{});
}

/// Convolution (batch norm), ReLU; `from` -1: the last layer. Returns the ReLU's index.
int conv_relu(Network& net, const std::string& name, const Conv& conv, bool batch_norm, int from = -1) {
  net.add(name, conv, {from < 0 ? net.last() : from});
  if (batch_norm) net.add(name + "/bn", BatchNorm{});
  return net.add(name + "/relu", Activation{});
}

/// A block in the middle of a network whose last layer has `channels` channels. Returns the channels of its output.
int add_block(Network& net, const std::string& name, const CnnStructure& s, int filters, int channels) {
  const Conv point{filters, square(1), 1, !s.batch_norm}, window{filters, square(s.kernel, 1, s.kernel / 2), 1, !s.batch_norm};
  const int from = net.last();
  if (s.block == Block::plain) {
    conv_relu(net, name, window, s.batch_norm);
    return filters;
  }
  if (s.block == Block::factorised) {
    const int first = conv_relu(net, name + "/a1", point, s.batch_norm, from);
    conv_relu(net, name + "/b1", point, s.batch_norm, from);
    conv_relu(net, name + "/b2", {filters, same(1, s.kernel), 1, !s.batch_norm}, s.batch_norm);
    const int second = conv_relu(net, name + "/b3", {filters, same(s.kernel, 1), 1, !s.batch_norm}, s.batch_norm);
    net.add(name + "/c0", Pool{Pooling::average, same(3, 3)}, {from});
    const int third = conv_relu(net, name + "/c1", point, s.batch_norm);
    net.add(name + "/concat", Concat{}, {first, second, third});
    return 3 * filters;
  }
  const bool bottleneck = s.block == Block::bottleneck;
  const int out = bottleneck ? 4 * filters : filters;
  conv_relu(net, name + "/a", bottleneck ? point : window, s.batch_norm);
  if (bottleneck) conv_relu(net, name + "/b", window, s.batch_norm);
  int last = net.add(name + "/c", Conv{out, bottleneck ? square(1) : window.window, 1, !s.batch_norm});
  if (s.batch_norm) last = net.add(name + "/c/bn", BatchNorm{});
  const int shortcut = channels == out ? from : net.add(name + "/shortcut", Conv{out, square(1), 1, !s.batch_norm}, {from});
  net.add(name + "/add", Add{}, {last, shortcut});
  net.add(name + "/relu", Activation{});
  return out;
}

}  // namespace

Network make_network(const CnnStructure& s) {
  sim::Mistakes mistakes;
  require_layers(mistakes, "conv_layers", s.conv_layers);
  require_layers(mistakes, "dense_layers", s.dense_layers);
  if (s.layers_per_pool < 1)
    mistakes.add({.pointer = "layers_per_pool", .expected = "at least 1", .found = std::to_string(s.layers_per_pool)});
  if (s.block != Block::plain && s.kernel % 2 == 0)
    mistakes.add({.pointer = "kernel", .expected = "an odd number, for blocks with branches", .found = std::to_string(s.kernel)});
  mistakes.throw_if_any();
  Network net{"cnn", {}};
  net.add("input", Input{{s.channels, s.image_height, s.image_width}});
  int height = s.image_height, width = s.image_width, widening = 1, channels = s.channels;
  for (int i = 1; i <= s.conv_layers; ++i) {
    const std::string name = fmt::format("conv{}", i);
    channels = add_block(net, name, s, s.filters * widening, channels);
    height += 2 * (s.kernel / 2) - s.kernel + 1;  // one less for an even window
    width += 2 * (s.kernel / 2) - s.kernel + 1;
    if (i % s.layers_per_pool != 0 || height < 2 || width < 2) continue;
    net.add(name + "/pool", Pool{Pooling::max, square(2, 2)});
    height /= 2;
    width /= 2;
    widening = std::min(8, 2 * widening);
  }
  net.add("flatten", Flatten{});
  dense_layers(net, s.dense_layers, s.nodes, s.classes);
  return net;
}

Network make_network(const RnnStructure& s) {
  sim::Mistakes mistakes;
  require_layers(mistakes, "layers", s.layers);
  mistakes.throw_if_any();
  Network net{"rnn", {}};
  const bool tokens = s.vocabulary > 0;
  net.add("input", Input{{tokens ? 1 : s.features, s.steps, 1}});
  if (tokens) net.add("embedding", Embedding{s.vocabulary, s.features});
  for (int i = 1; i <= s.layers; ++i) net.add(fmt::format("recurrent{}", i), Recurrent{s.cell, s.hidden, s.bidirectional});
  if (!s.classify_every_step) net.add("last_step", LastStep{});
  dense_layers(net, 0, 0, s.classes);
  return net;
}

Network make_network(const TranslationStructure& s) {
  sim::Mistakes mistakes;
  require_layers(mistakes, "layers", s.layers);
  if (s.layers < 2) mistakes.add({.pointer = "layers", .expected = "at least 2", .found = std::to_string(s.layers)});
  mistakes.throw_if_any();
  Network net{"translation", {}};
  net.add("source", Input{{1, s.source_steps, 1}});
  const int embedding = net.add("source/embedding", Embedding{s.vocabulary, s.hidden});
  net.add("encoder1", Recurrent{Cell::lstm, s.hidden, true});
  net.add("encoder1/dropout", Dropout{});
  int memory = net.add("encoder2", Recurrent{Cell::lstm, s.hidden});
  for (int i = 3; i <= s.layers; ++i) {
    const std::string name = fmt::format("encoder{}", i);
    net.add(name + "/dropout", Dropout{}, {memory});
    const int lstm = net.add(name, Recurrent{Cell::lstm, s.hidden});
    memory = net.add(name + "/add", Add{}, {memory, lstm});
  }

  net.add("target", Input{{1, s.target_steps, 1}});
  net.add("target/embedding", Embedding{s.vocabulary, s.hidden});
  net.layers.back().shares = embedding;
  int state = net.add("decoder1", Recurrent{Cell::lstm, s.hidden});
  const int query = net.add("attention/query", Dense{s.hidden, false}, {state});
  const int key = net.add("attention/key", Dense{s.hidden, false}, {memory});
  const int context = net.add("attention", Attention{1}, {query, key, memory});
  for (int i = 2; i <= s.layers; ++i) {
    const std::string name = fmt::format("decoder{}", i);
    const int dropped = net.add(name + "/dropout", Dropout{}, {state});
    net.add(name + "/concat", Concat{}, {dropped, context});
    const int lstm = net.add(name, Recurrent{Cell::lstm, s.hidden});
    state = i == 2 ? lstm : net.add(name + "/add", Add{}, {state, lstm});
  }
  net.add("classifier", Dense{s.vocabulary}, {state});
  net.add("loss", Loss{});
  return net;
}

Network make_network(const MlpStructure& s) {
  sim::Mistakes mistakes;
  require_layers(mistakes, "layers", s.layers);
  mistakes.throw_if_any();
  Network net{"mlp", {}};
  net.add("input", Input{{s.inputs, 1, 1}});
  dense_layers(net, s.layers, s.nodes, s.classes);
  return net;
}

namespace {

constexpr double kGpuTile = 64;  // columns of a product that a GPU's multiprocessor takes at once

void add_layer(StructureFeatures& f, const Conv& conv, double flops, const Shape&) {
  ++f.conv_layers;
  f.filters += conv.filters;
  f.kernel_side += std::sqrt(conv.window.area());
  double& of_kind = conv.window.area() == 1 ? f.pointwise_flops : conv.window.area() == 9 ? f.square3_flops : f.wide_flops;
  of_kind += flops;
  const double columns = static_cast<double>(conv.filters) / conv.groups;
  f.padded_flops += flops * std::ceil(columns / kGpuTile) * kGpuTile / columns;
}

void add_layer(StructureFeatures& f, const TransposedConv& conv, double flops, const Shape& in) {
  add_layer(f, Conv{conv.filters, conv.window}, flops, in);
}

void add_layer(StructureFeatures& f, const Dense& dense, double flops, const Shape&) {
  ++f.dense_layers;
  f.dense_nodes += dense.units;
  f.dense_flops += flops;
}

void add_layer(StructureFeatures& f, const Recurrent& recurrent, double flops, const Shape& in) {
  const int directions = recurrent.bidirectional ? 2 : 1;
  ++f.recurrent_layers;
  f.hidden += directions * recurrent.hidden;
  f.recurrent_steps += directions * in.positions();
  f.recurrent_flops += flops;
}

template <class Other>
void add_layer(StructureFeatures& f, const Other&, double flops, const Shape&) {
  ++f.other_layers;
  f.dense_flops += flops;  // attention's products
}

}  // namespace

StructureFeatures structure_features(const Network& network) {
  const std::vector<Shape> shapes = infer_shapes(network);
  StructureFeatures f;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    if (const auto* input = std::get_if<Input>(&layer.spec)) {
      f.input_elements += input->shape.elements();
      continue;
    }
    std::vector<Shape> in;
    for (const int from : layer.inputs) in.push_back(shapes[static_cast<std::size_t>(from)]);
    const LayerCost cost = layer_cost(layer.spec, in, shapes[i]);
    const double flops = 2 * cost.multiply_adds(), elements = shapes[i].elements();
    std::visit([&](const auto& spec) { add_layer(f, spec, flops, in.front()); }, layer.spec);
    f.root_flops += std::sqrt(flops);
    f.elements += elements;
    if (layer.shares < 0) f.parameters += cost.parameters();
    if (std::holds_alternative<Conv>(layer.spec) || std::holds_alternative<TransposedConv>(layer.spec))
      f.conv_elements += elements;
    if (std::holds_alternative<Recurrent>(layer.spec)) f.recurrent_reads += cost.parameters() * in.front().positions();
  }
  if (f.conv_layers > 0) f.kernel_side /= f.conv_layers;
  return f;
}

std::string_view kind_name(const LayerSpec& spec) {
  constexpr std::array<std::string_view, std::variant_size_v<LayerSpec>> names{
      "Input",      "Conv",      "TransposedConv",    "Dense",         "BatchNorm", "LayerNorm",  "Activation", "Pool",
      "GlobalPool", "Upsample",  "LocalResponseNorm", "Dropout",       "Resize",    "Slice",      "Reduce",     "Rearrange",
      "Concat",     "Add",       "Multiply",          "MatrixProduct", "Flatten",   "ToSequence", "LastStep",   "Detach",
      "Embedding",  "Recurrent", "Attention",         "Loss"};
  return names[spec.index()];
}

}  // namespace rehearse::workloads
