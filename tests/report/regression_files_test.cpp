// Results read back from files, what changed between two of them, and what CI is told.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "report/regression.hpp"
#include "report/regression_text.hpp"
#include "report/scenario_changes.hpp"
#include "report/xml_text.hpp"
#include "sim/base/errors.hpp"
#include "tests/scenarios/temporary_folder.hpp"

using namespace rehearse::report;
using rehearse::sim::InputError;

namespace {

const std::string kSummary = R"({"scenario": "s", "seed": 7, "repetitions": 2, "policies": [
  {"policy": "a", "status": "ok", "cost_usd": {"mean": 1}}, {"policy": "b", "status": "failed", "reason": "why"}]})";
const std::string kRepetitions = "policy,repetition,cost_usd,jct_mean_s\na,0,10,100\na,1,20,\n";
const std::string kScenario =
    R"({"$schema": "x", "jobs": [{"gpus": 1}, {"gpus": 2}], "policies": ["a", {"name": "b", "queue": "sjf"}]})";
const std::string kTiming = R"({"policies": [{"policy": "a", "decision_time_s": 0.5}]})";

class Folders : public TemporaryFolder {
 public:
  std::string results(const std::string& name, const std::string& repetitions, const std::string& jobs = {},
                      const std::string& decisions = {}) const {
    std::filesystem::create_directories(path() + "/" + name);
    write(name + "/summary.json", kSummary);
    write(name + "/timing.json", kTiming);
    write(name + "/scenario.json", kScenario);
    write(name + "/repetitions.csv", repetitions);
    write(
        name + "/jobs.csv",
        "policy,repetition,job,state,pool,deadline_met,submit_s,end_s,workers,batch_size,cost_usd,effective_cost_usd,energy_j\n" +
            jobs);
    write(name + "/decisions.csv",
          "policy,repetition,job,decision,pool,time_s,rank,workers,batch_size,predicted_cost_usd\n" + decisions);
    return path() + "/" + name;
  }
};

const std::vector<std::string> kMetrics{"cost_usd", "jct_mean_s", "not_there"};

std::string without(std::string text, const std::string& part) { return text.erase(text.find(part), part.size()); }

}  // namespace

TEST_CASE("results are read back by policy, metric and repetition") {
  const Folders folder;
  const Results r = read_results(folder.results("r", kRepetitions), kMetrics);
  CHECK(r.scenario == "s");
  CHECK(r.seed == 7);
  REQUIRE(r.policies.size() == 2);
  CHECK(r.find("a")->metrics.at("cost_usd") == std::vector<double>{10, 20});
  CHECK(r.find("a")->metrics.at("jct_mean_s")[0] == 100);
  CHECK(std::isnan(r.find("a")->metrics.at("jct_mean_s")[1]));
  CHECK(std::isnan(r.find("a")->metrics.at("not_there")[0]));
  CHECK(r.find("a")->decision_time_s == 0.5);
  CHECK_FALSE(r.find("b")->ok);
  CHECK(r.find("b")->reason == "why");
  CHECK(r.find("c") == nullptr);
}

TEST_CASE("damaged results are refused") {
  const Folders folder;
  CHECK_THROWS_AS(read_results(folder.path() + "/nowhere", kMetrics), InputError);
  for (const std::string& repetitions :
       {std::string(), without(kRepetitions, "a,1,20,\n"), kRepetitions + "a,1,30,\n", kRepetitions + "c,0,1,1\n",
        kRepetitions + "b,0,1,1\n", without(kRepetitions, "policy,"), kRepetitions + "a,2,1,1\n",
        std::string("policy,repetition,cost_usd,jct_mean_s\na,0,ten,1\na,1,20,\n"),
        std::string("policy,repetition,cost_usd,jct_mean_s\na,1,1,1\na,0,20,\n")}) {
    INFO(repetitions);
    CHECK_THROWS_AS(read_results(folder.results("r", repetitions), kMetrics), InputError);
  }
  folder.results("r", kRepetitions);
  for (const char* summary : {"", "{}", "[]", R"({"scenario": "s", "seed": -1, "repetitions": 2, "policies": []})",
                              R"({"scenario": "s", "seed": 1, "repetitions": 0, "policies": []})",
                              R"({"scenario": "s", "seed": 1, "repetitions": 1, "policies": [{"policy": 3}]})"}) {
    INFO(summary);
    folder.write("r/summary.json", summary);
    CHECK_THROWS_AS(read_results(folder.path() + "/r", kMetrics), InputError);
  }
}

