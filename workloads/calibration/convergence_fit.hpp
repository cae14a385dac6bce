// Fits a pair's convergence parameters to measured trainings: robust least squares with priors (robust_fit.hpp), so that what the
// measurements do not show stays near its usual value.
#pragma once

#include <string>
#include <vector>

#include "workloads/calibration/convergence_runs.hpp"

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

}  // namespace rehearse::workloads
