// Loading a scenario from the command line's arguments.
#pragma once

#include <memory>

#include "cli/commands.hpp"
#include "experiments/run/estimate.hpp"
#include "scenarios/read/scenario.hpp"

namespace rehearse::cli {

/// Throws sim::InputError for a --set that is no "/pointer=value".
scenarios::LoadOptions load_options(const ScenarioArguments& arguments);

/// Throws sim::InputError, as load_options does too.
std::unique_ptr<scenarios::Scenario> load(const ScenarioArguments& arguments);

/// What became of the rows of the files that were read.
void say_inputs(const std::vector<report::InputReport>& inputs);

/// On stderr, when it is large.
void warn_of_size(const scenarios::RunEstimate& estimate);

}  // namespace rehearse::cli
