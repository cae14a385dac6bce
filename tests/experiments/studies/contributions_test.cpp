#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "experiments/load.hpp"
#include "experiments/run/run.hpp"
#include "experiments/studies/studies.hpp"
#include "sim/io/csv.hpp"
#include "tests/experiments/studies/study_files.hpp"

namespace {

using namespace rehearse;
using scenarios::Contribution;
using scenarios::KnobSet;
using tests::number;
using tests::run_text;
using tests::StudyRun;
using tests::text;

// Three knobs, A the first bit; A is also fixed. Money:
//   none 100, A 90, B 95, AB 70, C 110, AC 80, BC 85, ABC 50.
// In turn: A 100-90 = 10, B 90-70 = 20, C 70-50 = 20; together 50 = 100-50. Alone: 10, 5, -10.
// Last: A 85-50 = 35, B 80-50 = 30, C 70-50 = 20. With A off: B 100-95 = 5, C 95-85 = 10; together 15 = 100-85.
TEST_CASE("contributions of three knobs, worked by hand") {
  const std::map<KnobSet, double> usd{{0, 100}, {1, 90}, {2, 95}, {3, 70}, {4, 110}, {5, 80}, {6, 85}, {7, 50}};
  const std::vector<Contribution> found = scenarios::contributions(3, 0, [&](KnobSet set) { return usd.at(set); });
  REQUIRE(found.size() == 3);
  CHECK(found[0].in_turn == 10);
  CHECK(found[1].in_turn == 20);
  CHECK(found[2].in_turn == 20);
  CHECK(found[0].alone == 10);
  CHECK(found[1].alone == 5);
  CHECK(found[2].alone == -10);
  CHECK(found[0].last == 35);
  CHECK(found[1].last == 30);
  CHECK(found[2].last == 20);
  CHECK(std::isnan(found[0].in_turn_fixed));
  CHECK(found[1].in_turn_fixed == 5);
  CHECK(found[2].in_turn_fixed == 10);
}

TEST_CASE("the sets that are asked for are those that are run, whichever knob is fixed") {
  for (int knobs = 1; knobs <= 5; ++knobs) {
    for (int fixed = -1; fixed < knobs; ++fixed) {
      const std::optional<int> which = fixed < 0 ? std::nullopt : std::optional(fixed);
      const std::vector<KnobSet> sets = scenarios::sets_needed(knobs, which);
      std::map<KnobSet, double> usd;
      for (const KnobSet set : sets) usd[set] = 7 * set % 11;
      std::map<KnobSet, int> asked;
      const auto found = scenarios::contributions(knobs, which, [&](KnobSet set) { return ++asked[set], usd.at(set); });
      CHECK(asked.size() == sets.size());
      double sum = 0, sum_fixed = 0;
      for (int k = 0; k < knobs; ++k) {
        sum += found[static_cast<std::size_t>(k)].in_turn;
        if (k != fixed) sum_fixed += found[static_cast<std::size_t>(k)].in_turn_fixed;
      }
      const KnobSet all = sets.back();
      CHECK(sum == Approx(usd[0] - usd[all]));
      if (fixed >= 0) CHECK(sum_fixed == Approx(usd[0] - usd[all & ~(KnobSet{1} << fixed)]));
    }
  }
}

const std::string kContributionsScenario = R"({ "seed": 3, "repetitions": 2, "study": "contributions",
  "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 4 },
                          { "name": "v100", "instance": "p3.8xlarge", "nodes": 4 } ] },
  "jobs": [ { "generate": "mixed-cnn-rnn", "count": 12, "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
  "policies": [ "manual", "static-isotonic-shared", { "name": "given", "configure": "static-isotonic-shared", "free": [ "workers" ] } ] })";

