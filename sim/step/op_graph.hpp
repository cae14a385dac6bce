// The operation graph of one training step of one replica, symbolic in the batch size b.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rehearse::sim {

enum class OpKind : std::uint8_t { conv, gemm, rnn, batch_norm, pool, elementwise, softmax, embedding, update };
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

/// One operation. A step of a recurrent layer is `repeats` products one after the other.
struct Op {
  std::string name;
  OpKind kind = OpKind::elementwise;
  Phase phase = Phase::forward;
  int layer = 0;       ///< index of the layer that it comes from
  Affine flops;        ///< FLOPs of all repeats; a multiply-add counts 2
  Affine bytes;        ///< bytes read and written in memory, all repeats
  MatrixShape matrix;  ///< zero for kinds that are no matrix product
  int repeats = 1;
  Affine output_bytes;     ///< size of what it hands to its successors
  Affine saved_bytes;      ///< of its output kept for the backward pass
  Affine workspace_bytes;  ///< scratch memory while it runs
  double parameter_bytes = 0;
  double arithmetic_saving = 1;  ///< how many times fewer multiplications a fast algorithm (Winograd) needs than `flops` says
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

}  // namespace rehearse::sim
