// The command `regress`: exit statuses, and the files that it writes.
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
