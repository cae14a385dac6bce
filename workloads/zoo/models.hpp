// The zoo's builders: the network of each model for one sample of a dataset, its loss included.
#pragma once

#include <string>

#include "workloads/layers/network.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::workloads {

Network alexnet(const Dataset& sample);
Network vgg16(const Dataset& sample);
Network vgg19(const Dataset& sample);
Network resnet18(const Dataset& sample);
Network resnet32(const Dataset& sample);
Network resnet34(const Dataset& sample);
Network resnet50(const Dataset& sample);
Network resnet101(const Dataset& sample);
Network resnet152(const Dataset& sample);
Network inceptionv2(const Dataset& sample);
Network inceptionv3(const Dataset& sample);
Network dcgan(const Dataset& sample);
Network rnnlm(const Dataset& sample);
Network big_lstm(const Dataset& sample);
Network nmt(const Dataset& sample);
Network deepspeech2(const Dataset& sample);
Network bert(const Dataset& sample);
Network gpt2(const Dataset& sample);
Network yolov3(const Dataset& sample);

// Pieces that several models are made of.

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
