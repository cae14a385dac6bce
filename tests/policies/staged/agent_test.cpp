// staged-rl: the closed-form outlook, the agent's mask and features, its episodes and its training.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "policies/queue/line_orders.hpp"
#include "policies/staged/agent_training.hpp"
#include "policies/staged/environment.hpp"
#include "policies/staged/staged_rl.hpp"
#include "policies/staged/staged_shared.hpp"
#include "sim/replay/replay.hpp"
#include "tests/policies/configure/strategies.hpp"
#include "tests/policies/staged/last_job.hpp"
#include "traces/jobs/job_list.hpp"

namespace {

using namespace rehearse;
using policies::AgentInputs;
using policies::Outlook;
using policies::StagedAgent;
using policies::StageOption;
using tests::configuration;

/// One pool of V100s, one model, and what the outlook is asked with.
struct Setting {
  tests::RealWorld real{tests::real_cluster({{"fast", "v100", 2, 4, 12.24}}), {{"resnet18", "cifar10"}}};
  policies::DataParallel place;
  policies::RecommendedThreads threads;
  sim::CostRules costs{.start_s = 30, .checkpoint_s = 10, .warmup_epochs = 0};
  sim::AloneRunner believed{real.cluster, costs, real.belief->models(), {.name = "t", .place = &place, .threads = &threads}};
  sim::Job job{.name = "j", .profile = &real.profile(), .work = sim::Work::train};
  std::vector<sim::Configuration> candidates{configuration(0, 1, 128), configuration(0, 4, 32), configuration(0, 4, 128)};
  policies::StageTable table() { return {job, candidates, believed.stages(), real.belief->profiles().of(*job.profile)}; }
};

Outlook outlook_of(Setting& s, const policies::StageTable& table, std::span<const double> ends, const sim::Standing& from) {
  const workloads::Revision none;
  return policies::look_ahead({.job = &s.job,
                               .table = &table,
                               .costs = &s.costs,
                               .checkpoint_bytes = s.real.belief->models().step_times->checkpoint_bytes(*s.job.profile),
                               .ends = ends,
                               .from = &from,
                               .revision = &none,
                               .epoch_cap = sim::epoch_cap(s.job, 0, *s.real.belief->models().convergence)});
}

const StageOption& option(const Outlook& outlook, int candidate) {
  for (const StageOption& o : outlook.options)
    if (o.candidate == candidate) return o;
  throw std::out_of_range("no such option");
}

}  // namespace

TEST_CASE("the outlook of one configuration to the end is what the job alone takes") {
  // The grid of 256 intervals rounds less than half an epoch here.
  for (const double floor : {0.5, 0.7, 0.85}) {
    Setting s;
    s.job.target_accuracy = floor;
    const policies::StageTable table = s.table();
    const Outlook outlook = outlook_of(s, table, {}, {});
    REQUIRE(!outlook.options.empty());
    for (const StageOption& o : outlook.options) {
      const sim::AloneOutcome alone =
          s.believed.run(s.job, {.configuration = s.candidates[static_cast<std::size_t>(o.candidate)]});
      const double epoch_s = table.candidates()[static_cast<std::size_t>(o.candidate)].epoch_s;
      CHECK(std::abs(o.kept_s - alone.time_s) <= 1.01 * epoch_s);
      CHECK(o.kept_usd / o.kept_s == Approx(alone.cost_usd / alone.time_s).epsilon(1e-6));
      CHECK(o.stage_s == o.kept_s);
    }
  }
}

