#include "report/comparison.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/errors.hpp"
#include "tests/report/outcomes.hpp"

using namespace outcomes;

namespace {

// Three jobs. Manual pays 4, 2, 6 and is late with the third, whose manual configuration alone costs 6. Cheap pays 1, 1, 2 and
// 0.5 a job for profiling, and is late with the second, whose manual configuration costs 2.
RunOutcome manual_run() { return run({{4}, {2}, {6, 6}}); }
RunOutcome cheap_run() { return run({{1, -1, 0.5}, {1, 2, 0.5}, {2, -1, 0.5}}); }

bool is_null(const Estimate& e) { return std::isnan(e.mean) && std::isnan(e.ci95_low) && std::isnan(e.ci95_high); }

}  // namespace

TEST_CASE("a policy with a job that has no reference cost has no effective cost, and neither saves nor wins by it") {
  // B breaks the limit of a job whose manual configuration fits nowhere, in one repetition of two.
  const std::vector<PolicyResult> results{policy("a", {run({{10}, {10}}), run({{10}, {10}})}),
                                          policy("b", {run({{1}, {1}}), run({{1}, {1, rehearse::sim::kUnset}})})};
  const auto rows = compare(results, "a");
  CHECK(rows[0].of("effective_cost_usd").mean == Approx(20));
  CHECK(std::isnan(rows[1].of("effective_cost_usd").mean));
  CHECK(std::isnan(rows[1].of("effective_saving_percent").mean));
  CHECK(rows[1].of("cost_usd").mean == Approx(2));
  CHECK(judge(results, {.reference = "a", .is_exact = true}).drawn.winner.empty());
}

TEST_CASE("two policies and three jobs by hand") {
  const std::vector<SummaryRow> rows = compare({policy("manual", {manual_run()}), policy("cheap", {cheap_run()})}, "manual");
  REQUIRE(rows.size() == 2);
  const SummaryRow& cheap = rows[1];
  CHECK(cheap.policy == "cheap");
  CHECK(cheap.of("jobs").mean == 3);
  CHECK(cheap.of("cost_usd").mean == Approx(1 + 1 + 2 + 1.5));
  CHECK(cheap.of("profiling_cost_usd").mean == Approx(1.5));
  CHECK(cheap.of("effective_cost_usd").mean == Approx(1 + (1 + 2) + 2 + 1.5));
  CHECK(cheap.of("limits_broken").mean == 1);
  CHECK(cheap.of("deadline_met_fraction").mean == Approx(2.0 / 3));
  CHECK(cheap.of("seconds_late_mean").mean == Approx(30.0 / 3));
  // Only the first job keeps its limits under both: 1 and 0.5 for profiling, against 4.
  CHECK(cheap.of("both_keep_limits_fraction").mean == Approx(1.0 / 3));
  CHECK(cheap.of("saving_percent").mean == Approx(100 * (1 - 1.5 / 4)));
  CHECK(cheap.of("saving_without_profiling_percent").mean == Approx(100 * (1 - 1.0 / 4)));
  // Effective: 7.5 against 4 + 2 + 12.
  CHECK(cheap.of("effective_saving_percent").mean == Approx(100 * (1 - 7.5 / 18)));
  CHECK(cheap.of("effective_saving_without_profiling_percent").mean == Approx(100 * (1 - 6.0 / 18)));
  CHECK(rows[0].of("effective_cost_usd").mean == Approx(18));
  CHECK(rows[0].of("saving_percent").mean == 0);
  CHECK(rows[0].of("both_keep_limits_fraction").mean == Approx(2.0 / 3));
  // No job has a target; nobody is the oracle; there is no such field.
  CHECK(is_null(cheap.of("accuracy_met_fraction")));
  CHECK(is_null(cheap.of("accuracy_short_mean")));
  CHECK(is_null(cheap.of("regret_mean_usd")));
  CHECK(is_null(cheap.of("no_such_field")));
  // One repetition has no interval.
  CHECK(std::isnan(cheap.of("saving_percent").ci95_low));
  CHECK(std::isnan(cheap.of("cost_usd").ci95_high));
}

TEST_CASE("savings are paired: repetition by repetition, then the mean of logarithms") {
  // Cheap costs 1/2 of 4 and 1/4 of 400: the mean of log2 is -1.5, 1 - 2^-1.5 = 64.6447 %. Of log: -1.0397208, deviation
  // ln 2 / sqrt(2), standard error ln 2 / 2 = 0.3465736; t(1, 97.5 %) = 12.7062: half 4.4036.
  const std::vector<SummaryRow> rows =
      compare({policy("manual", {run({{4}}), run({{400}})}), policy("cheap", {run({{2}}), run({{100}})})}, "manual");
  const Estimate saving = rows[1].of("saving_percent");
  CHECK(saving.mean == Approx(100 * (1 - std::pow(2, -1.5))));
  const double half = 12.7062047 * 0.34657359;
  CHECK(saving.ci95_low == Approx(100 * (1 - std::pow(2, -1.5) * std::exp(half))));
  CHECK(saving.ci95_high == Approx(100 * (1 - std::pow(2, -1.5) * std::exp(-half))));
  CHECK(rows[1].of("effective_saving_percent").mean == Approx(saving.mean));
}

