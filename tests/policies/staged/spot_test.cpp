#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "policies/staged/spot/spot_job.hpp"
#include "policies/staged/spot/spot_programme.hpp"
#include "policies/staged/spot/zone_process.hpp"
#include "sim/base/errors.hpp"

namespace {

using namespace rehearse::policies;
namespace sim = rehearse::sim;
using Series = std::vector<std::uint8_t>;

Series zone(const std::string& text) {
  Series series;
  for (const char c : text) series.push_back(c == '1' ? 1 : 0);
  return series;
}

std::vector<SpotAvailability> views(const std::vector<Series>& zones) { return {zones.begin(), zones.end()}; }

SpotOutcome run(const SpotTerms& terms, const std::vector<Series>& zones, SpotPolicy& policy) {
  return run_spot_job(terms, views(zones), policy);
}

const SpotTerms kTerms{.work = 4, .deadline = 8, .restart = 1, .on_demand_usd = 3, .spot_usd = 1};

// One restart and four steps of work.
TEST_CASE("a zone that stays: every rule takes spot and pays 5; on demand it is 15") {
  const std::vector<Series> zones{zone("11111111")};
  for (const auto& policy : {make_uniform_progress(), make_spot_greedy(), make_mean_planner(nullptr)}) {
    const SpotOutcome outcome = run(kTerms, zones, *policy);
    CHECK(outcome.usd == 5);
    CHECK(outcome.starts == 1);
    CHECK(outcome.kept);
  }
  CHECK(run(kTerms, zones, *make_on_demand()).usd == 15);
  CHECK(omniscient_usd(kTerms, views(zones)) == Approx(5));
}

// Greedy waits while slack (4, 3) is above two restarts. Uniform progress is not behind at 0 (0 >= 0); at 1 it is (0 < 1 x 4/8).
TEST_CASE("no zone ever: greedy waits two steps, uniform progress one, and both pay 15") {
  const std::vector<Series> zones{zone("00000000")};
  const SpotOutcome greedy = run(kTerms, zones, *make_spot_greedy()), uniform = run(kTerms, zones, *make_uniform_progress());
  CHECK(greedy.waited_steps == 2);
  CHECK(uniform.waited_steps == 1);
  for (const SpotOutcome& outcome : {greedy, uniform}) {
    CHECK(outcome.usd == 15);
    CHECK(outcome.kept);
    CHECK(outcome.overruled == 0);
  }
  CHECK(omniscient_usd(kTerms, views(zones)) == Approx(15));
}

// Restart and one step of work on spot, $2. At 2 the run is revoked: slack 8 - 2 - 3 = 3; one of four steps is done by 2 of 8, so
// uniform progress waits as greedy does. At 3 slack is 2, two restarts: on demand, restart and three steps, $12. Who knows the
// future waits until 3 and runs five steps on spot.
TEST_CASE("a revocation that leaves two restarts of slack: on demand to the end, though the zone is back") {
  const std::vector<Series> zones{zone("11011111")};
  CHECK(run(kTerms, zones, *make_spot_greedy()).usd == 14);
  CHECK(run(kTerms, zones, *make_uniform_progress()).usd == 14);
  CHECK(omniscient_usd(kTerms, views(zones)) == Approx(5));
}

// Work 4 of 20 steps. At 0 not behind: waits. At 1 done 0 < 1 x 4/20: on demand, a restart; work at 2. At 3 done 1 = (3 + 2) x
// 4/20: two restarts ahead, it leaves, and waits: at 4 and 5 done 1 >= 5 x 4/20. At 6 the second zone is up: restart and three
// steps.
TEST_CASE("uniform progress leaves on-demand nodes two restarts ahead, and takes whatever zone is up") {
  const SpotTerms terms{.work = 4, .deadline = 20, .restart = 1, .on_demand_usd = 3, .spot_usd = 1};
  const std::vector<Series> zones{zone("00000000000000000000"), zone("00000011111111111111")};
  const SpotOutcome outcome = run(terms, zones, *make_uniform_progress());
  CHECK(outcome.on_demand_steps == 2);
  CHECK(outcome.spot_steps == 4);
  CHECK(outcome.waited_steps == 4);
  CHECK(outcome.usd == 10);
}

// Mean runs: up 4, down 2. In a zone that stays the plan is spot ($4: restart, three steps of work), then wait or fill, $6 each:
// 10 against 15 on demand; nothing happens, and it pays 5. Revoked at 2 ($2; work 3, slack 3): to wait two steps leaves no slack
// for a restart of spot, on demand 12; to fill them (restart, one step) and take spot again 6 + 3 = 9: it fills. At 3 the zone is
// back sooner than planned: three steps on demand 9, on spot 4. Together 2 + 3 + 4.
TEST_CASE("the plan for the mean fills a gap, and plans anew when it ends early") {
  const MeanRuns mean{.up = 4, .down = 2};
  const auto planner = make_mean_planner(&mean);
  CHECK(planner->name() == "staged-mpc");
  CHECK(run(kTerms, {zone("11111111")}, *planner).usd == 5);
  CHECK(run(kTerms, {zone("11011111")}, *planner).usd == 9);
}

/// The least money of every sequence of modes, tried out.
double tried_out(const SpotTerms& terms, const std::vector<Series>& zones, SpotState state) {
  if (state.work_left == 0) return 0;
  if (state.time == terms.deadline) return 1e9;
  if (state.mode >= 0 && zones[static_cast<std::size_t>(state.mode)][static_cast<std::size_t>(state.time)] == 0)
    state.mode = kWaits, state.restart_left = 0;
  double best = 1e9;
  for (int mode = kWaits; mode < static_cast<int>(zones.size()); ++mode) {
    if (mode >= 0 && zones[static_cast<std::size_t>(mode)][static_cast<std::size_t>(state.time)] == 0) continue;
    SpotState next = state;
    next.restart_left = mode == kWaits ? 0 : mode == state.mode ? state.restart_left : terms.restart;
    next.mode = mode;
    ++next.time;
    if (mode != kWaits) --(next.restart_left > 0 ? next.restart_left : next.work_left);
    const double usd = mode == kWaits ? 0 : mode == kOnDemand ? terms.on_demand_usd : terms.spot_usd;
    best = std::min(best, usd + tried_out(terms, zones, next));
  }
  return best;
}

std::vector<Series> drawn_zones(int count, int steps) {
  std::vector<Series> zones;
  for (int z = 0; z < count; ++z)
    zones.push_back(*rc::gen::container<Series>(static_cast<std::size_t>(steps), rc::gen::inRange<std::uint8_t>(0, 2)));
  return zones;
}

TEST_CASE("the omniscient optimum is the cheapest of all sequences") {
  rc::prop("as tried out", [] {
    const int work = *rc::gen::inRange(1, 5), restart = *rc::gen::inRange(1, 3);
    const SpotTerms terms{work, work + restart + *rc::gen::inRange(0, 3), restart, 3, *rc::gen::inRange(1, 4) / 1.5};
    const std::vector<Series> zones = drawn_zones(*rc::gen::inRange(1, 3), terms.deadline);
    RC_ASSERT(std::abs(omniscient_usd(terms, views(zones)) - tried_out(terms, zones, {.work_left = work})) < 1e-4);
  });
}

const Series kPast = zone("1110011111000000110101111111111111000100111111000000000000111");
const ZoneClasses kFine{.ages = {1, 3}, .recent = {0.5}, .rough_age = 1};

TEST_CASE("every policy keeps the deadline and pays no less than who knows the future") {
  rc::prop("for all zones", [] {
    const int restart = *rc::gen::inRange(1, 4);
    const SpotTerms terms{*rc::gen::inRange(1, 20), 24 + 2 * restart, restart, 3, 1};
    const int count = *rc::gen::inRange(1, 4);
    const std::vector<Series> zones = drawn_zones(count, terms.deadline);
    const double best = omniscient_usd(terms, views(zones));
    const MeanRuns mean{.up = 5, .down = 3};
    std::vector<std::unique_ptr<SpotPolicy>> policies;
    policies.push_back(make_uniform_progress());
    policies.push_back(make_spot_greedy());
    policies.push_back(make_on_demand());
    policies.push_back(make_mean_planner(&mean));
    policies.push_back(make_mean_planner(nullptr));
    for (const bool learns : {false, true})
      policies.push_back(make_table_policy(
          "table", std::make_shared<const SpotTable>(ZoneLaw::fit(kFine, std::vector<Series>{kPast}, learns), count, terms)));
    for (const auto& policy : policies) {
      const SpotOutcome outcome = run(terms, zones, *policy);
      RC_ASSERT(outcome.kept);
      RC_ASSERT(outcome.usd > best - 1e-4);
      RC_ASSERT(outcome.usd == run(terms, zones, *policy).usd);
    }
  });
}

/// Expected money of the best policy, over every zone's state and every mode; a start is gone through with unless it is revoked.
class TriedPolicies {
 public:
  TriedPolicies(const SpotTerms& terms, const ZoneLaw& law) : terms_(terms), law_(law) {}
  double value(int work, int slack, int mode, int restart, const std::vector<int>& up) {
    if (work == 0) return 0;
    if (mode >= 0 && up[static_cast<std::size_t>(mode)] == 0) mode = kWaits, restart = 0;
    const auto [at, is_new] = known_.try_emplace({work, slack, mode, restart, up}, 0);
    if (!is_new) return at->second;
    double best = 1e9;
    for (int next = kWaits; next < static_cast<int>(up.size()); ++next) {
      if (next >= 0 && up[static_cast<std::size_t>(next)] == 0) continue;
      if (restart > 0 && next != mode) continue;
      const int left = next == kWaits ? 0 : next == mode ? restart : terms_.restart;
      const int slack_after = slack - (next == kWaits || left > 0 ? 1 : 0);
      const bool ends = next != kWaits && left == 0 && work == 1;
      const int needed = next == kOnDemand ? std::max(0, left - 1) : terms_.restart;
      if (!ends && slack_after < needed) continue;
      const double usd = next == kWaits ? 0 : next == kOnDemand ? terms_.on_demand_usd : terms_.spot_usd;
      const int work_after = work - (next != kWaits && left == 0 ? 1 : 0);
      best = std::min(best, usd + mean(work_after, slack_after, next, std::max(0, left - 1), up, {}));
    }
    return known_[{work, slack, mode, restart, up}] = best;
  }

