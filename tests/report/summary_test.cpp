#include <catch2/catch.hpp>
#include <set>

#include "report/comparison.hpp"
#include "sim/io/json.hpp"
#include "tests/report/outcomes.hpp"

using namespace outcomes;
using rehearse::sim::JsonDocument;
using rehearse::sim::JsonKind;
using rehearse::sim::JsonMember;
using rehearse::sim::JsonValue;
using rehearse::sim::parse_json;

namespace {

Summary summary(int repetitions, const std::vector<PolicyResult>& results) {
  return {
      .scenario = "a \"test\"", .seed = 7, .repetitions = repetitions, .baseline = "manual", .rows = compare(results, "manual")};
}

JsonValue member(JsonValue object, std::string_view key) {
  for (const JsonMember m : object.members())
    if (m.key.text() == key) return m.value;
  throw std::out_of_range(std::string(key));
}

std::set<std::string> keys(JsonValue object) {
  std::set<std::string> names;
  for (const JsonMember m : object.members()) names.emplace(m.key.text());
  return names;
}

JsonValue element(JsonValue list, int index) {
  for (const JsonValue value : list.elements())
    if (index-- == 0) return value;
  throw std::out_of_range("element");
}

/// Breaks a limit although it is cheap: 2 + 2 x 5 in all, against 2 x 5.
std::vector<PolicyResult> three_policies() {
  return {policy("manual", {run({{5}, {5}})}), policy("reckless", {run({{1, 5}, {1, 5}})}), policy("careful", {run({{4}, {4}})})};
}

}  // namespace

TEST_CASE("summary.json has every quantity of its documentation, as an object with its interval") {
  const Summary two = summary(2, {policy("manual", {run({{4}}), run({{6}})}), failed("broken", "answered \"nonsense\"")});
  const JsonDocument document = parse_json(summary_json(two), "summary.json");
  const JsonValue root = document.root();
  CHECK(member(root, "scenario").text() == "a \"test\"");
  CHECK(member(root, "seed").number() == 7);
  CHECK(member(root, "repetitions").number() == 2);
  CHECK(member(root, "baseline").text() == "manual");
  REQUIRE(member(root, "policies").size() == 2);
  const JsonValue manual = element(member(root, "policies"), 0);
  CHECK(member(manual, "policy").text() == "manual");
  CHECK(member(manual, "status").text() == "ok");
  for (const char* name : {"jobs",
                           "jobs_completed",
                           "jobs_failed",
                           "cost_usd",
                           "effective_cost_usd",
                           "saving_percent",
                           "both_keep_limits_fraction",
                           "deadline_met_fraction",
                           "accuracy_met_fraction",
                           "energy_kwh",
                           "jct_mean_s",
                           "jct_p95_s",
                           "makespan_s",
                           "utilization_fraction",
                           "profiling_cost_usd",
                           "idle_cost_usd",
                           "idle_energy_kwh",
                           "regret_mean_usd",
                           "regret_p90_usd",
                           "seconds_late_mean",
                           "accuracy_short_mean",
                           "cost_compute_usd",
                           "cost_switch_usd",
                           "cost_wait_usd",
                           "cost_lost_usd"}) {
    INFO(name);
    CHECK(keys(manual).contains(name));
  }
  for (const JsonMember field : manual.members()) {
    if (field.key.text() == "policy" || field.key.text() == "status") continue;
    INFO(field.key.text());
    CHECK(keys(field.value) == std::set<std::string>{"mean", "ci95_low", "ci95_high"});
    for (const JsonMember part : field.value.members()) CHECK((part.value.is_number() || part.value.is_null()));
  }
  // 4 and 6: mean 5, standard error 1, t(1, 97.5 %) = 12.7062.
  CHECK(member(member(manual, "cost_usd"), "mean").number() == 5);
  CHECK(member(member(manual, "cost_usd"), "ci95_high").number() == Approx(17.7062047));
  CHECK(member(member(manual, "accuracy_met_fraction"), "mean").is_null());
  const JsonValue broken = element(member(root, "policies"), 1);
  CHECK(keys(broken) == std::set<std::string>{"policy", "status", "reason"});
  CHECK(member(broken, "status").text() == "failed");
  CHECK(member(broken, "reason").text() == "answered \"nonsense\"");
}

