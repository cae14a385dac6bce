// S2: one number of threads for all operations of a type, so that few teams change between operations.
#pragma once

#include <vector>

#include "sim/step/cpu_step.hpp"
#include "workloads/steps/cpu_threads.hpp"

namespace rehearse::policies {

/// Threads of each type that make the believed step quickest, operations one after the other in the order in which they become
/// ready, what changing teams costs included. Coordinate descent from two starts, one of them all cores for all types: what it
/// ends at is believed to be no slower than that.
std::vector<int> type_counts(const sim::CpuMachine& machine, const sim::CpuGraph& graph, const workloads::OpClasses& classes,
                             const sim::CpuBelief& belief);

/// Operations in the order in which one team runs them, that which has been ready longest first.
std::vector<std::int32_t> serial_order(const sim::CpuGraph& graph);

}  // namespace rehearse::policies
