// Where a fit of a pair's convergence starts: how many knots and phases its measurements can tell of, where they are, and what is
// usual for each parameter.
#pragma once

#include "workloads/calibration/convergence_free_parameters.hpp"
#include "workloads/calibration/convergence_runs.hpp"

namespace rehearse::workloads {

struct FitStart {
  ConvergenceParameters parameters;  ///< knots, phases and what is not fitted; the rest is at its start
  FreeParameters noise, rates, phases;
};

/// The pair has measurements (sim::check).
FitStart start_of(const MeasuredPair& pair, double reference_batch);

}  // namespace rehearse::workloads
