// Where a fit of a pair's convergence starts: how many knots and phases its measurements can tell of, where they are, and what is
// usual for each parameter.
#pragma once

#include "workloads/fidelity/convergence_free_parameters.hpp"
#include "workloads/fidelity/convergence_runs.hpp"

namespace rehearse::workloads {

struct FitStart {
  ConvergenceParameters parameters;  ///< knots, phases and what is not fitted; the rest is at its start
  FreeParameters noise, rates, phases;
};

/// What progress counts steps at: the smallest batch where AdaScale kept every rate useful. Where rates are given, the largest
/// batch that needs at most a quarter more epochs than the best to the highest metric that all reach: its rate is none too high.
double reference_batch_of(const MeasuredPair& pair);

/// The pair has measurements (sim::check).
FitStart start_of(const MeasuredPair& pair, double reference_batch);

}  // namespace rehearse::workloads
