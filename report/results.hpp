// A run's results read back from their folder: what regression needs of them (docs/reference/metrics.md has the files).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rehearse::report {

struct PolicyValues {
  std::string policy;
  bool ok = true;
  std::string reason;  ///< of the failure
  /// By metric (a column of repetitions.csv), a value for each repetition; NaN: undefined in it.
  std::map<std::string, std::vector<double>, std::less<>> metrics;
  double decision_time_s = 0;  ///< summed over repetitions; NaN: unknown
};

struct Results {
  std::string folder;
  std::string scenario;
  std::uint64_t seed = 0;
  int repetitions = 1;
  std::vector<PolicyValues> policies;  ///< in the scenario's order

  /// Null when there is none of this name.
  const PolicyValues* find(std::string_view policy) const;
};

/// These metrics, from summary.json, repetitions.csv and, where it is there, timing.json; one that the file does not have is
/// undefined in each repetition. Throws sim::InputError: a file is missing or damaged, a repetition of a policy that did not fail
/// is missing.
Results read_results(const std::string& folder, const std::vector<std::string>& metrics);

}  // namespace rehearse::report
