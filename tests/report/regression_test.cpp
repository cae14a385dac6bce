#include "report/regression.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "sim/base/errors.hpp"

using namespace rehearse::report;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const std::vector<MetricRule> kCost{{.metric = "cost_usd"}};

Results results(const std::vector<double>& costs, const std::string& policy = "p") {
  return {.folder = "folder",
          .scenario = "s",
          .seed = 7,
          .repetitions = static_cast<int>(costs.size()),
          .policies = {{.policy = policy, .ok = true, .reason = {}, .metrics = {{"cost_usd", costs}}, .decision_time_s = 1}}};
}

Finding judged(const std::vector<double>& recorded, const std::vector<double>& now, MetricRule rule = kCost[0],
               const ChanceTable& chance = {}) {
  const std::vector<Finding> found = judge(results(recorded), results(now), {rule}, chance);
  REQUIRE(found.size() == 1);
  return found[0];
}

}  // namespace

TEST_CASE("differences are relative to the same repetition's recorded value") {
  // 11 / 10 - 1, 18 / 20 - 1
  const std::vector<double> d = paired_differences({10, 20}, {11, 18}, false);
  CHECK(d[0] == Approx(0.1));
  CHECK(d[1] == Approx(-0.1));
  // (2 - 0) / mean(0, 8) = 0.5; (8 - 8) / 8
  const std::vector<double> from_zero = paired_differences({0, 8}, {2, 8}, false);
  CHECK(from_zero[0] == Approx(0.5));
  CHECK(from_zero[1] == 0);
  CHECK(paired_differences({0, 0}, {3, 0}, false) == std::vector<double>{1, 0});
  CHECK(paired_differences({2, 5}, {3, 1}, true) == std::vector<double>{1, -4});
  CHECK(std::isnan(paired_differences({kNan, 1}, {1, 1}, false)[0]));
}

TEST_CASE("worse: the mean is above the tolerance, and the whole interval above 0") {
  CHECK(judged({10, 20, 30}, {10, 20, 30}).verdict == Verdict::same);
  const Finding three = judged({10, 20, 30}, {10.3, 20.6, 30.9});
  CHECK(three.verdict == Verdict::worse);
  CHECK(three.change.mean == Approx(0.03));
  CHECK(three.change.ci95_low == Approx(0.03));
  CHECK(is_alarm(three));
  CHECK(judged({10, 20, 30}, {10.05, 20.1, 30.15}).verdict == Verdict::same);  // 0.5 %
  // 2, 3, 4 %: t(0.975, 2) = 4.3027, deviation 1 %: 3 % +- 4.3027 x 1 % / sqrt(3) = [0.516 %, 5.484 %]
  const Finding spread = judged({100, 100, 100}, {102, 103, 104});
  CHECK(spread.change.ci95_low == Approx(0.03 - 4.302653 * 0.01 / std::sqrt(3.0)));
  CHECK(spread.verdict == Verdict::worse);
  CHECK(judged({100, 100, 100}, {101, 103, 105}).verdict == Verdict::same);  // +- 4.97 %
  CHECK(judged({100, 100, 100}, {98, 97, 96}).verdict == Verdict::better);
  CHECK(judged({100, 100, 100}, {99, 97, 95}).verdict == Verdict::same);
  CHECK(judged({100, 100, 100}, {102, 103, 104}, {.metric = "cost_usd", .tolerance = 0.04}).verdict == Verdict::same);
  const MetricRule higher{.metric = "cost_usd", .higher_is_better = true};
  CHECK(judged({100, 100, 100}, {98, 97, 96}, higher).verdict == Verdict::worse);
  CHECK(judged({100, 100, 100}, {102, 103, 104}, higher).verdict == Verdict::better);
}

TEST_CASE("with one repetition there is no interval: the mean decides") {
  CHECK(judged({100}, {103}).verdict == Verdict::worse);
  CHECK(std::isnan(judged({100}, {103}).change.ci95_low));
  CHECK(judged({100}, {100.5}).verdict == Verdict::same);
  CHECK(judged({100}, {97}).verdict == Verdict::better);
}

TEST_CASE("broken: the policy failed or is gone, a metric has no value, limits are newly broken") {
  Results failed = results({1, 2});
  failed.policies[0].ok = false;
  failed.policies[0].reason = "out of wits";
  const std::vector<Finding> found = judge(results({1, 2}), failed, kCost, {});
  REQUIRE(found.size() == 1);
  CHECK(found[0].verdict == Verdict::broken);
  CHECK(found[0].reason == "the policy failed: out of wits");
  CHECK(is_alarm(found[0]));
  CHECK(judge(results({1, 2}), results({1, 2}, "another"), kCost, {})[0].reason == "the policy is missing");
  CHECK(judged({1, 2}, {1, kNan}).verdict == Verdict::broken);
  CHECK(judged({1, 2}, {1, INFINITY}).verdict == Verdict::broken);
  CHECK(std::isnan(judged({1, 2}, {1, kNan}).change.mean));  // no change of 0
  CHECK(judged({1, kNan}, {1, kNan}).verdict == Verdict::same);

  const MetricRule limits{.metric = "cost_usd", .absolute = true, .breaks = true, .tolerance = 0};
  CHECK(judged({0, 1, 0}, {0, 1, 1}, limits).verdict == Verdict::broken);  // one is enough, no interval is asked for
  CHECK(judged({0, 1, 0}, {0, 1, 0}, limits).verdict == Verdict::same);
  CHECK(judged({2, 2}, {1, 1}, limits).verdict == Verdict::better);
}

