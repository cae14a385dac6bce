// What one layer does in a training step: its operations with FLOPs, bytes and matrix shapes (docs/explain/step.md, "GPU
// operation time": the mapping of each operation to a matrix product), its parameters, and what it keeps for the backward pass.
#pragma once

#include <span>
#include <vector>

#include "sim/step/op_graph.hpp"
#include "workloads/layers/network.hpp"

namespace rehearse::workloads {

inline constexpr double kBytesPerNumber = 4;  ///< of single precision, in which graphs are written

/// A quantity that the batch does not change, and one that grows with it.
inline sim::Affine fixed(double x) { return {x, 0}; }
inline sim::Affine a_sample(double x) { return {0, x}; }

/// One operation of a layer; its name is a suffix to the layer's.
struct LayerOp {
  sim::Op op;
  bool reads_input = false;   ///< needs the layer's forward input, so that it is kept until then
  bool reads_output = false;  ///< needs the layer's forward output
  bool sums_steps = false;    ///< over time steps, which lie along its product's inner dimension; else they are its rows
};

struct LayerCost {
  std::vector<LayerOp> forward;          ///< empty: the output is the input
  std::vector<LayerOp> backward;         ///< what both gradients need first
  std::vector<LayerOp> data_gradient;    ///< run only when an input wants its gradient
  std::vector<LayerOp> filter_gradient;  ///< independent of the data gradient
  double weights = 0;                    ///< trainable numbers of its matrices or filters
  double bias = 0;                       ///< other trainable numbers
  double extra_saved_bytes = 0;          ///< a sample, kept besides inputs and outputs: masks, gates, attention weights
  bool in_place = false;                 ///< the output overwrites the input
  bool stops_gradient = false;
  double parameters() const { return weights + bias; }
  double multiply_adds() const;  ///< of a sample's forward pass in matrix products: half of their FLOPs
};

/// Costs of a layer with these input and output shapes. Bytes count each tensor once a pass over it.
LayerCost layer_cost(const LayerSpec& spec, std::span<const Shape> in, const Shape& out);

}  // namespace rehearse::workloads
