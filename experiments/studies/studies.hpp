// The studies there are, each in a file of its own.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/studies/placement_cases.hpp"
#include "experiments/studies/study.hpp"

namespace rehearse::scenarios {

/// Parameters: "workers" (list of whole numbers), "batch_factors", "accuracy_slack", "deadline_factors" (lists of numbers),
/// "tolerance" (number).
std::unique_ptr<StudyParameters> read_characterise(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                   sim::Mistakes& mistakes);

/// Parameter: "order" (list of knobs; the others come after).
std::unique_ptr<StudyParameters> read_contributions(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                    sim::Mistakes& mistakes);

/// Which knobs are on: bit i is the i-th.
using KnobSet = unsigned;

/// What one knob saves, in money.
struct Contribution {
  double in_turn = 0;        ///< switched on after those before it; all knobs' sum to the whole saving
  double alone = 0;          ///< switched on alone
  double last = 0;           ///< switched on after all others
  double in_turn_fixed = 0;  ///< as in_turn, while the fixed knob stays off; NaN for that one
};

/// `cost` is asked for the sets of sets_needed alone. `fixed`: the knob that also stays off; none: in_turn_fixed is NaN.
std::vector<Contribution> contributions(int knobs, std::optional<int> fixed, const std::function<double(KnobSet)>& cost);

/// Increasing, from no knob to all.
std::vector<KnobSet> sets_needed(int knobs, std::optional<int> fixed);

/// Parameters: "accuracy_slack", "deadline_factors" (lists of numbers).
std::unique_ptr<StudyParameters> read_frontier(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                               sim::Mistakes& mistakes);

/// Limits that were asked for, and what keeping them cost.
struct FrontierPoint {
  double deadline_s = 0, floor = 0, cost_usd = 0;
  bool kept = true;
};

/// Whether each point is efficient: kept, and no other kept point has a deadline no later, a floor no lower and a cost no higher,
/// one of them strictly better.
std::vector<bool> efficient(std::span<const FrontierPoint> points);

/// What one policy saves over another, point by point, where both keep the limits.
struct PairedSaving {
  int points = 0;                                                          ///< that both keep
  double largest_percent = 0, median_percent = 0;                          ///< NaN without points
  double largest_ci95_low = 0, median_ci95_low = 0, median_ci95_high = 0;  ///< percentile bootstrap over points, likewise
};
/// 100 (1 - cost / other cost). As many points as `others`, in the same order.
PairedSaving paired_saving(std::span<const FrontierPoint> points, std::span<const FrontierPoint> others);

/// Parameters: "runs" (list of whole numbers, of each model and instance), "model_errors" (list of numbers).
std::unique_ptr<StudyParameters> read_learning_curve(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                     sim::Mistakes& mistakes);

/// Over how many jobs of a model its profiling must be spread to be worth it. Money of all jobs, without profiling, under the
/// baseline and the policy; `profiling_usd` is what was charged when spread over `reuse_jobs`. NaN: never, the policy saves
/// nothing.
double break_even_jobs(double baseline_usd, double policy_usd, double profiling_usd, double reuse_jobs);

/// Parameters: "table" (a CSV file), "format", "epochs", "fractions", "floors", "deadlines" (docs/reference/studies.md).
std::unique_ptr<StudyParameters> read_measured_runs(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                    sim::Mistakes& mistakes);

/// Parameters: "space", "objectives", "methods", "evaluations", "gpu_hours", "cost_usd", "accuracy_above", "targets",
/// "workload" (docs/reference/studies.md).
std::unique_ptr<StudyParameters> read_search(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                             sim::Mistakes& mistakes);

/// Parameters: "table" or "processes", "folds" and what a job is (docs/reference/studies.md).
std::unique_ptr<StudyParameters> read_spot(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                           sim::Mistakes& mistakes);

/// Parameters: "worlds" and what a job is (docs/reference/studies.md).
std::unique_ptr<StudyParameters> read_spot_workers(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                   sim::Mistakes& mistakes);

/// One job in one repetition under one policy.
struct StagedOutcome {
  double cost_usd = 0;
  bool keeps = false;  ///< every limit that the job has
};

/// sum(static - policy) / sum(static - staged) over the jobs whose limits all three keep and whose staged optimum saves more than
/// 2 % of the static one. Outcomes by job, in the same order. NaN without any such job.
struct GainRatio {
  double ratio = 0, ci95_low = 0, ci95_high = 0;  ///< percentile bootstrap over jobs
  int jobs = 0;
};
GainRatio gain_ratio(const std::vector<StagedOutcome>& policy, const std::vector<StagedOutcome>& static_optimum,
                     const std::vector<StagedOutcome>& staged_optimum, std::uint64_t seed);

std::unique_ptr<StudyParameters> read_staged(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                             sim::Mistakes& mistakes);

/// The machines are the CPUs of the cluster's pools, the models those of the jobs, which have "steps" and "batch_size".
/// Parameters: "strides" (list of whole numbers), "noise" (number), "factors" (list of numbers).
std::unique_ptr<StudyParameters> read_threads(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                              sim::Mistakes& mistakes);

/// Parameters: "graphs", "machines", "methods", "evaluations" (docs/reference/studies.md).
std::unique_ptr<StudyParameters> read_placement(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                                sim::Mistakes& mistakes);

struct NamedCase {
  std::string name;
  PlacementCase placed;
};

/// The graphs of a scenario's placement study, each on each machine. Throws InputError when it has no such study.
std::vector<NamedCase> placement_cases(const Scenario& scenario);

}  // namespace rehearse::scenarios
