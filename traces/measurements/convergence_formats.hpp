// Other people's trainings: a reader for each format, in one table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/measurements/convergence_list.hpp"

namespace rehearse::traces {

struct ConvergenceFormat {
  std::string_view name, description;
  /// One list a file. Throws sim::InputError when a file cannot be read.
  std::vector<ConvergenceList> (*read)(const std::vector<std::string>& paths);
};

std::span<const ConvergenceFormat> convergence_formats();

/// Files validation-BATCH.csv in folders named by application; of a folder all such files, in it or in its folders.
std::vector<ConvergenceList> read_pollux_convergence(const std::vector<std::string>& paths);
/// summary_train.csv.
std::vector<ConvergenceList> read_zeus_convergence(const std::vector<std::string>& paths);

}  // namespace rehearse::traces
