// A network as Python code that builds it with Keras.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>

#include "deploy/keras.hpp"
#include "deploy/template.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::traces {

namespace {

using namespace workloads;

template <class Spec>
bool is(const Layer& layer) {
  return std::holds_alternative<Spec>(layer.spec);
}

bool has_parameters(const Layer& layer) {
  return is<Conv>(layer) || is<TransposedConv>(layer) || is<Dense>(layer) || is<Embedding>(layer) || is<Recurrent>(layer) ||
         is<BatchNorm>(layer) || is<LayerNorm>(layer);
}

/// A layer and all before it.
void mark_before(const Network& network, int layer, std::vector<bool>& marked) {
  std::vector<int> open{layer};
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    if (marked[i]) continue;
    marked[i] = true;
    open.insert(open.end(), network.layers[i].inputs.begin(), network.layers[i].inputs.end());
  }
}

/// The layers whose outputs are the model's: what losses read, or what nothing reads.
std::vector<int> outputs_of(const Network& network) {
  std::vector<int> outputs;
  std::vector<bool> read(network.layers.size(), false);
  for (const Layer& layer : network.layers) {
    for (const int i : layer.inputs) read[i] = true;
    if (is<Loss>(layer)) outputs.push_back(layer.inputs.at(0));
  }
  if (outputs.empty())
    for (std::size_t i = 0; i < read.size(); ++i)
      if (!read[i]) outputs.push_back(static_cast<int>(i));
  return outputs;
}

Objective objective_of(std::optional<Task> task, Form output) {
  if (task == Task::image_generation) return Objective::adversarial;
  if (task == Task::speech_recognition) return Objective::ctc;
  if (task == Task::question_answering) return Objective::span;
  return output == Form::sequence ? Objective::positions : Objective::classes;
}

/// Writes a network's lines. Layer i's tensor is xi; a layer that others share has its object in li.
class Writer {
 public:
  Writer(const Network& network, std::optional<Task> task) : network_(network), shapes_(infer_shapes(network)) {
    options_.causal = task == Task::language_modelling;
    const std::size_t n = network.layers.size();
    names_.resize(n);
    forms_.resize(n, Form::vector);
    live_.resize(n, false);
    owners_.resize(n, -1);
    for (std::size_t i = 0; i < n; ++i) {
      const Layer& layer = network.layers[i];
      owners_[i] = layer.shares < 0 || !has_parameters(layer) ? static_cast<int>(i) : owners_[layer.shares];
    }
    outputs_ = outputs_of(network);
    for (const int output : outputs_) mark_before(network, output, live_);
    for (std::size_t i = 0; i < n; ++i)
      if (owners_[i] != static_cast<int>(i) && live_[i]) shared_.insert(owners_[i]);
  }

  KerasNetwork write(std::optional<Task> task) {
    for (std::size_t i = 0; i < network_.layers.size(); ++i)
      if (live_[i]) add(static_cast<int>(i));
    mistakes_.throw_if_any();
    result_.objective = objective_of(task, forms_[outputs_.front()]);
    if (result_.objective == Objective::classes && forms_[outputs_.front()] != Form::vector)
      throw sim::InputError({.pointer = network_.name,
                             .expected = "an output that is a vector or a sequence",
                             .found = keras_shape(shapes_[outputs_.front()], forms_[outputs_.front()])});
    std::vector<std::string> outputs;
    for (const int output : outputs_) outputs.push_back(fmt::format("x{}", output));
    result_.model_outputs = fmt::format("[{}]", fmt::join(outputs, ", "));
    result_.model_inputs = fmt::format("[{}]", fmt::join(inputs_, ", "));
    if (uses_blocks_) result_.blocks = "\nimport blocks\n";
    if (result_.objective == Objective::adversarial) split_adversaries();
    return std::move(result_);
  }

 private:
  /// A name that Keras takes, like the layer's own, that no other layer has.
  std::string unique_name(const std::string& wanted) {
    const std::string base = identifier(wanted).substr(0, 80);
    std::string name = base;
    for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
    return name;
  }

  /// Whether the parameters that a layer has are of another one, of the same kind.
  bool is_copy(int i) {
    const Layer &layer = network_.layers[i], &owner = network_.layers[owners_[i]];
    if (owners_[i] == i) return false;
    if (layer.spec.index() == owner.spec.index()) return live_[owners_[i]];
    if (!(is<Dense>(layer) && is<Embedding>(owner)))
      mistakes_.add({.pointer = network_.name + "/" + layer.name,
                     .expected = "parameters of a layer of the same kind, or a dense layer's of an embedding",
                     .found = owner.name});
    return false;
  }

