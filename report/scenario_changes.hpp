// Whether two results are of the same scenario: which of its keys are others than they were.
#pragma once

#include <string>

namespace rehearse::report {

/// "/jobs/1/duration_s 1000 -> 1500, /seed 1 -> nothing and 2 more", of the scenario.json in two folders of results; empty where
/// they say the same, or one of them has none. Left out: what moves no result ($schema, description, output), and policies that
/// only one of them has, which is told elsewhere. Throws sim::InputError for a file that is no JSON.
std::string scenario_changes(const std::string& recorded_folder, const std::string& now_folder);

}  // namespace rehearse::report
