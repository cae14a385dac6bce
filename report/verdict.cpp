// Non-inferiority in broken limits, then paired comparison of costs with the best (Hsu, Annals of Statistics 9(5), 1981);
// simultaneous by Bonferroni. docs/explain/model.md, "Verdict", derives the bounds.
#include "report/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::report {

namespace {

using sim::kNan;
constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-12;  // of shares
constexpr Estimate kNoEstimate{kNan, kNan, kNan};

struct Spread {
  double mean = 0, deviation = 0;
};

Spread spread(const std::vector<double>& values) {
  const double m = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - m) * (value - m);
  return {m, values.size() < 2 ? 0 : std::sqrt(squares / static_cast<double>(values.size() - 1))};
}

/// Smallest number above `now` for which it holds, by doubling and halving: `decides` is monotone. kForever beyond the most.
double first_that(double now, const std::function<bool(double)>& decides) {
  double low = now, high = now;
  do {
    low = high;
    high *= 2;
    if (high > kMostRepetitions) return kForever;
  } while (!decides(high));
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (decides(middle) ? high : low) = middle;
  }
  return high;
}

class VerdictJudge {
 public:
  explicit VerdictJudge(const VerdictInput& input) : input_(input) {
    statement_.reference = input.reference;
    statement_.is_exact = input.is_exact;
    statement_.unit_share = input.unit_share;
    statement_.has_limits = input.has_limits;
    statement_.limits_margin = input.limits_margin;
    double contestants = 0;
    for (const VerdictPolicy& policy : input.policies) {
      contestants += !policy.is_yardstick;
      statement_.policies.push_back({.name = policy.name,
                                     .is_yardstick = policy.is_yardstick,
                                     .broken_share = kNan,
                                     .more_broken = kNan,
                                     .more_broken_low = kNan,
                                     .more_broken_high = kNan,
                                     .more_broken_jobs = kNan,
                                     .jobs = kNan,
                                     .is_as_reference = policy.is_as_reference,
                                     .cheaper_than_reference_percent = kNoEstimate,
                                     .dearer_than_best_percent = kNoEstimate});
      if (policy.name == input.reference && !policy.repetitions.empty()) reference_ = &policy;
    }
    statement_.comparisons = std::max(1.0, contestants - 1);
  }

  Statement judge() {
    describe();
    statement_.outcome = judge_outcome();
    return std::move(statement_);
  }

 private:
  const VerdictPolicy& given(std::size_t p) const { return input_.policies[p]; }
  PolicyVerdict& of(std::size_t p) { return statement_.policies[p]; }
  bool is_reference(std::size_t p) const { return &given(p) == reference_; }
  double repetitions() const { return statement_.repetitions; }

  /// Figures that need no second repetition.
  void describe() {
    for (std::size_t p = 0; p < input_.policies.size(); ++p) {
      if (given(p).repetitions.empty()) continue;
      sim::check(statement_.repetitions == 0 || statement_.repetitions == static_cast<int>(given(p).repetitions.size()),
                 "policies have different numbers of repetitions");
      statement_.repetitions = static_cast<int>(given(p).repetitions.size());
      of(p).broken_share = spread(broken(p)).mean;
      if (reference_ == nullptr) continue;
      of(p).more_broken = spread(more_broken(p)).mean;
      count_jobs(p);
    }
    for (std::size_t r = 0; reference_ != nullptr && r < reference_->repetitions.size(); ++r)
      if (reference_->repetitions[r].jobs > 0) statement_.jobs.push_back(reference_->repetitions[r].jobs);
  }

  void count_jobs(std::size_t p) {
    double jobs = 0, more = 0;
    for (std::size_t r = 0; r < given(p).repetitions.size(); ++r) {
      const VerdictFigures &mine = given(p).repetitions[r], &theirs = reference_->repetitions[r];
      if (!(mine.jobs > 0)) return;
      jobs += mine.jobs;
      more += mine.jobs * (mine.broken_share - theirs.broken_share);
    }
    of(p).jobs = jobs;
    of(p).more_broken_jobs = std::round(more);
  }

  /// But for rounding.
  bool is_within_margin(double share) const { return share <= input_.limits_margin + kRounding; }

  /// There is no limit that another repetition could break, and all jobs have ended.
  bool has_nothing_to_break(std::size_t p) const {
    const auto all_end = [](const VerdictPolicy& policy) {
      return std::all_of(policy.repetitions.begin(), policy.repetitions.end(),
                         [](const VerdictFigures& figures) { return figures.broken_share == 0; });
    };
    return !input_.has_limits && all_end(*reference_) && all_end(given(p));
  }

  std::vector<double> broken(std::size_t p) const {
    std::vector<double> values;
    for (const VerdictFigures& figures : given(p).repetitions) values.push_back(figures.broken_share);
    return values;
  }
  std::vector<double> more_broken(std::size_t p) const {
    std::vector<double> values = broken(p);
    for (std::size_t r = 0; r < values.size(); ++r) values[r] -= reference_->repetitions[r].broken_share;
    return values;
  }
  /// Of a policy's costs to another's, by the input's mean.
  std::vector<double> log_ratios(const VerdictPolicy& policy, const VerdictPolicy& other) const {
    const auto costs = [](const VerdictPolicy& p) {
      std::vector<double> values;
      for (const VerdictFigures& figures : p.repetitions) values.push_back(figures.effective_cost_usd);
      return values;
    };
    return report::log_ratios(costs(policy), costs(other), input_.mean);
  }