  void line(const std::string& text) { result_.lines += "    " + text + "\n"; }

  void add(int i) {
    const Layer& layer = network_.layers[i];
    if (is<Input>(layer)) return add_input(i);
    const std::string name = names_[i] = unique_name(layer.name);
    std::vector<Tensor> in;
    for (const int input : layer.inputs) in.push_back({fmt::format("x{}", input), shapes_[input], forms_[input]});
    const bool tied = is<Dense>(layer) && owners_[i] != i && is<Embedding>(network_.layers[owners_[i]]);
    LayerCode code;
    if (tied && live_[owners_[i]]) {
      code = {.object = fmt::format("blocks.Tied(l{}, name={})", owners_[i], python_string(name)), .form = in[0].form};
    } else {
      code = layer_code(layer, in, shapes_[i], {.name = python_string(name), .causal = options_.causal});
    }
    uses_blocks_ |= code.object.starts_with("blocks.") || code.input.find("blocks.") != std::string::npos;
    forms_[i] = code.form;
    const std::string input = code.input.empty() ? in[0].name : code.input;
    if (is_copy(i)) {
      line(fmt::format("x{} = l{}({})", i, owners_[i], input));
    } else if (code.object.empty()) {
      line(fmt::format("x{} = {}", i, input));
    } else if (shared_.contains(i)) {
      line(fmt::format("l{} = {}", i, code.object));
      line(fmt::format("x{} = l{}({})", i, i, input));
    } else {
      line(fmt::format("x{} = {}({})", i, code.object, input));
    }
    if (!code.after.empty()) line(fmt::format("x{} = {}(x{})", i, code.after, i));
  }

  void add_input(int i) {
    const Layer& layer = network_.layers[i];
    const bool tokens = std::ranges::any_of(network_.layers, [&](const Layer& reader) {
      return is<Embedding>(reader) && std::ranges::find(reader.inputs, i) != reader.inputs.end();
    });
    const Shape& s = shapes_[i];
    const std::string name = names_[i] = unique_name(layer.name);
    forms_[i] = tokens ? Form::tokens : form_of_input(s);
    line(fmt::format("x{} = keras.Input({}, name={}{})", i, keras_shape(s, forms_[i]), python_string(name),
                     tokens ? ", dtype=\"int32\"" : ""));
    inputs_.push_back(fmt::format("x{}", i));
    result_.inputs.push_back(name);
    result_.images.push_back(forms_[i] == Form::image);
    input_layers_.push_back(i);
  }

  /// The first loss is the discriminator's on what is real: what it reads is data, everything else that comes in is drawn.
  void split_adversaries() {
    std::vector<bool> before(network_.layers.size(), false);
    mark_before(network_, outputs_.front(), before);
    for (std::size_t k = 0; k < input_layers_.size(); ++k)
      if (!before[input_layers_[k]]) result_.noise_inputs.push_back(result_.inputs[k]);
    for (std::size_t i = 0; i < before.size(); ++i)
      if (before[i] && !is<Input>(network_.layers[i])) result_.discriminator.push_back(names_[i]);
  }

  const Network& network_;
  std::vector<Shape> shapes_;
  LayerOptions options_;
  std::vector<std::string> names_;
  std::vector<Form> forms_;
  std::vector<bool> live_;
  std::vector<int> owners_;  ///< whose parameters a layer has: its own index, or that of the first of those who share them
  std::vector<int> outputs_, input_layers_;
  std::set<int> shared_;
  std::set<std::string> taken_;
  std::vector<std::string> inputs_;
  bool uses_blocks_ = false;
  sim::Mistakes mistakes_;
  KerasNetwork result_;
};

}  // namespace

KerasNetwork keras_network(const Network& network, std::optional<Task> task) {
  if (network.only_costs)
    throw sim::InputError({.pointer = "network",
                           .expected = "a model of the zoo, a structure or a list of layers, to write its code",
                           .found = "a file of Keras or ONNX, of which only the costs are read"});
  require_written(network);
  return Writer(network, task).write(task);
}

std::string_view to_string(Objective objective) {
  switch (objective) {
    case Objective::classes:
      return "classes";
    case Objective::positions:
      return "positions";
    case Objective::span:
      return "span";
    case Objective::ctc:
      return "ctc";
    case Objective::adversarial:
      return "adversarial";
  }
  sim::fail_check("unknown objective");
}

}  // namespace rehearse::traces
