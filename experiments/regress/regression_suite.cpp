#include "experiments/regress/regression_suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "experiments/load.hpp"
#include "experiments/run/run.hpp"
#include "report/regression.hpp"
#include "scenarios/read/study_kinds.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"

namespace rehearse::scenarios {

namespace fs = std::filesystem;

namespace {

report::MetricRule read_rule(sim::JsonValue value, sim::Mistakes& mistakes) {
  static const std::vector<std::string> kDirections{"lower", "higher"};
  sim::ObjectReader in(value, mistakes);
  report::MetricRule rule{.metric = in.text("metric")};
  rule.higher_is_better = in.choice("better", kDirections, 0) == 1;
  rule.absolute = in.boolean("absolute", false);
  rule.breaks = in.boolean("breaks", false);
  rule.tolerance = in.number("tolerance", sim::at_least(0), 0.01);
  rule.fails = in.boolean("fails", true);
  in.finish();
  return rule;
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw sim::InputError({.file = path, .expected = "a folder that can be made", .found = error.message()});
}

void check_wanted(const RegressionSuite& suite, const SuiteOptions& options) {
  if (options.policies.empty()) return;
  std::vector<std::string> names;
  for (const std::string& name : suite.scenarios) {
    const auto scenario = load_scenario(suite.folder + "/" + name + ".json", {});
    for (const policies::PolicySpec& spec : scenario->policies) names.push_back(spec.name);
  }
  report::check_policies(options.policies, names, suite.folder);
}

/// What is recorded, and what says which decision changed, whatever the scenario writes otherwise.
void ask_for_records(Scenario& scenario) { scenario.output.jobs = scenario.output.decisions = Record::all; }

/// Policies with a seed of their own keep their distance to the scenario's.
void set_policy_seed(Scenario& scenario, std::uint64_t seed) {
  for (policies::PolicySpec& spec : scenario.policies)
    if (spec.policy_seed) *spec.policy_seed += seed - scenario.policy_seed;
  scenario.policy_seed = seed;
}

/// Null when none of its policies is wanted.
std::unique_ptr<Scenario> load(const RegressionSuite& suite, const std::string& name, const SuiteOptions& options) {
  std::unique_ptr<Scenario> scenario = load_scenario(suite.folder + "/" + name + ".json", {});
  if (options.policy_seed) set_policy_seed(*scenario, *options.policy_seed);
  ask_for_records(*scenario);
  if (!options.policies.empty())
    std::erase_if(scenario->policies, [&](const policies::PolicySpec& spec) {
      return std::find(options.policies.begin(), options.policies.end(), spec.name) == options.policies.end();
    });
  return scenario->policies.empty() ? nullptr : std::move(scenario);
}

void run(Scenario& scenario, const SuiteOptions& options, const std::string& out) {
  run_scenario(scenario, {.out = out, .replace = options.replace, .processes = options.processes, .progress = options.progress});
}

report::Results without_failures(const std::string& folder, const std::vector<report::MetricRule>& rules) {
  report::Results results = report::read_results(folder, report::metrics_of(rules));
  for (const report::PolicyValues& policy : results.policies)
    if (!policy.ok)
      throw sim::InputError({.file = folder,
                             .expected = fmt::format("policies that do not fail, before {} is recorded", results.scenario),
                             .found = fmt::format("\"{}\": {}", policy.policy, policy.reason)});
  return results;
}

}  // namespace

RegressionSuite read_suite(const std::string& folder) {
  RegressionSuite suite{.folder = folder};
  if (!fs::exists(folder + "/suite.json"))
    throw sim::InputError(
        {.file = folder + "/suite.json",
         .expected = "a suite of the policy regression (a folder with one can be given: rehearse regress FOLDER)",
         .found = "no such file"});
  const sim::JsonDocument document = sim::read_json_file(folder + "/suite.json");
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  for (const sim::JsonValue value : in.list("scenarios")) {
    suite.scenarios.emplace_back(sim::read_text(value, mistakes));
    if (suite.scenarios.back().find('/') != std::string::npos) value.refuse("a name without slashes", mistakes);
  }
  if (suite.scenarios.empty()) in.value().refuse("a list of scenarios", mistakes);
  suite.policy_seeds = static_cast<int>(in.integer("policy_seeds", sim::between(2, 1000), suite.policy_seeds));
  for (const sim::JsonValue value : in.list("metrics")) suite.rules.push_back(read_rule(value, mistakes));
  in.finish();
  mistakes.throw_if_any();
  return suite;
}

std::vector<report::ScenarioFindings> check_suite(const RegressionSuite& suite, const SuiteOptions& options) {
  check_wanted(suite, options);
  make_folder(options.out);
  std::vector<report::ScenarioFindings> found;
  for (const std::string& name : suite.scenarios) {
    if (!fs::exists(suite.recorded(name)))
      throw sim::InputError({.file = suite.recorded(name), .expected = "recorded results (--update records)", .found = "none"});
    const auto scenario = load(suite, name, options);
    if (scenario == nullptr) continue;
    const std::string out = options.out + "/" + name;
    run(*scenario, options, out);
    found.push_back(
        report::compare_folders({.recorded = suite.recorded(name), .now = out, .policies = options.policies, .of_suite = true},
                                suite.rules, report::read_chance(suite.recorded(name))));
  }
  return found;
}

void record_suite(const RegressionSuite& suite, const SuiteOptions& options) {
  make_folder(options.out);
  for (const std::string& name : suite.scenarios) {
    const std::unique_ptr<Scenario> scenario = load_scenario(suite.folder + "/" + name + ".json", {});
    ask_for_records(*scenario);
    const std::string out = options.out + "/" + name, another = out + "-another-seed";
    const std::vector<report::MetricRule> rules = suite.rules.empty() ? report::default_rules(kinds_of(*scenario)) : suite.rules;
    std::vector<report::Results> by_seed;
    for (int s = 0; s < suite.policy_seeds; ++s, set_policy_seed(*scenario, scenario->policy_seed + 1)) {
      const std::string& into = s == 0 ? out : another;
      run(*scenario, options, into);
      by_seed.push_back(without_failures(into, rules));
    }
    fs::remove_all(another);
    make_folder(suite.recorded(name));
    report::write_recorded(out, suite.recorded(name), estimate_chance(choosing_by_chance(by_seed, rules), by_seed, rules));
  }
}

}  // namespace rehearse::scenarios
