// Epochs until a reading of the metric reaches a target: a reading is off by chance, so that a curve that flattens out below the
// target may still have one above it.
#pragma once

#include <vector>

#include "workloads/training/convergence.hpp"

namespace rehearse::workloads {

/// How a run of the pair is predicted: at the given rate, or by AdaScale.
StepSetting setting_of(double batch, double learning_rate);

/// The first epoch whose reading reaches a target, when each evaluation is off by evaluation_deviation().
struct FirstPassage {
  double mean_epochs = 0;  ///< runs that never do count as the number of epochs looked at
  double never = 1;        ///< share of runs that do not within those epochs
};

/// Noise-free accuracies after epoch 1, 2, ..., ended early after the first that lies 0.05 above `enough`.
std::vector<double> epoch_accuracies(const ConvergenceParameters& c, const StepSetting& setting, int epochs, double enough);
/// Within `epochs`; where `accuracies` end earlier, the next epoch's reading reaches every target.
FirstPassage first_passage(const std::vector<double>& accuracies, int epochs, double target, double validation_samples);

}  // namespace rehearse::workloads
