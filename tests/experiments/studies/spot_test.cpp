#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <sstream>

#include "experiments/load.hpp"
#include "experiments/studies/spot_parts.hpp"
#include "experiments/studies/spot_workers.hpp"
#include "experiments/studies/studies.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;

std::string spot_scenario(const std::string& folds, const std::string& more = "") {
  return R"({ "seed": 5, "study": { "name": "spot", "days": 4, "step_s": 600, "work_h": 4, "deadlines_h": [5, 7],
    "restarts_min": [10, 20], "jobs": 6, )" +
         more + R"("processes": [ { "zone": "a", "up_h": [0.5, 1, 4], "down_h": [0.2, 0.5, 2] },
      { "zone": "b", "up_h": [0.5, 2], "down_h": [0.5, 1] }, { "zone": "c", "up_h": [1, 3], "down_h": [0.5, 3] } ],
    "folds": [ )" +
         folds + " ] } }";
}

std::string spot_csv(const TemporaryFolder& folder, const std::string& out, int processes) {
  const auto scenario = scenarios::load_scenario(
      folder.write("spot.json", spot_scenario(R"({ "train": ["a"], "test": ["b", "c"] }, { "train": ["a", "b"], "test": ["c"] })",
                                              R"("ablations": true, )")),
      {});
  bool failed = true;
  scenarios::run_study(*scenario, {.out = folder.path() + "/" + out, .processes = processes}, failed);
  CHECK_FALSE(failed);
  std::ostringstream text;
  text << std::ifstream(folder.path() + "/" + out + "/spot.csv").rdbuf();
  return text.str();
}

TEST_CASE("a spot study: every policy in every setting, the same bytes with any number of processes") {
  const TemporaryFolder folder;
  const std::string one = spot_csv(folder, "one", 1);
  CHECK(one == spot_csv(folder, "two", 2));
  std::size_t rows = 0;
  for (const char c : one) rows += c == '\n' ? 1 : 0;
  CHECK(rows == 1 + 2 * 4 * scenarios::spot_policy_names(true).size());
}

TEST_CASE("zones that are learned from and tried, unknown, or not there are mistakes of a spot study") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& text) { return complaints_about(folder, folder.write("spot.json", text)); };
  const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
  CHECK(said(spot_scenario(R"({ "train": ["a"], "test": ["b"] })")) == "");
  CHECK(
      has(said(spot_scenario(R"({ "train": ["a", "b"], "test": ["b"] })")), R"(no zone in both "train" and "test", as "b" is)"));
  CHECK(has(said(spot_scenario(R"({ "train": ["a"], "test": ["zz"] })")), "/study/folds/0"));
  CHECK(has(said(spot_scenario(R"({ "train": [], "test": ["b"] })")), "one zone or more in"));
  CHECK(has(said(spot_scenario(R"({ "train": ["a"], "test": ["b"] })", R"("table": "t.csv", )")), "one of \"table\" and"));
  std::string large = spot_scenario(R"({ "train": ["a"], "test": ["b"] })");
  large.replace(large.find("\"deadlines_h\": [5, 7]"), 21, "\"deadlines_h\": [900]");
  large.replace(large.find("\"step_s\": 600"), 13, "\"step_s\": 10");
  CHECK(has(said(large), "at most 1000000"));
}

TEST_CASE("a spot study's bound is above who knows the future, and needs drawn zones that are tried alone") {
  const TemporaryFolder folder;
  const auto scenario = scenarios::load_scenario(
      folder.write("bound.json", spot_scenario(R"({ "train": ["a"], "test": ["c"] })", R"("bound": true, )")), {});
  bool failed = true;
  const report::StudySummary result = scenarios::run_study(*scenario, {.out = folder.path() + "/bound", .processes = 1}, failed);
  CHECK_FALSE(failed);
  const auto& rows = result.tables.at(1).rows;
  REQUIRE(rows.size() == scenarios::spot_policy_names(false, true).size());
  const auto usd = [&](std::size_t from_last) { return std::get<double>(rows[rows.size() - from_last][1]); };
  CHECK(usd(2) > usd(1));
  CHECK(complaints_about(
            folder, folder.write("bound.json", spot_scenario(R"({ "train": ["a"], "test": ["b", "c"] })", R"("bound": true, )")))
            .find("folds that try one zone each") != std::string::npos);
}

