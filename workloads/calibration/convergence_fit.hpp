// Fits a pair's convergence parameters to measured trainings: robust least squares with priors (robust_fit.hpp), so that what the
// measurements do not show stays near its usual value.
#pragma once

#include <string>
#include <vector>

#include "workloads/calibration/convergence_runs.hpp"
#include "workloads/training/convergence.hpp"

namespace rehearse::workloads {

struct FittedConvergence {
  struct Parameter {
    std::string name;  ///< as a scenario has it, with the index of its knot or phase
    double value = 0;
    double low = 0, high = 0;  ///< one posterior standard deviation to either side
    bool determined = false;   ///< false: the measurements say little about it, and it is near its prior
  };
  ConvergenceParameters parameters;
  std::vector<Parameter> fitted;
  std::vector<std::string> warnings;  ///< why it may be badly determined
};

/// The pair has points (sim::check). With measured progress the noise scale and the accuracy are fitted one after the other; else
/// together. Where rates are given, the reference rate's fraction of the most useful one is fitted too.
FittedConvergence fit_convergence(const MeasuredPair& pair, double reference_batch);

// Epochs until a reading of the metric reaches a target: a reading is off by chance, so that a curve that flattens out below the
// target may still have one above it.

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
