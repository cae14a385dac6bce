// Networks as Keras code.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/layers/network.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::traces {

/// What a tensor is to Keras, whose layers tell them apart by the number of dimensions.
enum class Form { image, sequence, vector, tokens };

struct Tensor {
  std::string name;  ///< of its variable
  workloads::Shape shape;
  Form form = Form::vector;
};

struct LayerOptions {
  std::string name = {};  ///< a Python literal
  bool causal = false;    ///< attention sees no later position
};

struct LayerCode {
  std::string object = {};  ///< makes the layer; empty: the input is the output
  std::string input = {};   ///< what it is called with; empty: its first input as it is
  std::string after = {};   ///< makes a layer that the output goes through; empty: none
  Form form = Form::vector;
};

/// An input's form, where nothing looks its numbers up.
Form form_of_input(const workloads::Shape& shape);
/// A Python tuple.
std::string keras_shape(const workloads::Shape& shape, Form form);

/// Throws sim::InputError for layers that no code is written of: those of kinds that only files of networks have, dilated
/// windows, and zeros on one side alone.
void require_written(const workloads::Network& network);

/// A layer that is neither Input nor Loss. `out`: the shape of its output.
LayerCode layer_code(const workloads::Layer& layer, std::span<const Tensor> in, const workloads::Shape& out,
                     const LayerOptions& options);

/// What a training minimises. Without a task it follows from the output: a label for each position of a sequence, else one.
enum class Objective { classes, positions, span, ctc, adversarial };

struct KerasNetwork {
  Objective objective = Objective::classes;
  std::string blocks;                      ///< whether anything of templates/blocks.py is used, its import; else empty
  std::string lines;                       ///< of the function's body
  std::vector<std::string> inputs;         ///< names of the model's inputs, in the order of the layers
  std::vector<std::string> noise_inputs;   ///< of these, those that an adversarial training draws
  std::vector<bool> images;                ///< of the inputs, those with three dimensions
  std::vector<std::string> discriminator;  ///< names of the layers with parameters before the first loss, when adversarial
  std::string model_inputs, model_outputs;
};

/// Layers that lead to no loss are left out; without a loss those that feed nothing are the outputs. What a description does not
/// say is the publications': an activation is what the last word of its name says (relu, leaky_relu, clipped_relu, tanh, sigmoid,
/// gelu, silu), else ReLU, or GELU when it is not in place; an embedding whose name ends in "positions" or "segments" looks up
/// those of the tokens; attention of a language model is causal. Throws sim::InputError for networks that only count costs, for
/// parameters shared between layers that cannot share them, and for shapes that do not fit (workloads/layers/network.hpp).
KerasNetwork keras_network(const workloads::Network& network, std::optional<workloads::Task> task);

std::string_view to_string(Objective objective);

}  // namespace rehearse::traces