TEST_CASE("what changed: the jobs that cost most, and their first decision that is another") {
  const Folders folder;
  const std::string old_jobs =
      "a,0,x,finished,k80,true,0,100,1,32,4,4,9\n"
      "a,0,y,finished,k80,true,0,100,1,32,5,5,9\n"
      "a,0,z,finished,k80,true,0,100,1,32,6,6,9\n"
      "a,1,x,finished,k80,true,0,100,1,32,7,7,9\n";
  // y costs 1 more and is late, x in repetition 1 costs 3 more, z costs less, x in repetition 0 only by a rounding.
  const std::string new_jobs =
      "a,0,x,finished,k80,true,0,100,1,32,4.000000001,4,9\n"
      "a,0,y,finished,k80,false,0,300,2,64,6,16,9\n"
      "a,0,z,finished,k80,true,0,90,1,32,5,5,9\n"
      "a,1,x,finished,v100,true,0,50,4,32,10,10,9\n";
  const std::string old_decisions = "a,0,y,configure,k80,0,0,1,32,5\na,0,y,start,k80,0,0,1,32,5\na,1,x,start,k80,7,0,1,32,7\n";
  const std::string new_decisions =
      "a,0,y,configure,k80,0,0,1,32,5\na,0,y,start,k80,0,1,2,64,6\na,1,w,start,k80,3,0,1,32,1\na,1,x,start,v100,7,0,4,32,10\n";
  const std::string old_folder = folder.results("old", kRepetitions, old_jobs, old_decisions);
  const std::string new_folder = folder.results("new", kRepetitions, new_jobs, new_decisions);
  const JobChanges cost = changes_of(old_folder, new_folder, "a", "cost_usd", 3);
  CHECK(cost.jobs == 4);
  CHECK(cost.changed == 3);
  REQUIRE(cost.worst.size() == 2);
  CHECK(cost.worst[0].job == "x");
  CHECK(cost.worst[0].repetition == 1);
  CHECK(cost.worst[0].recorded == 7);
  CHECK(cost.worst[0].now == 10);
  REQUIRE(cost.worst[0].decision);
  CHECK(cost.worst[0].decision->recorded == "at 7 s start 1 x k80, batch 32, predicted $7");
  CHECK(cost.worst[0].decision->now == "at 7 s start 4 x v100, batch 32, predicted $10");
  REQUIRE(cost.first);  // of repetition 1: a decision about another job came in between
  CHECK(cost.first->job == "w");
  REQUIRE(cost.worst[1].decision);
  CHECK(cost.worst[1].decision->now == "at 0 s start 2 x k80, batch 64, predicted $6");
  const JobChanges limits = changes_of(old_folder, new_folder, "a", "limits_broken", 3);
  REQUIRE(limits.worst.size() == 1);
  CHECK(limits.worst[0].job == "y");
  CHECK(changes_of(old_folder, new_folder, "a", "jct_mean_s", 3).worst[0].now == 300);
  CHECK(changes_of(old_folder, new_folder, "a", "cost_usd", 1).worst.size() == 1);
  CHECK(changes_of(old_folder, old_folder, "a", "cost_usd", 3).changed == 0);
}

TEST_CASE("what a run did not write is not looked at, and said") {
  const Folders folder;
  const std::string old_jobs = "a,0,x,finished,k80,true,0,100,1,32,4,4,9\na,1,x,finished,k80,true,0,100,1,32,7,7,9\n";
  const std::string new_jobs = "a,0,x,finished,k80,true,0,100,1,32,5,5,9\na,1,x,finished,k80,true,0,100,1,32,9,9,9\n";
  const std::string of_both = "a,0,x,start,k80,0,0,1,32,5\na,1,x,start,k80,7,0,1,32,7\n";
  const std::string of_first = "a,0,x,start,k80,0,0,1,32,6\n";
  const std::string old_folder = folder.results("old", kRepetitions, old_jobs, of_both);
  const std::string new_folder = folder.results("new", kRepetitions, new_jobs, of_first);
  // Decisions of repetition 1 are in one alone: it is no decision that went away.
  const JobChanges first = changes_of(old_folder, new_folder, "a", "cost_usd", 3);
  REQUIRE(first.worst.size() == 2);
  CHECK(first.worst[0].repetition == 1);
  CHECK_FALSE(first.worst[0].decision);
  CHECK_FALSE(first.worst[1].decision);  // the same but for what it predicts
  CHECK_FALSE(first.first);
  REQUIRE(first.notes.size() == 1);
  CHECK_THAT(first.notes[0], Catch::Contains("which decisions of repetition 1 changed is not known") &&
                                 Catch::Contains(R"("output": {"decisions": "all"} writes it)"));
  // Jobs of repetition 0 alone in the new one: one job, not one that is gone.
  folder.results("new", kRepetitions, new_jobs.substr(0, new_jobs.find('\n') + 1), of_first);
  CHECK(changes_of(old_folder, new_folder, "a", "cost_usd", 3).jobs == 1);
  std::filesystem::remove(new_folder + "/jobs.csv");
  const JobChanges none = changes_of(old_folder, new_folder, "a", "cost_usd", 3);
  CHECK(none.jobs == 0);
  REQUIRE(none.notes.size() == 1);
  CHECK_THAT(none.notes[0], Catch::Contains("which jobs changed is not known: " + new_folder + " has no jobs.csv"));
}

