// How much a policy asks of the step model.
#pragma once

#include <cstdint>

#include "workloads/world/world.hpp"

namespace rehearse::workloads {

/// How many different steps of the belief were timed so far.
std::uint64_t steps_timed(const Belief& belief);

}  // namespace rehearse::workloads