TEST_CASE("contributions sum to the mean of the repetitions' savings, and knobs that are not free have none") {
  const TemporaryFolder folder, other;
  const StudyRun run = run_text(folder, kContributionsScenario);
  CHECK_FALSE(run.failed);
  const report::Table& table = run.table("contributions");
  std::map<std::string, std::map<std::string, std::vector<report::Cell>>> rows;
  for (const auto& row : table.rows) rows[text(table, row, "policy")][text(table, row, "knob")] = row;
  CHECK(rows.size() == 2);  // manual has no knobs
  CHECK(rows.at("static-isotonic-shared").size() == 6);
  CHECK(rows.at("given").size() == 4);

  const std::string plain =
      with(with(kContributionsScenario, R"("study": "contributions",)", ""), R"("manual", )", R"("manual", "resource-only", )");
  const auto scenario = scenarios::load_scenario(other.write("s.json", plain), {});
  scenarios::run_scenario(*scenario, {.out = other.path() + "/out", .processes = 2});
  std::map<std::string, std::map<int, double>> effective_usd;  // by policy and repetition
  sim::CsvReader csv(other.path() + "/out/repetitions.csv", {.required = {"policy", "repetition", "effective_cost_usd"}});
  while (sim::CsvRow* row = csv.next())
    effective_usd[std::string(row->text("policy"))][static_cast<int>(row->number("repetition"))] =
        row->number("effective_cost_usd");
  // Percentages of one repetition sum; the table's saving is the mean of their logarithms.
  const auto mean_saving = [&](const std::string& policy) {
    const auto &mine = effective_usd.at(policy), &manual = effective_usd.at("manual");
    return 100 * (1 - (mine.at(0) / manual.at(0) + mine.at(1) / manual.at(1)) / 2);
  };
  const auto turn = [&](const std::string& policy, const std::string& knob) {
    return number(table, rows.at(policy).at(knob), "in_turn_percent");
  };
  const double total = turn("static-isotonic-shared", "total");
  CHECK(total == Approx(mean_saving("static-isotonic-shared")).epsilon(1e-9));
  CHECK(turn("given", "total") == Approx(mean_saving("given")).epsilon(1e-9));
  const double profiling = turn("static-isotonic-shared", "profiling");
  CHECK(profiling < 0);
  CHECK(turn("static-isotonic-shared", "pool") + turn("static-isotonic-shared", "workers") + turn("static-isotonic-shared", "batch") + profiling ==
        Approx(total));
  // Pool and workers free, batch held: that is what resource-only does.
  CHECK(turn("static-isotonic-shared", "pool") + turn("static-isotonic-shared", "workers") + profiling ==
        Approx(mean_saving("resource-only")).epsilon(1e-9));
}

TEST_CASE("a policy that fails is told, and has no rows") {
  const TemporaryFolder folder;
  const auto scenario = scenarios::load_scenario(folder.write("s.json", kContributionsScenario), {});
  const auto run = [](const scenarios::Scenario& s, const scenarios::RunTask& task, const auto& on_progress) {
    if (s.policies[task.policy].name == "static-isotonic-shared (pool)") throw sim::PolicyError("no answer");
    scenarios::run_one(s, task, on_progress);
  };
  bool failed = false;
  const report::StudySummary summary =
      scenarios::run_study(*scenario, {.out = folder.path() + "/out", .processes = 2, .run = run}, failed);
  CHECK(failed);
  CHECK(summary.notes.back() == "policy \"static-isotonic-shared (pool)\" failed: repetition 0: no answer");
  for (const auto& row : summary.tables.front().rows) CHECK(std::get<std::string>(row.front()) == "given");
}

TEST_CASE("mistakes in the order of knobs") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& order) {
    return complaints(
        folder, with(kContributionsScenario, R"("contributions")", R"({ "name": "contributions", "order": )" + order + " }"));
  };
  CHECK(said(R"(["batch", "pool"])").empty());
  CHECK(said("[]").find("/study/order: expected at least one knob, found an empty list") != std::string::npos);
  CHECK(
      said(R"(["pol"])").find(R"(/study/order/0: expected one of "pool", "workers", "batch", "place", "threads", found "pol")") !=
      std::string::npos);
  CHECK(said(R"(["pool", "pool"])").find("/study/order/1: expected a knob that is given once") != std::string::npos);
}

}  // namespace