  Outcome judge_outcome() {
    if (reference_ == nullptr) return Outcome::no_reference;
    std::size_t others = 0;
    for (std::size_t p = 0; p < input_.policies.size(); ++p)
      others += !of(p).is_yardstick && !is_reference(p) && !given(p).repetitions.empty();
    if (others == 0) return Outcome::one_policy;
    for (const VerdictFigures& figures : reference_->repetitions)
      if (std::isnan(figures.broken_share)) return Outcome::no_job;
    if (!input_.is_exact && statement_.repetitions < 2) return Outcome::one_repetition;
    for (std::size_t p = 0; p < input_.policies.size(); ++p) judge_keeping(p);
    return judge_costs();
  }

  void judge_keeping(std::size_t p) {
    PolicyVerdict& policy = of(p);
    if (policy.is_yardstick || given(p).repetitions.empty()) return;
    const Spread more = spread(more_broken(p));
    if (is_reference(p) || input_.is_exact || policy.is_as_reference || has_nothing_to_break(p)) {
      policy.more_broken_low = policy.more_broken_high = more.mean;
      policy.keeping = is_within_margin(more.mean) ? Keeping::yes : Keeping::no;
      policy.breaks_surely = policy.keeping == Keeping::no;
      return;
    }
    const auto high = [&](double n) {
      return upper_bound(more.mean, more.deviation, n, kVerdictError / statement_.comparisons, input_.unit_share);
    };
    policy.more_broken_low =
        lower_bound(more.mean, more.deviation, repetitions(), kVerdictError / statement_.comparisons, input_.unit_share);
    policy.more_broken_high = high(repetitions());
    policy.keeping = is_within_margin(policy.more_broken_high) ? Keeping::yes
                     : is_within_margin(more.mean)             ? Keeping::undecided
                                                               : Keeping::no;
    policy.breaks_surely = !is_within_margin(policy.more_broken_low);
    if (policy.keeping == Keeping::undecided)
      policy.repetitions_more = first_that(repetitions(), [&](double n) { return is_within_margin(high(n)); }) - repetitions();
  }

  /// Half the width of an interval of a mean log ratio that holds for so many comparisons together.
  double half_width(double deviation, double n, double comparisons) const {
    if (input_.is_exact || deviation == 0) return 0;
    return sim::student_upper_quantile(kVerdictError / 2 / comparisons, n - 1) * deviation / std::sqrt(n);
  }

  /// Of the policy's cost to the best's, in percent above it.
  Estimate dearer_percent(const std::vector<double>& ratios) const {
    const Spread s = spread(ratios);
    if (std::isnan(s.mean)) return kNoEstimate;
    const double half = half_width(s.deviation, repetitions(), statement_.comparisons);
    const auto percent = [](double log) { return 100 * std::expm1(log); };
    return {percent(s.mean), percent(s.mean - half), percent(s.mean + half)};
  }

  /// With its own interval, wider by what limits would cost that were never seen to break.
  Estimate cheaper_percent(std::size_t p) const {
    const Spread s = spread(log_ratios(given(p), *reference_));
    if (std::isnan(s.mean)) return kNoEstimate;
    const double half = half_width(s.deviation, repetitions(), 1);
    const auto percent = [](double log) { return 0.0 - 100 * std::expm1(log); };
    const bool moves_alike = is_reference(p) || given(p).is_as_reference;
    const double dearer = moves_alike ? 0 : unseen(given(p), std::exp(-s.mean)),
                 cheaper = moves_alike ? 0 : unseen(*reference_, 1);
    return {percent(s.mean), percent(s.mean + half + dearer), percent(s.mean - half - cheaper)};
  }

  /// What may still be added to a mean log cost of a policy that broke no limit: the rule of three, for draws that each add what
  /// the jobs of a unit cost again. `again`: what all jobs cost the reference, over what they cost the policy.
  double unseen(const VerdictPolicy& policy, double again) const {
    const bool has_seen = std::any_of(policy.repetitions.begin(), policy.repetitions.end(),
                                      [](const VerdictFigures& figures) { return figures.broken_share > 0; });
    if (input_.is_exact || !input_.has_limits || has_seen) return 0;
    return std::min(std::log1p(again), std::log1p(input_.unit_share * again) * -std::log(kVerdictError / 2) / repetitions());
  }

