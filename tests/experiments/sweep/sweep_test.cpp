// Sweeps run on this machine, and their rows.
#include "experiments/sweep/sweep.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "experiments/run/process_pool.hpp"
#include "experiments/run/run.hpp"
#include "report/comparison.hpp"
#include "sim/io/file.hpp"
#include "tests/experiments/sweep/query.hpp"
#include "tests/scenarios/mistakes.hpp"

namespace {

using namespace rehearse::scenarios;
using rehearse::report::metric_fields;

const std::string kSweptScenario = R"({ "name": "s", "seed": { "sweep": [ 1, 2 ] }, "repetitions": 2,
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": { "sweep": [ 1, 2 ] } } ] },
  "jobs": [ { "gpus": 1, "duration_s": 60 },
            { "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9, "deadline_s": 3600 } ],
  "policies": [ "manual", "static-isotonic-shared" ] })";

std::string text_of(const std::string& path) { return rehearse::sim::read_file(path, 1 << 20); }

class Sweep {
 public:
  explicit Sweep(const std::string& text) { folder.write("s.json", text); }
  SweepSummary run(int processes = 2, const std::string& csv = {}, bool retry = false) const {
    const HeldInterrupts interrupts;
    const SweepPlan plan(folder.path() + "/s.json", {});
    return run_sweep(plan, {.database = path(),
                            .csv = csv,
                            .retry = retry,
                            .launch = [&](const SweepPlan& of, std::vector<PlannedRun> runs, const KeepRows& keep) {
                              return run_here(of, std::move(runs), processes, keep);
                            }});
  }
  std::string path() const { return folder.path() + "/s.sqlite"; }
  TemporaryFolder folder;
};

TEST_CASE("a row is what run finds for the policy, the values and the repetition") {
  const Sweep sweep(kSweptScenario);
  const SweepSummary summary = sweep.run();
  CHECK(summary.planned == 16);
  CHECK(summary.distinct == 16);
  CHECK(summary.ran == 16);
  REQUIRE(summary.counts.size() == 1);
  CHECK(summary.counts[0].status == "ok");
  const SweepPlan plan(sweep.folder.path() + "/s.json", {});
  std::map<std::string, SweepRow> rows;
  run_here(plan, plan.runs_at(2), 1, [&](std::span<const SweepRow> some) {
    for (const SweepRow& row : some) rows[row.key] = row;
  });
  const auto scenario = plan.load(2);  // seed 2, one node
  CHECK(scenario->seed == 2);
  const rehearse::report::Summary ran = run_scenario(*scenario, {.out = sweep.folder.path() + "/out", .processes = 1});
  for (int p = 0; p < 2; ++p) {
    const SweepRow first = rows.at(plan.runs_at(2)[static_cast<std::size_t>(2 * p)].key);
    const SweepRow second = rows.at(plan.runs_at(2)[static_cast<std::size_t>(2 * p + 1)].key);
    for (std::size_t f = 0; f < metric_fields().size(); ++f) {
      INFO(metric_fields()[f].name);
      const double mean = ran.rows[static_cast<std::size_t>(p)].of(metric_fields()[f].name).mean;
      if (!std::isnan(mean)) CHECK(mean == rehearse::report::mean(std::vector{first.metrics[f], second.metrics[f]}));
    }
  }
}

TEST_CASE("a sweep says how far a run is whose row has not come yet") {
  const Sweep sweep(kSweptScenario);
  const SweepPlan plan(sweep.folder.path() + "/s.json", {});
  const std::vector<PlannedRun> runs = plan.runs();
  std::set<std::string> planned, came;
  for (const PlannedRun& run : runs) planned.insert(run.key);
  std::size_t told = 0;
  const auto keep = [&](std::span<const SweepRow> rows) {
    for (const SweepRow& row : rows) came.insert(row.key);
  };
  CHECK(run_here(plan, runs, 1, keep, [&](const PlannedRun& run, double time_s, std::size_t others) {
    ++told;
    CHECK(planned.contains(run.key));
    CHECK_FALSE(came.contains(run.key));
    CHECK(time_s > 0);
    CHECK(others == 0);  // one process
  }));
  CHECK(told > 0);
  CHECK(came == planned);
}

TEST_CASE("the same database whatever the number of processes, and whatever was there") {
  const Sweep one(kSweptScenario), three(kSweptScenario);
  one.run(1, one.folder.path() + "/a.csv");
  // First a part of it, with other points beside.
  three.folder.write("s.json", with(with(kSweptScenario, "[ 1, 2 ] }, \"repetitions\": 2", "[ 2, 7 ] }, \"repetitions\": 1"),
                                    "[ \"manual\", ", "[ "));
  CHECK(three.run().ran == 4);
  three.folder.write("s.json", kSweptScenario);
  const SweepSummary summary = three.run(3, three.folder.path() + "/a.csv");
  CHECK(summary.there == 2);  // seed 2, repetition 0, static-isotonic-shared
  CHECK(summary.ran == 14);
  CHECK(text_of(one.folder.path() + "/a.csv") == text_of(three.folder.path() + "/a.csv"));
  CHECK(query(one.path(), "SELECT * FROM results ORDER BY row") == query(three.path(), "SELECT * FROM results ORDER BY row"));
  CHECK(query(three.path(), "SELECT count(*) FROM runs") == std::vector<std::string>{"18"});
  CHECK(three.run().ran == 0);
}

TEST_CASE("the database's tables") {
  const Sweep sweep(with(kSweptScenario, "[ \"manual\", ", "[ \"manual\", { \"name\": \"sjf\", \"queue\": \"sjf\" }, "));
  sweep.run();
  CHECK(query(sweep.path(), "SELECT * FROM points") == std::vector<std::string>{"0|1|1", "1|1|2", "2|2|1", "3|2|2"});
  CHECK(query(sweep.path(),
              "SELECT \"/seed\", \"/cluster/pools/0/nodes\", policy, repetition, status FROM results WHERE row IN (0, 23) ORDER "
              "BY row") == std::vector<std::string>{"1|1|manual|0|ok", "2|2|static-isotonic-shared|1|ok"});
  CHECK(query(sweep.path(), "SELECT count(*) FROM timing WHERE run_s > 0 AND cpu_s > 0") == std::vector<std::string>{"24"});
  CHECK(query(sweep.path(), "SELECT value FROM meta WHERE name = 'baseline'") == std::vector<std::string>{"manual"});
  CHECK(query(sweep.path(), "SELECT count(*) FROM savings WHERE policy = 'manual' AND effective_saving_percent = 0") ==
        std::vector<std::string>{"8"});
  CHECK(query(sweep.path(), "SELECT count(*) FROM results WHERE steady_from_s IS NULL") == std::vector<std::string>{"24"});
}

TEST_CASE("values that do not go together are rows that say so; the others complete") {
  // Each name is good beside the other's first; "b" twice is not.
  const Sweep sweep(R"({
    "cluster": { "pools": [ { "name": { "sweep": [ "a", "b" ] }, "instance": "p3.2xlarge", "nodes": 1 },
                            { "name": { "sweep": [ "c", "b" ] }, "instance": "p3.2xlarge", "nodes": 1 } ] },
    "jobs": [ { "gpus": 1, "duration_s": 60 } ], "policies": [ "manual" ] })");
  const SweepSummary summary = sweep.run();
  REQUIRE(summary.counts.size() == 2);
  CHECK(summary.counts[0].status == "ok");
  CHECK(summary.counts[0].runs == 3);
  CHECK(summary.counts[1].status == "invalid");
  CHECK_THAT(summary.counts[1].reason, Catch::Contains("/cluster/pools/1: expected a name that is given once"));
}

