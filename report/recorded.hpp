// The recorded results of a regression suite: of a results folder what regression needs, small enough to live beside the
// scenarios.
#pragma once

#include <string>

#include "report/regression.hpp"

namespace rehearse::report {

/// Writes into `folder` (which exists) from the results folder `results`: repetitions.csv as it is, summary.json with policies
/// and their status, timing.json, chance.csv, and of jobs.csv and decisions.csv the columns and rows that changes_of looks at,
/// their numbers with seven digits. Throws sim::InputError.
void write_recorded(const std::string& results, const std::string& folder, const ChanceTable& chance);

/// chance.csv of a recorded folder; empty without one. Throws sim::InputError for a damaged one.
ChanceTable read_chance(const std::string& folder);

}  // namespace rehearse::report
