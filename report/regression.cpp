// Paired differences with Student's interval, as for savings; for policies that choose by chance a tolerance that chance alone
// exceeds with a probability shared out evenly over all of them (Bonferroni).
#include "report/regression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::report {

namespace {

using sim::kNan;

double mean_of_defined(const std::vector<double>& values) { return estimate(values).mean; }

double mean_magnitude(const std::vector<double>& values) {
  std::vector<double> magnitudes;
  for (const double value : values) magnitudes.push_back(std::abs(value));
  return mean_of_defined(magnitudes);
}

/// What a difference in this repetition is divided by; 0: there is nothing to relate it to.
double scale_of(double recorded, double magnitude, bool absolute) {
  if (absolute) return 1;
  return recorded != 0 ? std::abs(recorded) : magnitude;
}

/// The difference of two means, both by chance, that is exceeded with this probability.
double chance_tolerance(const Chance& chance, double probability) {
  return sim::student_upper_quantile(probability, chance.degrees_of_freedom) * chance.deviation * std::sqrt(2.0);
}

/// Of what need not happen at all: nobody waited, nothing was predicted, no steady state was reached.
bool may_lack(std::string_view metric) {
  constexpr std::string_view kMetrics[] = {"utilization_waiting_fraction", "time_error_median", "cost_error_median",
                                           "steady_from_s", "jct_steady_mean_s"};
  return std::find(std::begin(kMetrics), std::end(kMetrics), metric) != std::end(kMetrics);
}

void check_comparable(const Results& recorded, const Results& now) {
  const auto tell = [](const Results& r) {
    return fmt::format("scenario \"{}\", seed {}, {} repetitions", r.scenario, r.seed, r.repetitions);
  };
  if (recorded.scenario != now.scenario || recorded.seed != now.seed || recorded.repetitions != now.repetitions)
    throw sim::InputError(
        {.file = now.folder, .expected = "the world of " + recorded.folder + ": " + tell(recorded), .found = tell(now)});
}

class Judge {
 public:
  Judge(const std::vector<MetricRule>& rules, const ChanceTable& chance)
      : rules_(rules),
        chance_(chance),
        probability_(kAlarmProbability / static_cast<double>(std::max<std::size_t>(1, chance.size()))) {}

  void policy(const PolicyValues& recorded, const PolicyValues* now, std::vector<Finding>& findings) const {
    if (now == nullptr)
      findings.push_back(of_whole(recorded, Verdict::broken, "the policy is missing"));
    else if (!recorded.ok)
      findings.push_back(now->ok ? of_whole(recorded, Verdict::better, "it failed when it was recorded")
                                 : of_whole(recorded, Verdict::same, "the policy failed, as recorded: " + now->reason));
    else if (!now->ok)
      findings.push_back(of_whole(recorded, Verdict::broken, "the policy failed: " + now->reason));
    else
      for (const MetricRule& rule : rules_) findings.push_back(metric(rule, recorded, *now));
  }

 private:
  static Finding of_whole(const PolicyValues& recorded, Verdict verdict, std::string reason) {
    return {.policy = recorded.policy,
            .metric = {},
            .verdict = verdict,
            .recorded = kNan,
            .now = kNan,
            .change = {.mean = kNan, .ci95_low = kNan, .ci95_high = kNan},
            .reason = std::move(reason)};
  }

  Finding metric(const MetricRule& rule, const PolicyValues& recorded, const PolicyValues& now) const {
    const std::vector<double>&old = recorded.metrics.at(rule.metric), &young = now.metrics.at(rule.metric);
    Finding f{.policy = recorded.policy,
              .metric = rule.metric,
              .fails = rule.fails,
              .absolute = rule.absolute,
              .recorded = mean_of_defined(old),
              .now = mean_of_defined(young),
              .tolerance = rule.tolerance};
    const auto chance = chance_.find({recorded.policy, rule.metric});
    for (std::size_t r = 0; r < old.size(); ++r)
      if (!(std::isfinite(old[r]) && std::isfinite(young[r])) && chance != chance_.end()) {
        // It is chance which jobs fail, and a failed job without a reference cost leaves no value: costs of different jobs say
        // nothing, and broken limits have a metric of their own.
        f.change = estimate({});
        f.reason = fmt::format("not judged: no value in repetition {}, by chance", r);
        return f;
      } else if (std::isfinite(old[r]) && !std::isfinite(young[r]) && !(std::isnan(young[r]) && may_lack(rule.metric))) {
        f.change = estimate({});
        f.verdict = Verdict::broken;
        f.reason = fmt::format("no value in repetition {}", r);
        return f;
      }
    const std::vector<double> differences = paired_differences(old, young, rule.absolute);
    f.change = estimate(differences);
    if (chance != chance_.end()) f.tolerance = std::max(f.tolerance, chance_tolerance(chance->second, probability_));
    f.verdict = verdict(rule, f);
    if (std::isnan(f.change.mean)) f.reason = "not judged: in no repetition there is one then and now";
    if (f.verdict == Verdict::broken) f.reason = "limits newly broken";
    return f;
  }

