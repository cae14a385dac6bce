// What an operation graph says by itself, before anything is placed: the longest way through it, and how long tensors live.
#pragma once

#include <span>
#include <vector>

#include "sim/step/op_graph.hpp"

namespace rehearse::sim {

struct LongestPath {
  double length = 0;     ///< in the durations' unit
  std::vector<int> ops;  ///< from first to last; of equally long paths the one of smaller indices
};

/// `durations`: one for each operation. No placement is faster than the longest path, whatever the number of devices.
LongestPath longest_path(const OpGraph& graph, std::span<const double> durations);

/// For each operation the last one, in the graph's order, that reads what it made; itself when nobody does.
std::vector<int> last_readers(const OpGraph& graph);

/// The most bytes of tensors alive at once when the operations run in the graph's order at this batch: each from its producer's
/// start to its last reader's end. Equal tensors of one producer count once; gradients and parameters, which do not grow with
/// the batch, are no part of it.
double peak_tensor_bytes(const OpGraph& graph, double batch);

}  // namespace rehearse::sim