TEST_CASE("only a policy that failed newly is broken: as recorded is the same, and one that works again is better") {
  Results failed = results({1, 2});
  failed.policies[0].ok = false;
  failed.policies[0].reason = "out of wits";
  const std::vector<Finding> both = judge(failed, failed, kCost, {}), again = judge(failed, results({1, 2}), kCost, {});
  REQUIRE(both.size() == 1);
  CHECK(both[0].verdict == Verdict::same);
  CHECK_FALSE(is_alarm(both[0]));
  REQUIRE(again.size() == 1);
  CHECK(again[0].verdict == Verdict::better);
  CHECK(again[0].reason == "it failed when it was recorded");
  CHECK(judge(failed, results({1, 2}, "another"), kCost, {})[0].verdict == Verdict::broken);
}

TEST_CASE("a rule that is reported only raises no alarm") {
  const Finding f = judged({10, 20}, {20, 40}, {.metric = "cost_usd", .fails = false});
  CHECK(f.verdict == Verdict::worse);
  CHECK_FALSE(is_alarm(f));
}

TEST_CASE("other worlds are not compared") {
  Results other = results({1, 2});
  other.seed = 8;
  CHECK_THROWS_AS(judge(results({1, 2}), other, kCost, {}), rehearse::sim::InputError);
  CHECK_THROWS_AS(judge(results({1, 2}), results({1, 2, 3}), kCost, {}), rehearse::sim::InputError);
}

TEST_CASE("the tolerance of a policy that chooses by chance is what chance alone hardly exceeds") {
  const ChanceTable chance{{{"p", "cost_usd"}, {.deviation = 0.01, .degrees_of_freedom = 7}}};
  // One policy and metric: t(1 - 0.001, 7) = 4.7853; x 0.01 x sqrt(2) = 6.77 %
  const Finding f = judged({100, 100, 100}, {103, 103, 103}, kCost[0], chance);
  CHECK(f.tolerance == Approx(4.78529 * 0.01 * std::sqrt(2.0)).epsilon(1e-5));
  CHECK(f.verdict == Verdict::same);
  CHECK(judged({100, 100, 100}, {107, 107, 107}, kCost[0], chance).verdict == Verdict::worse);
  const ChanceTable little{{{"p", "cost_usd"}, {.deviation = 1e-4, .degrees_of_freedom = 7}}};
  CHECK(judged({100, 100, 100}, {103, 103, 103}, kCost[0], little).tolerance == 0.01);
}

TEST_CASE("chance is the deviation of the mean over policy seeds") {
  // Means over the repetitions, relative to the first seed's: 0, (2 % + 4 %) / 2 = 3 %, 0: deviation sqrt((1 + 4 + 1) / 2) %
  const std::vector<Results> seeds{results({100, 50}), results({102, 52}), results({100, 50})};
  CHECK(choosing_by_chance(seeds, kCost) == std::vector<std::string>{"p"});
  const ChanceTable table = estimate_chance({"p"}, seeds, kCost);
  CHECK(table.at({"p", "cost_usd"}).deviation == Approx(std::sqrt(3.0) / 100));
  CHECK(table.at({"p", "cost_usd"}).degrees_of_freedom == 2);
  CHECK(choosing_by_chance({results({1, kNan}), results({1, kNan})}, kCost).empty());
  // No limit was broken in 3 seeds of 2 repetitions: one in 6 is reckoned with, the mean of 2 has half its variance.
  const std::vector<MetricRule> limits{{.metric = "cost_usd", .absolute = true}};
  const std::vector<Results> none{results({0, 0}), results({0, 0}), results({0, 0})};
  CHECK(estimate_chance({"p"}, none, limits).at({"p", "cost_usd"}).deviation == Approx(std::sqrt(1.0 / 6 / 2)));
}

TEST_CASE("whatever a deterministic policy costs, 3 % more is found and less than the tolerance is not") {
  rc::prop("any costs", [] {
    const auto costs = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1'000'000)));
    std::vector<double> recorded(costs.begin(), costs.end()), dearer, slightly;
    for (const double cost : recorded) {
      dearer.push_back(cost * 1.03);
      slightly.push_back(cost * 1.0099);
    }
    RC_ASSERT(judge(results(recorded), results(dearer), kCost, {})[0].verdict == Verdict::worse);
    RC_ASSERT(judge(results(recorded), results(slightly), kCost, {})[0].verdict == Verdict::same);
    RC_ASSERT(judge(results(dearer), results(recorded), kCost, {})[0].verdict == Verdict::better);
    RC_ASSERT(judge(results(recorded), results(recorded), kCost, {})[0].verdict == Verdict::same);
  });
}

TEST_CASE("a queue study is judged by its own columns too, a configuration study by the six") {
  CHECK(default_rules().size() == 6);
  const auto find = [](const std::vector<MetricRule>& rules, const std::string& name) {
    const auto at = std::find_if(rules.begin(), rules.end(), [&](const MetricRule& rule) { return rule.metric == name; });
    return at == rules.end() ? nullptr : &*at;
  };
  const std::vector<MetricRule> queue = default_rules({.queue = true}), nodes = default_rules({.nodes = true});
  REQUIRE(find(queue, "fairness_rho_worst") != nullptr);
  REQUIRE(find(queue, "utilization_waiting_fraction") != nullptr);
  CHECK(find(queue, "utilization_waiting_fraction")->higher_is_better);
  CHECK(find(queue, "utilization_waiting_fraction")->absolute);
  CHECK(find(queue, "goodput_fraction") == nullptr);
  REQUIRE(find(nodes, "goodput_fraction") != nullptr);
  CHECK(find(nodes, "jct_p50_s") == nullptr);
  CHECK(std::count_if(queue.begin(), queue.end(), [](const MetricRule& rule) { return rule.metric == "jct_mean_s"; }) == 1);
}
