#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "report/comparison.hpp"
#include "sim/io/file.hpp"
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
  return {.scenario = "a \"test\"",
          .seed = 7,
          .repetitions = repetitions,
          .baseline = "manual",
          .rows = compare(results, "manual"),
          .verdict = judge(results, {.reference = "manual", .is_exact = repetitions == 1})};
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
policy    cost, $  profiling, $  effective, $   saving  deadlines  accuracy  where both keep
--------------------------------------------------------------------------------------------
manual      10.00        0.0000         10.00    0.0 %    100.0 %         -   0.0 % of 100 %
reckless   2.0000        0.0000         12.00  -20.0 %      0.0 %         -                -
careful    8.0000        0.0000        8.0000   20.0 %    100.0 %         -  20.0 % of 100 %

policy    verdict
--------------------------------------------------------------------
manual    reference; 25 % dearer than careful; keeps all limits
reckless  does not keep limits: +100 points; breaks limits of 2 jobs
careful   cheapest; keeps all limits

policy    mean JCT  p95 JCT  makespan  utilization  energy, kWh  reconf.  cost error  policy took
-------------------------------------------------------------------------------------------------
manual     100.0 s  100.0 s   200.0 s            -        0.500        0           -  0 us
reckless   100.0 s  100.0 s   200.0 s            -        0.500        0           -  0 us
careful    100.0 s  100.0 s   200.0 s            -        0.500        0           -  0 us

2 jobs, 1 repetition, seed 7. Every error of the world is 0: figures are exact for these jobs.
Saving: against manual, of effective cost, over all jobs; "where both keep": over the jobs whose limits both
keep, and their share.
Effective cost adds, for each job with a broken limit, what its manual configuration costs alone. Cost error: median of
|predicted / actual - 1|. Profiling is included in cost and saving.
Billing: allocated: a job pays for the devices that it holds; idle devices are nobody's.

An example, not evidence: on these 2 jobs careful is the cheapest that keeps limits as well as manual: 20 % cheaper.
)");
}

