#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <set>

#include "experiments/load.hpp"
#include "experiments/studies/studies.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;

const std::string kLearningScenario = R"({ "seed": 3, "study": { "name": "learning-curve", "runs": [4, 12], "model_errors": [0] },
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.8xlarge", "nodes": 2 } ] },
  "jobs": [ { "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9, "deadline_s": 86400 } ],
  "profiling_reuse_jobs": 10,
  "policies": [ "manual", "static-isotonic-shared" ] })";

double number(const report::Table& table, std::size_t row, const std::string& column) {
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].name == column) return std::get<double>(table.rows[row][c]);
  throw std::invalid_argument(column);
}

// Profiling was charged $5 when spread over 50 jobs of a model, $250 for all 50. Each such batch of jobs saves $100 - $60 = $40.
// Spread over 50 x 5/40 = 6.25 times as few jobs, it is charged 5 x 50/6.25 = $40 and eats all that is saved.
TEST_CASE("break-even: where the profiling that is charged equals what is saved") {
  CHECK(scenarios::break_even_jobs(100, 60, 5, 50) == Approx(6.25));
  CHECK(std::isnan(scenarios::break_even_jobs(100, 100, 5, 50)));
  CHECK(std::isnan(scenarios::break_even_jobs(100, 120, 5, 50)));
}

TEST_CASE("a learning curve: more runs cost more profiling, and manual is the same in every cell") {
  const TemporaryFolder folder;
  const auto scenario = scenarios::load_scenario(folder.write("s.json", kLearningScenario), {});
  REQUIRE(scenario->study != nullptr);
  bool failed = true;
  const std::string out = folder.path() + "/out";
  const report::StudySummary summary = scenarios::run_study(*scenario, {.out = out, .processes = 2}, failed);
  CHECK_FALSE(failed);
  REQUIRE(summary.tables.size() == 1);
  const report::Table& table = summary.tables.front();
  REQUIRE(table.rows.size() == 4);  // 2 sizes of the history x 2 policies
  CHECK(number(table, 0, "effective_cost_usd") == number(table, 2, "effective_cost_usd"));
  CHECK(number(table, 0, "profiling_cost_usd") == 0);
  CHECK(number(table, 1, "runs") == 4);
  CHECK(number(table, 3, "runs") == 12);
  CHECK(number(table, 1, "profiling_cost_usd") > 0);
  CHECK(number(table, 3, "profiling_cost_usd") > number(table, 1, "profiling_cost_usd"));
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(out)) files.insert(entry.path().filename());
  CHECK(files == std::set<std::string>{"learning.csv", "manifest.json", "scenario.json", "summary.json"});
  // A study's results are results: they may be replaced.
  CHECK_NOTHROW(scenarios::run_study(*scenario, {.out = out, .processes = 1}, failed));
}

TEST_CASE("a policy that fails in a study is told, and the others go on") {
  const TemporaryFolder folder;
  const auto scenario = scenarios::load_scenario(folder.write("s.json", kLearningScenario), {});
  const auto run = [](const scenarios::Scenario& s, const scenarios::RunTask& task, const auto& on_progress) {
    if (s.policies[task.policy].name == "static-isotonic-shared" && s.history.runs == 12) throw sim::PolicyError("no answer");
    scenarios::run_one(s, task, on_progress);
  };
  bool failed = false;
  const report::StudySummary summary =
      scenarios::run_study(*scenario, {.out = folder.path() + "/out", .processes = 1, .run = run}, failed);
  CHECK(failed);
  CHECK(summary.tables.front().rows.size() == 3);
  CHECK(summary.notes.front() == "model error 0, 12 runs: policy \"static-isotonic-shared\" failed: no answer");
}

TEST_CASE("mistakes in the study's parameters") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& study) {
    return complaints(folder,
                      with(kLearningScenario, R"({ "name": "learning-curve", "runs": [4, 12], "model_errors": [0] })", study));
  };
  CHECK(said(R"("learning-curve")").empty());
  CHECK(said(R"("learning-curv")") ==
        R"(s.json:1:23: /study: expected the name of a study, found "learning-curv"; did you mean "learning-curve"?)");
  CHECK(said("7") == "s.json:1:23: /study: expected the name of a study, or an object with its name and parameters, found 7");
  CHECK(said("{}") == R"(s.json:1:23: /study: expected a key "name" (the name of a study), found none)");
  CHECK(said(R"({"name": "learning-curve", "run": [3]})") ==
        R"(s.json:1:50: /study/run: found unknown key "run"; did you mean "runs"?)");
  CHECK(said(R"({"name": "learning-curve", "runs": []})") ==
        "s.json:1:58: /study/runs: expected at least one number, found an empty list");
  CHECK(said(R"({"name": "learning-curve", "model_errors": [-1]})") ==
        "s.json:1:67: /study/model_errors/0: expected a number from 0 to 2, found -1");
}

}  // namespace