TEST_CASE("which keys of the scenario are others than they were") {
  const Folders folder;
  const std::string old = folder.results("old", kRepetitions), now = folder.results("new", kRepetitions);
  const auto changes = [&](const std::string& scenario) {
    folder.write("new/scenario.json", scenario);
    return scenario_changes(old, now);
  };
  CHECK(changes(kScenario) == "");
  // Blanks, the order of keys, how a number is written, what moves no result, and policies that one has alone.
  CHECK(
      changes(R"({"jobs": [{"gpus": 1.0}, {"gpus": 2}], "policies": ["c", {"queue": "sjf", "name": "b"}, "a"], "output": {}})") ==
      "");
  CHECK(changes(R"({"jobs": [{"gpus": 1}], "policies": ["a", {"name": "b", "queue": "edf"}], "seed": 2, "a/b": 1})") ==
        "/jobs/1 {\"gpus\": 2} -> nothing, /policies/b/queue \"sjf\" -> \"edf\", /seed nothing -> 2 and 1 more");
  std::filesystem::remove(now + "/scenario.json");
  CHECK(scenario_changes(old, now) == "");
}

TEST_CASE("recorded results are enough to judge by, and name the same changes") {
  const Folders folder;
  const std::string decisions =
      "a,0,x,configure,k80,0,0,1,32,5\na,0,x,configure,k80,0,1,2,32,6\na,0,x,start,k80,0,1,2,32,0.123456789\n";
  const std::string results =
      folder.results("r", kRepetitions, "a,0,x,finished,k80,true,0,100,1,32,4.123456789,4,9\n", decisions);
  const std::string recorded = folder.path() + "/recorded";
  std::filesystem::create_directories(recorded);
  const ChanceTable chance{{{"a", "cost_usd"}, {.deviation = 0.1, .degrees_of_freedom = 3}}};
  write_recorded(results, recorded, chance);
  CHECK(read_chance(recorded).at({"a", "cost_usd"}).deviation == 0.1);
  CHECK(read_chance(results).empty());
  const ScenarioFindings same = compare_folders({.recorded = recorded, .now = results}, {{.metric = "cost_usd"}}, {});
  REQUIRE(same.findings.size() == 2);
  CHECK(same.findings[0].verdict == Verdict::same);
  CHECK(same.findings[1].verdict == Verdict::same);  // b fails now as it did before
  CHECK(same.findings[1].reason == "the policy failed, as recorded: why");
  CHECK_FALSE(has_alarm({same}));
  CHECK(changes_of(recorded, results, "a", "cost_usd", 3).changed == 0);
  folder.write("recorded/chance.csv", "policy,metric,deviation,degrees_of_freedom\na,cost_usd,-1,3\n");
  CHECK_THROWS_AS(read_chance(recorded), InputError);
}

