// A network as Python code that builds it with Keras.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/layers/network.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::traces {

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
