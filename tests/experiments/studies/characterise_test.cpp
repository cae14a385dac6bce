#include <catch2/catch.hpp>
#include <cmath>

#include "experiments/studies/studies.hpp"
#include "tests/experiments/studies/study_files.hpp"

namespace {

using namespace rehearse;
using tests::number;
using tests::run_text;
using tests::StudyRun;
using tests::text;

const std::string kScenario = R"({ "seed": 3, "world": { "model_error": 0 }, "switching": { "start_s": 0 },
  "study": { "name": "characterise", "workers": [1, 2, 4], "batch_factors": [0.5, 1, 2, 0.3], "accuracy_slack": [0.02],
             "deadline_factors": [0.01, 1, 4] },
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.8xlarge", "nodes": 2 } ] },
  "jobs": [ { "job_id": "cnn/1", "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9, "deadline_s": 86400 } ] })";

TEST_CASE("the grid of a job: what it costs, how fast it is, and what is monotone") {
  const TemporaryFolder folder;
  const StudyRun run = run_text(folder, kScenario);
  const report::Table& grid = run.table("grid");
  REQUIRE(grid.rows.size() == 9);  // 3 workers x 3 batches: 0.3 x 128 is no whole batch
  for (const auto& row : grid.rows) {
    // p3.8xlarge: $12.24 an hour for four V100. No start-up, so time is epochs x samples / speed, and evaluations.
    CHECK(number(grid, row, "cost_usd") ==
          Approx(12.24 / 3600 / 4 * number(grid, row, "workers") * number(grid, row, "time_s")).epsilon(1e-9));
    const double training_s = number(grid, row, "epochs") * 50000 / number(grid, row, "samples_per_s");
    CHECK(number(grid, row, "time_s") > training_s);
    CHECK(number(grid, row, "time_s") < 1.2 * training_s);
    CHECK(number(grid, row, "accuracy") >= 0.9);
    CHECK(text(grid, row, "keeps_limits") == "true");
  }
  const report::Table& monotone = run.table("monotone");
  for (const auto& row : monotone.rows) CHECK(number(monotone, row, "pairs") == 6);  // either axis: 3 lines of 2 pairs
  const report::Table& best = run.table("best-batch");
  REQUIRE(best.rows.size() == 3);
  for (const auto& row : best.rows) {
    double least = 1e9;
    for (const auto& of : grid.rows)
      if (number(grid, of, "workers") == number(best, row, "workers")) least = std::min(least, number(grid, of, "cost_usd"));
    CHECK(number(best, row, "cost_usd") == least);
  }
  CHECK(run.table("best-resources").rows.size() == 3);
  CHECK((run.files.count("heat-cnn%2f1.svg") == 1) == run.summary.figures_left_out.empty());
}

TEST_CASE("chosen apart: every way for every pair of limits; manual of another pool and batch becomes a part of the grid") {
  const TemporaryFolder folder;
  const StudyRun run =
      run_text(folder, with(kScenario, R"("switching")", R"("manual": { "workers": 8, "batch_size": 96 }, "switching")"));
  const report::Table& choices = run.table("choices");
  REQUIRE(choices.rows.size() == 18);  // 3 deadlines x 6 ways
  for (std::size_t i = 0; i < choices.rows.size(); ++i) {
    const auto &row = choices.rows[i], &joint = choices.rows[i / 6 * 6 + 5];
    CHECK(text(choices, joint, "way") == "jointly");
    // A hundredth of the reference time is out of reach.
    const bool reachable = number(choices, row, "deadline_factor") > 0.5;
    CHECK(text(choices, joint, "keeps_limits") == (reachable ? "true" : "false"));
    if (text(choices, row, "way") == "manual") {
      CHECK(number(choices, row, "workers") == 8);
      CHECK(number(choices, row, "batch_size") == 96);
    }
    const double extra = number(choices, row, "extra_percent");
    if (text(choices, row, "keeps_limits") == "true" && reachable)
      CHECK(extra == Approx(100 * (number(choices, row, "cost_usd") / number(choices, joint, "cost_usd") - 1)).margin(1e-9));
    else
      CHECK(std::isnan(extra));
    CHECK_FALSE(extra < 0);
  }
  const report::Table& apart = run.table("apart");
  REQUIRE(apart.rows.size() == 6);
  for (const auto& row : apart.rows) CHECK(number(apart, row, "points") == 2);
  CHECK(number(apart, apart.rows.back(), "extra_percent_max") == 0);
}

// Two pools with 1 and 2 workers each: the last of one pool and the first of the next are no neighbours, so 2 pairs along the
// workers; with one batch there are none along the batch, and no fraction.
TEST_CASE("neighbours are of one pool") {
  const TemporaryFolder folder;
  const std::string two =
      with(kScenario, R"("nodes": 2 })", R"("nodes": 2 }, { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 2 })");
  const StudyRun run = run_text(folder, with(with(two, "[1, 2, 4]", "[1, 2]"), "[0.5, 1, 2, 0.3]", "[1]"));
  const report::Table& monotone = run.table("monotone");
  for (const auto& row : monotone.rows) {
    const bool along_workers = text(monotone, row, "axis") == "workers";
    CHECK(number(monotone, row, "pairs") == (along_workers ? 2 : 0));
    CHECK(std::isnan(number(monotone, row, "fraction")) == !along_workers);
  }
}

TEST_CASE("the same scenario gives the same bytes") {
  const TemporaryFolder one, two;
  CHECK(run_text(one, kScenario, 1).files == run_text(two, kScenario, 3).files);
}

TEST_CASE("mistakes in the parameters of characterise") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& what, const std::string& instead) {
    const std::string text = complaints(folder, with(kScenario, what, instead));
    return text.substr(text.find("/study"));
  };
  CHECK(said("[1, 2, 4]", "[0]") == "/study/workers/0: expected a whole number from 1 to 1000000, found 0");
  CHECK(said("[1, 2, 4]", "[]") == "/study/workers: expected at least one number, found an empty list");
  CHECK(said("[0.02]", "[2]") == "/study/accuracy_slack/0: expected a number from 0 to 1, found 2");
  CHECK(said(R"("workers")", R"("worker")") == R"(/study/worker: found unknown key "worker"; did you mean "workers"?)");
  const std::string no_floor = R"(expected "jobs" without generators, each with a "target_accuracy")";
  CHECK(said(R"("target_accuracy": 0.9)", R"("epochs": 3)").find(no_floor) != std::string::npos);
}

}  // namespace