TEST_CASE("the footer and summary.json say who pays for what") {
  Summary two = summary(1, three_policies());
  const auto footer = [&](rehearse::sim::Billing billing, double minimum_node_s) {
    two.billing = billing;
    two.minimum_node_s = minimum_node_s;
    const JsonDocument document = parse_json(summary_json(two), "summary.json");
    CHECK(member(document.root(), "billing").text() == rehearse::sim::name_of(billing));
    CHECK(member(document.root(), "minimum_node_s").number() == minimum_node_s);
    const std::string table = terminal_table(two), line = table.substr(table.find("Billing: "));
    return line.substr(0, line.find('\n'));
  };
  using rehearse::sim::Billing;
  CHECK(footer(Billing::node, 0) == "Billing: node: whole nodes from provisioning to release, split over the jobs on them.");
  CHECK(footer(Billing::node, 60) ==
        "Billing: node: whole nodes from provisioning to release, 60 s each at least, split over the jobs on them.");
  CHECK(footer(Billing::pool, 0).starts_with("Billing: pool: every node from first submission to last end"));
  two.price_dates = "2022-12 to 2026";
  two.pools = {{.name = "a", .price_date = "2022-12"}, {.name = "b"}};
  CHECK_THAT(terminal_table(two), Catch::Contains("\nPrices of 2022-12 to 2026.\n"));
  CHECK_THAT(summary_json(two), Catch::Contains("\"price_date\": \"2022-12\"}") && Catch::Contains("\"price_date\": null}"));
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
learned   6.0000        1.0000        6.0000  40.8 % [-401.6, 93.0]    100.0 %         -

policy   verdict
----------------------------------------------------------------------------------------------------
manual   reference; 69 % dearer than learned; keeps all limits
learned  cheapest; in new worlds limits undecided: 0.0 points, at most 100; about 367 repetitions
         more; keeps all limits

policy   mean JCT  p95 JCT  makespan  utilization  energy, kWh  reconf.  cost error  policy took
------------------------------------------------------------------------------------------------
manual    100.0 s  100.0 s   200.0 s            -        0.500        0           -  0 us
learned   100.0 s  100.0 s   200.0 s            -        0.500        0           -  0 us

1 job, 2 repetitions, seed 7. Intervals are over the world's noise; the jobs are always the same.
Saving: against manual, of effective cost, over all jobs, with its 95 % confidence interval.
Effective cost adds, for each job with a broken limit, what its manual configuration costs alone. Cost error: median of
|predicted / actual - 1|. Profiling is included in cost and saving.
Billing: allocated: a job pays for the devices that it holds; idle devices are nobody's.
Without profiling, learned saves 51.0 % [-543.9, 96.3].

On these 2 x 1 jobs learned is the cheapest that keeps limits as well as manual: 41 % cheaper. In new worlds learned is 41 % [-1250, 97] cheaper, but whether it keeps limits as well is undecided (at most 100 points more broken): about 367 repetitions more.
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

TEST_CASE("the saving printed first is over all jobs; the one where both keep limits has its share behind it") {
  // One job of two is kept by both and costs 9.7 % less. The other breaks its limit: 4.515 + 3.485 + 12 = 20, against 10.
  const std::string table =
      terminal_table(summary(1, {policy("manual", {run({{5}, {5}})}), policy("reckless", {run({{4.515}, {3.485, 12}})})}));
  INFO(table);
  CHECK_THAT(table, Catch::Contains("-100.0 %") && Catch::Contains("9.7 % of 50 %"));
  CHECK(table.find("-100.0 %") < table.find("9.7 % of 50 %"));
  CHECK_THAT(table, Catch::Contains("does not keep limits: +50 points"));
}

TEST_CASE("a mean completion time names the jobs that it is over where some have not finished") {
  RunOutcome half = run({{1}, {1}});
  half.metrics.jobs_completed = 1;
  CHECK_THAT(terminal_table(summary(1, {policy("manual", {half})})), Catch::Contains("100.0 s (1)"));
}

TEST_CASE("the sentence under the table") {
  const auto sentence = [](const std::vector<PolicyResult>& results, VerdictTerms terms) {
    terms.reference = "manual";
    return verdict_sentence(judge(results, terms));
  };
  const auto times = [](std::size_t n, const RunOutcome& outcome) { return std::vector<RunOutcome>(n, outcome); };
  const VerdictTerms exact{.is_exact = true}, drawn{.unit_share = 1.0 / 6};
  const PolicyResult manual = policy("manual", {run({{5}, {5}})});
  const std::string example = "An example, not evidence: on these 2 jobs ";
  CHECK(sentence({manual, policy("cheap", {run({{4}, {4}})})}, exact) ==
        example + "cheap is the cheapest that keeps limits as well as manual: 20 % cheaper.");
  CHECK(sentence({manual, policy("cheap", {run({{4}, {4}})}), policy("near", {run({{4}, {4}})})}, exact) ==
        example + "cheap is the cheapest that keeps limits as well as manual: 20 % cheaper; near is level with it.");
  CHECK(sentence({manual, policy("dear", {run({{6}, {5}})})}, exact) ==
        example + "no policy that keeps limits as well as manual is cheaper than it.");
  CHECK(sentence({manual, policy("same", {run({{5}, {5}})})}, exact) ==
        example + "no policy that keeps limits as well as manual is cheaper than it: same costs the same.");
  CHECK(sentence({manual, policy("late", {run({{1, 5}, {1, 5}})})}, exact) ==
        example +
            "no policy keeps limits as well as manual: late comes nearest, and breaks those of 100 points more of the jobs (2 of "
            "2 jobs).");
  CHECK(sentence({manual, policy("late", {run({{1, 5}, {1, 5}})}), policy("cheap", {run({{4}, {4}})})}, exact) ==
        example + "cheap is the cheapest that keeps limits as well as manual: 20 % cheaper.");
  CHECK(sentence({manual}, exact) == "No verdict: there is no policy to hold against manual.");
  CHECK(sentence({manual, failed("p", "crashed")}, exact) == "No verdict: there is no policy to hold against manual.");
  CHECK(sentence({failed("manual", "crashed"), policy("p", {run({{5}})})}, exact) ==
        "No verdict: manual, which the others are held against, failed.");
  // 100 ln(20) / 6 = 49.9 repetitions.
  CHECK(
      sentence({manual, policy("cheap", {run({{4}, {4}})})}, drawn) ==
      example +
          "cheap is the cheapest that keeps limits as well as manual: 20 % cheaper. One repetition shows nothing of new worlds: "
          "that takes about 50 repetitions at least.");
  CHECK(
      sentence({policy("manual", times(5, run({{5}}))), policy("cheap", times(5, run({{4}})))}, drawn) ==
      "On these 5 x 1 jobs cheap is the cheapest that keeps limits as well as manual: 20 % cheaper. In new worlds cheap is 20 % "
      "[8.0, 29] cheaper, but whether it keeps limits as well is undecided (at most 10 points more broken): about 45 repetitions "
      "more.");
  CHECK(
      sentence({policy("manual", times(50, run({{5, 5}}))), policy("cheap", times(50, run({{4, 5}})))}, drawn) ==
      "On these 50 x 1 jobs cheap is the cheapest that keeps limits as well as manual: 10 % cheaper; manual itself breaks those "
      "of 100 % of the jobs. In new worlds too: 10 % cheaper.");
}

TEST_CASE("a queue study: when jobs are done and what the cluster does come first, money behind; who fails is named") {
  // Three jobs; under the second policy one is turned away. Alone each takes 50 s on one of 4 devices; N is 3 x 100 / 100 under
  // the first, so a part is 4/3 devices, more than a job asks for, and rho 100 / 50 and 50 / 50; who is turned away is never
  // done.
  const auto schedule = [](double completion_s, int finished) {
    RunOutcome outcome;
    for (int j = 0; j < 3; ++j)
      outcome.jobs.push_back({.cost_usd = 1,
                              .effective_cost_usd = 1,
                              .completion_s = completion_s,
                              .alone_s = 50,
                              .alone_devices = 1,
                              .active_jobs = 3,
                              .finished = j < finished,
                              .keeps_limits = j < finished});
    rehearse::sim::ReplayTotals totals{.jobs = 3, .last_end_s = 200};
    totals.pools = {{.pool_device_s = 800, .pool_usd = 4, .busy_device_s = 400, .waiting_busy_usd = 3, .waiting_pool_usd = 4}};
    outcome.metrics = run_metrics(
        totals, outcome.jobs,
        {.waiting_s = (completion_s - 50) * finished, .preemption_s = 90, .jobs_rejected = 3.0 - finished, .preemptions = 2});
    outcome.metrics.devices = 4;
    return outcome;
  };
  Summary s = summary(1, {policy("manual", {schedule(100, 3)}), policy("picky", {schedule(50, 2)})});
  s.kinds = {.queue = true};
  const std::string table = "\n" + terminal_table(s);
  INFO(table);
  CHECK_THAT(table, Catch::Matchers::StartsWith(R"(
policy    mean JCT  p50 JCT  p95 JCT  p99 JCT    waiting  slowdown  speed-up  worst rho  rho > 1
------------------------------------------------------------------------------------------------
manual     100.0 s  100.0 s  100.0 s  100.0 s     50.0 s      2.00      1.00       2.00  100.0 %
picky   50.0 s (2)   50.0 s    never    never  0.0 s (2)  1.00 (2)  2.00 (2)   1.00 (2)   33.3 %

policy  makespan  utilization  while work waits  preemptions  their time  reconf.  deadlines  failed
----------------------------------------------------------------------------------------------------
manual   200.0 s       50.0 %            75.0 %            2      90.0 s        0          -       0
picky    200.0 s       50.0 %            75.0 %            2      90.0 s        0          -       1

policy  rejected  policy took
-----------------------------
manual         0  0 us
picky          1  0 us

policy  cost, $)"));
}

TEST_CASE("every quantity is documented by its name, and shown as the documentation says") {
  const std::string docs = rehearse::sim::read_file(std::string(REHEARSE_SOURCE_DIR) + "/docs/reference/metrics.md", 1 << 20);
  std::set<std::string_view> names;
  for (const MetricField& field : all_metric_fields()) {
    INFO(field.name);
    CHECK(names.insert(field.name).second);
    CHECK(docs.find("`" + std::string(field.name) + "`") != std::string::npos);
    CHECK_FALSE(field.doc.empty());
    CHECK(field.heading.empty() == (field.tables == 0));
    if (!field.heading.empty()) CHECK(docs.find("`" + std::string(field.heading) + "`") != std::string::npos);
    if (!field.over.empty()) CHECK(find_metric_field(field.over) != nullptr);
    CHECK((field.value != nullptr) == (field.source == MetricSource::run));
  }
}

TEST_CASE("a mixed study has the columns of both, each once") {
  std::set<std::string_view> queue, all;
  for (const MetricColumns& columns : metric_columns({.queue = true}))
    for (const MetricField* field : columns.fields) queue.insert(field->name);
  CHECK(queue.contains("jct_p99_s"));
  CHECK(queue.contains("utilization_waiting_fraction"));
  CHECK_FALSE(queue.contains("energy_kwh"));
  for (const MetricColumns& columns : metric_columns({.queue = true, .configuration = true, .nodes = true}))
    for (const MetricField* field : columns.fields) CHECK(all.insert(field->name).second);
  CHECK(std::includes(all.begin(), all.end(), queue.begin(), queue.end()));
  CHECK(all.contains("energy_kwh"));
  CHECK(all.contains("goodput_fraction"));
  CHECK(study_kinds_of({"nodes", "queue"}) == StudyKinds{.queue = true, .nodes = true});
  CHECK(study_kinds_of({}) == StudyKinds{.configuration = true});
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

namespace {

/// Two jobs that cost the same under every queue, with completion times by hand.
RunOutcome queued(double jct_mean_s, double jct_p95_s, double finished = 2) {
  RunOutcome outcome = run({{5}, {5}});
  outcome.metrics.jct_mean_s = jct_mean_s;
  outcome.metrics.jct_p95_s = jct_p95_s;
  outcome.metrics.jobs_completed = finished;
  return outcome;
}

Summary of_queues(const std::vector<PolicyResult>& results, bool is_exact) {
  return {.repetitions = static_cast<int>(results.front().repetitions.size()),
          .baseline = "fifo",
          .kinds = {.queue = true},
          .rows = compare(results, "fifo"),
          .verdict = judge(results, {.reference = "fifo", .is_exact = is_exact})};
}

}  // namespace

TEST_CASE("a study of queues ends with completion times, makespan and deadlines, not with money") {
  const Summary s =
      of_queues({policy("fifo", {queued(100, 180), queued(100, 180)}), policy("srtf", {queued(49, 90), queued(51, 90)})}, false);
  // 50 over 100 in the mean: logarithm -0.69315. Residuals 0.98 - 1 = -0.02 and 0.02: error 0.02; t(1, 97.5 %) = 12.7062: half
  // 0.25412. 1 - exp(-0.43902) is 36 %, 1 - exp(-0.94727) is 61 %.
  CHECK(
      completion_sentence(s, judge_completion(s)) ==
      "On these 2 x 2 jobs srtf has the shortest mean completion time: 50.0 s for fifo's 100.0 s, 50 % shorter. In new worlds "
      "too: 50 % [36, 61] shorter.\n"
      "srtf beside fifo: p95 90.0 s for 180.0 s (50 % less); makespan 200.0 s for 200.0 s (the same); deadlines kept 100.0 % for "
      "100.0 % (the same).");
  const std::string table = terminal_table(s);
  CHECK(table.find("shortest mean JCT; keeps all limits") != std::string::npos);
  CHECK(table.find("\nOn these 2 x 2 jobs srtf has the shortest mean completion time") != std::string::npos);
  CHECK(table.find("cheaper") == std::string::npos);
  CHECK(table.find("keeps limits as well") == std::string::npos);

  // summary.json says both: by completion times, as the terminal, and by money.
  const JsonDocument document = parse_json(summary_json(s), "summary.json");
  const JsonValue completion = member(document.root(), "completion_verdict");
  CHECK(member(completion, "outcome").text() == "shortest");
  CHECK(member(completion, "winner").text() == "srtf");
  CHECK(member(completion, "sentence").text() == completion_sentence(s, judge_completion(s)));
  const JsonValue srtf = element(member(completion, "policies"), 1);
  CHECK(member(srtf, "standing").text() == "best");
  CHECK(member(srtf, "in_words").text() == "shortest mean JCT");
  CHECK_FALSE(member(srtf, "finishes_fewer").boolean());
  CHECK(member(member(srtf, "shorter_than_reference_percent"), "mean").number() == Approx(50));
  CHECK(member(member(document.root(), "verdict"), "sentence").text() == verdict_sentence(s.verdict));
}

TEST_CASE("the scheduler that the sentence names has the least mean completion time of the table") {
  rc::prop("named by the printed mean", [](bool is_exact) {
    const auto repetitions = static_cast<std::size_t>(is_exact ? 1 : *rc::gen::inRange(2, 6));
    std::vector<PolicyResult> results;
    for (const std::string name : {"fifo", "a", "b", "c"}) {
      std::vector<RunOutcome> runs;
      const double finished = name == "c" && *rc::gen::arbitrary<bool>() ? 1 : 2;
      for (std::size_t r = 0; r < repetitions; ++r)  // repetitions of very different sizes, in which means disagree
        runs.push_back(queued(std::exp2(*rc::gen::inRange(0, 12)) + *rc::gen::inRange(0, 9), 180, finished));
      results.push_back(policy(name, runs));
    }
    const Summary s = of_queues(results, is_exact);
    const RunVerdict v = judge_completion(s);
    if (v.drawn.best.empty()) return;
    double least = HUGE_VAL;
    for (const SummaryRow& row : s.rows)
      if (row.of("jobs_completed").mean == 2) least = std::min(least, row.of("jct_mean_s").mean);
    const auto mean_of = [&](const std::string& name) {
      for (const SummaryRow& row : s.rows)
        if (row.policy == name) return row.of("jct_mean_s").mean;
      return HUGE_VAL;
    };
    RC_ASSERT(mean_of(v.drawn.best) <= least * (1 + 2e-6));
    const JsonDocument document = parse_json(summary_json(s), "summary.json");
    RC_ASSERT(member(member(document.root(), "completion_verdict"), "best").text() == v.drawn.best);
    const std::string named = "jobs " + v.drawn.winner + " has the shortest mean";
    if (v.drawn.outcome == Outcome::cheapest) RC_ASSERT(completion_sentence(s, v).find(named) != std::string::npos);
    // The speed-up beside it is of the same means.
    for (const SummaryRow& row : s.rows)
      if (row.of("jobs_completed").mean == 2 && row.of("speedup_jobs").mean > 0)
        RC_ASSERT(row.of("jct_mean_s").mean * (1 + 2e-6) >= mean_of(v.drawn.best));
  });
}

TEST_CASE("completion times without a verdict: too much noise, one repetition, fewer jobs finished") {
  const auto sentence = [](const std::vector<PolicyResult>& results, bool is_exact) {
    const Summary s = of_queues(results, is_exact);
    return completion_sentence(s, judge_completion(s));
  };
  const std::string unsure =
      sentence({policy("fifo", {queued(100, 180), queued(100, 180)}), policy("srtf", {queued(20, 90), queued(99, 90)})}, false);
  CHECK_THAT(unsure,
             Catch::StartsWith("On these 2 x 2 jobs srtf has the shortest mean completion time: 59.5 s for fifo's 100.0 s, 40 % "
                               "shorter. In new worlds srtf has the shortest mean completion time, but against fifo that is "
                               "undecided: about "));
  const std::string example = "An example, not evidence: on these 2 jobs ";
  CHECK_THAT(
      sentence({policy("fifo", {queued(100, 180)}), policy("srtf", {queued(50, 90)})}, false),
      Catch::StartsWith(example + "srtf has the shortest mean completion time: 50.0 s for fifo's 100.0 s, 50 % shorter. One "
                                  "repetition shows nothing of new worlds: that takes two repetitions at least.\n"));
  // Its mean leaves out the job that it never finished.
  CHECK(sentence({policy("fifo", {queued(100, 180)}), policy("picky", {queued(50, 90, 1)})}, true) ==
        example + "every other policy finishes fewer jobs than fifo.");
  CHECK(sentence({policy("fifo", {queued(100, 180)}), policy("slow", {queued(150, 190)})}, true) ==
        example + "no policy has a shorter mean completion time than fifo: 100.0 s.");
}

TEST_CASE("a yardstick that a policy beats is called no bound") {
  PolicyResult oracle = policy("oracle", {run({{6}, {6}})});
  oracle.is_yardstick = true;
  const std::string beaten = terminal_table(summary(1, {policy("manual", {run({{5}, {5}})}), oracle}));
  CHECK_THAT(beaten, Catch::Contains("\noracle is no bound here: manual costs less.") &&
                         Catch::Contains("under queues and whole nodes it can cost more than another policy.\n"));
  oracle = policy("oracle", {run({{5}, {5}})});
  oracle.is_yardstick = true;
  CHECK_THAT(terminal_table(summary(1, {policy("manual", {run({{5}, {5}})}), oracle})), !Catch::Contains("no bound"));
  // Who pays less because a limit is broken has beaten nobody: 4 + 5 + 5, against 10.
  CHECK_THAT(terminal_table(summary(1, {policy("late", {run({{4, 5}, {5}})}), oracle})), !Catch::Contains("no bound"));
}
