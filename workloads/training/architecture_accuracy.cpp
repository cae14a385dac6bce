#include "workloads/training/architecture_accuracy.hpp"

#include <algorithm>
#include <cmath>

#include "workloads/layers/structure.hpp"

namespace rehearse::workloads {

namespace {

// Through Table 6 of He et al. and Tables 4 and 5 of Zagoruyko and Komodakis: error against parameters from 0.27 to 36.5 million.
constexpr double kErrorAtAMillion = 0.069;
constexpr double kParameterExponent = 0.16;
// Touvron et al., "Fixing the train-test resolution discrepancy", NeurIPS 2019: ResNet-50 trained and tested at 128, 160 and 224
// pixels has errors of 26.7, 24.9 and 23.0 %.
constexpr double kResolutionExponent = 0.27;
constexpr double kFullImage = 32;
// Taken, not fitted: few blocks see little of the image. 5 % with 9 blocks (ResNet-20), where a square law is hardly felt.
constexpr double kShallowBlocks = 2;

// Through Table 1 of Zaremba et al. 2014, two layers of 200, 650 and 1500 cells: validation perplexities 120.7, 86.2 and 82.2.
constexpr double kEntropyFloor = 0.470;
constexpr double kEntropyCells = 10;
// Taken, not fitted: one layer loses 1.5 %, a third one gains 0.5 %.
constexpr double kEntropyLayers = 0.03;

/// Of the convolutions: the classifier's grow with the image, which says nothing of what it can learn.
double block_parameters(const CnnStructure& structure) {
  const Network network = make_network(structure);
  const std::vector<Shape> shapes = infer_shapes(network);
  const double flat = shapes[shapes.size() - 3].elements();  // before the classifier and the loss
  return structure_features(network).parameters - (flat + 1) * structure.classes;
}

}  // namespace

CnnStructure residual_cnn(int blocks, int filters, int kernel, int image) {
  CnnStructure structure{.conv_layers = blocks, .filters = filters, .kernel = kernel, .layers_per_pool = (blocks + 2) / 3};
  structure.dense_layers = 0;
  structure.image_height = structure.image_width = image;
  structure.batch_norm = true;
  structure.block = Block::residual;
  return structure;
}

double cnn_error(const CnnStructure& structure) {
  const double size = std::pow(block_parameters(structure) / 1e6, -kParameterExponent);
  const double resolution = std::pow(structure.image_height / kFullImage, -kResolutionExponent);
  const double depth = 1 + std::pow(kShallowBlocks / structure.conv_layers, 2);
  return std::min(0.9, kErrorAtAMillion * size * resolution * depth);
}

double lstm_error(int layers, int hidden) {
  return (kEntropyFloor + kEntropyCells / hidden) * (1 + kEntropyLayers * (1.0 / layers - 0.5));
}

RnnStructure lstm_language_model(int layers, int hidden) {
  RnnStructure structure{.layers = layers, .hidden = hidden};
  structure.features = hidden;
  return structure;
}

ConvergenceParameters trained_to(const ConvergenceParameters& fit, double final_accuracy) {
  ConvergenceParameters scaled = fit;
  const double steps = fit.reference_epochs * fit.training_samples / fit.reference_batch;
  const TrainingState end{.progress = steps, .examples = 1.0, .log2_batch_examples = std::log2(fit.reference_batch)};
  const double level = final_accuracy / accuracy(fit, {}, end);
  scaled.start_accuracy *= level;
  for (AccuracyPhase& phase : scaled.phases) {
    phase.ceiling = std::min(1.0, phase.ceiling * level);
    phase.ceiling_loss *= level;
  }
  return scaled;
}

}  // namespace rehearse::workloads
