// TensorFlow's forward operations with the rules of their gradients (tensorflow/python/ops/{math,array,nn}_grad.py, r1.0). For
// this room's sources. Sizes are bytes; a result has its largest input's unless said.
#pragma once

#include "workloads/tensorflow/tf_builder.hpp"

namespace rehearse::workloads::tf {

/// Sigmoid, Tanh, Relu, Rsqrt: the gradient reads the result.
TfTensor unary(TfBuilder& b, const std::string& type, TfTensor x);
/// Add, Sub, Mul, RealDiv, SquaredDifference with broadcasting; x is the larger one. A missing y is a constant.
TfTensor binary(TfBuilder& b, const std::string& type, TfTensor x, TfTensor y = {});
/// The mean over all but `to` bytes.
TfTensor mean(TfBuilder& b, TfTensor x, const sim::Affine& to);
TfTensor reshape(TfBuilder& b, const std::string& type, TfTensor x);
TfTensor transpose(TfBuilder& b, TfTensor x);
TfTensor stop_gradient(TfBuilder& b, TfTensor x);
TfTensor concat(TfBuilder& b, const TfTensors& parts);
TfTensors split(TfBuilder& b, TfTensor x, int parts);
/// Unpack and Pack along time.
TfTensors unpack(TfBuilder& b, TfTensor x, int parts);
TfTensor pack(TfBuilder& b, const TfTensors& parts);
/// x times a matrix. `data`, `weights`: costs of the two gradients.
struct ProductCosts {
  sim::Op forward, data, weights;
};
TfTensor matmul(TfBuilder& b, const std::string& type, TfTensor x, TfTensor weights, const ProductCosts& costs,
                const sim::Affine& bytes);
TfTensor convolution(TfBuilder& b, const std::string& type, TfTensor x, TfTensor filters, const ProductCosts& costs,
                     const sim::Affine& bytes);
TfTensor bias_add(TfBuilder& b, TfTensor x, TfTensor bias);
TfTensor l2_loss(TfBuilder& b, TfTensor x);
TfTensor add_n(TfBuilder& b, const TfTensors& parts);
/// MaxPool, AvgPool, LRN; `reads_both`: the gradient reads input and result.
TfTensor window(TfBuilder& b, const std::string& type, TfTensor x, const sim::Affine& bytes, bool reads_both);
/// Rows of a table.
TfTensor gather(TfBuilder& b, TfTensor table, TfTensor ids, const sim::Affine& bytes);
TfTensor softmax(TfBuilder& b, TfTensor x);
/// SparseSoftmaxCrossEntropyWithLogits: the losses; keeps as much as x for the gradient.
TfTensor cross_entropy(TfBuilder& b, TfTensor x, const sim::Affine& bytes);
TfTensor dropout(TfBuilder& b, TfTensor x);

}  // namespace rehearse::workloads::tf
