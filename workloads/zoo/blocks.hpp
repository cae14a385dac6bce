// Pieces that several models are made of.
#pragma once

#include <string>

#include "workloads/layers/network.hpp"

namespace rehearse::workloads {

/// Convolution without bias, batch norm, ReLU. Returns the ReLU's index.
int conv_bn_relu(Network& net, const std::string& name, int from, int filters, const Window& window);

/// Dense layer, then ReLU.
void dense_relu(Network& net, const std::string& name, int units);

/// Global average pooling, flatten, classifier and loss.
void classify_pooled(Network& net, int classes);

/// A layer of a transformer over `width`: attention over `heads`, then two dense layers of 4 x width with GELU, each with a
/// residual connection; layer norm after the sum (BERT) or before the block (GPT-2). Returns the output's index.
struct TransformerBlock {
  int width = 768, heads = 12;
  bool norm_first = false;
};
int transformer_block(Network& net, const std::string& name, int from, const TransformerBlock& block);

}  // namespace rehearse::workloads
