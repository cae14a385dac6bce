// Networks given by their structure's parameters: what a scenario states, what the generator draws, what an estimator regresses
// on.
#pragma once

#include <cstdint>
#include <string_view>

#include "workloads/layers/network.hpp"

namespace rehearse::workloads {

/// What a convolutional layer of a structure is, of f filters in windows of k x k; the second and third are of He et al. (CVPR
/// 2016, figure 5), the last follows Szegedy et al. (CVPR 2016, figure 6).
enum class Block : std::uint8_t {
  plain,       ///< one convolution
  residual,    ///< two convolutions, and the block's input added
  bottleneck,  ///< 1 x 1, k x k, and 1 x 1 with 4 f filters, and the block's input added
  factorised,  ///< side by side: 1 x 1; 1 x 1, 1 x k, k x 1; average pooling, 1 x 1
};

/// Blocks of convolution, ReLU (and batch norm), halved by max pooling after every `layers_per_pool` while the image is at least
/// 2 on each side; then dense layers with ReLU, and a classifier. The filters double after each pooling, up to 8 times `filters`.
struct CnnStructure {
  int conv_layers = 2, filters = 32, kernel = 3, layers_per_pool = 1;
  int dense_layers = 1, nodes = 128;
  int image_height = 32, image_width = 32, channels = 3, classes = 10;
  bool batch_norm = false;
  Block block = Block::plain;
};

/// An embedding (when there is a vocabulary), recurrent layers and a classifier, at every step or at the last one.
struct RnnStructure {
  Cell cell = Cell::lstm;
  int layers = 1, hidden = 128, steps = 35;
  int vocabulary = 10000;  ///< 0: the input is `features` numbers a step
  int features = 128;      ///< width of the embedding, or of the input
  int classes = 10000;
  bool bidirectional = false;
  bool classify_every_step = true;
};

/// GNMT (Wu et al. 2016, section 3): as many encoder as decoder LSTM layers, at least 2; the first of the encoder bidirectional,
/// residual connections from the third on, additive attention (counted as a product of equal size) from the first decoder layer
/// whose context feeds the others, one embedding for both languages.
struct TranslationStructure {
  int layers = 4, hidden = 1024;
  int source_steps = 30, target_steps = 30;
  int vocabulary = 32320;
};

struct MlpStructure {
  int inputs = 784, layers = 2, nodes = 256, classes = 10;
};

/// Shapes that cannot work show up in infer_shapes. Throw sim::InputError when a count is negative, or a number of layers over
/// 10,000.
Network make_network(const CnnStructure& structure);
Network make_network(const RnnStructure& structure);
Network make_network(const TranslationStructure& structure);
Network make_network(const MlpStructure& structure);

// What a regression knows of a network: counts of its layers, and sums over them of what one sample asks for. Taken from the
// network's description alone: no operation is timed, no device is known.

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