TEST_CASE("a stage, a switch and what is left, by hand") {
  // Without a floor 10 epochs are trained whatever the batch. A first stage of 4 epochs with candidate 0 takes 30 s + 4 e0. To
  // keep it costs 6 e0 more; to go on with candidate c instead 10 s on its devices, 30 s + checkpoint bytes / 5e8 on the new
  // ones, and 6 ec. The cheapest and the soonest of the three are the plan and the least time.
  Setting s;
  s.job.epochs = 10;
  const policies::StageTable table = s.table();
  const std::vector<double> ends{4};
  const Outlook outlook = outlook_of(s, table, ends, {});
  const double restart_s = 30 + s.real.belief->models().step_times->checkpoint_bytes(*s.job.profile) / 5e8;
  const StageOption& first = option(outlook, 0);
  const auto e = [&](int c) { return table.candidates()[static_cast<std::size_t>(c)].epoch_s; };
  const auto usd = [&](int c) { return table.candidates()[static_cast<std::size_t>(c)].usd_per_s; };
  CHECK(first.stage_s == Approx(30 + 4 * e(0)));
  CHECK(first.stage_usd == Approx((30 + 4 * e(0)) * usd(0)));
  CHECK(first.switch_usd == Approx(30 * usd(0)));
  CHECK(first.kept_s == Approx(30 + 10 * e(0)));
  double cheapest = first.kept_usd, soonest = first.kept_s;
  for (const int c : {1, 2}) {
    cheapest = std::min(cheapest, first.stage_usd + 10 * usd(0) + (restart_s + 6 * e(c)) * usd(c));
    soonest = std::min(soonest, first.stage_s + 10 + restart_s + 6 * e(c));
  }
  CHECK(first.plan_usd == Approx(cheapest));
  CHECK(first.fastest_s == Approx(soonest));
  // What the job holds goes on for nothing.
  sim::Standing held;
  held.held = &s.candidates[0];
  held.progress.epochs_trained = 4;
  const Outlook second = outlook_of(s, table, {}, held);
  CHECK(option(second, 0).keeps);
  CHECK(option(second, 0).kept_s == Approx(6 * e(0)));
  CHECK(option(second, 2).kept_s == Approx(10 + restart_s + 6 * e(2)));
}

TEST_CASE("the spread of the time that is left, by hand") {
  // 0.03^2 + 0.04^2 + (-1.2 x 0.1)^2 = 0.13^2, and errors were twice what was believed.
  const policies::StageReserve reserve{
      .speed = 0.03, .examples = 0.04, .noise_scale = 0.1, .by_noise_scale = -1.2, .error_factor = 2};
  CHECK(reserve.spread() == Approx(0.26));
}

TEST_CASE("the time kept free follows what is known, by hand") {
  // Ten epochs without a floor: only speeds are unknown. 0.04 of the pool's and 0.03 of stages are 0.05, at two deviations
  // exp(0.1) times the training; half of that where past runs erred half as much. Without deviations it is a tenth of the longer.
  Setting s;
  s.job.epochs = 10;
  const policies::StageTable table = s.table();
  const workloads::Revision none;
  const sim::Standing from;
  policies::Prior known{.speed_spreads = {0.04}};
  const auto longer = [&](double deviations) {
    const Outlook outlook =
        policies::look_ahead({.job = &s.job,
                              .table = &table,
                              .costs = &s.costs,
                              .checkpoint_bytes = s.real.belief->models().step_times->checkpoint_bytes(*s.job.profile),
                              .from = &from,
                              .revision = &none,
                              .epoch_cap = 10,
                              .reserve = 0.1,
                              .deviations = deviations,
                              .known = &known});
    const StageOption& o = option(outlook, 0);
    return (o.safest_s - 30) / (o.kept_s - 30);
  };
  CHECK(longer(0) == Approx(1 / 0.9));
  CHECK(longer(2) == Approx(std::exp(0.1)));
  known.error_factor = 0.5;
  CHECK(longer(2) == Approx(std::exp(0.05)));
}