TEST_CASE("no clock of the machine gets into summary.json; timing.json has it") {
  PolicyResult result = policy("manual", {run({{4}})});
  const std::string before = summary_json(summary(1, {result}));
  result.repetitions[0].metrics.decision_time_s = 0.25;
  result.run_cpu_s = 3;
  result.max_rss_bytes = 4096;
  CHECK(summary_json(summary(1, {result})) == before);
  const JsonDocument timing = parse_json(timing_json(summary(1, {result})), "timing.json");
  const JsonValue row = element(member(timing.root(), "policies"), 0);
  CHECK(keys(row) == std::set<std::string>{"policy", "decision_time_s", "run_cpu_s", "max_rss_bytes"});
  CHECK(member(row, "decision_time_s").number() == 0.25);
  CHECK(member(row, "max_rss_bytes").number() == 4096);
}

TEST_CASE("what was read, dropped and repaired is told") {
  Summary s = summary(1, {policy("manual", {run({{4}})})});
  s.inputs = {{.path = "trace \\ 1.csv",
               .sha256 = "abc",
               .rows = 10,
               .jobs = 8,
               .dropped = {{"no duration", 2, {3, 7}}},
               .repaired = {{"batch_size", 1, {4}}},
               .notes = {"half of \"them\""}}};
  const JsonDocument document = parse_json(summary_json(s), "summary.json");
  const JsonValue input = element(member(document.root(), "inputs"), 0);
  CHECK(member(input, "path").text() == "trace \\ 1.csv");
  CHECK(member(input, "rows").number() == 10);
  CHECK(member(input, "jobs").number() == 8);
  const JsonValue dropped = element(member(input, "dropped"), 0);
  CHECK(member(dropped, "reason").text() == "no duration");
  CHECK(member(dropped, "rows").number() == 2);
  CHECK(element(member(dropped, "first_lines"), 1).number() == 7);
  CHECK(element(member(input, "notes"), 0).text() == "half of \"them\"");
}

TEST_CASE("a cheaper policy that breaks limits is visibly not the winner") {
  const std::string table = "\n" + terminal_table(summary(1, three_policies()));
  INFO(table);
  CHECK(table == R"(
policy    cost, $  profiling, $  effective, $  saving  deadlines  accuracy
--------------------------------------------------------------------------
manual      10.00        0.0000         10.00   0.0 %    100.0 %         -
reckless   2.0000        0.0000         12.00       -      0.0 %         -
careful    8.0000        0.0000        8.0000  20.0 %    100.0 %         -

policy    verdict
-------------------------------------------------
manual    keeps all limits
reckless  breaks limits of 2 jobs
careful   lowest effective cost; keeps all limits

policy    mean JCT  p95 JCT  makespan  utilization  energy, kWh  reconf.  cost error  policy took
-------------------------------------------------------------------------------------------------
manual     100.0 s  100.0 s   200.0 s            -        0.500        0           -  0 us
reckless   100.0 s  100.0 s   200.0 s            -        0.500        0           -  0 us
careful    100.0 s  100.0 s   200.0 s            -        0.500        0           -  0 us

2 jobs, 1 repetition, seed 7. Saving: against manual, over the jobs whose limits both keep.
Effective cost adds, for each job with a broken limit, what its manual configuration costs alone. Cost error: median of
|predicted / actual - 1|. Profiling is included in cost and saving.
)");
}

