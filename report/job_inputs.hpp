// Whether two results are of the same jobs: what was asked of each, not what became of it.
#pragma once

#include <string>
#include <vector>

namespace rehearse::report {

/// "deadlines of 12 of 42 jobs differ: generated jobs take theirs from the cluster": a line for each input that jobs.csv has in
/// both folders and that is another of jobs of the same name and repetition; how many jobs one folder alone has. Empty where none
/// is, or a folder has no jobs.csv. The cluster is named where both scenarios generate the same jobs. Throws sim::InputError when
/// a file cannot be read.
std::vector<std::string> input_changes(const std::string& first_folder, const std::string& other_folder);

}  // namespace rehearse::report
