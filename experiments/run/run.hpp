// Runs a scenario: every policy in every repetition, each in a forked process; joins their files and compares them.
#pragma once

#include "experiments/run/run_policies.hpp"

namespace rehearse::scenarios {

/// Leaves the results folder whole or not at all. A policy that failed is a failed row. Throws InputError when the folder cannot
/// be written or holds something else, CheckFailed when a run found a bug of ours, Interrupted.
report::Summary run_scenario(const Scenario& scenario, const RunOptions& options);

}  // namespace rehearse::scenarios
