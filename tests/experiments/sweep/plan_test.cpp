#include <catch2/catch.hpp>
#include <set>

#include "experiments/load.hpp"
#include "experiments/sweep/runs.hpp"
#include "sim/io/file.hpp"
#include "tests/scenarios/mistakes.hpp"

namespace {

using rehearse::scenarios::load_scenario;
using rehearse::scenarios::PlannedRun;
using rehearse::scenarios::SweepPlan;

const std::string kSwept = R"({ "name": "s", "seed": { "sweep": [ 1, 2 ] }, "repetitions": 2,
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": { "sweep": [ 2, 4, 8 ] } } ] },
  "jobs": [ { "gpus": 1, "duration_s": 60 } ],
  "policies": [ "manual", { "name": "mine", "configure": "oracle" } ] })";

class Folder {
 public:
  SweepPlan plan(const std::string& text, const rehearse::scenarios::LoadOptions& options = {},
                 std::size_t limit = rehearse::scenarios::kMostRuns) const {
    return {folder.write("s.json", text), options, limit};
  }
  std::vector<std::string> keys(const std::string& text) const {
    std::vector<std::string> keys;
    for (const PlannedRun& run : plan(text).runs()) keys.push_back(run.key);
    return keys;
  }
  std::string said(const std::string& text, std::size_t limit = rehearse::scenarios::kMostRuns) const {
    try {
      plan(text, {}, limit).runs();
    } catch (const rehearse::sim::InputError& error) {
      std::string said = error.what();
      for (std::size_t at = 0; (at = said.find(folder.path() + "/")) != std::string::npos;)
        said.erase(at, folder.path().size() + 1);
      return said;
    }
    return {};
  }
  TemporaryFolder folder;
};

std::size_t shared(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const std::set<std::string> of_a(a.begin(), a.end());
  std::size_t count = 0;
  for (const std::string& key : std::set<std::string>(b.begin(), b.end())) count += of_a.contains(key);
  return count;
}

TEST_CASE("the product: the last axis first, then policies, then repetitions") {
  const Folder folder;
  const SweepPlan plan = folder.plan(kSwept);
  CHECK(plan.points() == 6);
  CHECK(plan.values_at(0) == std::vector<std::string>{"1", "2"});
  CHECK(plan.values_at(1) == std::vector<std::string>{"1", "4"});
  CHECK(plan.values_at(5) == std::vector<std::string>{"2", "8"});
  const std::vector<PlannedRun> runs = plan.runs();
  REQUIRE(runs.size() == 6 * 2 * 2);
  CHECK(runs[0].policy_name == "manual");
  CHECK(runs[1].repetition == 1);
  CHECK(runs[2].policy_name == "mine");
  CHECK(runs[4].point == 1);
  std::set<std::string> keys;
  for (const PlannedRun& run : runs) keys.insert(run.key);
  CHECK(keys.size() == runs.size());
  const auto scenario = plan.load(5);
  CHECK(scenario->seed == 2);
  CHECK(scenario->cluster.pools[0].nodes == 8);
  // The same as the scenario without its sweeps.
  const auto by_hand = load_scenario(folder.folder.path() + "/s.json",
                                     {.overrides = {{"/seed", "2"}, {"/cluster/pools/0/nodes", "8"}}, .catalogues = {}});
  CHECK(by_hand->resolved == scenario->resolved);
}

TEST_CASE("a key changes with what a run depends on, and with nothing else") {
  const Folder folder;
  const std::vector<std::string> keys = folder.keys(kSwept);
  const auto changed = [&](std::string_view what, std::string_view instead) { return folder.keys(with(kSwept, what, instead)); };
  CHECK(changed(R"("name": "s")", R"("name": "t", "description": "another")") == keys);
  CHECK(changed(R"([ { "gpus": 1, "duration_s": 60 } ])", R"([{"gpus":1,"duration_s":60}])") == keys);
  CHECK(shared(keys, changed("[ 2, 4, 8 ]", "[ 16, 2, 4, 8 ]")) == 24);              // an added value keeps the others
  CHECK(shared(keys, changed("[ 2, 4, 8 ]", "[ 2, 4 ]")) == 16);                     // and so does one that goes
  CHECK(shared(keys, changed("[ \"manual\",", "[ \"oracle\", \"manual\",")) == 24);  // an added policy
  CHECK(shared(keys, changed("\"repetitions\": 2", "\"repetitions\": 3")) == 24);
  CHECK(shared(keys, changed("\"duration_s\": 60", "\"duration_s\": 61")) == 0);
  CHECK(shared(keys, changed("\"configure\": \"oracle\"", "\"configure\": \"manual\"")) == 12);  // the other policy's stay
}

TEST_CASE("policies share a run where a sweep is in another's parameters") {
  const Folder folder;
  const std::vector<std::string> keys = folder.keys(R"({
    "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
    "jobs": [ { "gpus": 1, "duration_s": 60 } ],
    "policies": [ "manual", { "name": "mine", "queue": { "name": { "sweep": [ "fifo", "sjf", "priority" ] } } } ] })");
  REQUIRE(keys.size() == 6);
  CHECK(std::set<std::string>(keys.begin(), keys.end()).size() == 4);
  CHECK(keys[0] == keys[2]);
  CHECK(keys[0] == keys[4]);
}