  /// With one repetition, there is no interval: the mean decides.
  static Verdict verdict(const MetricRule& rule, const Finding& f) {
    const double sign = rule.higher_is_better ? -1 : 1;
    const double mean = sign * f.change.mean;
    const double low = sign > 0 ? f.change.ci95_low : -f.change.ci95_high;
    const double high = sign > 0 ? f.change.ci95_high : -f.change.ci95_low;
    if (mean > f.tolerance && (rule.breaks || std::isnan(low) || low > 0)) return rule.breaks ? Verdict::broken : Verdict::worse;
    if (mean < -f.tolerance && (std::isnan(high) || high < 0)) return Verdict::better;
    return Verdict::same;
  }

  const std::vector<MetricRule>& rules_;
  const ChanceTable& chance_;
  double probability_;  ///< of an alarm by chance, for each policy and metric
};

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::better:
      return "better";
    case Verdict::same:
      return "same";
    case Verdict::worse:
      return "worse";
    case Verdict::broken:
      return "broken";
  }
  return {};
}

std::vector<MetricRule> default_rules(const StudyKinds& kinds) {
  std::vector<MetricRule> rules{
      {.metric = "effective_cost_usd"},
      {.metric = "cost_usd"},
      {.metric = "jct_mean_s"},
      {.metric = "energy_kwh"},
      {.metric = "limits_broken", .absolute = true, .breaks = true, .tolerance = 0},
      {.metric = "step_evaluations", .tolerance = 0.05},
  };
  const StudyKinds others{.queue = kinds.queue, .nodes = kinds.nodes};
  for (const MetricColumns& columns : metric_columns(others))
    for (const MetricField* field : columns.fields) {
      const bool has_rule =
          std::any_of(rules.begin(), rules.end(), [&](const MetricRule& rule) { return rule.metric == field->name; });
      if (field->better != Better::neither && !has_rule)
        rules.push_back({.metric = std::string(field->name),
                         .higher_is_better = field->better == Better::higher,
                         .absolute = field->absolute});
    }
  return rules;
}

std::vector<std::string> metrics_of(const std::vector<MetricRule>& rules) {
  std::vector<std::string> names;
  for (const MetricRule& rule : rules) names.push_back(rule.metric);
  return names;
}

bool is_alarm(const Finding& finding) {
  return finding.fails && (finding.verdict == Verdict::worse || finding.verdict == Verdict::broken);
}

std::vector<double> paired_differences(const std::vector<double>& recorded, const std::vector<double>& now, bool absolute) {
  const double magnitude = mean_magnitude(recorded);
  std::vector<double> differences;
  for (std::size_t r = 0; r < recorded.size(); ++r) {
    const double difference = now[r] - recorded[r], scale = scale_of(recorded[r], magnitude, absolute);
    if (difference == 0 || std::isnan(difference))
      differences.push_back(difference);
    else
      differences.push_back(scale > 0 ? difference / scale : std::copysign(1, difference));
  }
  return differences;
}

std::vector<Finding> judge(const Results& recorded, const Results& now, const std::vector<MetricRule>& rules,
                           const ChanceTable& chance) {
  check_comparable(recorded, now);
  const Judge judge(rules, chance);
  std::vector<Finding> findings;
  for (const PolicyValues& policy : recorded.policies) judge.policy(policy, now.find(policy.policy), findings);
  return findings;
}

namespace {

using BySeed = std::vector<std::vector<double>>;

BySeed values_of(const std::vector<Results>& by_seed, std::string_view policy, const std::string& metric) {
  BySeed values;
  for (const Results& results : by_seed) values.push_back(results.find(policy)->metrics.at(metric));
  return values;
}

Chance chance_of(const BySeed& by_seed, const MetricRule& rule) {
  std::vector<double> means;
  double total = 0, runs = 0;
  for (const std::vector<double>& values : by_seed) {
    means.push_back(mean_of_defined(paired_differences(by_seed.front(), values, rule.absolute)));
    for (const double value : values) total += std::isnan(value) ? 0 : std::abs(value);
    runs += static_cast<double>(values.size());
  }
  const double centre = mean(means), freedom = static_cast<double>(means.size() - 1);
  double variance = 0;
  for (const double value : means) variance += (value - centre) * (value - centre) / freedom;
  // A number of rare events varies at least as a Poisson number, and there is always one that has not been seen yet.
  if (rule.absolute) variance = std::max(variance, (total + 1) / runs / static_cast<double>(by_seed.front().size()));
  return {.deviation = std::isnan(variance) ? 0 : std::sqrt(variance), .degrees_of_freedom = freedom};
}

bool all_same(const BySeed& values) {
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  return std::all_of(values.begin(), values.end(), [&](const std::vector<double>& one) {
    return std::equal(one.begin(), one.end(), values.front().begin(), same);
  });
}

}  // namespace

std::vector<std::string> choosing_by_chance(const std::vector<Results>& by_seed, const std::vector<MetricRule>& rules) {
  std::vector<std::string> names;
  for (const PolicyValues& policy : by_seed.front().policies)
    if (!std::all_of(rules.begin(), rules.end(),
                     [&](const MetricRule& rule) { return all_same(values_of(by_seed, policy.policy, rule.metric)); }))
      names.push_back(policy.policy);
  return names;
}

ChanceTable estimate_chance(const std::vector<std::string>& policies, const std::vector<Results>& by_seed,
                            const std::vector<MetricRule>& rules) {
  ChanceTable table;
  for (const std::string& policy : policies)
    for (const MetricRule& rule : rules) table[{policy, rule.metric}] = chance_of(values_of(by_seed, policy, rule.metric), rule);
  return table;
}

}  // namespace rehearse::report