TEST_CASE("features and prior, by hand") {
  // Two options that cost 10 and 11 in all: the second is 10 % dearer, its prior is -100 x 0.1. Of 200 s left they take 100 and
  // 50. Half of the deadline of 400 s has gone.
  Setting s;
  s.job.deadline_s = 400;
  const policies::StageTable table = s.table();
  sim::Standing from;
  from.time_s = 200;
  from.cost_usd = 10;
  const workloads::Revision none;
  const policies::Prior sure{.noise_scale_spread = 0.12, .speed_spreads = {0.03}};
  Outlook outlook{.time_left_s = 200, .progress_share = 0.25, .noise_scale = 128};
  const auto made = [](int c, double seconds, double usd) {
    return StageOption{.candidate = c,
                       .stage_s = 20,
                       .stage_usd = 2,
                       .kept_s = seconds,
                       .kept_usd = usd,
                       .fastest_s = seconds,
                       .plan_s = seconds,
                       .plan_usd = usd,
                       .safe_usd = usd};
  };
  outlook.options = {made(0, 100, 10), made(2, 50, 11)};
  const AgentInputs inputs = policies::agent_inputs({.job = &s.job,
                                                     .cluster = &s.real.cluster,
                                                     .table = &table,
                                                     .from = &from,
                                                     .revision = &none,
                                                     .prior = &sure,
                                                     .stages_left = 2},
                                                    outlook);
  CHECK(inputs.prior[0] == 0);
  CHECK(inputs.prior[1] == Approx(-10));
  CHECK(inputs.features(0, 0) == 0.25);
  CHECK(inputs.features(0, 4) == Approx(0.5));
  CHECK(inputs.features(0, 5) == Approx(std::log(200.0 / 50) / 2));
  CHECK(inputs.features(0, 6) == Approx(0.5));  // 10 of 10 + 10
  CHECK(inputs.features(0, 7) == Approx(0.4));
  CHECK(inputs.features(1, 12) == Approx(1));  // 10 x 0.1
  CHECK(inputs.features(0, 15) == Approx(0.5));
  CHECK(inputs.features(1, 15) == Approx(0.25));
  CHECK(inputs.features(1, 17) == Approx(0.1));
  CHECK(inputs.features(0, 19) == Approx(0.2));
  CHECK(inputs.features(1, 21) == Approx(std::log(512.0 / 128) / 4));
  CHECK(inputs.features(1, 23) == Approx(2.0 / 5));
  CHECK(inputs.features(0, 27) == Approx(0.3));
  CHECK(inputs.features(0, 28) == Approx(0.36));
  CHECK(inputs.leader == 0);
  CHECK(inputs.plan_usd == 10);
}

TEST_CASE("advantages of two courses, by hand") {
  // Reference 10. The first course plans 10, pays 6 in its first stage, then plans 5, which the critic thinks will be 20 % more,
  // and pays 6 again. U = -1, -0.6; d_1 = -0.6 + 0.6 = 0, d_0 = -0.6 - 0.6 + 1 = -0.2: A = -0.2, 0. The critic should have said
  // 0.2 both times. The second pays 11 at once and is fined 0.5: A = -1.1 - 0.5 + 1 = -0.6, wanted 0.6.
  // Less the other's: 0.4 and -0.4, and 0 where a course is alone. Their root mean square is sqrt(0.32/3).
  policies::JudgedCourse first{.cost_usd = 12, .reference_usd = 10}, second{.cost_usd = 11, .fine = 0.5, .reference_usd = 10};
  first.steps = {{.plan_usd = 10}, {.plan_usd = 5, .cost_usd = 6, .excess = 0.2}};
  second.steps = {{.plan_usd = 10}};
  policies::find_advantages({&first, &second});
  const double unit = 0.003 + std::sqrt(0.32 / 3);
  CHECK(first.steps[0].advantage == Approx(0.4 / unit));
  CHECK(second.steps[0].advantage == Approx(-0.4 / unit));
  CHECK(first.steps[1].advantage == 0);
  CHECK(first.steps[0].wanted_excess == Approx(0.2));
  CHECK(first.steps[1].wanted_excess == Approx(0.2));
  CHECK(second.steps[0].wanted_excess == Approx(0.6));
}

