#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "experiments/run/run.hpp"
#include "experiments/studies/studies.hpp"
#include "sim/io/csv.hpp"
#include "tests/experiments/studies/study_files.hpp"

using rehearse::scenarios::gain_ratio;
using rehearse::scenarios::GainRatio;
using rehearse::scenarios::StagedOutcome;
using namespace rehearse::tests;

// Jobs whose static optimum costs 100: the staged optimum 90, 80, 99, 90; the policy 95, 100, 99, 50. The third saves 1 %, the
// policy breaks a limit of the fourth: (5 + 0) / (10 + 20) = 1/6.
TEST_CASE("the gain ratio sums over jobs that keep their limits and have something to gain") {
  const std::vector<StagedOutcome> optimum(4, {.cost_usd = 100, .keeps = true});
  const std::vector<StagedOutcome> staged{{90, true}, {80, true}, {99, true}, {90, true}};
  const std::vector<StagedOutcome> policy{{95, true}, {100, true}, {99, true}, {50, false}};
  const GainRatio gain = gain_ratio(policy, optimum, staged, 1);
  CHECK(gain.ratio == Approx(1.0 / 6));
  CHECK(gain.jobs == 2);
  // Resamples of two jobs: 5/10, 0/20 or both.
  CHECK(gain.ci95_low == Approx(0));
  CHECK(gain.ci95_high == Approx(0.5));
  CHECK(gain_ratio(staged, optimum, staged, 1).ratio == Approx(1));
  CHECK(std::isnan(gain_ratio(policy, optimum, optimum, 1).ratio));
}

