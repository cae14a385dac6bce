// Who wins, and whether any policy does: first who keeps limits as well as the reference, then who of those is cheapest. Asked
// twice: of the jobs that were drawn, as they are, and of new worlds (docs/explain/model.md, "Verdict"). Pure: figures of
// repetitions in, standings out.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "report/statistics.hpp"

namespace rehearse::report {

/// By default at most so much more of the jobs than the reference's may have a broken limit.
inline constexpr double kLimitsMargin = 0.01;
/// One repetition of fewer jobs is an example.
inline constexpr double kFewestJobs = 30;
/// Costs that differ by less are level.
inline constexpr double kLevelMargin = 0.01;
/// Of all that a verdict claims of limits together; and of all that it claims of costs.
inline constexpr double kVerdictError = 0.05;
/// Repetitions more than this are not counted out.
inline constexpr double kMostRepetitions = 1e5;

/// A policy in one repetition, paired with the others' of the same repetition.
struct VerdictFigures {
  double broken_share = 0;  ///< of the jobs: those with a broken limit, failed and rejected ones included; NaN: no job counts
  double effective_cost_usd = 0;  ///< or what stands in its place; NaN: a job's limits are broken whose reference cost is null
  double jobs = 0;                ///< that count; 0: unsaid
};

struct VerdictPolicy {
  std::string name;
  bool is_yardstick = false;                ///< knows what no policy can: never wins, and is in no comparison
  std::vector<VerdictFigures> repetitions;  ///< empty: the policy failed
  /// In every repetition each job ends, costs and keeps its limits as under the reference: level with it, whatever could happen.
  bool is_as_reference = false;
};

struct VerdictInput {
  std::vector<VerdictPolicy> policies;
  std::string reference;        ///< one of them, fixed beforehand
  Mean mean = Mean::geometric;  ///< of the costs over repetitions: what ranks policies is what is printed
  /// Nothing was drawn by chance, or nothing that another repetition would draw anew: figures are exact, one repetition suffices.
  bool is_exact = false;
  /// The largest share of a repetition's jobs that one draw of chance can move together (a model's, whose true parameters are
  /// drawn once a repetition); in (0, 1]. What was never seen to break can be as large as that.
  double unit_share = 1;
  /// Some job has a limit, or may fail. Without one, whose jobs all end keeps what there is to keep.
  bool has_limits = true;
  double limits_margin = kLimitsMargin;  ///< in [0, 1]
};

enum class Keeping { yes, no, undecided, not_judged };
/// Of a policy that keeps limits: against the cheapest of them (which is `best`).
enum class Standing { best, level, dearer, undecided, not_judged };

struct PolicyVerdict {
  std::string name;
  bool is_yardstick = false;
  Keeping keeping = Keeping::not_judged;
  Standing standing = Standing::not_judged;
  double broken_share = 0;  ///< mean over repetitions
  /// Share of broken limits less the reference's: mean, and the bounds, each by itself, that hold for all policies together.
  double more_broken = 0, more_broken_low = 0, more_broken_high = 0;
  double more_broken_jobs = 0, jobs = 0;  ///< the same as a number of jobs of all repetitions; NaN: unsaid
  bool is_as_reference = false;           ///< VerdictPolicy's
  /// Costs more than the reference, by an interval that holds for all policies together: never the cheapest, whatever its limits.
  bool is_surely_dearer = false;
  /// 100 (1 - cost / the reference's), with its own 95 % interval. NaN: there is no such ratio.
  Estimate cheaper_than_reference_percent{};
  /// What it costs above the best, in percent; an interval that holds for all policies together. NaN: they are not compared.
  Estimate dearer_than_best_percent{};
  /// So many more, with figures as they are, would decide what is undecided; infinity: more than kMostRepetitions.
  double repetitions_more = 0;
  bool breaks_surely = false;  ///< what is broken more is not chance alone; of Keeping::no
};

enum class Outcome {
  cheapest,        ///< `winner` is cheaper than the reference, and no dearer than any that keeps limits
  reference,       ///< nobody that keeps limits is cheaper than the reference: `winner` is the reference
  level,           ///< the best is level with the reference; no winner
  undecided,       ///< more repetitions are needed; no winner
  nobody_keeps,    ///< nobody else keeps limits as well as the reference; no winner
  no_cost,         ///< nobody that keeps limits has a cost to compare; no winner
  one_repetition,  ///< figures, no verdict
  one_policy,      ///< nothing to compare
  no_reference,    ///< the reference failed, or is not there
  no_job           ///< no job counts
};

/// One answer to the question who wins.
struct Statement {
  Outcome outcome = Outcome::one_policy;
  std::string reference;
  std::string winner;     ///< empty: none
  std::string best;       ///< cheapest of those that keep limits, by its mean; empty: none
  bool is_exact = false;  ///< figures are compared as they are, without bounds or intervals
  int repetitions = 0;
  std::vector<double> jobs;  ///< of each repetition, as the reference has them; empty: unsaid
  double comparisons = 0;    ///< that bounds and intervals hold for together
  double unit_share = 1;
  bool has_limits = true;
  double limits_margin = kLimitsMargin;
  std::vector<PolicyVerdict> policies;  ///< in the input's order
  const PolicyVerdict* find(std::string_view name) const;
  bool has_verdict() const { return outcome <= Outcome::no_cost; }
};

/// Throws CheckFailed when policies have different numbers of repetitions.
Statement judge(const VerdictInput& input);

/// What a run shows. A winner needs the first statement; the second says what it lacks.
struct RunVerdict {
  Statement drawn;       ///< on the jobs and worlds that were drawn: paired and exact
  Statement new_worlds;  ///< on worlds that were not drawn: repetitions are the units; `drawn` where a draw would change nothing
  /// One repetition of few jobs: no evidence.
  bool is_example() const { return drawn.repetitions == 1 && drawn.jobs.size() == 1 && drawn.jobs.front() < kFewestJobs; }
  /// Nothing is drawn that another repetition would draw anew.
  bool is_exact() const { return new_worlds.is_exact; }
  /// Both name the same winner, or give the same reason for none.
  bool agrees() const { return drawn.outcome == new_worlds.outcome && drawn.winner == new_worlds.winner; }
};

RunVerdict judge_twice(VerdictInput input);

/// Upper bound of a mean of paired differences in [-1, 1], wrong with probability `error`: Wilson's score bound with the variance
/// of the repetitions, which with differences that are all 0 is the rule of three for draws that each move `unit_share`.
double upper_bound(double mean, double deviation, double repetitions, double error, double unit_share);
/// The same from below.
double lower_bound(double mean, double deviation, double repetitions, double error, double unit_share);

/// Repetitions from which on a policy that never breaks a limit more than the reference can be shown to keep them.
double fewest_repetitions(double comparisons, double unit_share, double limits_margin = kLimitsMargin);

}  // namespace rehearse::report
