// The command `regress`: exit statuses, and the files that it writes.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/cli/program.hpp"

namespace {

namespace fs = std::filesystem;

const std::string kRegressed = R"({ "name": "small", "seed": 3, "repetitions": 4,
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "generate": "mixed-cnn-rnn", "count": 4, "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
  "policies": [ "manual", "random-feasible" ] })";

/// With a suite of one scenario, recorded.
class Recorded : public TemporaryFolder {
 public:
  Recorded() {
    fs::create_directory(path() + "/suite");
    write("suite/suite.json", R"({ "scenarios": [ "small" ], "policy_seeds": 4 })");
    write("suite/small.json", kRegressed);
    const Ended ended = run_program(path(), {"regress", "suite", "--update"});
    INFO(ended.err);
    REQUIRE(ended.status == 0);
  }
};

TEST_CASE("a suite is recorded, and unchanged code passes") {
  const Recorded folder;
  CHECK(fs::exists(folder.path() + "/suite/recorded/small/repetitions.csv"));
  CHECK(has(text_of(folder.path() + "/suite/recorded/small/chance.csv"), "random-feasible,cost_usd,"));
  const Ended ended = run_program(folder.path(), {"regress", "suite", "--markdown", "r.md", "--junit", "r.xml"});
  CHECK(ended.status == 0);
  CHECK(has(ended.out, "1 scenario, 2 policies: 0 better, 12 same, 0 worse, 0 broken"));
  CHECK(has(text_of(folder.path() + "/r.md"), "## Policy regression: passed"));
  CHECK(has(text_of(folder.path() + "/r.xml"), "<testsuite name=\"small\" tests=\"2\" failures=\"0\">"));
  CHECK(run_program(folder.path(), {"regress", "suite", "--policy-seed", "9", "--policy", "random-feasible"}).status == 0);
}

TEST_CASE("a policy that costs more than recorded ends with status 4") {
  const Recorded folder;
  // The same policy, held to a batch size that costs more.
  folder.write("suite/small.json",
               std::string(kRegressed)
                   .replace(kRegressed.find("\"manual\""), 8, R"({ "name": "manual", "configure": "median-feasible" })"));
  const Ended ended = run_program(folder.path(), {"regress", "suite", "--policy", "manual", "--junit", "r.xml"});
  CHECK(ended.status == 4);
  CHECK(has(ended.out, "small, manual, cost_usd: worse, +"));
  CHECK(has(ended.out, "jobs changed; the worst:"));
  CHECK(has(ended.out, "decided: at "));
  CHECK(has(text_of(folder.path() + "/r.xml"), "<failure type=\"worse\""));
  CHECK(run_program(folder.path(), {"regress", "suite", "--update"}).status == 0);
  CHECK(run_program(folder.path(), {"regress", "suite"}).status == 0);
}

