#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/studies.hpp"
#include "tests/experiments/studies/study_files.hpp"

namespace {

using namespace rehearse;
using tests::number;
using tests::run_text;
using tests::StudyRun;
using tests::text;

const std::string kLimits = R"("accuracy_slack": [0.02, 0.05], "deadline_factors": [0.01, 0.5, 1, 4])";
const std::string kFrontierScenario = R"({ "seed": 3, "world": { "model_error": 0 },
  "study": { "name": "frontier", )" + kLimits +
                                      R"( },
  "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 2 },
                          { "name": "v100", "instance": "p3.8xlarge", "nodes": 2 } ] },
  "jobs": [ { "job_id": "cnn", "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9 } ],
  "policies": [ "manual", "oracle" ] })";

// By (deadline, floor, $): (10, 0.9, 5) is beaten by none; (20, 0.9, 5) gives more time for the same money and floor;
// (20, 0.8, 3) is cheaper; (10, 0.8, 6) is dearer than the first, which promises more; (5, 0.9, 4) broke a limit.
TEST_CASE("efficient points, worked by hand") {
  const std::vector<scenarios::FrontierPoint> points{{10, 0.9, 5}, {20, 0.9, 5}, {20, 0.8, 3}, {10, 0.8, 6}, {5, 0.9, 4, false}};
  CHECK(scenarios::efficient(points) == std::vector<bool>{true, false, true, false, false});
  // Of equal points both are: none is strictly better.
  CHECK(scenarios::efficient(std::vector<scenarios::FrontierPoint>{{1, 0.5, 1}, {1, 0.5, 1}}) == std::vector<bool>{true, true});
}

// Savings of 20, 50 and -100 %: costs 8, 5, 20 over 10 each. The fourth point is broken by the one, the fifth by the other.
TEST_CASE("savings of one policy over another, worked by hand") {
  const std::vector<scenarios::FrontierPoint> a{{1, 0, 8}, {2, 0, 5}, {3, 0, 20}, {4, 0, 1, false}, {5, 0, 1}};
  const std::vector<scenarios::FrontierPoint> b{{1, 0, 10}, {2, 0, 10}, {3, 0, 10}, {4, 0, 10}, {5, 0, 10, false}};
  const scenarios::PairedSaving saving = scenarios::paired_saving(a, b);
  CHECK(saving.points == 3);
  CHECK(saving.largest_percent == Approx(50));
  CHECK(saving.median_percent == Approx(20));
  // Of 27 draws of three points 19 have the largest of them, 7 the 50 % at least twice and 7 the -100 %.
  CHECK(saving.largest_ci95_low == Approx(20));
  CHECK(saving.median_ci95_low == Approx(-100));
  CHECK(saving.median_ci95_high == Approx(50));
  CHECK(std::isnan(scenarios::paired_saving({}, {}).median_percent));
}

TEST_CASE("the oracle's frontier: more time or a lower floor never costs more; what breaks a limit is marked") {
  const TemporaryFolder folder;
  const StudyRun run = run_text(folder, kFrontierScenario);
  CHECK_FALSE(run.failed);
  const report::Table& table = run.table("frontier");
  REQUIRE(table.rows.size() == 16);  // 2 policies x 2 floors x 4 deadlines
  for (const auto& a : table.rows) {
    const bool kept = number(table, a, "kept_fraction") == 1;
    if (number(table, a, "deadline_factor") == 0.01) {
      CHECK_FALSE(kept);
      CHECK(number(table, a, "infeasible_fraction") == 1);
      CHECK(text(table, a, "efficient") == "false");
    }
    if (kept) CHECK(number(table, a, "time_s") <= number(table, a, "deadline_s"));
    for (const auto& b : table.rows)
      if (text(table, a, "policy") == "oracle" && text(table, b, "policy") == "oracle" && kept &&
          number(table, b, "deadline_s") >= number(table, a, "deadline_s") &&
          number(table, b, "target_accuracy") <= number(table, a, "target_accuracy")) {
        CHECK(number(table, b, "kept_fraction") == 1);
        CHECK(number(table, b, "cost_usd") <= number(table, a, "cost_usd") * (1 + 1e-9));
      }
  }
  int pictures = 0;
  for (const auto& [name, content] : run.files) pictures += name.starts_with("frontier-cnn-0.") && name.ends_with(".svg");
  CHECK(pictures == (run.summary.figures_left_out.empty() ? 2 : 0));  // one for each floor
}

