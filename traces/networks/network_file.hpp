// Networks from other people's files: Keras's model.to_json(), ONNX, what PyTorch prints of a program, and lists of layers of our
// own (docs/guide/harness.md).
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "sim/io/json.hpp"
#include "sim/step/op_graph.hpp"
#include "workloads/layers/network.hpp"

namespace rehearse::traces {

/// Whether the user names a file, not a model of the zoo: it is there, or has a dot or a slash.
bool names_file(const std::string& text);
/// Whether a file's first character that is no blank opens an object or a list. Throws sim::InputError when it cannot be read.
bool holds_json(const std::string& path);

/// A network's file, or one of our operation graphs.
using NetworkOrGraph = std::variant<workloads::Network, sim::OpGraph>;

/// By what the file holds, plain or compressed with gzip or xz: JSON of Keras (class_name), layers of our own (layers), a
/// structure (cnn, rnn, mlp) or an operation graph (ops); a program as PyTorch prints it; ONNX. A loss is added behind the last
/// layer where there is none. Throws sim::InputError when the file cannot be read, for every layer that is not supported (by name
/// and kind), and for layers that cannot work. Of Keras, ONNX and PyTorch only the costs are read (Network::only_costs).
NetworkOrGraph read_network_or_graph(const std::string& path);
/// Likewise, and an operation graph is refused.
workloads::Network read_network(const std::string& path);

/// Sequential and functional models of Keras 2 and 3, images channels-last.
workloads::Network read_keras(sim::JsonValue model);
/// {"name", "layers": [{"name", "type", "inputs": [names], ...}]}: docs/guide/harness.md has types and keys.
workloads::Network read_layers(sim::JsonValue model);
/// A network as read_layers reads it, a layer a line.
std::string layers_json(const workloads::Network& network);
/// print(torch.export.export(model, (x,))), or print(module) of a module traced by torch.fx with the input's type written behind
/// its name. `file` is named in messages.
workloads::Network read_torch(std::string_view text, const std::string& file);
/// The bytes of a model.onnx; images channels-first. `file` is named in messages.
workloads::Network read_onnx(std::string_view bytes, const std::string& file);

}  // namespace rehearse::traces