TEST_CASE("a suite whose scenario is another says so, and who no longer waits is not broken") {
  const TemporaryFolder folder;
  const auto write_scenario = [&](const char* nodes, const char* duration_s) {
    folder.write("suite/a.json",
                 fmt::format(R"({{ "cluster": {{ "pools": [ {{ "name": "v", "instance": "p3.2xlarge", "nodes": {} }} ] }},
      "jobs": [ {{ "job_id": "a", "gpus": 1, "duration_s": 1000 }}, {{ "job_id": "b", "gpus": 1, "duration_s": {}, "submit_s": 10 }} ],
      "policies": [ {{ "name": "fifo" }} ] }})",
                             nodes, duration_s));
  };
  fs::create_directory(folder.path() + "/suite");
  folder.write("suite/suite.json", R"({ "scenarios": [ "a" ], "policy_seeds": 2 })");
  write_scenario("1", "1000");
  REQUIRE(run_program(folder.path(), {"regress", "suite", "--update"}).status == 0);
  CHECK_FALSE(has(run_program(folder.path(), {"regress", "suite"}).out, "another scenario"));
  // On two nodes nobody waits, so there is no utilization while work waits.
  write_scenario("2", "1000.0");
  const Ended two = run_program(folder.path(), {"regress", "suite", "--markdown", "r.md"});
  CHECK(two.status == 0);
  CHECK(two.out.starts_with("a: recorded with another scenario: /cluster/pools/0/nodes 1 -> 2\n"));
  CHECK(has(text_of(folder.path() + "/r.md"), "another scenario: /cluster/pools/0/nodes 1 -> 2"));
  CHECK_FALSE(has(two.out, "utilization_waiting_fraction"));
  CHECK(has(two.out, " 0 worse, 0 broken"));
  write_scenario("1", "1500");
  const Ended longer = run_program(folder.path(), {"regress", "suite"});
  CHECK(longer.status == 4);
  CHECK(longer.out.starts_with("a: recorded with another scenario: /jobs/1/duration_s 1000 -> 1500\n"));
  // The same of two results.
  REQUIRE(run_program(folder.path(), {"run", "suite/a.json", "--out", "one"}).status == 0);
  REQUIRE(run_program(folder.path(), {"run", "suite/a.json", "--set", "/cluster/pools/0/nodes=2", "--out", "two"}).status == 0);
  const Ended against = run_program(folder.path(), {"regress", "two", "--against", "one"});
  CHECK(has(against.out, "a: recorded with another scenario: /cluster/pools/0/nodes 1 -> 2\n"));
}

TEST_CASE("a policy that no scenario has is refused, and one that is not recorded is no green check") {
  const Recorded folder;
  const Ended unknown = run_program(folder.path(), {"regress", "suite", "--policy", "manuel"});
  CHECK(unknown.status == 3);
  CHECK(has(unknown.err, "suite: expected one of its policies, found \"manuel\"; did you mean \"manual\"?"));
  folder.write("suite/small.json",
               std::string(kRegressed).replace(kRegressed.find("\"manual\""), 8, R"("manual", "median-feasible")"));
  for (const std::vector<std::string>& more : {std::vector<std::string>(), {"--policy", "median-feasible"}}) {
    std::vector<std::string> arguments{"regress", "suite", "--markdown", "r.md"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended fresh = run_program(folder.path(), arguments);
    CHECK(fresh.status == 4);
    CHECK(has(fresh.out, "small: not recorded yet, run --update: median-feasible"));
    CHECK(has(fresh.out, "0 broken, 1 not recorded"));
    CHECK(has(text_of(folder.path() + "/r.md"), "## Policy regression: not recorded"));
  }
  CHECK(run_program(folder.path(), {"regress", "suite", "--policy", "manual"}).status == 0);
}

TEST_CASE("results of two runs are compared") {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("small.json", kRegressed);
  for (const char* out : {"one", "two"}) REQUIRE(run_program(folder.path(), {"run", scenario, "--out", out}).status == 0);
  CHECK(run_program(folder.path(), {"regress", "one", "--against", "two"}).status == 0);
  REQUIRE(run_program(folder.path(), {"run", scenario, "--set", "/seed=4", "--out", "three"}).status == 0);
  const Ended other = run_program(folder.path(), {"regress", "three", "--against", "one"});
  CHECK(other.status == 3);
  CHECK(has(other.err, "seed 4"));
  const Ended nowhere = run_program(folder.path(), {"regress"});  // not in the repository's root
  CHECK(nowhere.status == 3);
  CHECK(has(nowhere.err, "scenarios/regression/suite.json: expected a suite"));
  CHECK(has(nowhere.err, "rehearse regress FOLDER"));
  CHECK(run_program(folder.path(), {"regress", "nowhere"}).status == 3);
  const Ended half = run_program(folder.path(), {"regress", "--against", "one"});
  CHECK(half.status == 2);
  CHECK(has(half.err, "rehearse regress RESULTS --against one"));
  CHECK(run_program(folder.path(), {"regress", "one", "--against", "two", "--policy", "manul"}).status == 3);
  CHECK(run_program(folder.path(), {"regress", "one", "--against", "two", "--update"}).status == 2);
}

}  // namespace
