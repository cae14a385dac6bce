// Results folders side by side, metric by metric; paired over repetitions where they are of the same seeds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "experiments/run/results_place.hpp"
#include "report/comparison.hpp"
#include "report/job_inputs.hpp"
#include "report/regression.hpp"
#include "report/table.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"

namespace rehearse::cli {

namespace {

using report::Results;

const std::vector<std::string>& usual_metrics() {
  static const std::vector<std::string> all{"effective_cost_usd",
                                            "cost_usd",
                                            "idle_cost_usd",
                                            "jct_mean_s",
                                            "jct_p95_s",
                                            "makespan_s",
                                            "deadline_met_fraction",
                                            "accuracy_met_fraction",
                                            "limits_broken",
                                            "jobs_failed",
                                            "energy_kwh",
                                            "idle_energy_kwh",
                                            "utilization_fraction"};
  return all;
}

/// Those that are asked for, all known.
std::vector<std::string> metrics_of(const CompareArguments& arguments) {
  std::vector<std::string> names;
  for (const report::MetricField& field : report::metric_fields()) names.emplace_back(field.name);
  for (const std::string& metric : arguments.metrics)
    if (std::find(names.begin(), names.end(), metric) == names.end())
      throw sim::InputError({.pointer = "--metric",
                             .expected = "a column of repetitions.csv",
                             .found = "\"" + metric + "\"",
                             .nearest = sim::nearest_name(metric, names)});
  return arguments.metrics.empty() ? usual_metrics() : arguments.metrics;
}

std::string value_words(const std::string& metric, double value) {
  if (metric.ends_with("_s")) return sim::time_words(value);
  if (metric.ends_with("_usd")) return sim::money_words(value);
  if (metric.ends_with("_fraction")) return sim::percent_words(value);
  return sim::figure(value, 4);
}

/// Repetition by repetition they saw the same world.
bool is_paired(const Results& a, const Results& b) { return a.seed == b.seed && a.repetitions == b.repetitions; }

double mean_of(const std::vector<double>& values) { return report::estimate(values).mean; }

/// How a difference is told: of fractions in points, of numbers of jobs as it is, of all else relative to the first.
enum class Difference { percent, points, number };

Difference difference_of(const std::string& metric) {
  if (metric.ends_with("_fraction")) return Difference::points;
  return metric == "limits_broken" || metric.starts_with("jobs") ? Difference::number : Difference::percent;
}

bool is_whole(const std::vector<double>& values) {
  return std::none_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

/// The change of the mean, with its interval where pairs give one: the mean of the differences is the difference of the means
/// that stand beside it, and both are divided by the first mean. Where that is 0 there is no such ratio.
std::string change_words(const std::vector<double>& before, const std::vector<double>& after, bool paired, Difference as) {
  const double first = mean_of(before);
  report::Estimate change{mean_of(after) - first, sim::kNan, sim::kNan};
  if (paired && is_whole(before) && is_whole(after)) change = report::estimate(report::paired_differences(before, after, true));
  if (as == Difference::percent)
    for (double* part : {&change.mean, &change.ci95_low, &change.ci95_high})
      *part = first == 0 ? sim::kNan : *part / std::abs(first);
  if (std::isnan(change.mean)) return "-";
  const double unit = as == Difference::number ? 1 : 100;
  const auto shown = [&](double part) { return fmt::format("{:+.1f}", std::abs(unit * part) < 0.05 ? 0.0 : unit * part); };
  const char* sign = as == Difference::percent ? " %" : as == Difference::points ? " points" : "";
  if (std::isnan(change.ci95_low)) return fmt::format("{}{}", shown(change.mean), sign);
  return fmt::format("{}{} [{}, {}]", shown(change.mean), sign, shown(change.ci95_low), shown(change.ci95_high));
}

const std::vector<double>* values_of(const Results& results, const std::string& policy, const std::string& metric) {
  const report::PolicyValues* found = results.find(policy);
  if (found == nullptr || !found->ok) return nullptr;
  const auto values = found->metrics.find(metric);
  return values == found->metrics.end() || std::isnan(mean_of(values->second)) ? nullptr : &values->second;
}

/// The shortest endings of the folders' paths that tell them apart.
std::vector<std::string> short_names(const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const std::string& folder : folders) {
    const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
    names.push_back(path.has_filename() ? path.filename().string() : path.parent_path().filename().string());
  }
  return std::set<std::string>(names.begin(), names.end()).size() == names.size() ? names : folders;
}

std::string table_of(const std::vector<Results>& all, const std::vector<std::string>& names, const std::string& policy,
                     const std::vector<std::string>& metrics) {
  std::vector<std::string> heading{policy, names.front()};
  std::vector<bool> left{true, false};
  for (std::size_t r = 1; r < all.size(); ++r) {
    heading.push_back(names[r]);
    heading.push_back(all.size() == 2 ? "change" : "to " + names.front());
    left.insert(left.end(), 2, false);
  }
  std::vector<std::vector<std::string>> rows{heading};
  for (const std::string& metric : metrics) {
    const std::vector<double>* first = values_of(all.front(), policy, metric);
    std::vector<std::string> row{metric, first == nullptr ? "-" : value_words(metric, mean_of(*first))};
    bool has_any = first != nullptr;
    for (std::size_t r = 1; r < all.size(); ++r) {
      const std::vector<double>* values = values_of(all[r], policy, metric);
      has_any = has_any || values != nullptr;
      row.push_back(values == nullptr ? "-" : value_words(metric, mean_of(*values)));
      row.push_back(first == nullptr || values == nullptr
                        ? "-"
                        : change_words(*first, *values, is_paired(all.front(), all[r]), difference_of(metric)));
    }
    if (has_any) rows.push_back(std::move(row));
  }
  return rows.size() == 1 ? std::string() : report::aligned(rows, left, {}, table_width());
}

std::string changes_legend(const std::vector<Results>& all) {
  const bool any_paired =
      std::any_of(all.begin() + 1, all.end(), [&](const Results& r) { return is_paired(all.front(), r) && r.repetitions > 1; });
  return fmt::format(
      "Changes are of the means shown: fractions in points, jobs in jobs, all else in percent of the first\n"
      "mean (-: it is 0){}.",
      any_paired ? "; behind them the 95 % interval of the differences, paired by repetition" : "");
}

}  // namespace

int compare_command(const CompareArguments& arguments) {
  if (arguments.folders.size() < 2)
    throw sim::InputError({.pointer = "compare", .expected = "at least two results folders", .found = arguments.folders.front()});
  const std::vector<std::string> metrics = metrics_of(arguments), names = short_names(arguments.folders);
  std::vector<Results> all;
  std::vector<std::string> policies;
  for (const std::string& folder : arguments.folders) {
    scenarios::check_results(folder);
    all.push_back(report::read_results(folder, metrics));
    for (const report::PolicyValues& policy : all.back().policies)
      if (std::find(policies.begin(), policies.end(), policy.policy) == policies.end()) policies.push_back(policy.policy);
  }
  for (std::size_t r = 0; r < all.size(); ++r)
    say("{}: scenario {}, seed {}, {}{}\n", names[r], all[r].scenario, all[r].seed,
        sim::counted(all[r].repetitions, "repetition"),
        r == 0                           ? ""
        : is_paired(all.front(), all[r]) ? "; paired with the first"
                                         : "; not paired: other seeds or repetitions");
  for (std::size_t r = 1; r < all.size(); ++r)
    if (is_paired(all.front(), all[r]))
      for (const std::string& change : report::input_changes(all.front().folder, all[r].folder))
        say("{}", wrapped(fmt::format("{}: {}.", names[r], change)));
  say("{}\n", changes_legend(all));
  for (const std::string& policy : policies) {
    if (const std::string table = table_of(all, names, policy, metrics); !table.empty()) say("\n{}", table);
    for (std::size_t r = 0; r < all.size(); ++r)
      if (const report::PolicyValues* found = all[r].find(policy); found == nullptr || !found->ok)
        say("{}: {}\n", names[r], found == nullptr ? "has no policy " + policy : policy + " failed: " + found->reason);
  }
  return kOk;
}

}  // namespace rehearse::cli
