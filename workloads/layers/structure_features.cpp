#include "workloads/layers/structure_features.hpp"

#include <array>
#include <cmath>

#include "workloads/layers/layer_cost.hpp"

namespace rehearse::workloads {
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

double matrix_flops(const LayerCost& cost) {
  double sum = 0;
  for (const LayerOp& one : cost.forward)
    if (one.op.kind == sim::OpKind::conv || one.op.kind == sim::OpKind::gemm || one.op.kind == sim::OpKind::rnn)
      sum += one.op.flops.per_sample;
  return sum;
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
    const double flops = matrix_flops(cost), elements = shapes[i].elements();
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
  constexpr std::array<std::string_view, std::variant_size_v<LayerSpec>> names{"Input",
                                                                               "Conv",
                                                                               "TransposedConv",
                                                                               "Dense",
                                                                               "BatchNorm",
                                                                               "LayerNorm",
                                                                               "Activation",
                                                                               "Pool",
                                                                               "GlobalPool",
                                                                               "LocalResponseNorm",
                                                                               "Dropout",
                                                                               "Concat",
                                                                               "Add",
                                                                               "Flatten",
                                                                               "ToSequence",
                                                                               "LastStep",
                                                                               "Detach",
                                                                               "Embedding",
                                                                               "Recurrent",
                                                                               "Attention",
                                                                               "Loss"};
  return names[spec.index()];
}

}  // namespace rehearse::workloads