// Two jobs of different models, so far apart that none waits; worlds of the study are those of `world` in an ordinary run.
TEST_CASE("a study of staged strategies says what ordinary runs of the same jobs cost, and where they ran") {
  const TemporaryFolder folder;
  const auto scenario = [](const std::string& more, const std::string& submit) {
    return R"({ "name": "s", "seed": 9, "repetitions": 2, )" + more +
           R"("cluster": { "pools": [ { "name": "gpu", "instance": "p3.8xlarge", "nodes": 2 } ] },
    "jobs": [ { "job_id": "a", "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9, "deadline_s": 20000 },
              { "job_id": "b", "model": "resnet50", "dataset": "imagenet", "target_accuracy": 0.7, "deadline_s": 400000)" +
           submit + R"( } ],
    "policies": [ "manual", "static-isotonic-shared", "staged-mpc", "staged-oracle", "oracle" ] })";
  };
  const StudyRun study =
      run_text(folder, scenario(R"("study": { "name": "staged", "model_errors": [0.1], "switching": [1] }, )", ""));
  CHECK_FALSE(study.failed);
  const rehearse::report::Table& table = study.table("staged");
  REQUIRE(table.rows.size() == 5);

  const auto plain = rehearse::scenarios::load_scenario(
      folder.write("plain.json",
                   scenario(R"("world": {"model_error": 0.1}, "output": {"stages": "all"}, )", R"(, "submit_s": 1048576)")),
      {});
  rehearse::scenarios::run_scenario(*plain, {.out = folder.path() + "/plain", .processes = 1});
  std::map<std::string, std::map<std::string, StagedOutcome>> ran;  // by policy, by repetition and job
  rehearse::sim::CsvReader jobs(folder.path() + "/plain/jobs.csv", {.required = {"policy", "repetition", "job", "state",
                                                                                 "deadline_met", "accuracy_met", "cost_usd"}});
  while (rehearse::sim::CsvRow* row = jobs.next())
    ran[std::string(row->text("policy"))][std::string(row->text("repetition")) + std::string(row->text("job"))] = {
        row->number("cost_usd"),
        row->text("state") == "finished" && row->text("deadline_met") != "false" && row->text("accuracy_met") != "false"};
  const auto over = [&](const std::string& policy, const std::string& other, std::string_view job) {
    double mine = 0, theirs = 0;
    for (const auto& [key, outcome] : ran.at(policy)) {
      const StagedOutcome& beside = ran.at(other).at(key);
      if (!outcome.keeps || !beside.keeps || !key.ends_with(job)) continue;
      mine += outcome.cost_usd;
      theirs += beside.cost_usd;
    }
    return 100 * (mine / theirs - 1);
  };
  double most = 0;
  for (const auto& row : table.rows) {
    const std::string& policy = text(table, row, "policy");
    CAPTURE(policy);
    double kept = 0, of_static = 0, both = 0;
    for (const auto& [key, outcome] : ran.at(policy)) {
      kept += outcome.keeps;
      of_static += ran.at("static-isotonic-shared").at(key).keeps;
      both += outcome.keeps && ran.at("static-isotonic-shared").at(key).keeps;
    }
    CHECK(number(table, row, "limits_kept_fraction") == Approx(kept / 4));
    CHECK(number(table, row, "kept_of_static_fraction") == Approx(both / of_static));
    for (const auto& [column, other] : {std::pair{"over_static_percent", "static-isotonic-shared"},
                                        {"over_staged_mpc_percent", "staged-mpc"},
                                        {"over_oracle_percent", "oracle"},
                                        {"over_manual_percent", "manual"}}) {
      if (std::string(column) == "over_manual_percent" && policy == "manual") continue;
      CHECK(number(table, row, column) == Approx(over(policy, other, "")).margin(1e-9));
      most = std::max(most, std::abs(number(table, row, column)));
    }
  }
  CHECK(most > 1);  // they are not all alike
  const rehearse::report::Table& families = study.table("staged_models");
  for (const auto& row : families.rows) {
    const bool first = text(families, row, "model") == "resnet18 on cifar10";
    CHECK(number(families, row, "over_static_percent") ==
          Approx(over(text(families, row, "policy"), "static-isotonic-shared", first ? "a" : "b")).margin(1e-9));
  }
  CHECK(families.rows.size() == 8);

  // Geometric means over jobs and repetitions, batches by the publications'.
  std::map<std::pair<std::string, double>, std::array<double, 3>> stages;
  rehearse::sim::CsvReader rows(folder.path() + "/plain/stages.csv",
                                {.required = {"policy", "job", "stage", "workers", "batch_size"}});
  while (rehearse::sim::CsvRow* row = rows.next()) {
    auto& [count, workers, batch] = stages[{std::string(row->text("policy")), row->number("stage")}];
    const double published = row->text("job") == "a" ? 128 : 256;  // of the two publications
    ++count;
    workers += std::log(row->number("workers"));
    batch += std::log(row->number("batch_size") / published);
  }
  const rehearse::report::Table& choices = study.table("staged_choices");
  CHECK(choices.rows.size() == stages.size());
  CHECK(choices.rows.size() > 5);  // somebody has a second stage
  for (const auto& row : choices.rows) {
    const auto& [count, workers, batch] = stages.at({text(choices, row, "policy"), number(choices, row, "stage")});
    CHECK(number(choices, row, "jobs") == count);
    CHECK(number(choices, row, "workers") == Approx(std::exp(workers / count)));
    CHECK(number(choices, row, "batch_factor") == Approx(std::exp(batch / count)));
  }
}

TEST_CASE("what runs as it is has no choices to tell of in a study of stages") {
  const TemporaryFolder folder;
  const auto choices = [&](const std::string& jobs) {
    const StudyRun study = run_text(
        folder, R"({ "name": "s", "seed": 9, "cluster": { "pools": [ { "name": "gpu", "instance": "p3.8xlarge", "nodes": 2 } ] },
    "jobs": [ )" + jobs +
                    R"({ "job_id": "a", "model": "resnet18", "dataset": "cifar10", "epochs": 3 } ],
    "policies": [ "manual" ], "study": { "name": "staged", "model_errors": [0], "switching": [1] } })");
    CHECK_FALSE(study.failed);
    return study.table("staged_choices").rows;
  };
  const auto alone = choices("");
  CHECK_FALSE(alone.empty());
  CHECK(choices(R"({ "job_id": "rigid", "gpus": 3, "duration_s": 100 }, )") == alone);
}