  Standing compare_with_best(const VerdictPolicy& best, std::size_t p) {
    const Spread more = spread(log_ratios(given(p), best));  // at least 0, but for rounding
    const double half = half_width(more.deviation, repetitions(), statement_.comparisons);
    const auto is_dearer = [&](double h) { return more.mean - h > kSameFigure; };
    const auto is_level = [&](double h) {
      return more.mean + h <= std::log1p(kLevelMargin) && more.mean - h >= std::log1p(-kLevelMargin);
    };
    of(p).dearer_than_best_percent = dearer_percent(log_ratios(given(p), best));
    if (is_dearer(half)) return Standing::dearer;
    if (is_level(half)) return Standing::level;
    of(p).repetitions_more = first_that(repetitions(),
                                        [&](double n) {
                                          const double h = half_width(more.deviation, n, statement_.comparisons);
                                          return is_dearer(h) || is_level(h);
                                        }) -
                             repetitions();
    return Standing::undecided;
  }

  bool is_surely_dearer(std::size_t p) const {
    if (given(p).is_yardstick || is_reference(p)) return false;
    const Spread more = spread(log_ratios(given(p), *reference_));
    return more.mean - half_width(more.deviation, repetitions(), statement_.comparisons) > kSameFigure;
  }

  Outcome judge_costs() {
    std::vector<std::size_t> contestants;
    // Who is as the reference in every job makes no contest; who is surely dearer is not the cheapest even if limits are kept.
    bool someone_keeps = false, another_keeps = false, someone_may = false, someone_is_dearer = false;
    for (std::size_t p = 0; p < input_.policies.size(); ++p) {
      if (given(p).repetitions.empty()) continue;
      of(p).cheaper_than_reference_percent = cheaper_percent(p);
      of(p).is_surely_dearer = is_surely_dearer(p);
      if (of(p).keeping == Keeping::undecided) (of(p).is_surely_dearer ? someone_is_dearer : someone_may) = true;
      if (of(p).keeping != Keeping::yes) continue;
      someone_keeps |= !is_reference(p);
      another_keeps |= !is_reference(p) && !of(p).is_as_reference;
      if (has_costs(p)) contestants.push_back(p);
    }
    if (!another_keeps && someone_may) return Outcome::undecided;
    if (!someone_keeps && !someone_is_dearer) return Outcome::nobody_keeps;
    const bool is_reference_alone = contestants.size() == 1 && is_reference(contestants.front());
    if (contestants.empty() || (someone_keeps && is_reference_alone)) return Outcome::no_cost;
    std::size_t best = contestants.front();
    for (const std::size_t p : contestants)  // the reference among equals, then the first
      if (const double m = spread(log_ratios(given(p), given(best))).mean;
          m < -kSameFigure || (m <= kSameFigure && is_reference(p)))
        best = p;
    statement_.best = given(best).name;
    bool is_decided = true;
    for (const std::size_t p : contestants) {
      of(p).standing = p == best ? Standing::best : compare_with_best(given(best), p);
      is_decided &= of(p).standing != Standing::undecided;
    }
    if (!is_decided) return Outcome::undecided;
    const PolicyVerdict* reference = statement_.find(statement_.reference);
    if (reference->standing == Standing::level) return Outcome::level;
    const bool all_level = std::all_of(contestants.begin(), contestants.end(), [&](std::size_t p) {
      return of(p).standing == Standing::best || of(p).standing == Standing::level;
    });
    if (someone_keeps && is_reference(best) && all_level) return Outcome::level;
    statement_.winner = statement_.best;
    return is_reference(best) ? Outcome::reference : Outcome::cheapest;
  }

  /// All known, and above 0, so that there are ratios.
  bool has_costs(std::size_t p) const {
    for (const VerdictFigures& figures : given(p).repetitions)
      if (!std::isfinite(figures.effective_cost_usd) || figures.effective_cost_usd <= 0) return false;
    return true;
  }

  const VerdictInput& input_;
  const VerdictPolicy* reference_ = nullptr;
  Statement statement_;
};

}  // namespace

const PolicyVerdict* Statement::find(std::string_view name) const {
  for (const PolicyVerdict& policy : policies)
    if (policy.name == name) return &policy;
  return nullptr;
}

Statement judge(const VerdictInput& input) { return VerdictJudge(input).judge(); }

RunVerdict judge_twice(VerdictInput input) {
  RunVerdict verdict{.drawn = {}, .new_worlds = judge(input)};
  if (input.is_exact) {
    verdict.drawn = verdict.new_worlds;
    return verdict;
  }
  input.is_exact = true;
  verdict.drawn = judge(input);
  return verdict;
}

double upper_bound(double mean, double deviation, double repetitions, double error, double unit_share) {
  const double unseen = unit_share * -std::log(error) / (2 * repetitions);
  const double seen =
      deviation == 0 ? 0 : sim::student_upper_quantile(error, repetitions - 1) * deviation / std::sqrt(repetitions);
  return std::min(1.0, mean + unseen + std::hypot(unseen, seen));
}

double lower_bound(double mean, double deviation, double repetitions, double error, double unit_share) {
  return -upper_bound(-mean, deviation, repetitions, error, unit_share);
}

double fewest_repetitions(double comparisons, double unit_share, double limits_margin) {
  return std::ceil(unit_share * std::log(comparisons / kVerdictError) / limits_margin);
}

}  // namespace rehearse::report