// Uniform progress pays 10 and 20, the policies before it 12 and 18, the programme and all behind it 8 and 12, who knows the
// future 6 and 10. Of the gap of (30 - 16) / 2 = 7 the programme closes (30 - 20) / 2 = 5.
TEST_CASE("gap and saving of a spot study, by hand") {
  const std::vector<std::string> names = scenarios::spot_policy_names(false);
  scenarios::SpotVariant variant{.zones = 1, .deadline_h = 52, .restart_min = 3, .scores = {}};
  for (const std::string& name : names) {
    if (name == "uniform-progress")
      variant.scores.push_back({{10}, {20}});
    else if (name == "omniscient")
      variant.scores.push_back({{6}, {10}});
    else if (name == "staged-sdp" || name == "staged-rl")
      variant.scores.push_back({{8}, {12, false}});
    else
      variant.scores.push_back({{12}, {18}});
  }
  const std::vector<report::Table> tables = scenarios::spot_tables({variant}, names);
  const std::vector<report::Cell>& programme = tables[0].rows[5];
  CHECK(std::get<std::string>(programme[3]) == "staged-sdp");
  CHECK(std::get<double>(programme[5]) == 10);
  CHECK(std::get<double>(programme[6]) == 5);
  CHECK(std::get<double>(programme[9]) == Approx(5.0 / 7));
  CHECK(std::get<double>(programme[10]) == 1);
}

std::string workers_scenario(const std::string& more) {
  return R"({ "seed": 5, "study": { "name": "spot-workers", "worlds": [ { "up_h": 2, "down_h": 1, "slack": 2 },
    { "up_h": 2, "down_h": 2, "slack": 1.5 } ], "workers": [1, 4], "stage_min": 30, "deadline_h": 4, "processes": 3, "jobs": 4,
    "training_processes": 5)" +
         more + " } }";
}

std::string workers_csv(const TemporaryFolder& folder, const std::string& out, int processes) {
  const auto scenario = scenarios::load_scenario(folder.write("workers.json", workers_scenario(R"(, "ablations": true)")), {});
  bool failed = true;
  scenarios::run_study(*scenario, {.out = folder.path() + "/" + out, .processes = processes}, failed);
  CHECK_FALSE(failed);
  std::ostringstream text;
  for (const char* file : {"/spot-workers.csv", "/spot-worlds.csv"})
    text << std::ifstream(folder.path() + "/" + out + file).rdbuf();
  return text.str();
}

TEST_CASE("a study of workers on spot: the best static choice and every policy, the same bytes with any number of processes") {
  const TemporaryFolder folder;
  const std::string one = workers_csv(folder, "one", 1);
  CHECK(one == workers_csv(folder, "two", 2));
  const std::size_t rows = static_cast<std::size_t>(std::count(one.begin(), one.end(), '\n'));
  const std::size_t statics = 4, policies = scenarios::spot_worker_names({.workers = {1, 4}}, true).size() - statics + 1;
  CHECK(rows == 1 + 2 * policies + 1 + 2);
}

TEST_CASE("levels, workers and deadlines that cannot be are mistakes of a study of workers on spot") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& more) { return complaints(folder, workers_scenario(more)); };
  const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
  CHECK(said("") == "");
  CHECK(has(said(R"(, "price_shares": [0.5, 0.3, 0.1])"), "that sum to 1"));
  CHECK(has(said(R"(, "price_factors": [0.5])"), "of as many levels"));
  CHECK(has(said(R"(, "restart_min": 29)"), "at most 0.9 stages"));
  CHECK(has(complaints(folder, with(workers_scenario(""), "\"stage_min\": 30", "\"stage_min\": 241")),
            "\"deadline_h\" of at least one stage"));
  CHECK(has(complaints(folder, with(workers_scenario(""), "[1, 4]", "[4, 1]")), "ascending"));
  CHECK(has(complaints(folder, with(workers_scenario(""), "\"slack\": 1.5", "\"slack\": 0.2")), "on-demand nodes can keep"));
  CHECK(has(complaints(folder, with(workers_scenario(""), "\"deadline_h\": 4", "\"deadline_h\": 1000")),
            "at most 200000000 cells"));
}

// Two processes of two jobs. Saved on the first: (10 - 8) + (12 - 9) = 5 of (10 - 6) + (12 - 8) = 8; on the second 1 + 0 of 2
// + 2. In all 6 of 12; resampled processes earn from 1/4 to 5/8.
TEST_CASE("what is earned of the room, by hand") {
  using Scores = std::vector<scenarios::WorkerScore>;
  const Scores from{{10}, {12}, {10}, {10}}, to{{6}, {8}, {8}, {8}}, policy{{8}, {9}, {9}, {10}};
  const scenarios::EarnedShare earned = scenarios::earned_share(policy, from, to, 2, 7);
  CHECK(earned.share == Approx(0.5));
  CHECK(earned.ci95_low == Approx(0.25));
  CHECK(earned.ci95_high == Approx(0.625));
  CHECK(scenarios::earned_share(to, from, to, 2, 7).ci95_low == 1);
  CHECK(std::isnan(scenarios::earned_share(policy, from, from, 2, 7).share));
  CHECK(std::isnan(scenarios::earned_share(policy, from, from, 2, 7).ci95_low));
}

}  // namespace
