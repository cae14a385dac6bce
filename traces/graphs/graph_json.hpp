// Operation graphs as JSON, our own format (docs/guide/graphs.md): read and written without loss.
#pragma once

#include <string>
#include <vector>

#include "sim/io/json.hpp"
#include "sim/step/op_graph.hpp"

namespace rehearse::traces {

/// Throws sim::InputError with every mistake and its place: JSON that is none, unknown keys, negative costs, no operations, names
/// given twice, inputs that there are not, a cycle. Operations may come in any order; they are sorted if they must be.
sim::OpGraph read_graph(const std::string& path);
sim::OpGraph read_graph(const sim::JsonDocument& document);

/// `file` is the name used in messages.
sim::OpGraph parse_graph(std::string text, std::string file);

/// What parse_graph reads back as an equal graph, when each operation's name is its own.
std::string to_json(const sim::OpGraph& graph);

// The names that kinds and phases of operations have in files.

/// In the order of sim::OpKind and sim::Phase.
inline const std::vector<std::string> kOpKinds{"conv",        "gemm",    "rnn",       "batch_norm", "pool",
                                               "elementwise", "softmax", "embedding", "update",     "variable"};
inline const std::vector<std::string> kPhases{"forward", "backward", "update"};
inline constexpr const char* kGraphFormat = "rehearse-graph-1";

}  // namespace rehearse::traces