TEST_CASE("a regression's texts name verdict, scenario, policy, jobs and decisions") {
  Alarm alarm;
  alarm.finding = {.policy = "a|<b>",
                   .metric = "cost_usd",
                   .verdict = Verdict::worse,
                   .recorded = 10,
                   .now = 10.3,
                   .change = {.mean = 0.03, .ci95_low = 0.02, .ci95_high = 0.04},
                   .tolerance = 0.01};
  alarm.changes = {.unit = "$", .jobs = 12, .changed = 2};
  alarm.changes.worst = {
      {.repetition = 1,
       .job = "job-7",
       .recorded = 4,
       .now = 5,
       .recorded_run = "1 x k80",
       .now_run = "2 x k80",
       .decision = DecisionChange{.repetition = 1, .job = "job-7", .recorded = "at 0 s start 1 x k80", .now = ""}}};
  const ScenarioFindings s{
      .scenario = "queue", .findings = {alarm.finding}, .alarms = {alarm}, .new_policies = {"fresh"}, .new_fails = true};
  const std::string text = regression_text({s});
  for (const char* part :
       {"+3.00 %", "[+2.00 %, +4.00 %]", "worse", "2 of 12 jobs changed", "job job-7 in repetition 1: $4 -> $5",
        "decided: at 0 s start 1 x k80 -> nothing", "queue: not recorded yet, run --update: fresh",
        "1 scenario, 1 policy: 0 better, 0 same, 1 worse, 0 broken, 1 not recorded"}) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
  CHECK(regression_markdown({s}).find("| queue | a\\|\\<b> | cost\\_usd | 10 | 10.3 | +3.00 % |") != std::string::npos);
  const std::string junit = regression_junit({s});
  CHECK(junit.find("<testsuite name=\"queue\" tests=\"2\" failures=\"2\">") != std::string::npos);
  CHECK(junit.find("<testcase classname=\"queue\" name=\"a|&lt;b&gt;\">") != std::string::npos);
  CHECK(junit.find("<failure type=\"worse\" message=\"queue, a|&lt;b&gt;, cost_usd: worse, +3.00 % [+2.00 %, +4.00 %]\">") !=
        std::string::npos);
}

TEST_CASE("a policy that a suite has not recorded is an alarm of its own; two runs may have other policies") {
  ScenarioFindings s{.scenario = "queue", .findings = {}, .alarms = {}, .new_policies = {"fresh"}, .new_fails = true};
  CHECK(has_alarm({s}));
  CHECK(regression_markdown({s}).find("## Policy regression: not recorded") != std::string::npos);
  const std::string junit = regression_junit({s});
  CHECK(junit.find("tests=\"1\" failures=\"1\"") != std::string::npos);
  CHECK(junit.find("<failure type=\"unrecorded\"") != std::string::npos);
  s.new_fails = false;
  CHECK_FALSE(has_alarm({s}));
  CHECK(regression_text({s}).find("queue: only in the new results: fresh") != std::string::npos);
  CHECK(regression_junit({s}).find("tests=\"0\" failures=\"0\"") != std::string::npos);
}

TEST_CASE("only the wanted policies are compared, and those must be recorded") {
  const Folders folder;
  const std::string results = folder.results("r", kRepetitions);
  const ScenarioFindings s =
      compare_folders({.recorded = results, .now = results, .policies = {"a"}}, {{.metric = "cost_usd"}}, {});
  CHECK(s.findings.size() == 1);
  CHECK(s.new_policies.empty());  // b is not wanted, and not new
  CHECK_THROWS_WITH(compare_folders({.recorded = results, .now = results, .policies = {"a", "bb"}}, default_rules(), {}),
                    results + ": expected one of its policies, found \"bb\"; did you mean \"b\"?");
}

TEST_CASE("why a policy failed stands once in full, and cut in the table") {
  const std::string why = "it asked for 9 workers of a pool of 4, which is more than there are of them";
  const Finding f{.policy = "p", .metric = {}, .verdict = Verdict::broken, .reason = "the policy failed: " + why};
  const std::string text = regression_text({{.scenario = "s", .findings = {f}, .alarms = {{f, {}}}, .new_policies = {}}});
  CHECK(text.find(why) != std::string::npos);
  CHECK(text.find(why) == text.rfind(why));
  CHECK(text.find("broken: the policy failed: it asked for 9 worke") != std::string::npos);
  CHECK(text.substr(0, text.find('\n')).size() < 130);
}

TEST_CASE("no text breaks out of XML") {
  rc::prop("any text", [](const std::string& text) {
    const std::string out = xml_text(text);
    RC_ASSERT(out.find_first_of("<>\"") == std::string::npos);
    for (std::size_t at = out.find('&'); at != std::string::npos; at = out.find('&', at + 1)) {
      const std::string rest = out.substr(at, 6);
      RC_ASSERT(rest.starts_with("&amp;") || rest.starts_with("&lt;") || rest.starts_with("&gt;") || rest.starts_with("&quot;"));
    }
    for (const char c : out) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
  });
}