TEST_CASE("the mask leaves what can still end in time, else the soonest") {
  rc::prop("never a choice that cannot fit", [] {
    Setting s;
    const policies::StageTable table = s.table();
    sim::Random random(*rc::gen::arbitrary<std::uint64_t>());
    Outlook outlook{.time_left_s = random.uniform(0, 200)};
    double soonest = sim::kNever;
    for (int c = 0; c < 3; ++c) {
      const double seconds = random.uniform(0, 400), usd = random.uniform(1, 2);
      const double plan_usd = seconds <= outlook.time_left_s ? usd : sim::kNever;
      outlook.options.push_back({.candidate = c,
                                 .fastest_s = seconds,
                                 .plan_s = seconds,
                                 .plan_usd = plan_usd,
                                 .safe_usd = plan_usd,
                                 .safest_s = seconds / 0.9});
      soonest = std::min(soonest, seconds);
    }
    s.job.deadline_s = 1000;
    const workloads::Revision none;
    const policies::Prior prior;
    const sim::Standing from;
    const AgentInputs inputs = policies::agent_inputs(
        {.job = &s.job, .cluster = &s.real.cluster, .table = &table, .from = &from, .revision = &none, .prior = &prior}, outlook);
    RC_ASSERT(inputs.mask[static_cast<std::size_t>(inputs.leader)] == 0);
    RC_ASSERT(inputs.feasible == (soonest <= outlook.time_left_s));
    int allowed = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      if (inputs.mask[i] != 0) continue;
      ++allowed;
      RC_ASSERT(outlook.options[i].fastest_s <= (inputs.feasible ? outlook.time_left_s : soonest));
    }
    RC_ASSERT(allowed > 0);
    const StagedAgent agent(1);
    policies::Tape tape(agent.parameters());
    RC_ASSERT(inputs.mask[static_cast<std::size_t>(agent.best(tape, inputs))] == 0);
  });
}

TEST_CASE("the levers of jobs that share a cluster, by hand") {
  // Two nodes of four V100s. The held worker costs 2.00 and takes 800 s, four cost 2.10 and take 250 s.
  Setting s;
  const policies::StageTable table = s.table();
  const sim::Standing from{.held = &s.candidates[0]};
  Outlook outlook;
  outlook.options.push_back({.candidate = 0, .keeps = true, .kept_s = 800, .plan_usd = 2.0, .safe_usd = 2.0});
  outlook.options.push_back({.candidate = 1, .kept_s = 250, .plan_usd = 2.1, .safe_usd = 2.1});
  const std::vector<double> mask{0, 0};
  const auto best = [&](const policies::SharedLevers& levers, std::vector<char> free = {1, 1}) {
    return policies::best_shared(outlook, table, from, levers, mask, free, s.real.cluster);
  };
  CHECK(best({}) == 0);
  // log(2.1 / 2.0) = 0.0488; log(800 / 250) = 1.163: hurry counts from 0.042 on.
  CHECK(best({.hurry = 0.041}) == 0);
  CHECK(best({.hurry = 0.043}) == 1);
  CHECK(best({.hurry = 0.043}, {1, 0}) == 0);
  // Four of eight workers are 0.375 of the pool more than one.
  CHECK(best({.hurry = 0.1, .narrow = 0.17}) == 1);
  CHECK(best({.hurry = 0.1, .narrow = 0.19}) == 0);
  CHECK(best({.hold = 0.06, .hurry = 0.1}) == 1);
  CHECK(best({.hold = 0.06, .hurry = 0.1}, {0, 1}) == 1);
  CHECK(best({.hold = 0.06, .hurry = 0.1}, {0, 0}) == -1);
  CHECK(best({.hold = 0.08, .hurry = 0.1}) == 0);
  // A plan that is not safe comes after all that are, unless it is e times cheaper.
  outlook.options[0].safe_usd = sim::kNever;
  CHECK(best({}) == 1);
  outlook.options[0].plan_usd = 0.7;
  CHECK(best({}) == 0);

  policies::SharedAgent::Weights weights{};
  weights[0 * policies::kSharedSights + 0] = 0.5;  // hold
  weights[1 * policies::kSharedSights + 1] = 2;    // hurry with tightness
  weights[3 * policies::kSharedSights + 2] = -1;   // offer with the queue
  const policies::SharedLevers levers = policies::SharedAgent(weights).levers({1, 0.5, 0.25, 1});
  CHECK(levers.hold == 0.5);
  CHECK(levers.hurry == 1);
  CHECK(levers.offer == -0.25);
  CHECK(levers.reserve == 0);
  const policies::SharedAgent again(policies::SharedAgent(weights).state({.kind = policies::SharedAgent::kKind}));
  CHECK(again.weights() == weights);
}

