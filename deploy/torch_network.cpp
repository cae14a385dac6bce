#include "deploy/torch_network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "deploy/keras.hpp"
#include "deploy/template.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::traces {

namespace {

using namespace workloads;

const char* torch_bool(bool value) { return value ? "True" : "False"; }

std::string torch_window(const Window& w) {
  return fmt::format("\"window\": ({}, {}), \"stride\": ({}, {}), \"pad\": ({}, {})", w.height, w.width, w.stride_height,
                     w.stride_width, w.pad_height, w.pad_width);
}

/// The kind as templates/torch/network.py calls it, and its figures, inner part of a Python dictionary.
struct TorchKind {
  std::string kind, figures;
};

TorchKind torch_kind(const LayerSpec& spec, bool causal) {
  return std::visit(
      Overloaded{
          [](const Input&) {
            return TorchKind{"input", ""};
          },
          [](const Conv& c) {
            return TorchKind{
                "conv", fmt::format("{}, \"groups\": {}, \"bias\": {}", torch_window(c.window), c.groups, torch_bool(c.bias))};
          },
          [](const TransposedConv& c) {
            return TorchKind{"transposed_conv", fmt::format("{}, \"bias\": {}", torch_window(c.window), torch_bool(c.bias))};
          },
          [](const Dense& d) {
            return TorchKind{"dense", fmt::format("\"bias\": {}", torch_bool(d.bias))};
          },
          [](const BatchNorm&) {
            return TorchKind{"batch_norm", ""};
          },
          [](const LayerNorm&) {
            return TorchKind{"layer_norm", ""};
          },
          [](const Activation& a) {
            return TorchKind{"activation", fmt::format("\"in_place\": {}", torch_bool(a.in_place))};
          },
          [](const Pool& p) {
            return TorchKind{"pool", fmt::format("\"pooling\": \"{}\", {}", p.kind == Pooling::max ? "max" : "average",
                                                 torch_window(p.window))};
          },
          [](const GlobalPool&) {
            return TorchKind{"global_pool", ""};
          },
          [](const Upsample& u) {
            return TorchKind{"upsample", fmt::format("\"factor\": {}", u.factor)};
          },
          [](const LocalResponseNorm& n) {
            return TorchKind{"local_response_norm", fmt::format("\"size\": {}", n.size)};
          },
          [](const Dropout&) {
            return TorchKind{"dropout", ""};
          },
          [](const Concat&) {
            return TorchKind{"concat", ""};
          },
          [](const Add&) {
            return TorchKind{"add", ""};
          },
          [](const Flatten&) {
            return TorchKind{"flatten", ""};
          },
          [](const ToSequence&) {
            return TorchKind{"to_sequence", ""};
          },
          [](const LastStep&) {
            return TorchKind{"last_step", ""};
          },
          [](const Detach&) {
            return TorchKind{"detach", ""};
          },
          [](const Embedding& e) {
            return TorchKind{"embedding", fmt::format("\"vocabulary\": {}, \"width\": {}", e.vocabulary, e.width)};
          },
          [](const Recurrent& r) {
            return TorchKind{"recurrent",
                             fmt::format("\"cell\": \"{}\", \"hidden\": {}, \"bidirectional\": {}, \"sum\": {}",
                                         r.cell == Cell::lstm  ? "lstm"
                                         : r.cell == Cell::gru ? "gru"
                                                               : "vanilla",
                                         r.hidden, torch_bool(r.bidirectional), torch_bool(r.bidirectional && r.sum_directions))};
          },
          [&](const Attention& a) {
            return TorchKind{"attention", fmt::format("\"heads\": {}, \"causal\": {}", a.heads, torch_bool(causal))};
          },
          [](const Loss&) {
            return TorchKind{"loss", ""};
          },
          [](const auto&) -> TorchKind { sim::fail_check("a layer that PyTorch code has no line for"); }},
      spec);
}

[[noreturn]] void refuse_torch(const Network& network, const char* expected, std::string found) {
  throw sim::InputError({.file = network.name, .pointer = "network", .expected = expected, .found = std::move(found)});
}

}  // namespace

TorchNetwork torch_network(const Network& network, std::optional<Task> task) {
  if (network.only_costs)
    refuse_torch(network,
                 "a network whose layers are known, not only their costs (a model of the zoo, a structure, a list of layers)",
                 "a file of Keras or ONNX");
  if (task == Task::speech_recognition || task == Task::question_answering || task == Task::image_generation)
    refuse_torch(network, "a classifier or a language model; the Keras export writes this one (--framework keras)",
                 std::string(to_string(*task)));
  require_written(network);
  const std::vector<Shape> shapes = infer_shapes(network);
  std::vector<int> losses;
  for (std::size_t i = 0; i < network.layers.size(); ++i)
    if (std::holds_alternative<Loss>(network.layers[i].spec)) losses.push_back(static_cast<int>(i));
  if (losses.size() != 1)
    refuse_torch(network, "one loss; the Keras export writes others (--framework keras)",
                 fmt::format("{} losses", losses.size()));
  TorchNetwork torch;
  torch.output = network.layers[static_cast<std::size_t>(losses[0])].inputs.at(0);
  const Shape& out = shapes[static_cast<std::size_t>(torch.output)];
  torch.positions = form_of_input(out) == Form::sequence;
  torch.classes = out.channels;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    if (std::holds_alternative<Loss>(layer.spec)) continue;
    const TorchKind kind = torch_kind(layer.spec, task == Task::language_modelling);
    const std::string shares =
        layer.shares < 0 ? "" : fmt::format("{}\"shares\": {}", kind.figures.empty() ? "" : ", ", layer.shares);
    torch.lines +=
        fmt::format("    ({}, \"{}\", [{}], ({}, {}, {}), {{{}{}}}),\n", python_string(layer.name), kind.kind,
                    fmt::join(layer.inputs, ", "), shapes[i].channels, shapes[i].height, shapes[i].width, kind.figures, shares);
    if (!std::holds_alternative<Input>(layer.spec)) continue;
    const bool is_looked_up = std::ranges::any_of(network.layers, [&](const Layer& other) {
      return std::holds_alternative<Embedding>(other.spec) &&
             std::ranges::find(other.inputs, static_cast<int>(i)) != other.inputs.end();
    });
    const Form form = form_of_input(shapes[i]);
    torch.inputs += fmt::format("{}({}, \"{}\")", torch.inputs.empty() ? "" : ", ", i,
                                is_looked_up             ? "tokens"
                                : form == Form::image    ? "image"
                                : form == Form::sequence ? "sequence"
                                                         : "vector");
  }
  return torch;
}

}  // namespace rehearse::traces
