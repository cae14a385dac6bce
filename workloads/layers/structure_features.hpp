// What a regression knows of a network: counts of its layers, and sums over them of what one sample asks for. Taken from the
// network's description alone: no operation is timed, no device is known.
#pragma once

#include <string_view>

#include "workloads/layers/network.hpp"

namespace rehearse::workloads {

/// Of one sample's forward pass; FLOPs count 2 a multiply-add, elements are numbers.
struct StructureFeatures {
  int conv_layers = 0, dense_layers = 0, recurrent_layers = 0, other_layers = 0;
  double filters = 0;      ///< of all convolutions
  double kernel_side = 0;  ///< mean over the convolutions
  double dense_nodes = 0;
  double hidden = 0;           ///< of all recurrent layers and directions
  double recurrent_steps = 0;  ///< one after the other, of all recurrent layers and directions
  double input_elements = 0;
  double parameters = 0;
  double pointwise_flops = 0;  ///< of convolutions with a 1 x 1 window
  double square3_flops = 0;    ///< with 3 x 3
  double wide_flops = 0;       ///< with any other
  double padded_flops = 0;     ///< of all convolutions, had they filters in whole tiles of 64
  double dense_flops = 0;      ///< of dense layers and of attention
  double recurrent_flops = 0;
  double root_flops = 0;       ///< sum over the layers of the square root of each one's FLOPs
  double conv_elements = 0;    ///< outputs of convolutions
  double elements = 0;         ///< outputs of all layers
  double recurrent_reads = 0;  ///< parameters of recurrent layers, once for each step
  double conv_flops() const { return pointwise_flops + square3_flops + wide_flops; }
  double flops() const { return conv_flops() + dense_flops + recurrent_flops; }
};

/// Throws sim::InputError when a layer cannot work (infer_shapes).
StructureFeatures structure_features(const Network& network);

/// "Conv", "BatchNorm", ...: how a message names a layer's kind.
std::string_view kind_name(const LayerSpec& spec);

}  // namespace rehearse::workloads