TEST_CASE("every batch on the devices held is an option where that is asked for") {
  // Two K80s of a dear pool are held: V100s beat them in money and time with either batch.
  Setting s{.real{tests::real_cluster({{"fast", "v100", 2, 4, 12.24}, {"dear", "k80", 1, 4, 50}}), {{"resnet18", "cifar10"}}}};
  s.candidates = {configuration(0, 2, 64), configuration(0, 2, 128), configuration(1, 2, 64), configuration(1, 2, 128)};
  const policies::StageTable table = s.table();
  const sim::Standing from{.stages = 1, .held = &s.candidates[2]};
  const workloads::Revision none;
  const auto offered = [&](bool held_devices) {
    const Outlook outlook = policies::look_ahead({.job = &s.job,
                                                  .table = &table,
                                                  .costs = &s.costs,
                                                  .from = &from,
                                                  .revision = &none,
                                                  .epoch_cap = 20,
                                                  .offers_held_devices = held_devices});
    return std::count_if(outlook.options.begin(), outlook.options.end(), [&](const StageOption& o) {
      return s.candidates[static_cast<std::size_t>(o.candidate)].groups.front().pool == 1;
    });
  };
  CHECK(offered(true) == 2);
  CHECK(offered(false) == 1);
}

TEST_CASE("an episode of the strategy costs what the replay charges, to 1e-9") {
  Setting s;
  s.job.target_accuracy = 0.85;
  s.job.deadline_s = 7200;
  tests::Bundled bundled(s.real, workloads::WorldErrors::scaled(0.1));
  bundled.costs = s.costs;
  const policies::PolicySpec spec{.name = "p", .configure = {"staged-rl", {}}};
  policies::Bundle bundle(spec, bundled.inputs());
  sim::StageRunner truth(s.real.cluster, s.costs, bundled.world.models(), bundle.policy());
  policies::Episode episode(s.job, truth);
  REQUIRE(episode.step(bundle.configure(s.job, 0).ranked.front()));
  while (!episode.ended()) REQUIRE(episode.step(bundle.configure_again(s.job, episode.seen(), 0).ranked.front()));
  CHECK(episode.seen().size() >= 2);
  tests::LastJob last;
  const std::vector<sim::Job> jobs{s.job};
  traces::VectorSource source(jobs);
  sim::replay({.cluster = &s.real.cluster,
               .costs = s.costs,
               .models = bundled.world.models(),
               .policy = bundle.policy(),
               .sources = {&source},
               .recorder = &last},
              sim::run_plain);
  CHECK(last.record.end_s == Approx(episode.standing().time_s).epsilon(1e-9));
  CHECK(last.record.cost.total() == Approx(episode.standing().cost_usd).epsilon(1e-9));
  CHECK(last.record.accuracy == episode.standing().progress.accuracy);
  CHECK(last.keeps_limits == (episode.lateness() == 0 && episode.shortfall() == 0));
}

TEST_CASE("training: the same seed gives the same agent, another seed another") {
  Setting s;
  policies::ManualRules manual;
  const auto trained = [&](std::uint64_t seed) {
    workloads::GeneratorSettings jobs{
        .count = 4, .accuracy_slack_low = 0.1, .accuracy_slack_high = 0.3, .convolutional = {&s.real.profile()}};
    policies::AgentTraining training({.cluster = &s.real.cluster,
                                      .costs = s.costs,
                                      .models = &s.real.models,
                                      .manual = &manual,
                                      .generators = {jobs},
                                      .seed = seed});
    for (int i = 0; i < 2; ++i) training.iterate();
    return save(training.agent().parameters(), {.kind = StagedAgent::kKind, .seed = seed, .command = "test"}).matrices;
  };
  const auto first = trained(1);
  CHECK(first == trained(1));
  CHECK(first != trained(2));
  // Both heads have learnt something: they began at 0.
  // Trunk, actor, critic; a weight and a bias each.
  REQUIRE(first.size() == 6);
  for (const std::size_t head : {2, 4}) {
    INFO(first[head].is.name);
    CHECK(std::any_of(first[head].numbers.begin(), first[head].numbers.end(), [](double x) { return x != 0; }));
  }
}
