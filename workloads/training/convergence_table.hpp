// What is believed of the convergence of each (model, dataset) pair, with sources.
#pragma once

#include <string_view>
#include <vector>

#include "workloads/training/convergence.hpp"

namespace rehearse::workloads {

/// Every pair whose accuracy is modelled. Pairs that are not here have a cost only.
const std::vector<ConvergenceParameters>& convergence_table();

/// Null when the pair's accuracy is not modelled.
const ConvergenceParameters* find_convergence(std::string_view model, std::string_view dataset);

}  // namespace rehearse::workloads