TEST_CASE("a failed policy and repetitions in the table") {
  PolicyResult profiled = policy("learned", {run({{4, -1, 1}}), run({{6, -1, 1}})});
  const std::string table =
      "\n" +
      terminal_table(summary(2, {policy("manual", {run({{10}}), run({{10}})}), failed("broken", "crashed at 3 s"), profiled}));
  INFO(table);
  CHECK(table == R"(
policy   cost, $  profiling, $  effective, $                 saving  deadlines  accuracy
----------------------------------------------------------------------------------------
manual     10.00        0.0000         10.00       0.0 % [0.0, 0.0]    100.0 %         -
broken   FAILED: crashed at 3 s
learned   6.0000        1.0000        6.0000  40.0 % [-87.1, 167.1]    100.0 %         -

policy   verdict
------------------------------------------------
manual   keeps all limits
learned  lowest effective cost; keeps all limits

policy   mean JCT  p95 JCT  makespan  utilization  energy, kWh  reconf.  cost error  policy took
------------------------------------------------------------------------------------------------
manual    100.0 s  100.0 s   200.0 s            -        0.500        0           -  0 us
learned   100.0 s  100.0 s   200.0 s            -        0.500        0           -  0 us

1 job, 2 repetitions, seed 7. Saving: against manual, over the jobs whose limits both keep, with its 95 % confidence interval.
Effective cost adds, for each job with a broken limit, what its manual configuration costs alone. Cost error: median of
|predicted / actual - 1|. Profiling is included in cost and saving.
Without profiling, learned saves 50.0 % [-77.1, 177.1].
)");
}

TEST_CASE("nothing is shown as minus zero") {
  // Savings of 0.01 % and -0.01 %: mean 0, bounds -0.127 and 0.127; of +-0.001 %: bounds that round to zero.
  const auto table = [](double more) {
    return terminal_table(
        summary(2, {policy("manual", {run({{100}}), run({{100}})}), policy("same", {run({{100 + more}}), run({{100 - more}})})}));
  };
  CHECK_THAT(table(0.01), Catch::Matchers::Contains("0.0 % [-0.1, 0.1]"));
  CHECK_THAT(table(0.001), Catch::Matchers::Contains("0.0 % [0.0, 0.0]") && !Catch::Matchers::Contains("-0.0"));
}

TEST_CASE("what each policy chose: its three most frequent choices in one line, counted by hand") {
  // Of 8 jobs: 4 on one v100 at 128, 2 on two at 256, 1 each on four k80 at 64 and at 32: 50, 25, 12.5 and 12.5 %.
  const auto job = [](int pool, int workers, double batch_size) {
    return JobOutcome{.batch_size = batch_size, .pool = pool, .workers = workers};
  };
  RunOutcome mixed;
  mixed.jobs = {job(1, 1, 128), job(1, 2, 256), job(1, 1, 128), job(0, 4, 64), job(1, 1, 128),
                job(1, 2, 256), job(1, 1, 128), job(0, 4, 32),  job(-1, 0, 0)};
  RunOutcome rigid;
  rigid.jobs = {job(0, 8, 0), job(0, 8, 0)};
  Summary s{.pools = {{.name = "k80"}, {.name = "v100"}}};
  s.rows = {{.policy = "isotonic", .chosen = chosen_in({mixed})}, {.policy = "manual", .chosen = chosen_in({rigid, rigid})}};
  CHECK(choices_text(s) ==
        "What each policy chose: workers, pool and batch, of how many of the jobs that ran\n"
        "isotonic  1 x v100, batch 128: 50 %;  2 x v100, batch 256: 25 %;  4 x k80, batch 32: 12 %\n"
        "manual    8 x k80: 100 %\n");
  s.rows[1].chosen = s.rows[0].chosen;
  CHECK(choices_text(s) ==
        "What the jobs ran on, under every policy\n"
        "  1 x v100, batch 128: 50 %;  2 x v100, batch 256: 25 %;  4 x k80, batch 32: 12 %\n");
  s.rows = {{.policy = "broken", .ok = false}};
  CHECK(choices_text(s).empty());
}
