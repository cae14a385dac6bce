#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "policies/staged/spot/worker_learner.hpp"

namespace {

using namespace rehearse::policies;
namespace sim = rehearse::sim;
using Market = std::vector<std::uint8_t>;

/// Two sizes, one and two workers that are twice as fast; 3 dollars a worker and stage, on spot 1 and 2 by level.
WorkerTerms two_sizes(int stages, int work) {
  WorkerTerms terms;
  terms.stages = stages;
  terms.work = work;
  terms.workers = {1, 2};
  terms.full = {4, 8};
  terms.started = {3, 6};
  terms.on_demand_usd = 3;
  terms.spot_usd = {1, 2};
  terms.plan_safely();
  return terms;
}

class Script final : public WorkerPolicy {
 public:
  explicit Script(std::vector<int> actions) : actions_(std::move(actions)) {}
  std::string_view name() const override { return "script"; }
  int decide(const WorkerView& view) override { return actions_.at(static_cast<std::size_t>(view.time)); }

 private:
  std::vector<int> actions_;
};

// Actions: 0 waits, 1 and 2 on demand, 3 and 4 on spot. Work 20. One worker on spot at level 1: 3 units, $1. The same, revoked: 4
// / 2 = 2 units, $1. No capacity: waits. Two workers on demand, a start: 6 units, $6; they go on: 8 units, $6. The last unit of
// 8: $6/8.
TEST_CASE("a job on spot that is revoked, waits and ends on demand, by hand") {
  const WorkerTerms terms = two_sizes(8, 20);
  Script script({3, 3, 0, 2, 2, 2});
  const WorkerOutcome outcome = run_worker_job(terms, Market{1, 1, 0, 0, 0, 0, 0, 0, 0}, script);
  CHECK(outcome.kept);
  CHECK(outcome.usd == Approx(1 + 1 + 6 + 6 + 6.0 / 8));
  CHECK(outcome.starts == 2);
  CHECK(outcome.spot_stages == 2);
  CHECK(outcome.waited_stages == 1);
  CHECK(outcome.worker_stages == 2 + 6);
  CHECK(outcome.overruled == 0);
}

// Work 20, five stages. After one stage of waiting two workers need 1 + ceil(14 / 8) = 3 of four stages; after two, 3 of three;
// a third wait could not be made good: the fewest workers that keep the deadline, two, are taken instead.
TEST_CASE("an answer that could break the deadline is overruled by the fewest workers that keep it") {
  Script script({0, 0, 0, 2, 2});
  const WorkerOutcome outcome = run_worker_job(two_sizes(5, 20), Market(6, 0), script);
  CHECK(outcome.kept);
  CHECK(outcome.overruled == 1);
  CHECK(outcome.waited_stages == 2);
  CHECK(outcome.usd == Approx(6 + 6 + 6.0 * 6 / 8));
}

TEST_CASE("speeds: n^scaling in whole units, a restart takes its share of a stage") {
  const WorkerTerms terms = make_worker_terms({.workers = {1, 2, 8}, .scaling = 0.9, .restart_stages = 0.2}, 48, 24);
  CHECK(terms.work == 24 * kWorkUnits);
  CHECK(terms.full == std::vector<int>{40, 75, 260});     // 40 x 2^0.9 = 74.6, 40 x 8^0.9 = 259.9
  CHECK(terms.started == std::vector<int>{32, 60, 208});  // times 0.8
}

// Noise scales 64 and 1024 in two phases: 64^0.75 x 1024^0.25 = 128 and 64^0.25 x 1024^0.75 = 512. One worker at the reference
// of 128 does 128/(32 + 128) = 0.8 samples in the time of one. Early, batch 128: two workers 128/(32 + 64) = 1.333, 5/3 as fast;
// batch 512: 512/(32 + 256) = 1.778, 2.222 as fast, but an example is worth (128 + 128)/(128 + 512) = 0.4: 0.889. Late, 512:
// 640/1024 = 0.625: 1.389, and 5/3 with 128. A single worker does 1 with 128, 512/544/0.8 x 0.4 = 0.47 and x 0.625 = 0.735 with
// 512.
TEST_CASE("what a batch does to the speed, by hand, and the batch with which a stage does most") {
  WorkerSpeeds speeds{.workers = {1, 2}, .scaling = 1, .restart_stages = 0.25, .batch = {}};
  speeds.batch = {.sizes = {128, 512},
                  .reference = 128,
                  .step_overhead_samples = 32,
                  .noise_scale_begin = 64,
                  .noise_scale_end = 1024,
                  .phases = 2};
  CHECK(speeds.batch.noise_scale(0) == Approx(512));
  CHECK(speeds.batch.noise_scale(1) == Approx(128));
  CHECK(speeds.batch.speed(1, 128, 0) == Approx(1));
  CHECK(speeds.batch.speed(2, 128, 1) == Approx(5.0 / 3));
  CHECK(speeds.batch.speed(2, 512, 1) == Approx(0.4 * 512 / 288 / 0.8));
  CHECK(speeds.batch.speed(2, 512, 0) == Approx(0.625 * 512 / 288 / 0.8));
  const WorkerTerms both = make_worker_terms(speeds, 48, 24);
  CHECK(both.full == std::vector<int>{40, 67, 40, 67});
  CHECK(both.started == std::vector<int>{30, 50, 30, 50});
  speeds.batch.noise_scale_end = 65536;  // in the last phase 64^0.25 x 65536^0.75 = 11,585: 512 is worth 0.968, 2.152 with two
  const WorkerTerms later = make_worker_terms(speeds, 48, 24);
  CHECK(later.full[1] == 86);
  CHECK(later.full[3] == 67);  // 64^0.75 x 65536^0.25 = 362: 512 is worth 0.561, 1.246; 128 stays 5/3
}

// Work 12, two stages, phases of 6 of which the last is the slower: two workers on demand end it in one stage of 12. One worker
// on spot does 8: revoked, 12 - 4 = 8 are left, and two workers end them in the stage that is left; if the run lasts 4 are left,
// in the slow phase, which take two stages of 3: one too many.
TEST_CASE("where the next phase is slower a run on spot that lasts may be what breaks the deadline") {
  WorkerTerms terms = two_sizes(2, 12);
  terms.full = terms.started = {3, 3, 8, 12};
  terms.plan_safely();
  const WorkerView view{.terms = terms, .time = 0, .work_left = 12, .held = 0, .market = 1};
  CHECK(keeps_deadline(view, 2));
  CHECK_FALSE(keeps_deadline(view, 3));
}

TEST_CASE("a training's phases share its work: every amount is in one, in order") {
  rc::prop("for all works", [] {
    WorkerTerms terms = two_sizes(4, *rc::gen::inRange(1, 60));
    terms.full.assign(static_cast<std::size_t>(2 * *rc::gen::inRange(1, 6)), 4);
    for (int work = 1; work <= terms.work; ++work) {
      const int phase = terms.phase_of(work);
      RC_ASSERT(phase >= 0 && phase < terms.phases());
      RC_ASSERT(terms.begin_of(phase) <= work && work < terms.begin_of(phase + 1));
    }
    RC_ASSERT(terms.begin_of(0) == 1);
    RC_ASSERT(terms.begin_of(terms.phases()) == terms.work + 1);
  });
}

// Mean 4 stages up at factor 1, 2 at factor 2: 1 - exp(-1/4), 1 - exp(-1/2). Down 2 stages. A level lasts 3 stages.
TEST_CASE("a market's chain by hand") {
  const MarketChain chain =
      make_market({.up_stages = 4, .down_stages = 2, .price_stages = 3, .shares = {0.75, 0.25}, .revocation_factors = {1, 2}});
  CHECK(chain[0][0] == Approx(std::exp(-0.5)));
  CHECK(chain[0][2] == Approx((1 - std::exp(-0.5)) * 0.25));
  CHECK(chain[1][0] == Approx(1 - std::exp(-0.25)));
  CHECK(chain[2][0] == Approx(1 - std::exp(-0.5)));
  CHECK(chain[1][2] == Approx(std::exp(-0.25) * (1 - std::exp(-1.0 / 3)) * 0.25));
  for (const std::vector<double>& row : chain) CHECK(row[0] + row[1] + row[2] == Approx(1));
}

MarketChain some_chain() {
  const auto stages = [] { return *rc::gen::inRange(1, 12) / 2.0; };
  const double share = *rc::gen::inRange(1, 10) / 10.0;
  return make_market({.up_stages = stages(),
                      .down_stages = stages(),
                      .price_stages = stages(),
                      .shares = {share, 1 - share},
                      .revocation_factors = {0.8, 1.6}});
}

WorkerTerms some_terms() {
  WorkerTerms terms = two_sizes(*rc::gen::inRange(2, 6), *rc::gen::inRange(1, 20));
  terms.full.clear();
  terms.started.clear();
  const int phases = *rc::gen::inRange(1, 4);
  for (int phase = 0; phase < phases; ++phase) {
    const int one = *rc::gen::inRange(2, 9), two = *rc::gen::inRange(one, 16);
    terms.full.insert(terms.full.end(), {one, two});
    terms.started.insert(terms.started.end(), {*rc::gen::inRange(1, one), *rc::gen::inRange(1, two)});
  }
  terms.spot_usd = {*rc::gen::inRange(1, 4) / 2.0, *rc::gen::inRange(1, 8) / 2.0};
  terms.plan_safely();
  RC_PRE(terms.fewest_stages(terms.work, 0) <= terms.stages);
  return terms;
}

using Answer = std::function<int(const WorkerView&)>;

/// Expected money over all that the market may do; without an answer, of the best of all policies, every choice tried.
double tried_money(const WorkerTerms& terms, const MarketChain& chain, WorkerView view, const Answer& answer) {
  if (view.work_left == 0) return 0;
  double best = 1e9;
  for (int action = 0; action < terms.actions(); ++action) {
    if (terms.is_spot(action) && view.market == 0) continue;
    if (answer ? action != answer(view) : !keeps_deadline(view, action)) continue;
    const int progress = terms.progress(action, action != view.held, view.work_left);
    double usd = action == 0 ? 0 : terms.usd(action, view.market) * std::min(1.0, static_cast<double>(view.work_left) / progress);
    for (int next = 0; next < static_cast<int>(chain.size()); ++next) {
      const bool revoked = terms.is_spot(action) && next == 0;
      const WorkerView after{.terms = terms,
                             .time = view.time + 1,
                             .work_left = std::max(0, view.work_left - (revoked ? progress / 2 : progress)),
                             .held = revoked ? 0 : action,
                             .market = next};
      usd +=
          chain[static_cast<std::size_t>(view.market)][static_cast<std::size_t>(next)] * tried_money(terms, chain, after, answer);
    }
    best = std::min(best, usd);
  }
  return best;
}

Answer follow(const WorkerTable& table) {
  return [&table](const WorkerView& view) {
    const int action = table.choice(view.time, view.work_left, view.held, view.market);
    return keeps_deadline(view, action) ? action : fewest_that_keep(view);
  };
}

TEST_CASE("the programme with two numbers of workers is the cheapest of all policies, tried out; re-planning is never below it") {
  rc::prop("as tried out", [] {
    const WorkerTerms terms = some_terms();
    const MarketChain chain = some_chain();
    const WorkerTable table = WorkerTable::solve(terms, StageLaw::of(chain)), plan = WorkerTable::plan(terms, chain);
    const WorkerView start{.terms = terms, .work_left = terms.work, .market = *rc::gen::inRange(0, 3)};
    const double best = tried_money(terms, chain, start, {});
    RC_ASSERT(std::abs(table.expected_usd(start.market) - best) < 1e-4 * (1 + best));
    RC_ASSERT(std::abs(tried_money(terms, chain, start, follow(table)) - best) < 1e-4 * (1 + best));
    RC_ASSERT(tried_money(terms, chain, start, follow(plan)) > best - 1e-4);
  });
}

// Spot stays at level 1, and one worker does 4 units for a dollar whenever that is; 20 units take six of eight stages.
TEST_CASE("re-planning does not put off what costs as much later") {
  const MarketChain stays{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const WorkerTable plan = WorkerTable::plan(two_sizes(8, 20), stays);
  CHECK(plan.choice(0, 20, 0, 1) == 3);
  CHECK(plan.choice(1, 20, 0, 1) == 3);
}

// Capacity is there and, from the next stage on, with 0.5; a run that is there goes with 0.5. A stage of the one worker is
// expected to yield 0.75 x 40 = 30 now and 0.375 x 40 = 15 later, for $1 and $0.50, and a restart takes 10 of either: 20 for $1
// now, 5 for $0.50 later. Were the restart scaled by what is there it would be 22.5 and 11.25, and 20 units would cost less if
// they began later: 11.25 for $0.50 and 8.75 of 15 for $0.29 in the stage after.
TEST_CASE("a restart takes as much from a plan where spot nodes are unlikely") {
  WorkerTerms terms = two_sizes(8, 20);
  terms.workers = {1};
  terms.full = {40};
  terms.started = {30};
  terms.plan_safely();
  const MarketChain chain{{0.5, 0.5, 0}, {0.5, 0.5, 0}, {0, 0, 1}};
  CHECK(WorkerTable::plan(terms, chain).choice(0, 20, 0, 1) == 2);
}

/// The least money when the market's future is known, every choice tried.
double tried_future(const WorkerTerms& terms, const Market& market, WorkerView view) {
  if (view.work_left == 0) return 0;
  double best = 1e9;
  view.market = market[static_cast<std::size_t>(view.time)];
  const int next = market[static_cast<std::size_t>(view.time) + 1];
  for (int action = 0; view.time < terms.stages && action < terms.actions(); ++action) {
    if (terms.is_spot(action) && view.market == 0) continue;
    const int progress = terms.progress(action, action != view.held, view.work_left);
    const bool revoked = terms.is_spot(action) && next == 0;
    const double usd =
        action == 0 ? 0 : terms.usd(action, view.market) * std::min(1.0, static_cast<double>(view.work_left) / progress);
    const WorkerView after{.terms = terms,
                           .time = view.time + 1,
                           .work_left = std::max(0, view.work_left - (revoked ? progress / 2 : progress)),
                           .held = revoked ? 0 : action};
    if (after.time < terms.stages || after.work_left == 0) best = std::min(best, usd + tried_future(terms, market, after));
  }
  return best;
}

TEST_CASE("who knows the market's future pays the least of all sequences, and every policy keeps the deadline above it") {
  rc::prop("for all markets", [] {
    const WorkerTerms terms = some_terms();
    const MarketChain chain = some_chain();
    sim::Random random(*rc::gen::inRange<std::uint64_t>(1, 1000));
    const std::vector<double> shares{0.5, 0.5};
    const Market market = draw_market(chain, shares, terms.stages, random);
    const double best = omniscient_usd(terms, market);
    RC_ASSERT(std::abs(best - tried_future(terms, market, {.terms = terms, .work_left = terms.work})) < 1e-4);
    std::vector<Market> episodes;
    for (int k = 0; k < 5; ++k) episodes.push_back(draw_market(chain, shares, terms.stages, random));
    std::vector<std::unique_ptr<WorkerPolicy>> policies;
    for (int action = 1; action < terms.actions(); ++action) policies.push_back(std::make_unique<FixedWorkers>(action));
    policies.push_back(make_stage_policy("plan", std::make_shared<WorkerTable>(WorkerTable::plan(terms, chain))));
    policies.push_back(make_agent_policy("agent", StageAgent::train(terms, 3, episodes, {})));
    for (const auto& policy : policies) {
      const WorkerOutcome outcome = run_worker_job(terms, market, *policy);
      RC_ASSERT(outcome.kept);
      RC_ASSERT(outcome.usd > best - 1e-4);
      RC_ASSERT(outcome.usd == run_worker_job(terms, market, *policy).usd);
    }
  });
}

TEST_CASE("where little was seen the agent does what the programme of the pooled chain does") {
  const MarketChain chain =
      make_market({.up_stages = 4, .down_stages = 2, .price_stages = 3, .shares = {0.5, 0.5}, .revocation_factors = {1, 2}});
  sim::Random random(5);
  const std::vector<Market> episodes{draw_market(chain, std::vector<double>{0.5, 0.5}, 10, random)};
  const WorkerTerms terms = two_sizes(10, 40);
  const auto with_sight = StageAgent::train(terms, 3, episodes, {.behind = 1e9}),
             without = StageAgent::train(terms, 3, episodes, {.history = false});
  for (int market = 0; market < 3; ++market) {
    MarketSight sight;
    sight.see(market, with_sight->pooled());
    CHECK(with_sight->table().expected_usd(with_sight->state(sight, market)) ==
          Approx(without->table().expected_usd(market)).epsilon(1e-5));
  }
}

// Up for three stages of a chain that goes down with 0.5: (6 + 0) / (6 + 1.5) = 0.8, seldom; then down at once, and up again,
// twice: (6 + 2) / (6 + 2.5), as expected, and of arrivals (6 + 2) / (6 + 0.2), often.
TEST_CASE("what a job has seen of its market, by hand") {
  const MarketChain pooled{{0.9, 0.1}, {0.5, 0.5}};
  MarketSight sight;
  for (const int market : {1, 1, 1, 1}) sight.see(market, pooled);
  CHECK(sight.of_class() == 3 * 0 + 1);
  for (const int market : {0, 1, 0, 1}) sight.see(market, pooled);
  CHECK(sight.of_class() == 3 * 1 + 2);
}

}  // namespace
