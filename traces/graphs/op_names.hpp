// The names that kinds and phases of operations have in files.
#pragma once

#include <string>
#include <vector>

namespace rehearse::traces {

/// In the order of sim::OpKind and sim::Phase.
inline const std::vector<std::string> kOpKinds{"conv",        "gemm",    "rnn",       "batch_norm", "pool",
                                               "elementwise", "softmax", "embedding", "update",     "variable"};
inline const std::vector<std::string> kPhases{"forward", "backward", "update"};
inline constexpr const char* kGraphFormat = "rehearse-graph-1";

}  // namespace rehearse::traces
