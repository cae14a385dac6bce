#include "workloads/calibration/convergence_passage.hpp"

#include <cmath>

namespace rehearse::workloads {

StepSetting setting_of(double batch, double learning_rate) { return {.global_batch = batch, .learning_rate = learning_rate}; }

std::vector<double> epoch_accuracies(const ConvergenceParameters& c, const StepSetting& setting, int epochs, double enough) {
  constexpr double kSurely = 0.05;
  std::vector<double> accuracies;
  TrainingState state;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    advance(c, {}, state, setting, c.training_samples);
    accuracies.push_back(accuracy(c, {}, state));
    if (accuracies.back() > enough + kSurely) break;
  }
  return accuracies;
}

FirstPassage first_passage(const std::vector<double>& accuracies, int epochs, double target, double validation_samples) {
  FirstPassage passage{.mean_epochs = 0, .never = 1};
  for (int epoch = 0; epoch < epochs; ++epoch) {
    passage.mean_epochs += passage.never;
    const auto at = static_cast<std::size_t>(epoch);
    const double a = at < accuracies.size() ? accuracies[at] : HUGE_VAL;
    // The chance that a reading stays below the target.
    const double below =
        std::isfinite(a) ? std::erfc((a - target) / evaluation_deviation(a, validation_samples) / std::sqrt(2.0)) / 2 : 0.0;
    passage.never *= below;
    if (passage.never < 1e-9) break;
  }
  return passage;
}

}  // namespace rehearse::workloads