TEST_CASE("regret is against the oracle, job by job") {
  // Effective costs 1, 3, 2 and 0.5 of profiling each, against the oracle's 1, 2, 3: regrets 0.5, 1.5, -0.5. The 0.9-quantile is
  // at position 1.8: 0.5 + 0.8 (1.5 - 0.5) = 1.3.
  const std::vector<SummaryRow> rows =
      compare({policy("cheap", {cheap_run()}), policy("oracle", {run({{1}, {2}, {3}})})}, "cheap");
  CHECK(rows[0].of("regret_mean_usd").mean == Approx(0.5));
  CHECK(rows[0].of("regret_p90_usd").mean == Approx(1.3));
  CHECK(rows[1].of("regret_mean_usd").mean == 0);
}

TEST_CASE("without a baseline there is no saving, and a failed policy has no numbers") {
  PolicyResult half = policy("manual", {manual_run()});
  half.ok = false;
  half.reason = "repetition 1 crashed";
  const std::vector<SummaryRow> rows = compare({half, policy("cheap", {cheap_run()})}, "manual");
  CHECK_FALSE(rows[0].ok);
  CHECK(rows[0].reason == "repetition 1 crashed");
  CHECK(rows[0].fields.empty());
  CHECK(rows[1].ok);
  for (const char* field : {"saving_percent", "saving_without_profiling_percent", "effective_saving_percent",
                            "effective_saving_without_profiling_percent", "both_keep_limits_fraction"})
    CHECK(is_null(rows[1].of(field)));
  CHECK(rows[1].of("cost_usd").mean == Approx(5.5));
}

TEST_CASE("no job qualifies: no saving, in that repetition") {
  // The first repetition has no job that keeps its limits under both, the second saves 25 %.
  const std::vector<SummaryRow> rows =
      compare({policy("manual", {run({{4, 4}}), run({{4}})}), policy("cheap", {run({{2}}), run({{3}})})}, "manual");
  CHECK(rows[1].of("saving_percent").mean == Approx(25));
  CHECK(std::isnan(rows[1].of("saving_percent").ci95_low));
  CHECK(rows[1].of("both_keep_limits_fraction").mean == 0.5);
  // A baseline that costs nothing has nothing to save.
  const std::vector<SummaryRow> nothing = compare({policy("manual", {run({{0}})}), policy("p", {run({{0}})})}, "manual");
  CHECK(is_null(nothing[1].of("saving_percent")));
}

TEST_CASE("other jobs than the baseline's are our own bug") {
  CHECK_THROWS_AS(compare({policy("manual", {run({{1}})}), policy("p", {run({{1}, {2}})})}, "manual"),
                  rehearse::sim::CheckFailed);
}

TEST_CASE("times of the machine are summed and kept apart") {
  PolicyResult result = policy("manual", {run({{1}}), run({{1}})});
  result.repetitions[0].metrics.decision_time_s = 1;
  result.repetitions[1].metrics.decision_time_s = 2;
  result.run_cpu_s = 5;
  result.max_rss_bytes = 1e6;
  const SummaryRow row = compare({result}, "manual").front();
  CHECK(row.decision_time_s == 3);
  CHECK(row.run_cpu_s == 5);
  CHECK(row.max_rss_bytes == 1e6);
}

TEST_CASE("rounding is no saving") {
  const std::vector<SummaryRow> rows =
      compare({policy("manual", {run({{100}})}), policy("same", {run({{100 * (1 - 1e-12)}})})}, "manual");
  CHECK(rows[1].of("effective_saving_percent").mean == 0);
  CHECK(rows[1].of("saving_percent").mean == 0);
}

TEST_CASE("an effective cost that is null in one repetition is null") {
  RunOutcome unknown = run({{4}});
  unknown.metrics.effective_cost_usd = std::nan("");
  const std::vector<SummaryRow> rows =
      compare({policy("manual", {run({{4}}), run({{4}})}), policy("never-fits", {run({{1}}), unknown})}, "manual");
  CHECK(is_null(rows[1].of("effective_cost_usd")));
  CHECK(is_null(rows[1].of("effective_saving_percent")));
  CHECK(rows[1].of("cost_usd").mean == 2.5);
}

TEST_CASE("who breaks limits is judged by its share of the jobs, of all and of each repetition") {
  // Of four jobs the cheap one breaks one in the first repetition and none in the second.
  const std::vector<PolicyResult> results{policy("manual", {run({{4}, {4}, {4}, {4}}), run({{4}, {4}, {4}, {4}})}),
                                          policy("cheap", {run({{1}, {1}, {1}, {1, 4}}), run({{1}, {1}, {1}, {1}})})};
  const Statement verdict = judge(results, {.reference = "manual"}).drawn;
  CHECK(verdict.find("cheap")->broken_share == Approx(1.0 / 8));
  CHECK(verdict.find("cheap")->keeping == Keeping::no);
  CHECK(verdict.find("manual")->broken_share == 0);
  // A failed job breaks its limits; one that was only predicted to does not.
  RunOutcome predicted = run({{1}, {1}});
  predicted.metrics.jobs_infeasible = 2;
  CHECK(judge({policy("manual", {run({{4}, {4}})}), policy("p", {predicted})}, {.reference = "manual", .is_exact = true})
            .drawn.winner == "p");
}
