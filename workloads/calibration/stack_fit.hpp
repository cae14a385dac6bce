// Fits what a software stack makes of devices of which only the data sheet is known, to measurements of one laboratory on any
// number of devices; several laboratories' stacks count the same. What a laboratory's devices and models have of their own is
// fitted beside it and then forgotten (docs/explain/model.md, "Software stacks").
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "workloads/calibration/measurement.hpp"

namespace rehearse::workloads {

/// Measurements of one laboratory with one stack.
struct StackSet {
  std::string laboratory, stack;
  /// That tell of the stack: training steps of one worker on a GPU, the least limited of each setting.
  std::vector<std::size_t> rows;
};

/// The stack that a measurement's `source` names: one of its words; empty where none is one of `stacks`. The last word counts.
std::string stack_of(const Measurement& measurement, std::span<const sim::Stack> stacks);
/// Who measured: the first word of `source`.
std::string laboratory_of(const Measurement& measurement);

/// By stack, then laboratory. Measurements without a stack are in none.
std::vector<StackSet> stack_sets(std::span<const Measurement> measurements, std::span<const Site> sites,
                                 std::span<const sim::Stack> stacks);

/// `site` one a measurement, with devices as data sheets have them. Name, overlap, precision and source are those of `start`,
/// whose other figures the fit does not see: priors are around a data sheet's.
sim::Stack fit_stack(const sim::Stack& start, std::span<const Measurement> measurements, std::span<const Site> sites,
                     const StackSet& set, const MeasurementModel& model);

/// What another laboratory is expected to have, from fits of several, which count the same. Half of the prior's variance is the
/// stack's and half the laboratory's, so that the mean of n fits is their sum over n + 1, counted from the prior's
/// middle: of logarithms, of shares themselves.
sim::Stack mean_stack(std::span<const sim::Stack> fits);

}  // namespace rehearse::workloads