TEST_CASE("a file that is not a sweep's is left as it is") {
  const Sweep sweep(kSweptScenario);
  sweep.folder.write("s.sqlite",
                     "not a database, but long enough to be looked at: it has to have more than a header's bytes....");
  CHECK_THROWS_AS(sweep.run(), rehearse::sim::InputError);
  std::filesystem::remove(sweep.path());
  query(sweep.path(), "CREATE TABLE mine(x)");
  CHECK_THROWS_WITH(sweep.run(), Catch::Contains("expected a new file, or results of a sweep, found another database"));
  CHECK(query(sweep.path(), "SELECT name FROM sqlite_master") == std::vector<std::string>{"mine"});
  std::filesystem::remove(sweep.path());
  sweep.run();
  query(sweep.path(), "PRAGMA user_version = 99");
  CHECK_THROWS_WITH(sweep.run(), Catch::Contains("another version's"));
}

TEST_CASE("a damaged database is refused, and repaired: the rows that hold are kept") {
  const Sweep sweep(kSweptScenario);
  const std::string csv = sweep.folder.path() + "/a.csv";
  sweep.run(2, csv);
  const std::string right = text_of(csv);
  const auto whole = rehearse::sim::read_file(sweep.path(), 1 << 24);
  const auto damaged = [&](const std::string& what, const std::string& found, std::size_t kept) {
    INFO(what);
    CHECK_THROWS_AS(sweep.run(), DamagedDatabase);
    CHECK_THROWS_WITH(sweep.run(), Catch::Contains("the sweep with --retry keeps what holds") && Catch::Contains(found));
    CHECK_THROWS_AS(export_sweep(sweep.path(), csv), DamagedDatabase);
    const SweepSummary summary = sweep.run(2, csv, true);
    CHECK(text_of(csv) == right);
    CHECK_THAT(summary.repaired,
               Catch::Contains("was damaged: ") && Catch::Contains("the damaged file is " + sweep.path() + ".damaged"));
    CHECK(summary.there == kept);
    CHECK(sweep.run(2, csv).repaired == "");
    CHECK(text_of(csv) == right);
    std::ofstream(sweep.path(), std::ios::binary) << whole;
  };
  // 16 runs; a number, a status and a row are others, or gone.
  query(sweep.path(), "UPDATE runs SET cost_usd = cost_usd + 1e-9 WHERE key = (SELECT min(key) FROM runs)");
  damaged("a number", "another content of run ", 15);
  query(sweep.path(), "UPDATE runs SET status = 'fine' WHERE key = (SELECT max(key) FROM runs)");
  damaged("a status", "a row without a status", 15);
  query(sweep.path(), "DELETE FROM runs WHERE key = (SELECT max(key) FROM runs)");
  damaged("a row", "expected rows of 16 runs", 15);
  query(sweep.path(), "UPDATE sums SET sum = (SELECT max(sum) FROM sums)");
  damaged("sums", "another content of run ", 1);
  std::filesystem::resize_file(sweep.path(), whole.size() - 1000);
  CHECK_THROWS_WITH(sweep.run(), Catch::Contains("expected " + std::to_string(whole.size()) + " bytes") &&
                                     Catch::Contains("found " + std::to_string(whole.size() - 1000)));
  sweep.run(2, csv, true);
  CHECK(text_of(csv) == right);
}

