// The operation graph of one training step of one replica, symbolic in the batch size b.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rehearse::sim {

enum class OpKind : std::uint8_t { conv, gemm, rnn, batch_norm, pool, elementwise, softmax, embedding, update, variable };
enum class Phase : std::uint8_t { forward, backward, update };

/// A quantity that grows linearly with the batch: fixed + per_sample * b.
struct Affine {
  double fixed = 0;
  double per_sample = 0;
  double at(double batch) const { return fixed + per_sample * batch; }
};

/// The matrix product (M x K) times (K x N) that a conv, gemm or rnn operation amounts to. M, N, K of one repeat.
struct MatrixShape {
  Affine m, n, k;
};

/// A faster way to a convolution's result: equal products side by side, between transforms of the data.
struct FastForm {
  MatrixShape matrix;  ///< of one product
  double products = 1;
  double relative_efficiency = 1;  ///< as an operation's
  Affine transform_bytes;          ///< that the transforms move; 0 when they are part of the products
};

/// One operation. A recurrent layer that is not unrolled is `repeats` products one after the other. A `variable` holds parameters
/// that several operations read: it computes nothing, and hands out its parameters without a copy of its own.
struct Op {
  std::string name;
  OpKind kind = OpKind::elementwise;
  Phase phase = Phase::forward;
  int layer = 0;       ///< index of the layer that it comes from
  int step = 0;        ///< time step of an unrolled layer, from 0; those of a second direction come behind all of the first's
  Affine flops;        ///< FLOPs of all repeats; a multiply-add counts 2
  Affine bytes;        ///< bytes read and written in memory, all repeats
  MatrixShape matrix;  ///< zero for kinds that are no matrix product; multiplications by known zeros count here, not in `flops`
  int repeats = 1;
  Affine output_bytes;  ///< size of what it hands to its successors
  /// Of a sample's output: channels, height, width; of a parameter gradient: rows, columns, 1. Zeros: no output.
  std::array<int, 3> output_shape{};
  Affine saved_bytes;    ///< of its output kept for the backward pass
  Affine private_bytes;  ///< of those, what no edge carries: gates, masks, the step's input, for its layer's backward operations
  Affine workspace_bytes;  ///< scratch memory while it runs
  double parameter_bytes = 0;
  double relative_efficiency = 1;    ///< fraction of its kind's arithmetic speed that it reaches on any device
  std::vector<FastForm> fast_forms;  ///< besides `matrix`: a GPU takes the quickest
};

struct Edge {
  int from = 0, to = 0;  ///< indices into OpGraph::ops
  Affine bytes;
};

/// Ops are in an order in which every edge goes forward.
struct OpGraph {
  std::string name;
  std::vector<Op> ops;
  std::vector<Edge> edges;
  double parameters = 0;  ///< trainable parameters
  Affine input_bytes;     ///< of one step's samples as they are read from storage
};

// What an operation graph says by itself, before anything is placed: the longest way through it, and how long tensors live.

struct LongestPath {
  double length = 0;     ///< in the durations' unit
  std::vector<int> ops;  ///< from first to last; of equally long paths the one of smaller indices
};

/// `durations`: one for each operation. No placement is faster than the longest path, whatever the number of devices.
LongestPath longest_path(const OpGraph& graph, std::span<const double> durations);

/// For each operation the last one, in the graph's order, that reads what it made; itself when nobody does.
std::vector<int> last_readers(const OpGraph& graph);

/// The most bytes of tensors alive at once when the operations run in the graph's order at this batch: each from its producer's
/// start to its last reader's end; what it keeps privately to the end of its layer's backward operations. Equal tensors of one
/// producer count once; gradients and parameters, which do not grow with the batch, are no part of it.
double peak_tensor_bytes(const OpGraph& graph, double batch);

}  // namespace rehearse::sim
