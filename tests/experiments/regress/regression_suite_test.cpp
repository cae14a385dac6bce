// The suite that ships: it covers every strategy, unchanged code raises no alarm whatever the policies draw, and a policy that
// got worse is found.
#include "experiments/regress/regression_suite.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "experiments/load.hpp"
#include "experiments/run/run.hpp"
#include "policies/registry/registry.hpp"
#include "report/regression.hpp"
#include "sim/base/errors.hpp"
#include "tests/scenarios/temporary_folder.hpp"

using namespace rehearse;
using report::Finding;
using report::ScenarioFindings;
using report::Verdict;

namespace {

const std::string kSuite = REHEARSE_SOURCE_DIR "/scenarios/regression";

template <class Entry>
std::set<std::string> names_of(const std::vector<Entry>& entries) {
  std::set<std::string> names;
  for (const Entry& entry : entries)
    if (entry.paper.empty()) names.insert(entry.name);  // presets are other strategies' settings; tests/references holds them
  return names;
}

std::string alarms_of(const std::vector<ScenarioFindings>& found) {
  return has_alarm(found) ? report::regression_text(found) : "";
}

/// Of all policies that choose nothing by chance, those whose results are others than recorded.
std::vector<std::string> moved(const scenarios::RegressionSuite& suite, const std::vector<ScenarioFindings>& found) {
  std::vector<std::string> names;
  for (const ScenarioFindings& s : found) {
    const report::ChanceTable chance = report::read_chance(suite.recorded(s.scenario));
    for (const Finding& f : s.findings)
      if (!chance.contains({f.policy, f.metric}) && !(std::abs(f.change.mean) < 1e-9) &&
          !(std::isnan(f.recorded) && std::isnan(f.now)))
        names.push_back(s.scenario + " " + f.policy + " " + f.metric);
  }
  return names;
}

std::vector<std::string> policies_by_chance(const scenarios::RegressionSuite& suite) {
  std::set<std::string> names;
  for (const std::string& scenario : suite.scenarios)
    for (const auto& [key, value] : report::read_chance(suite.recorded(scenario))) names.insert(key.first);
  return {names.begin(), names.end()};
}

/// REHEARSE_CHANCE_RUNS: how many times what chance moves is run.
std::uint64_t chance_runs() {
  const char* given = std::getenv("REHEARSE_CHANCE_RUNS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20;
}

}  // namespace

TEST_CASE("the suite covers every strategy of every decision") {
  std::set<std::string> configure, place, threads, queue;
  for (const std::string& name : scenarios::read_suite(kSuite).scenarios) {
    const auto scenario = scenarios::load_scenario(kSuite + "/" + name + ".json", {});
    CHECK(scenario->name == name);
    for (const policies::PolicySpec& spec : scenario->policies) {
      configure.insert(spec.configure.name);
      place.insert(spec.place.name);
      threads.insert(spec.threads.name);
      queue.insert(spec.queue.name);
    }
  }
  CHECK(configure == names_of(policies::configure_strategies()));
  CHECK(place == names_of(policies::place_strategies()));
  CHECK(threads == names_of(policies::threads_strategies()));
  CHECK(queue == names_of(policies::queue_strategies()));
}

TEST_CASE("unchanged code is the same as recorded, and policies without chance do not see the policies' seed") {
  const TemporaryFolder folder;
  const scenarios::RegressionSuite suite = scenarios::read_suite(kSuite);
  const std::vector<ScenarioFindings> found = scenarios::check_suite(suite, {.out = folder.path(), .policy_seed = 987654});
  CHECK(found.size() == suite.scenarios.size());
  CHECK(alarms_of(found) == "");
  CHECK(moved(suite, found) == std::vector<std::string>{});
  std::size_t judged = 0;
  for (const ScenarioFindings& s : found) judged += s.findings.size();
  CHECK(judged >= 50 * report::default_rules().size());
}

TEST_CASE("no false alarm in many runs in which only the policies' seeds change") {
  const scenarios::RegressionSuite suite = scenarios::read_suite(kSuite);
  const std::vector<std::string> by_chance = policies_by_chance(suite);
  CHECK(by_chance.size() > 5);
  for (std::uint64_t run = 1; run <= chance_runs(); ++run) {
    const TemporaryFolder folder;
    CHECK(alarms_of(scenarios::check_suite(suite, {.out = folder.path(), .policy_seed = 1000 + run, .policies = by_chance})) ==
          "");
  }
}

// The stages of staged-oracle are worth about 3 % on these jobs: without them it is oracle.
TEST_CASE("a policy that got 3 % worse is found, with scenario, jobs and decisions") {
  const TemporaryFolder folder;
  const scenarios::RegressionSuite suite = scenarios::read_suite(kSuite);
  const auto scenario = scenarios::load_scenario(kSuite + "/configure.json", {});
  std::erase_if(scenario->policies, [](const policies::PolicySpec& spec) { return spec.name != "staged-oracle"; });
  REQUIRE(scenario->policies.size() == 1);
  scenario->policies[0].configure = {"oracle", {}};
  const std::string now = folder.path() + "/now";
  run_scenario(*scenario, {.out = now});
  const std::string recorded = suite.recorded("configure");
  const ScenarioFindings found = report::compare_folders({.recorded = recorded, .now = now, .policies = {"staged-oracle"}},
                                                         suite.rules, report::read_chance(recorded));
  const auto cost = std::find_if(found.alarms.begin(), found.alarms.end(),
                                 [](const report::Alarm& alarm) { return alarm.finding.metric == "effective_cost_usd"; });
  REQUIRE(cost != found.alarms.end());
  CHECK(cost->finding.verdict == Verdict::worse);
  CHECK(cost->finding.change.mean == Approx(0.03).margin(0.015));
  CHECK(cost->finding.change.ci95_low > 0);
  REQUIRE(cost->changes.worst.size() == 3);
  for (const report::JobChange& job : cost->changes.worst) {
    CHECK(job.now > job.recorded);
    CHECK(job.decision);
  }
  CHECK(report::regression_text({found}).find("configure, staged-oracle, effective_cost_usd: worse") != std::string::npos);
}

TEST_CASE("a suite without recorded results, or with mistakes, is refused") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(scenarios::read_suite(folder.path()), sim::InputError);
  for (const char* text : {R"({})", R"({"scenarios": []})", R"({"scenarios": ["../x"]})",
                           R"({"scenarios": ["a"], "metrics": [{"metric": "cost_usd", "beter": "lower"}]})",
                           R"({"scenarios": ["a"], "metrics": [{"metric": "cost_usd", "better": "up"}]})",
                           R"({"scenarios": ["a"], "metrics": [{"metric": "cost_usd", "tolerance": -1}]})",
                           R"({"scenarios": ["a"], "policy_seeds": 1})"}) {
    INFO(text);
    folder.write("suite.json", text);
    CHECK_THROWS_AS(scenarios::read_suite(folder.path()), sim::InputError);
  }
  folder.write("suite.json", R"({"scenarios": ["a"]})");
  const scenarios::RegressionSuite suite = scenarios::read_suite(folder.path());
  CHECK(suite.rules.empty());  // each scenario has those of its kind
  CHECK_THROWS_AS(scenarios::check_suite(suite, {.out = folder.path() + "/out"}), sim::InputError);
}
