// Small scenarios (tests/cases) in which the program once crashed, never ended, or printed what cannot be.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "experiments/run/run.hpp"
#include "sim/base/errors.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;

std::string case_file(const std::string& name) { return REHEARSE_SOURCE_DIR "/tests/cases/" + name + ".json"; }

struct RanCase {
  report::Summary summary;
  std::string jobs;  ///< jobs.csv
};

RanCase run_case(const std::string& name) {
  const TemporaryFolder folder;
  const auto scenario = scenarios::load_scenario(case_file(name), {});
  const std::string out = folder.path() + "/out";
  RanCase ran{.summary = scenarios::run_scenario(*scenario, {.out = out, .processes = 2}), .jobs = {}};
  std::ostringstream text;
  text << std::ifstream(out + "/jobs.csv").rdbuf();
  ran.jobs = text.str();
  return ran;
}

void check_all_finish(const std::string& name) {
  INFO(name);
  for (const report::SummaryRow& row : run_case(name).summary.rows) {
    INFO(row.reason);
    REQUIRE(row.ok);
    CHECK(row.of("jobs_failed").mean == 0);
  }
}

}  // namespace

TEST_CASE("staged strategies under queues that resize jobs") {
  check_all_finish("staged-optimus-crash-1");
  check_all_finish("staged-optimus-crash-2");
}

TEST_CASE("las with partitions, and jobs that need a part of a GPU") {
  check_all_finish("las-partitions-crash-2");
  check_all_finish("las-partitions-part-of-gpu");
}

TEST_CASE("a spot price that stays above its bid under a queue with rounds: the job has failed with its node") {
  const RanCase ran = run_case("gavel-spot-above-bid-endless");
  REQUIRE(ran.summary.rows.size() == 1);
  REQUIRE(ran.summary.rows[0].ok);
  CHECK(ran.summary.rows[0].of("jobs_failed").mean == 1);
  CHECK(ran.jobs.find("node_failure") != std::string::npos);
}

TEST_CASE("two rows of one kind draw the same numbers; another policy_seed draws others") {
  const TemporaryFolder folder;
  const std::string text = R"({ "name": "luck", "seed": 1, "repetitions": 3, "output": { "jobs": "none" },
    "cluster": { "pools": [ { "name": "k80", "instance": "p2.xlarge", "nodes": 8 }, { "name": "v100", "instance": "p3.2xlarge", "nodes": 8 } ] },
    "jobs": [ { "model": "resnet18", "epochs": 3 }, { "model": "resnet34", "epochs": 2 } ],
    "policies": [ "manual", "random-feasible", { "name": "again", "configure": "random-feasible" },
                  { "name": "other", "configure": "random-feasible", "policy_seed": 2 },
                  { "name": "bayes", "configure": { "name": "bayes-opt", "budget": 1e9 } },
                  { "name": "bayes-again", "configure": { "name": "bayes-opt", "budget": 1e9 } },
                  { "name": "bayes-other", "configure": { "name": "bayes-opt", "budget": 1e9 }, "policy_seed": 2 } ] })";
  const auto scenario = scenarios::load_scenario(folder.write("luck.json", text), {});
  const report::Summary summary = scenarios::run_scenario(*scenario, {.out = folder.path() + "/out", .processes = 2});
  const auto cost_usd = [&](std::size_t row) {
    INFO(summary.rows[row].policy << ": " << summary.rows[row].reason);
    REQUIRE(summary.rows[row].ok);
    return summary.rows[row].of("cost_usd").mean;
  };
  for (const std::size_t first : {std::size_t{1}, std::size_t{4}}) {
    CHECK(cost_usd(first) == cost_usd(first + 1));
    CHECK(cost_usd(first) != cost_usd(first + 2));
  }
}

TEST_CASE("a checkpoint interval of 1e-300 s is refused") {
  const TemporaryFolder folder;
  const std::string complaints = complaints_about(folder, case_file("checkpoint-1e-300"));
  CHECK(complaints.find("/jobs/0/checkpoint_interval_s: expected a number from 0.001 to 8589934592, found 1e-300") !=
        std::string::npos);
}

TEST_CASE(
    "steps of centuries: whoever counts their ticks says that they are too long, and nobody is busy for less than no time") {
  const report::Summary summary = run_case("step-over-2-33-s").summary;
  REQUIRE(summary.rows.size() == 3);
  for (const report::SummaryRow& row : summary.rows) {
    INFO(row.policy << ": " << row.reason);
    if (row.ok)
      CHECK(row.of("utilization_fraction").mean >= 0);
    else
      CHECK(row.reason.find("a duration in ticks of 2^-30 s: expected less than 4.612e+18") != std::string::npos);
  }
  CHECK_FALSE(summary.rows[2].ok);
}

TEST_CASE("a GPU of 5e20 FLOP/s is a GPU like any other") {
  CHECK(scenarios::load_scenario(case_file("gpu-5e20-flops"), {}) != nullptr);
}

TEST_CASE("a policy's own chance differs between repetitions") {
  // No errors of the world: nothing but its placements differs between repetitions of a random placement.
  const report::Summary summary = run_case("placement-chance-interval").summary;
  REQUIRE(summary.rows.size() == 3);
  REQUIRE(summary.rows[1].ok);
  const auto width = [](const report::Estimate& cost) { return (cost.ci95_high - cost.ci95_low) / cost.mean; };
  CHECK(width(summary.rows[0].of("cost_usd")) < 1e-9);
  CHECK(width(summary.rows[1].of("cost_usd")) > 1e-3);
}
