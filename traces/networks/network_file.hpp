// Networks from other people's files: Keras's model.to_json(), ONNX, what PyTorch prints of a program, and lists of layers of our
// own (docs/guide/harness.md).
#pragma once

#include <string>
#include <string_view>

#include "sim/io/json.hpp"
#include "workloads/layers/network.hpp"

namespace rehearse::traces {

/// By what the file holds: ONNX where its name ends in .onnx; PyTorch's where it has a "def forward(self"; else JSON: Keras's
/// (class_name), layers of our own (layers), or a structure (cnn, rnn, mlp). A loss is added behind the last layer where there is
/// none. Throws sim::InputError when the file cannot be read, for every layer that is not supported (by name and kind), and for
/// layers that cannot work. Of Keras, ONNX and PyTorch only the costs are read (Network::only_costs).
workloads::Network read_network(const std::string& path);

/// Sequential and functional models of Keras 2 and 3, images channels-last.
workloads::Network read_keras(sim::JsonValue model);
/// {"name", "layers": [{"name", "type", "inputs": [names], ...}]}: docs/guide/harness.md has types and keys.
workloads::Network read_layers(sim::JsonValue model);
/// A network as read_layers reads it, a layer a line. Windows must be square, and no layer of a kind that those lists do not
/// have.
std::string layers_json(const workloads::Network& network);
/// print(torch.export.export(model, (x,))), or print(module) of a module traced by torch.fx with the input's type written behind
/// its name. `file` is named in messages.
workloads::Network read_torch(std::string_view text, const std::string& file);
/// The bytes of a model.onnx; images channels-first. `file` is named in messages.
workloads::Network read_onnx(std::string_view bytes, const std::string& file);

}  // namespace rehearse::traces