 private:
  double mean(int work, int slack, int mode, int restart, const std::vector<int>& up, std::vector<int> after) {
    if (work == 0) return 0;
    if (after.size() == up.size()) return value(work, slack, mode, restart, after);
    const bool is_up = up[after.size()] != 0;
    const double leaves = is_up ? law_.goes_down : law_.comes_up;
    after.push_back(is_up ? 1 : 0);
    const double stays = mean(work, slack, mode, restart, up, after);
    after.back() = is_up ? 0 : 1;
    return (1 - leaves) * stays + leaves * mean(work, slack, mode, restart, up, after);
  }

  SpotTerms terms_;
  ZoneLaw law_;
  std::map<std::tuple<int, int, int, int, std::vector<int>>, double> known_;
};

int state_of(const ZonesLaw& law, const std::vector<int>& up) {
  std::vector<ZoneHistory> zones;
  for (const int u : up) zones.push_back({.is_up = u != 0});
  return law.state(zones, law.best_zone(zones));
}

TEST_CASE("the stochastic programme is exact: as every policy tried out, one to three zones") {
  rc::prop("as tried out", [] {
    const int restart = *rc::gen::inRange(1, 4), work = *rc::gen::inRange(1, 5), slack = restart + *rc::gen::inRange(0, 5);
    const SpotTerms terms{work, work + slack, restart, 3, *rc::gen::inRange(2, 9) / 3.0};
    const int zones = *rc::gen::inRange(1, 4);
    Series past = *rc::gen::container<Series>(40, rc::gen::inRange<std::uint8_t>(0, 2));
    past.insert(past.end(), {0, 1, 0});
    const ZoneLaw law = ZoneLaw::fit({}, std::vector<Series>{past}, false);
    const SpotTable table(law, zones, terms);
    TriedPolicies tried(terms, law);
    std::vector<int> up;
    for (int z = 0; z < zones; ++z) up.push_back(*rc::gen::inRange(0, 2));
    const double exact = tried.value(work, slack, kWaits, 0, up);
    RC_ASSERT(std::abs(table.expected_usd(slack, state_of(table.law(), up)) - exact) < 1e-4 * exact);
  });
}

TEST_CASE("without episodes the learned table is the first-order programme") {
  const SpotTerms terms{.work = 12, .deadline = 24, .restart = 2, .on_demand_usd = 3, .spot_usd = 1};
  for (const int zones : {1, 2, 3}) {
    const SpotTable first(ZoneLaw::fit({}, std::vector<Series>{kPast}, false), zones, terms),
        learned(ZoneLaw::fit(kFine, std::vector<Series>{kPast}, false), zones, terms);
    for (int slack = 2; slack <= terms.slack(); ++slack)
      for (const int up : {0, 1}) {
        const std::vector<int> all(static_cast<std::size_t>(zones), up);
        CHECK(learned.expected_usd(slack, state_of(learned.law(), all)) ==
              Approx(first.expected_usd(slack, state_of(first.law(), all))).epsilon(1e-5));
      }
  }
}

// 3,000 jobs in zones drawn from the law itself: the mean is within four standard errors of what the table expects, and the mean
// of those who know the future, the bound of an information relaxation, is below both.
TEST_CASE("the table's policy earns what the table expects, and no less than the relaxed bound") {
  const ZoneLaw law = ZoneLaw::fit({}, std::vector<Series>{kPast}, false);
  const SpotTerms terms{.work = 20, .deadline = 40, .restart = 2, .on_demand_usd = 3, .spot_usd = 1};
  const auto table = std::make_shared<const SpotTable>(law, 2, terms);
  const auto policy = make_table_policy("staged-sdp", table);
  sim::Random random(7);
  double sum = 0, squares = 0, bound = 0;
  constexpr int kJobs = 3000;
  for (int job = 0; job < kJobs; ++job) {
    std::vector<Series> zones;
    for (int z = 0; z < 2; ++z) {
      Series series{1};
      while (static_cast<int>(series.size()) < terms.deadline)
        series.push_back((random.uniform() < (series.back() != 0 ? law.goes_down : law.comes_up)) != (series.back() != 0) ? 1
                                                                                                                          : 0);
      zones.push_back(series);
    }
    const double usd = run(terms, zones, *policy).usd;
    sum += usd;
    squares += usd * usd;
    bound += omniscient_usd(terms, views(zones));
  }
  const double mean = sum / kJobs, error = std::sqrt((squares / kJobs - mean * mean) / kJobs);
  const double expected = table->expected_usd(terms.slack(), state_of(table->law(), {1, 1}));
  CHECK(std::abs(mean - expected) < 4 * error);
  CHECK(bound / kJobs < expected);
}

RunHazards first_order(const ZoneLaw& law) { return {.up = {law.goes_down}, .down = {law.comes_up}}; }

TEST_CASE("with restarts of a step and exact values the dual is the optimum, whatever the future") {
  rc::prop("for all futures", [] {
    const int work = *rc::gen::inRange(1, 12), slack = 1 + *rc::gen::inRange(0, 8);
    const SpotTerms terms{work, work + slack, 1, 3, *rc::gen::inRange(2, 9) / 3.0};
    const ZoneLaw law = ZoneLaw::fit({}, std::vector<Series>{kPast}, false);
    const SpotTable table(law, 1, terms, true);
    const auto begin = *rc::gen::inRange<std::size_t>(0, 5);
    const Series series =
        *rc::gen::container<Series>(begin + static_cast<std::size_t>(terms.deadline), rc::gen::inRange<std::uint8_t>(0, 2));
    const double best = table.expected_usd(slack, state_of(table.law(), {series[begin]}));
    RC_ASSERT(std::abs(dual_usd(terms, series, begin, first_order(law), table) - best) < 1e-3 * best);
  });
}

/// Over all futures from `series` on, each by its probability.
template <class Of>
double mean_over_futures(const ZoneLaw& law, Series series, int steps, const Of& of) {
  if (static_cast<int>(series.size()) == steps) return of(series);
  const bool is_up = series.back() != 0;
  const double leaves = is_up ? law.goes_down : law.comes_up;
  series.push_back(is_up ? 1 : 0);
  const double stays = mean_over_futures(law, series, steps, of);
  series.back() = is_up ? 0 : 1;
  return (1 - leaves) * stays + leaves * mean_over_futures(law, series, steps, of);
}

TEST_CASE("the mean of the dual over all futures is below the best policy, and above who knows the future") {
  rc::prop("as tried out", [] {
    const int restart = *rc::gen::inRange(2, 4), work = *rc::gen::inRange(1, 5), slack = restart + *rc::gen::inRange(0, 3);
    const SpotTerms terms{work, work + slack, restart, 3, *rc::gen::inRange(2, 9) / 3.0};
    const ZoneLaw law = ZoneLaw::fit({}, std::vector<Series>{kPast}, false);
    const SpotTable table(law, 1, terms, true);
    const std::uint8_t up = *rc::gen::inRange<std::uint8_t>(0, 2);
    const double best = table.expected_usd(slack, state_of(table.law(), {up}));
    const double dual = mean_over_futures(
        law, {up}, terms.deadline, [&](const Series& series) { return dual_usd(terms, series, 0, first_order(law), table); });
    const double omniscient = mean_over_futures(law, {up}, terms.deadline,
                                                [&](const Series& series) { return omniscient_usd(terms, views({series})); });
    RC_ASSERT(dual < best + 1e-3);
    RC_ASSERT(dual > omniscient - 1e-3);
  });
}

// Lengths are drawn evenly from 1 to 3: a quarter rounds to 1, half to 2, a quarter to 3. Of those up all are 2.
TEST_CASE("the hazards of a process by hand") {
  const RunHazards hazards = hazards_of({.up_steps = {2, 2}, .down_steps = {1, 3}});
  CHECK(hazards.leaves(false, 0) == Approx(0.25));
  CHECK(hazards.leaves(false, 1) == Approx(2.0 / 3));
  CHECK(hazards.leaves(false, 2) == Approx(1));
  CHECK(hazards.leaves(false, 7) == Approx(1));
  CHECK(hazards.leaves(true, 0) == Approx(0));
  CHECK(hazards.leaves(true, 1) == Approx(1));
}

// Runs 3 up, 2 down, 5 up, 1 down, whole; the first (2 up, 4 down begins) and the last are cut.
TEST_CASE("a process is fitted to whole runs, and drawn from them") {
  const ZoneProcess process = ZoneProcess::fit(zone("110000111001111101"));
  CHECK(process.up_steps.front() == 3);
  CHECK(process.up_steps.back() == 5);
  CHECK(process.down_steps.front() == 1);
  CHECK(process.down_steps.back() == 4);
  sim::Random random(3), again(3);
  const Series drawn = draw_zone(process, {.up = 2, .down = 1}, 200, random);
  CHECK(drawn.size() == 200);
  CHECK(drawn == draw_zone(process, {.up = 2, .down = 1}, 200, again));
  int length = 1;
  for (std::size_t t = 1, run = 0; t < drawn.size(); ++t, ++length) {
    if (drawn[t] == drawn[t - 1]) continue;
    if (run++ > 0 && drawn[t - 1] != 0) CHECK((length >= 6 && length <= 10));
    length = 0;
  }
  CHECK_THROWS_AS(ZoneProcess::fit(zone("1111")), sim::InputError);
  CHECK(training_episodes(std::vector<Series>{kPast}, 5) == training_episodes(std::vector<Series>{kPast}, 5));
}

}  // namespace
