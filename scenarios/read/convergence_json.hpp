// Convergence parameters as a scenario has them.
#pragma once

#include <string>
#include <vector>

#include "workloads/training/convergence.hpp"

namespace rehearse::scenarios {

/// {"convergence": [...]}, all figures written out; the loader reads the same values back.
std::string convergence_json(const std::vector<workloads::ConvergenceParameters>& pairs);

}  // namespace rehearse::scenarios