TEST_CASE("a choice beyond the cost limit does not keep the limits") {
  const TemporaryFolder folder;
  const StudyRun run = run_text(
      folder, with(kFrontierScenario, R"("target_accuracy": 0.9)", R"("target_accuracy": 0.9, "cost_limit_usd": 0.001)"));
  const report::Table& table = run.table("frontier");
  REQUIRE(table.rows.size() == 16);
  for (const auto& row : table.rows) {
    CHECK(number(table, row, "kept_fraction") == 0);
    CHECK(text(table, row, "efficient") == "false");
  }
}

// A replay of a job alone is its closed form but for dates, which lie on a grid of 2^-20 s: start, first step, end; and the grid
// of the oracle is that of characterise.
TEST_CASE("the oracle pays at every point what characterise finds jointly, and manual what it finds for manual") {
  const TemporaryFolder folder, other;
  const StudyRun run = run_text(folder, kFrontierScenario);
  const StudyRun grid = run_text(other, with(with(kFrontierScenario, R"("frontier")", R"("characterise")"),
                                             R"("policies": [ "manual", "oracle" ])", R"("description": "the same")"));
  const report::Table &frontier = run.table("frontier"), &choices = grid.table("choices");
  int compared = 0;
  for (const auto& a : frontier.rows) {
    for (const auto& b : choices.rows) {
      if (number(frontier, a, "target_accuracy") != number(choices, b, "target_accuracy") ||
          number(frontier, a, "deadline_factor") != number(choices, b, "deadline_factor") ||
          text(choices, b, "way") != (text(frontier, a, "policy") == "oracle" ? "jointly" : "manual"))
        continue;
      ++compared;
      const double usd = number(choices, b, "cost_usd"), usd_per_s = usd / number(choices, b, "time_s");
      CHECK(std::abs(number(frontier, a, "cost_usd") - usd) <= 3 * std::exp2(-20) * usd_per_s + 1e-12 * usd);
      CHECK(number(frontier, a, "batch_size") == number(choices, b, "batch_size"));
      CHECK((number(frontier, a, "kept_fraction") == 1) == (text(choices, b, "keeps_limits") == "true"));
    }
  }
  CHECK(compared == 16);
}

TEST_CASE("a frontier has the same bytes for any number of processes, with repetitions too") {
  const TemporaryFolder one, two;
  const std::string noisy = with(kFrontierScenario, R"("world": { "model_error": 0 })", R"("repetitions": 2)");
  const StudyRun a = run_text(one, noisy, 1), b = run_text(two, noisy, 3);
  CHECK(a.files == b.files);
  const report::Table& table = a.table("frontier");
  for (const auto& row : table.rows) {
    const double twice = 2 * number(table, row, "kept_fraction");
    CHECK(twice == std::round(twice));
  }
}

