// The leaderboard's statistics: places, what is fitted, and how many worlds a small difference needs.
#include "report/leaderboard.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace rehearse::report;

namespace {

/// Costs around 10 in each world, times a factor and noise of a policy's own, which may be none: a normal_distribution of 0 is
/// undefined.
std::vector<double> costs(std::mt19937& random, const std::vector<double>& worlds, double factor, double deviation) {
  std::normal_distribution<double> noise;
  std::vector<double> values;
  for (const double world : worlds) values.push_back(10 * world * factor * std::exp(deviation * noise(random)));
  return values;
}

std::vector<double> worlds(std::mt19937& random, std::size_t count) {
  std::normal_distribution<double> world(0, 0.5);
  std::vector<double> values(count);
  for (double& value : values) value = std::exp(world(random));
  return values;
}

const LeaderboardRow& row_of(const std::vector<LeaderboardRow>& rows, const std::string& name) {
  for (const LeaderboardRow& row : rows)
    if (row.policy == name) return row;
  throw std::out_of_range(name);
}

}  // namespace

TEST_CASE("a leaderboard worked by hand") {
  // Costs of b over a: 0.5 and 0.5 in one pair of worlds, 0.4 and 0.625 in the other; the geometric mean is a half in both.
  const auto rows = rank({{.name = "a", .public_costs = {2, 4}, .drawn_costs = {10, 8}},
                          {.name = "b", .public_costs = {1, 2}, .drawn_costs = {4, 5}}},
                         "a");
  CHECK(rows[0].policy == "b");
  CHECK(rows[0].saving_percent.mean == Approx(50));
  CHECK(rows[0].public_saving_percent == Approx(50));
  // Logarithms -0.9163 and -0.4700: deviation 0.3156, error 0.2231; t(0.975, 1) = 12.706: -0.6931 +- 2.8352.
  CHECK(rows[0].saving_percent.ci95_low == Approx(100 * (1 - std::exp(-0.693147 + 2.83526))).epsilon(1e-4));
  CHECK(rows[0].saving_percent.ci95_high == Approx(100 * (1 - std::exp(-0.693147 - 2.83526))).epsilon(1e-4));
  CHECK(rows[0].lost_on_drawn_percent.mean == Approx(0).margin(1e-9));
  CHECK_FALSE(rows[0].is_fitted);
  CHECK(rows[0].first == 1);
  CHECK(rows[0].last == 2);  // two worlds do not tell them apart
  CHECK(row_of(rows, "a").saving_percent.mean == 0);
}

TEST_CASE("a policy 2 % better is told from chance with the number of worlds that is printed") {
  std::mt19937 random(20261121);
  constexpr double kDeviation = 0.05;
  // What a first scoring prints: from 40 worlds, of a policy as good as the reference.
  const std::vector<double> first = worlds(random, 40);
  const auto printed = rank({{.name = "a", .public_costs = costs(random, first, 1, 0)},
                             {.name = "b", .public_costs = costs(random, first, 1, kDeviation)}},
                            "a");
  const auto needed = static_cast<std::size_t>(row_of(printed, "b").worlds_for_two_percent);
  // By the normal quantiles: ((1.960 + 0.842) 0.05 / 0.0202)^2 = 48.1, with the deviation as it is.
  CHECK(needed > 20);
  CHECK(needed < 100);
  int told = 0, false_alarms = 0;
  constexpr int kTrials = 1000;
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<double> now = worlds(random, 50);  // ceil(48.1) and Student's two
    const auto rows = rank({{.name = "a", .public_costs = costs(random, now, 1, 0)},
                            {.name = "better", .public_costs = costs(random, now, 0.98, kDeviation)}},
                           "a");
    told += row_of(rows, "better").first == 1 && row_of(rows, "better").last == 1;
    const auto same = rank({{.name = "a", .public_costs = costs(random, now, 1, 0)},
                            {.name = "same", .public_costs = costs(random, now, 1, kDeviation)}},
                           "a");
    false_alarms += row_of(same, "same").first == row_of(same, "same").last;
  }
  CHECK(worlds_needed(kDeviation, 0.02, 0.05) == Approx(51).margin(2));
  CHECK(told > 0.77 * kTrials);          // the power is 0.8: 3 deviations of 1000 trials are 0.04
  CHECK(false_alarms < 0.07 * kTrials);  // the error is 0.05
}

TEST_CASE("a policy that is good in the public worlds alone is seen in the drawn ones") {
  std::mt19937 random(7);
  const std::vector<double> known = worlds(random, 16), drawn = worlds(random, 16);
  const auto policy = [&](const std::string& name, double in_public, double in_drawn) {
    return LeaderboardPolicy{
        .name = name, .public_costs = costs(random, known, in_public, 0.05), .drawn_costs = costs(random, drawn, in_drawn, 0.05)};
  };
  const auto rows = rank({policy("manual", 1, 1), policy("honest", 0.8, 0.8), policy("fitted", 0.6, 1)}, "manual");
  CHECK(row_of(rows, "fitted").is_fitted);
  CHECK_FALSE(row_of(rows, "honest").is_fitted);
  CHECK(rows[0].policy == "honest");  // the drawn worlds decide
  CHECK(row_of(rows, "fitted").public_saving_percent == Approx(40).margin(4));
}

TEST_CASE("under the worlds that chance needs, a table has no interval and says so") {
  // t(2, 97.5 %) = 4.303 and t(3, 97.5 %) = 3.182 of twice the normal's 1.960: four worlds.
  CHECK(fewest_worlds(0.05) == 4);
  CHECK(fewest_worlds(0.05 / 17) > 5);
  const auto text = [](std::vector<double> a, std::vector<double> b) {
    return leaderboard_text(rank({{.name = "a", .public_costs = std::move(a)},
                                  {.name = "b", .public_costs = std::move(b), .remark = "\"configure\" is manual"}},
                                 "a"),
                            "a");
  };
  const std::string few = text({2, 4}, {1, 7}), enough = text({2, 4, 3, 2}, {1, 7, 2, 2});
  CHECK(few.find("too few worlds") != std::string::npos);
  CHECK(few.find('[') == std::string::npos);
  CHECK(few.find("\"configure\" is manual") != std::string::npos);
  CHECK(enough.find("too few worlds") == std::string::npos);
  CHECK(enough.find('[') != std::string::npos);
}

TEST_CASE("yardsticks and failed policies have no place") {
  const auto rows = rank({{.name = "a", .public_costs = {2, 4, 3}},
                          {.name = "oracle", .is_yardstick = true, .public_costs = {1, 2, 1.5}},
                          {.name = "no cost", .public_costs = {1, std::nan(""), 1}},
                          {.name = "late", .failure = "it said nothing"}},
                         "a");
  CHECK(row_of(rows, "oracle").first == 0);
  CHECK(row_of(rows, "no cost").failure == "its cost is undefined in a world");
  CHECK(rows.back().policy == "late");
  CHECK(leaderboard_markdown(rows, "a").find("| late | - | - | - | - | - | failed: it said nothing |") != std::string::npos);
}
