// A run's results read back from their folder: what regression needs of them (docs/reference/metrics.md has the files).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/metric_fields.hpp"
#include "report/statistics.hpp"
#include "sim/io/json.hpp"

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
  StudyKinds kinds{.configuration = true};
  std::vector<PolicyValues> policies;  ///< in the scenario's order

  /// Null when there is none of this name.
  const PolicyValues* find(std::string_view policy) const;
};

/// The document of timing.json, whose sum stands in it, since manifest.json is the same from run to run. Throws sim::InputError
/// where it was changed.
sim::JsonDocument read_timing_file(const std::string& path);

/// These metrics, from summary.json, repetitions.csv and, where it is there, timing.json; one that the file does not have is
/// undefined in each repetition. Throws sim::InputError: a file is missing or damaged, a repetition of a policy that did not fail
/// is missing.
Results read_results(const std::string& folder, const std::vector<std::string>& metrics);

// Did a policy get worse? Verdicts on two results of one scenario, from differences paired over repetitions
// (docs/guide/regression.md).

enum class Verdict { better, same, worse, broken };
std::string_view name_of(Verdict verdict);

struct MetricRule {
  std::string metric;
  bool higher_is_better = false;
  bool absolute = false;    ///< differences are counted as they are, not relative to the recorded value
  bool breaks = false;      ///< what would be worse is broken, and needs no interval: a number of broken limits
  double tolerance = 0.01;  ///< of the mean difference
  bool fails = true;        ///< false: reported only
};

/// Effective cost, cost, mean completion time, energy, limits broken, step evaluations; of queue and node-failure studies the
/// columns besides that they show and of which it is known which way is better.
std::vector<MetricRule> default_rules(const StudyKinds& kinds = {.configuration = true});
/// Of the kinds that summary.json in this folder names. Throws sim::InputError.
StudyKinds read_kinds(const std::string& folder);
std::vector<std::string> metrics_of(const std::vector<MetricRule>& rules);

/// How far chance alone moves a policy that chooses by chance: the mean over repetitions of its differences, over policy seeds.
/// Not of single repetitions: what depends on the seed alone, such as a plan found by search, is the same in all of them.
struct Chance {
  double deviation = 0;           ///< standard deviation, in the differences' unit
  double degrees_of_freedom = 1;  ///< with which it was estimated
};
/// By policy and metric; policies that choose nothing by chance are not in it.
using ChanceTable = std::map<std::pair<std::string, std::string>, Chance>;

struct Finding {
  std::string policy;
  std::string metric;  ///< empty: of the policy as a whole
  Verdict verdict = Verdict::same;
  bool fails = true;
  bool absolute = false;
  double recorded = 0, now = 0;  ///< means over repetitions
  Estimate change{};             ///< of the paired difference: above 0 means that the value is larger now
  double tolerance = 0;          ///< the rule's, or what chance needs
  std::string reason;            ///< of a broken one, and of one of the policy as a whole
};

/// Whether this ends a benchmark with an error.
bool is_alarm(const Finding& finding);

/// Differences of `now` from `recorded`, in their order: relative to the recorded value of the repetition; where that is 0, to
/// the mean of the recorded magnitudes, and where that is 0 too, 1 for a rise and -1 for a fall. NaN where one of the two is
/// undefined.
std::vector<double> paired_differences(const std::vector<double>& recorded, const std::vector<double>& now, bool absolute);

/// A finding for each policy and rule, in the recorded policies' order; a policy that is only in `now` has none. Throws
/// sim::InputError when they are not the same scenario, seed and number of repetitions.
std::vector<Finding> judge(const Results& recorded, const Results& now, const std::vector<MetricRule>& rules,
                           const ChanceTable& chance);

/// Policies whose results, with these policy seeds, are not all the same.
std::vector<std::string> choosing_by_chance(const std::vector<Results>& by_seed, const std::vector<MetricRule>& rules);

/// Of these policies, from the same scenario run with several policy seeds, the first of which is what is recorded.
ChanceTable estimate_chance(const std::vector<std::string>& policies, const std::vector<Results>& by_seed,
                            const std::vector<MetricRule>& rules);

/// One run of a scenario on unchanged code, with other policy seeds, alarms with at most this probability.
inline constexpr double kAlarmProbability = 0.001;

// The recorded results of a regression suite: of a results folder what regression needs, small enough to live beside the
// scenarios.

/// Writes into `folder` (which exists) from the results folder `results`: scenario.json and repetitions.csv as they are,
/// summary.json with policies and their status, timing.json, chance.csv, and of jobs.csv and decisions.csv the columns and rows
/// that changes_of looks at, their numbers with seven digits. Throws sim::InputError.
void write_recorded(const std::string& results, const std::string& folder, const ChanceTable& chance);

/// chance.csv of a recorded folder; empty without one. Throws sim::InputError for a damaged one.
ChanceTable read_chance(const std::string& folder);

}  // namespace rehearse::report
