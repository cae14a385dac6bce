// What accuracy an architecture that nobody has trained is believed to reach: laws through published networks, for searches
// (docs/explain/strategies.md, "Architecture search").
#pragma once

#include "workloads/training/convergence.hpp"
#include "workloads/layers/structure.hpp"

namespace rehearse::workloads {

/// Residual blocks with batch norm in three sizes of image, and a classifier: the family of He et al. (CVPR 2016, section 4.2)
/// and Zagoruyko and Komodakis (BMVC 2016).
CnnStructure residual_cnn(int blocks, int filters, int kernel, int image);

/// Top-1 error on CIFAR-10 after full training.
double cnn_error(const CnnStructure& structure);

/// Cross entropy over ln(vocabulary) on the Penn Treebank after full training, of `layers` LSTM layers of `hidden` cells.
double lstm_error(int layers, int hidden);
RnnStructure lstm_language_model(int layers, int hidden);

/// Trains in the same steps as `fit`, to this accuracy after its reference epochs at its reference batch.
ConvergenceParameters trained_to(const ConvergenceParameters& fit, double final_accuracy);

}  // namespace rehearse::workloads
