// A scenario with everything that it may name: studies and processes too.
#pragma once

#include <memory>
#include <string>

#include "scenarios/read/scenario.hpp"

namespace rehearse::scenarios {

/// read_scenario with all studies and with policies that are processes.
std::unique_ptr<Scenario> load_scenario(const std::string& path, const LoadOptions& options);
std::unique_ptr<Scenario> load_scenario(sim::JsonDocument document, const std::string& path, const LoadOptions& options);

}  // namespace rehearse::scenarios