TEST_CASE("a key changes with the content of a file that its point reads") {
  const Folder folder;
  const std::string jobs = "job_id,submit_s,gpus,duration_s\na,0,1,60\n";
  folder.folder.write("a.csv", jobs);
  folder.folder.write("b.csv", jobs);
  const std::string text = R"({
    "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
    "jobs": [ { "trace": { "sweep": [ "a.csv", "b.csv" ] } } ],
    "policies": [ "manual" ] })";
  const std::vector<std::string> before = folder.keys(text);
  folder.folder.write("b.csv", jobs + "b,5,1,60\n");
  const std::vector<std::string> after = folder.keys(text);
  REQUIRE(before.size() == 2);
  CHECK(before[0] == after[0]);
  CHECK(before[1] != after[1]);
  CHECK(folder.plan(text).load(1)->jobs.size() == 2);  // a swept path begins in the scenario's folder
}

/// A policy, decided by a process of these words.
std::string by_process(const std::string& name, const std::string& words) {
  return quoted("{ 'name': '" + name + "', 'queue': { 'process': [" + words + "] } }");
}

TEST_CASE("a key changes with a script that is named by its absolute path") {
  const Folder folder;
  const TemporaryFolder elsewhere;
  const std::string script = elsewhere.write("mine.py", "print(1)");
  const std::string text = with(kBase, "[ \"manual\" ]", "[ " + by_process("mine", "'python3', '" + script + "'") + " ]");
  const std::vector<std::string> before = folder.keys(text);
  CHECK(folder.keys(text) == before);
  const auto scenario = folder.plan(text).load(0);
  CHECK(scenario->sha256_of_file.at(script) == rehearse::sim::sha256_of_text("print(1)"));
  CHECK_THAT(scenario->resolved, Catch::Contains(rehearse::sim::sha256_of_text("print(1)")));
  elsewhere.write("mine.py", "print(2)");
  CHECK(shared(before, folder.keys(text)) == 0);
}

TEST_CASE("a policy's files count for its own runs only") {
  const Folder folder;
  folder.folder.write("a.py", "print(1)");
  folder.folder.write("b.py", "print(1)");
  const std::string a = by_process("a", "'python3', 'a.py'"), b = by_process("b", "'python3', 'b.py'");
  const std::vector<std::string> one = folder.keys(with(kBase, "\"manual\"", "\"manual\", " + a));
  const std::string both = with(kBase, "\"manual\"", "\"manual\", " + a + ", " + b);
  const std::vector<std::string> two = folder.keys(both);
  REQUIRE(two.size() == 3);
  CHECK(shared(one, two) == 2);
  folder.folder.write("b.py", "print(2)");
  const std::vector<std::string> changed = folder.keys(both);
  CHECK(changed[0] == two[0]);
  CHECK(changed[1] == two[1]);
  CHECK(changed[2] != two[2]);
}

TEST_CASE("mistakes of all values at once, before anything runs") {
  const Folder folder;
  CHECK(folder.said(with(with(kSwept, "[ 1, 2 ]", "[ 1, -5, 2.5 ]"), "\"duration_s\": 60",
                         "\"duration_s\": {\"sweep\": [60, \"long\"]}")) ==
        "s.json:1:40: /seed/sweep/1: expected a whole number of at least 0, found -5\n"
        "s.json:1:44: /seed/sweep/2: expected a whole number of at least 0, found 2.5\n"
        "s.json:3:55: /jobs/0/duration_s/sweep/1: expected a number above 0 and of at most 8589934592, found \"long\"");
  // The first values as well, what stands inside a value, and a range's numbers, which stand nowhere.
  CHECK(folder.said(with(kSwept, "[ 1, 2 ]", "[ -5, 1 ]")) ==
        "s.json:1:37: /seed/sweep/0: expected a whole number of at least 0, found -5");
  CHECK(folder.said(with(kSwept, "{ \"gpus\": 1, \"duration_s\": 60 }",
                         "{ \"sweep\": [ { \"gpus\": 1, \"duration_s\": 60 }, { \"gpus\": 1, \"duration_s\": -60 } ] }")) ==
        "s.json:3:59: /jobs/0/sweep/1/duration_s: expected a number above 0 and of at most 8589934592, found -60");
  CHECK(folder.said(with(kSwept, "[ 1, 2 ]", R"({"from": -1, "to": 1, "steps": 3})")) ==
        "s.json:1:35: /seed/sweep: expected a whole number of at least 0, found -1");
  CHECK(folder.said(kSwept, 23) == "s.json: expected at most 23 runs (--limit), found 24");
  CHECK(folder.said(kSwept, 24) == "");
  CHECK(folder.said(with(kSwept, "[ 1, 2 ]", R"({"from": 1, "to": 1000000, "steps": 1000000})")) ==
        "s.json: expected at most 1000000 runs (--limit), found 3000000");
  CHECK(folder.said(R"({ "seed": { "sweep": [1, 2] }, "study": { "name": "placement", "graphs": [], "machines": [] } })") != "");
}

TEST_CASE("no other command takes a scenario that sweeps") {
  const TemporaryFolder folder;
  CHECK(complaints(folder, with(kBase, "\"seed\": 1", "\"seed\": {\"sweep\": [1, 2]}")) ==
        "s.json: /seed: expected one value (`rehearse sweep` runs them all; --set /seed=... chooses one), found a sweep of 2");
  CHECK(complaints(folder, with(kBase, "\"seed\": 1", "\"seed\": {\"sweep\": [1, 2]}"), {{"/seed", "2"}}) == "");
  CHECK(complaints(folder, kBase, {{"/seed", "{\"sweep\": [1, 2]}"}}) ==
        "--set: /seed: expected one value (`rehearse sweep` runs them all; --set /seed=... chooses one), found a sweep of 2");
}

}  // namespace
