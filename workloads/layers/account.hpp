// What was read of a network, in figures that its author knows: layers, weights, multiply-adds of a sample, shapes.
#pragma once

#include <string>
#include <vector>

#include "workloads/layers/network.hpp"

namespace rehearse::workloads {

struct LayerAccount {
  Shape output;              ///< of a sample
  double weights = 0;        ///< trainable numbers of its own; 0 where it shares another layer's
  double multiply_adds = 0;  ///< of a sample's forward pass in convolutions and matrix products
};

struct NetworkAccount {
  std::vector<LayerAccount> of_layer;  ///< as in the network
  int layers = 0;                      ///< inputs and losses left out
  int products = 0;                    ///< of those: layers with convolutions or matrix products
  double weights = 0;                  ///< all trainable numbers
  double multiply_adds = 0;            ///< of a sample's forward pass: half of the FLOPs, the figure that publications print
  std::vector<Shape> inputs, outputs;  ///< outputs: of layers that no layer but a loss reads
  bool has_attention = false;          ///< a layer multiplies activations by activations, without weights
};

/// Throws sim::InputError when a layer cannot work (infer_shapes).
NetworkAccount account_of(const Network& network);

/// "1000", "3 x 224 x 224" (channels, height, width), "35 steps of 1500".
std::string shape_words(const Shape& shape);
/// "25.56 M", "4.089 G", "7552".
std::string count_words(double count);
/// "175 layers (54 with matrix products), 25.56 M weights, 4.089 G multiply-adds a sample; input 3 x 224 x 224, output 1000".
std::string account_words(const NetworkAccount& account);

}  // namespace rehearse::workloads