TEST_CASE("what a sweep plans is made anew, and read by others only as it was written") {
  const Sweep sweep(kSweptScenario);
  const std::string csv = sweep.folder.path() + "/a.csv";
  sweep.run(2, csv);
  const std::string right = text_of(csv);
  for (const char* sql :
       {"UPDATE plan SET policy = 'manual'", "UPDATE points SET \"/seed\" = 7", "DELETE FROM plan WHERE row = 3",
        "DROP VIEW savings; CREATE VIEW savings AS SELECT *, 1 AS effective_saving_percent FROM results"}) {
    INFO(sql);
    query(sweep.path(), sql);
    CHECK_THROWS_WITH(export_sweep(sweep.path(), csv), Catch::Contains("expected the plan as it was written"));
    CHECK(sweep.run(2, csv).ran == 0);
    CHECK(text_of(csv) == right);
    CHECK(export_sweep(sweep.path(), csv) == std::vector<std::string>{"/seed", "/cluster/pools/0/nodes"});
  }
}

TEST_CASE("rows of a version without sums stay, are exported, and count as no run of this program") {
  const Sweep sweep(kSweptScenario);
  sweep.run();
  query(sweep.path(), "DROP TABLE sums; DELETE FROM meta WHERE name = 'plan_sha256'");
  CHECK(export_sweep(sweep.path(), sweep.folder.path() + "/a.csv").size() == 2);
  CHECK(sweep.run().ran == 16);
  CHECK(sweep.run().ran == 0);
}

TEST_CASE("a row's line comes back to the bit; a torn one does not") {
  SweepRow row{.key = "00ff", .reason = {}, .metrics = {}, .run_s = 0.1, .cpu_s = 1e-7, .decision_time_s = 0};
  for (std::size_t f = 0; f < metric_fields().size(); ++f)
    row.metrics.push_back(f % 3 == 0 ? std::nan("") : std::sqrt(2.0 + static_cast<double>(f)) * 1e-7);
  const std::string line = to_line(row);
  const auto back = row_of(line);
  REQUIRE(back.has_value());
  CHECK(back->key == "00ff");
  CHECK(back->run_s == 0.1);
  for (std::size_t f = 0; f < row.metrics.size(); ++f)
    CHECK((std::isnan(row.metrics[f]) ? std::isnan(back->metrics[f]) : back->metrics[f] == row.metrics[f]));
  for (std::size_t bytes = 0; bytes < line.size(); ++bytes)
    CHECK_FALSE(row_of(std::string_view(line).substr(0, bytes)).has_value());
  for (std::size_t at = line.find("\"metrics\""); at < line.size(); ++at) {
    if (line[at] < '0' || line[at] > '8') continue;
    std::string changed = line;
    ++changed[at];
    const auto other = row_of(changed);
    CHECK((!other || sum_of(*other) == sum_of(row)));  // a digit behind those that a number holds
  }
  const SweepRow failed{.key = "1", .status = RunStatus::failed, .reason = std::string(5000, '\n'), .metrics = {}};
  CHECK(to_line(failed).size() < 4096);
  CHECK(row_of(to_line(failed))->status == RunStatus::failed);
}

}  // namespace