TEST_CASE("a frontier under each billing, and says which") {
  // Points are years apart: under pool billing a point's money is the pool's while its job runs, not the years'. On whole nodes,
  // and on whole pools, nothing is cheaper than by the device, and no policy beats the oracle.
  const auto costs = [](const std::string& billing) {
    const TemporaryFolder folder;
    const StudyRun one =
        run_text(folder, with(kFrontierScenario, R"("seed": 3)", R"("seed": 3, "billing": ")" + billing + '"'), 2);
    CHECK(one.summary.notes.back().find("Billing: " + billing) == 0);
    const report::Table& table = one.table("frontier");
    std::map<std::string, std::vector<std::pair<double, double>>> found;  // money, and whether limits were kept
    for (const auto& row : table.rows)
      found[text(table, row, "policy")].emplace_back(number(table, row, "cost_usd"), number(table, row, "kept_fraction"));
    return found;
  };
  const auto allocated = costs("allocated");
  for (const char* billing : {"allocated", "node", "pool"}) {
    INFO(billing);
    const auto found = costs(billing);
    for (const auto& [policy, points] : found)
      for (std::size_t i = 0; i < points.size(); ++i) {
        CHECK(points[i].first < 1e5);
        if (points[i].second == 1) CHECK(found.at("oracle")[i].first <= points[i].first * (1 + 1e-9));
      }
    for (std::size_t i = 0; i < allocated.at("oracle").size(); ++i)
      CHECK(found.at("oracle")[i].first >= allocated.at("oracle")[i].first * (1 - 1e-9));
  }
}

TEST_CASE("mistakes of a frontier") {
  const TemporaryFolder folder;
  CHECK(complaints(folder, R"({ "study": "frontier",
  "cluster": { "pools": [ { "name": "v100", "instance": "p3.8xlarge", "nodes": 2 } ] },
  "jobs": [ { "generate": "mixed-cnn-rnn", "count": 3 } ], "policies": [ "manual" ] })") ==
        R"(s.json:1:12: /study: expected "jobs" without generators, each with a "target_accuracy", found "frontier")");
  CHECK(complaints(folder, with(kFrontierScenario, "[0.02, 0.05]", "[]"))
            .find("/study/accuracy_slack: expected at least one number") != std::string::npos);
  CHECK(complaints(folder, with(kFrontierScenario, R"("target_accuracy": 0.9)", R"("epochs": 2)"))
            .find(R"(each with a "target_accuracy")") != std::string::npos);
}

}  // namespace

TEST_CASE("claims beside what is found: a row for each claim and job, of the points that both keep") {
  const TemporaryFolder folder;
  const StudyRun run = run_text(folder, with(kFrontierScenario, kLimits, kLimits + R"(, "claims": [
    { "policy": "oracle", "over": "manual", "percent": 37.3 }, { "policy": "manual", "over": "manual", "percent": 1 } ])"));
  const report::Table &claims = run.table("claims"), &frontier = run.table("frontier");
  REQUIRE(claims.rows.size() == 2);
  std::map<std::string, std::map<std::pair<double, double>, double>> money;  // by policy, of points whose limits are kept
  for (const auto& row : frontier.rows)
    if (number(frontier, row, "kept_fraction") == 1)
      money[text(frontier, row, "policy")][{number(frontier, row, "target_accuracy"), number(frontier, row, "deadline_s")}] =
          number(frontier, row, "cost_usd");
  std::vector<double> savings;
  for (const auto& [point, usd] : money.at("manual"))
    if (money.at("oracle").contains(point)) savings.push_back(100 * (1 - money.at("oracle").at(point) / usd));
  REQUIRE(savings.size() >= 2);
  std::sort(savings.begin(), savings.end());
  const auto& row = claims.rows[0];
  CHECK(text(claims, row, "policy") == "oracle");
  CHECK(text(claims, row, "over") == "manual");
  CHECK(text(claims, row, "job") == "cnn");
  CHECK(number(claims, row, "claimed_percent") == 37.3);
  CHECK(number(claims, row, "points") == static_cast<double>(savings.size()));
  CHECK(number(claims, row, "largest_percent") == Approx(savings.back()));
  const std::size_t half = savings.size() / 2;
  CHECK(number(claims, row, "median_percent") ==
        Approx(savings.size() % 2 == 1 ? savings[half] : (savings[half - 1] + savings[half]) / 2));
  CHECK(number(claims, row, "median_ci95_low") <= number(claims, row, "median_percent"));
  CHECK(number(claims, row, "median_percent") <= number(claims, row, "median_ci95_high"));
  CHECK(number(claims, row, "largest_percent") > 1);  // against itself a policy saves nothing
  CHECK(number(claims, claims.rows[1], "largest_percent") == 0);
}
