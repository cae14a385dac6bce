// Staged strategies: the planner against brute force, the closed form of stages against the replay, and what must hold of each.
#include "policies/staged/staged.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "policies/queue/line_orders.hpp"
#include "policies/staged/prior.hpp"
#include "policies/staged/stage_planner.hpp"
#include "policies/staged/staged_mpc.hpp"
#include "sim/base/random.hpp"
#include "sim/engine/engine.hpp"
#include "sim/replay/replay.hpp"
#include "tests/policies/configure/strategies.hpp"
#include "tests/policies/staged/last_job.hpp"
#include "traces/jobs/job_list.hpp"
#include "workloads/world/world.hpp"

namespace {

using namespace rehearse;
using policies::plan_stages;
using policies::StagePlan;
using policies::StageProblem;
using tests::configuration;

/// Whole nodes in half of the cases, some with a minimum time.
sim::CostRules drawn_costs(sim::Random& random) {
  sim::CostRules costs{
      .start_s = random.uniform(0, 60), .checkpoint_s = random.uniform(0, 30), .warmup_epochs = random.uniform(0, 0.5)};
  if (random.below(2) > 0) return costs;
  costs.billing = sim::Billing::node;
  costs.minimum_node_s = random.below(2) == 0 ? 0 : std::pow(10, random.uniform(2, 5));
  return costs;
}

/// Two GPU pools and a job on CIFAR-10 or PTB, drawn from a seed.
struct Instance {
  sim::Random random;
  tests::RealWorld real;
  workloads::World world;
  policies::DataParallel place;
  policies::RecommendedThreads threads;
  sim::CostRules costs;
  sim::AloneRunner runner;
  sim::Job job;
  std::vector<sim::Configuration> candidates;
  std::vector<double> ends;

  explicit Instance(std::uint64_t seed, double model_error)
      : random(seed),
        real(tests::real_cluster({{"slow", "k80", 2, 1, 0.9}, {"fast", "v100", 1, 4, 12.24}}),
             {random.below(2) == 0 ? tests::ModelSheet{"resnet18", "cifar10"} : tests::ModelSheet{"rnnlm", "ptb"}}),
        world(real.world(workloads::WorldErrors::scaled(model_error), seed)),
        costs(drawn_costs(random)),
        runner(real.cluster, costs, world.models(), {.name = "test", .place = &place, .threads = &threads}) {
    const bool image = real.profile().model == "resnet18";
    job = {.name = "j", .profile = &real.profile(), .work = sim::Work::train};
    job.target_accuracy = image ? random.uniform(0.4, 0.8) : random.uniform(0.15, 0.22);
    job.epochs = 25;
    for (const int batch : {image ? 128 : 20, image ? 512 : 40, image ? 2048 : 80}) {
      if (random.below(4) > 0) candidates.push_back(configuration(0, 1, std::min(batch, 512)));
      if (random.below(4) > 0) candidates.push_back(configuration(1, 2, batch / 2));
      if (random.below(4) > 0) candidates.push_back(configuration(1, 4, batch / 4));
    }
    if (candidates.empty()) candidates.push_back(configuration(1, 1, 64));
    ends = {1 + static_cast<double>(random.below(3)), 5 + static_cast<double>(random.below(3))};
    if (random.below(3) > 0)
      job.deadline_s = runner.run(job, {.configuration = candidates.front()}).time_s * random.uniform(0.05, 1.5);
    job.readings = 1 + static_cast<double>(random.below(2));
  }
  StageProblem problem() { return {.job = &job, .candidates = candidates, .ends = ends, .deadline_s = job.deadline_s}; }
  bool reaches_target(const sim::Standing& s) const {
    const double deviation = world.models().convergence->evaluation_deviation(*job.profile, s.progress.accuracy);
    return s.failure == sim::FailureReason::none && s.progress.accuracy >= job.target_accuracy - 2 * deviation;
  }
};

/// Every sequence of configurations; calls back with how each ends.
void try_all(Instance& in, const sim::Standing& from, std::size_t stage, const std::function<void(const sim::Standing&)>& end) {
  for (const sim::Configuration& c : in.candidates) {
    sim::Standing next = from;
    const sim::Choice choice{.configuration = c, .until_epochs = stage < in.ends.size() ? in.ends[stage] : sim::kNever};
    // The standing points to the configuration, which lives in the instance.
    if (!in.runner.stages().run(in.job, choice, next)) continue;
    next.held = &c;
    if (next.ended)
      end(next);
    else
      try_all(in, next, stage + 1, end);
  }
}

/// The least money of all sequences that keep the limits, and the least time of those that reach the target.
struct Best {
  double usd = sim::kNever, s = sim::kNever;
};

Best best_by_brute_force(Instance& in) {
  Best best;
  try_all(in, {}, 0, [&](const sim::Standing& s) {
    if (!in.reaches_target(s)) return;
    best.s = std::min(best.s, s.time_s);
    if (s.time_s <= in.job.deadline_s) best.usd = std::min(best.usd, s.cost_usd);
  });
  return best;
}

TEST_CASE("the planner finds what brute force finds") {
  rc::prop("cheapest feasible, else soonest that reaches the target", [] {
    Instance in(*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::element(0.0, 0.1));
    const Best best = best_by_brute_force(in);
    const StagePlan plan = plan_stages(in.problem(), in.runner.stages());
    RC_CLASSIFY(std::isfinite(best.usd), "feasible");
    RC_ASSERT(plan.feasible == std::isfinite(best.usd));
    if (plan.feasible) {
      RC_ASSERT(std::abs(plan.cost_usd / best.usd - 1) < 1e-12);
      RC_ASSERT(plan.time_s <= in.job.deadline_s);
    } else if (std::isfinite(best.s)) {
      RC_ASSERT(std::abs(plan.time_s / best.s - 1) < 1e-12);
    }
  });
}

// With a little more progress at its second stage's end than the best plan's, this job would stop after ten epochs at a reading
// above its target, with an accuracy below. The best plan has no such luck, and gets there in twelve.
TEST_CASE("a bound does not call hopeless what is spared a lucky reading") {
  Instance in(8050347172904, 0.1);
  const StagePlan plan = plan_stages(in.problem(), in.runner.stages());
  CHECK(plan.epochs == 12);
  CHECK(std::abs(plan.cost_usd / best_by_brute_force(in).usd - 1) < 1e-12);
}

// Eight stages of 90 candidates are 4e15 sequences. Bounds that know of switches, of a second reading of the target and of what a
// second is worth leave a few hundred; those that knew none of it left tens of thousands, each of which is tried with each
// candidate, and took seconds.
TEST_CASE("eight stages of a whole grid leave few plans to be tried") {
  Instance in(3, 0);
  in.job = {.name = "j", .profile = &in.real.profile(), .work = sim::Work::train};
  const bool image = in.real.profile().model == "resnet18";
  in.job.target_accuracy = image ? 0.9 : 0.2;
  in.job.readings = 2;
  in.costs = {};
  in.candidates.clear();
  for (int batch = image ? 32 : 5; batch <= (image ? 4096 : 640); batch *= 2)
    for (const auto& [pool, most] : {std::pair{0, 2}, std::pair{1, 4}})
      for (int workers = 1; workers <= most && workers <= batch; workers *= 2)
        in.candidates.push_back(configuration(pool, workers, batch / workers));
  sim::AloneRunner runner(in.real.cluster, in.costs, in.world.models(),
                          {.name = "t", .place = &in.place, .threads = &in.threads});
  const double slow_s = runner.run(in.job, {.configuration = in.candidates.front()}).time_s;
  in.ends = {2, 4, 6, 8, 10, 12, 14};
  for (const double share : {0.05, 0.1, 0.2, 0.5}) {
    in.job.deadline_s = share * slow_s;
    CHECK(plan_stages(in.problem(), runner.stages()).labels < 3000);
  }
  // What is paid ahead for nodes tells plans apart that are else alike. Unless it is compared node by node, and what is paid
  // counts as paid, these have no end.
  for (const double minimum_s : {3600.0, 1e5}) {
    in.costs.billing = sim::Billing::node;
    in.costs.minimum_node_s = minimum_s;
    sim::AloneRunner rented(in.real.cluster, in.costs, in.world.models(),
                            {.name = "t", .place = &in.place, .threads = &in.threads});
    for (const double share : {0.05, 0.1, 0.2, 0.5}) {
      in.job.deadline_s = share * slow_s;
      CHECK(plan_stages(in.problem(), rented.stages()).labels < 50000);
    }
  }
}

TEST_CASE(
    "a plan costs what its stages cost one after the other, and with free switching no more than any single configuration") {
  rc::prop("sum of stages; staged against static", [] {
    Instance in(*rc::gen::arbitrary<std::uint64_t>(), 0);
    in.costs = {.start_s = 0, .checkpoint_s = 0, .restore_bytes_per_s = 1e18, .warmup_epochs = 0};
    sim::AloneRunner free(in.real.cluster, in.costs, in.world.models(),
                          {.name = "t", .place = &in.place, .threads = &in.threads});
    const StagePlan plan = plan_stages(in.problem(), free.stages());
    sim::Standing standing;
    for (std::size_t k = 0; k < plan.stages.size(); ++k) {
      const sim::Choice choice{.configuration = *plan.stages[k], .until_epochs = k < in.ends.size() ? in.ends[k] : sim::kNever};
      RC_ASSERT(free.stages().run(in.job, choice, standing));
      standing.held = plan.stages[k];
    }
    RC_ASSERT(standing.ended);
    RC_ASSERT(std::abs(standing.cost_usd / plan.cost_usd - 1) < 1e-12);
    RC_ASSERT(std::abs(standing.time_s / plan.time_s - 1) < 1e-12);
    for (const sim::Configuration& c : in.candidates) {
      const sim::AloneOutcome alone = free.run(in.job, {.configuration = c});
      const double deviation =
          alone.fits ? in.world.models().convergence->evaluation_deviation(*in.job.profile, alone.accuracy) : 0;
      if (alone.keeps_limits(in.job, deviation)) {
        RC_ASSERT(plan.feasible);
        // Each of the plan's stages is rounded up to the grid of dates, 2^-20 s.
        const double stages = static_cast<double>(in.ends.size()) + 1;
        RC_ASSERT(plan.cost_usd <= alone.cost_usd * (1 + 1e-12 + stages * 0x1p-20 / alone.time_s));
      }
    }
  });
}

/// Answers with these configurations, one a stage.
class Sequence final : public sim::Configurator {
 public:
  std::vector<sim::Choice> choices;
  sim::Menu configure(const sim::Job&, double) override { return {.ranked = {choices.front()}}; }
  sim::Menu configure_again(const sim::Job&, std::span<const sim::StageSeen> seen, double) override {
    return {.ranked = {choices.at(seen.size())}};
  }
};

TEST_CASE("an episode costs what the replay charges for the same decisions") {
  rc::prop("to 1e-9", [] {
    Instance in(*rc::gen::arbitrary<std::uint64_t>(), 0.1);
    in.job.target_accuracy = in.real.profile().model == "resnet18" ? 0.8 : 0.22;
    Sequence sequence;
    for (std::size_t k = 0; k <= in.ends.size(); ++k)
      sequence.choices.push_back({.configuration = in.candidates[in.random.below(in.candidates.size())],
                                  .until_epochs = k < in.ends.size() ? in.ends[k] : sim::kNever});
    sim::Standing standing;
    for (const sim::Choice& choice : sequence.choices)
      if (!standing.ended) RC_PRE(in.runner.stages().run(in.job, choice, standing));
    policies::Fifo fifo;
    tests::LastJob last;
    const std::vector<sim::Job> jobs{in.job};
    traces::VectorSource source(jobs);
    sim::replay({.cluster = &in.real.cluster,
                 .costs = in.costs,
                 .models = in.world.models(),
                 .policy = {.name = "t", .configure = &sequence, .place = &in.place, .threads = &in.threads, .queue = &fifo},
                 .sources = {&source},
                 .recorder = &last},
                sim::run_plain);
    RC_ASSERT(std::abs(last.record.end_s / standing.time_s - 1) < 1e-9);
    RC_ASSERT(std::abs(last.record.cost.total() / standing.cost_usd - 1) < 1e-9);
    RC_ASSERT(std::abs(last.record.energy_j / standing.energy_j - 1) < 1e-9);
    RC_ASSERT(last.record.accuracy == standing.progress.accuracy);
    RC_ASSERT((last.record.reason == standing.failure));
  });
}

// Equal shares of 10 epochs in five stages end at 2, 4, 6, 8. In 3 epochs: round(0.6) = 1, round(1.2) = 1 (not later), round(1.8)
// = 2, round(2.4) = 2.
TEST_CASE("stages share the epochs, or the accuracy, of the usual training") {
  const tests::RealWorld real(tests::real_cluster({{"fast", "v100", 1, 4, 12.24}}), {{"resnet18", "cifar10"}});
  policies::DataParallel place;
  policies::RecommendedThreads threads;
  sim::AloneRunner believed(real.cluster, {}, real.belief->models(), {.name = "t", .place = &place, .threads = &threads});
  sim::Job job{.name = "j", .profile = &real.profile(), .work = sim::Work::train};
  const sim::Configuration usual = configuration(0, 1, 128);
  const auto ends = [&](double epochs, policies::StageRules rules) {
    job.epochs = epochs;
    return stage_ends(job, usual, rules, believed.stages());
  };
  CHECK(ends(10, {.count = 5}) == std::vector<double>{2, 4, 6, 8});
  CHECK(ends(3, {.count = 5}) == std::vector<double>{1, 2});
  CHECK(ends(1, {.count = 5}).empty());
  CHECK(ends(10, {.count = 1}).empty());
  // Accuracy rises fast at first: its halves meet long before those of the epochs.
  const std::vector<double> halves = ends(90, {.count = 2, .by = policies::StagesBy::accuracy});
  REQUIRE(halves.size() == 1);
  CHECK(halves.front() < 10);
}

TEST_CASE("revising a belief finds the world's error in noise scale, speed and examples") {
  // Twelve stages of one epoch as a world tells them whose noise scale is 1.6 times, whose steps are 1.2 times and whose examples
  // are 1.1 times what is believed, read without noise. Shrinking leaves 12/13 of log 1.6 and 12/(12 + 0.16) of log 1.2.
  const tests::RealWorld real(tests::real_cluster({{"fast", "v100", 1, 4, 12.24}}), {{"resnet18", "cifar10"}});
  policies::DataParallel place;
  policies::RecommendedThreads threads;
  sim::AloneRunner believed(real.cluster, {}, real.belief->models(), {.name = "t", .place = &place, .threads = &threads});
  const sim::Job job{.name = "j", .profile = &real.profile(), .work = sim::Work::train};
  const workloads::RevisedBelief truth(*real.belief, {.noise_scale_factor = 1.6, .examples_factor = 1.1});
  const sim::Configuration c = configuration(0, 2, 256);
  std::vector<sim::StageSeen> seen;
  sim::TrainingState state;
  for (int epoch = 1; epoch <= 12; ++epoch) {
    const double phi = truth.train(job, c, truth.samples_per_epoch(*job.profile), state).noise_scale;
    seen.push_back({.configuration = c,
                    .stages = epoch,
                    .epochs = static_cast<double>(epoch),
                    .accuracy = truth.accuracy(job, state),
                    .noise_scale = phi,
                    .step_s = 1.2 * believed.stages().rates(job, c).step_s});
  }
  const std::function<sim::Prediction(const sim::Configuration&)> none;
  const policies::ConfigureView view{
      .job = job, .cluster = real.cluster, .costs = {}, .candidates = {}, .manual = c, .estimate = none, .believed = &believed};
  const workloads::Revision revision = revise(view, seen, *real.belief);
  CHECK(std::log(revision.noise_scale_factor) == Approx(std::log(1.6)).epsilon(0.15));
  CHECK(std::log(revision.slower_on_pool.at(0)) == Approx(12 / 12.16 * std::log(1.2)).epsilon(1e-9));
  CHECK(std::log(revision.examples_factor) == Approx(std::log(1.1)).epsilon(0.25));
  // What is left of the spreads 0.3 and 0.1 after twelve readings of 0.3 and of 0.04.
  const policies::Prior left = policies::corrected(view, seen, *real.belief, {});
  CHECK(left.noise_scale_spread == Approx(0.3 / std::sqrt(13)));
  CHECK(left.speed_spread(0) == Approx(1 / std::sqrt(100 + 12 / 0.0016)));
  CHECK(left.examples_spread < policies::kExamplesSpread);
  CHECK(left.mean.examples_factor == revision.examples_factor);
}

/// What a prior is asked with: one pool, one model.
struct Heard {
  tests::RealWorld real{tests::real_cluster({{"fast", "v100", 1, 4, 12.24}}), {{"resnet18", "cifar10"}}};
  policies::DataParallel place;
  policies::RecommendedThreads threads;
  sim::AloneRunner believed{real.cluster, {}, real.belief->models(), {.name = "t", .place = &place, .threads = &threads}};
  sim::Job job{.name = "j", .profile = &real.profile(), .work = sim::Work::train};
  std::vector<policies::PastRun> runs;

  policies::PastRun run(int workers, int batch, double epochs) const {
    return {.model = "resnet18",
            .dataset = "cifar10",
            .instance = real.cluster.instances.front().name,
            .workers = workers,
            .batch_size = static_cast<double>(workers * batch),
            .samples = 50000,
            .epochs = epochs};
  }
  double epoch_s(int workers, int batch) {
    const sim::StageRates& rates = believed.stages().rates(job, configuration(0, workers, batch));
    return rates.epoch.training_s + rates.epoch.evaluation_s;
  }
  policies::Prior prior(double spread_factor = 1) {
    return told([&](const policies::ConfigureView& view) { return policies::prior_of(view, *real.belief, spread_factor); });
  }
  policies::Prior prior_with_errors() {
    policies::Priors priors(true, 1, true);
    return told([&](const policies::ConfigureView& view) { return priors.of(view, *real.belief); });
  }
  policies::Prior told(const std::function<policies::Prior(const policies::ConfigureView&)>& ask) {
    const policies::RunHistory history(runs);
    const sim::Configuration manual = configuration(0, 1, 128);
    const std::function<sim::Prediction(const sim::Configuration&)> none;
    return ask({.job = job,
                .cluster = real.cluster,
                .costs = {},
                .candidates = {},
                .manual = manual,
                .estimate = none,
                .history = &history,
                .believed = &believed});
  }
};

TEST_CASE("past runs correct the speed of a pool") {
  // Ten runs of one worker that took 1.2 times what is believed: 10 readings of spread 0.065 against a prior of 0.1 leave
  // 10/(10 + 0.065^2/0.1^2) = 10/10.4225 of log 1.2, and a spread of 1/sqrt(10/0.065^2 + 1/0.1^2).
  Heard heard;
  for (int i = 0; i < 10; ++i) {
    heard.runs.push_back(heard.run(1, 128, 2));
    heard.runs.back().time_s = 1.2 * 2 * heard.epoch_s(1, 128);
    heard.runs.back().accuracy = 0.5;
  }
  const policies::Prior prior = heard.prior();
  CHECK(std::log(prior.mean.slower_on_pool.at(0)) == Approx(10 / 10.4225 * std::log(1.2)));
  CHECK(prior.speed_spreads.at(0) == Approx(std::hypot(1 / std::sqrt(10 / 0.004225 + 100), 0.03)));
  heard.runs.clear();
  CHECK(heard.prior().mean.slower_on_pool.empty());
}

// The same with a prior of twice, and of half, the spread: 1/0.2^2 = 25 and 1/0.05^2 = 400 in 100's place.
TEST_CASE("a prior that is off by a factor of two, both ways") {
  Heard heard;
  for (int i = 0; i < 10; ++i) {
    heard.runs.push_back(heard.run(1, 128, 2));
    heard.runs.back().time_s = 1.2 * 2 * heard.epoch_s(1, 128);
    heard.runs.back().accuracy = 0.5;
  }
  const policies::Prior wide = heard.prior(2), narrow = heard.prior(0.5);
  CHECK(std::log(wide.mean.slower_on_pool.at(0)) == Approx(std::log(1.2) / (1 + 25 * 0.004225 / 10)));
  CHECK(std::log(narrow.mean.slower_on_pool.at(0)) == Approx(std::log(1.2) / (1 + 400 * 0.004225 / 10)));
  CHECK(wide.speed_spreads.at(0) == Approx(std::hypot(1 / std::sqrt(10 / 0.004225 + 25), 0.03)));
  CHECK(narrow.noise_scale_spread < wide.noise_scale_spread);
  heard.runs.clear();
  const policies::Prior untold = policies::untold_prior(2);
  CHECK(heard.prior(2).noise_scale_spread == Approx(0.6));
  CHECK(untold.noise_scale_spread == Approx(0.6));
  CHECK(untold.speed_spread(0) == Approx(0.2));
  CHECK(untold.examples_spread == Approx(0.14));
}

TEST_CASE("past runs correct noise scale and ceiling together") {
  // Runs of many batches as a world trains them whose noise scale is 1.5 times and whose ceilings lie 0.004 above what is
  // believed. The prior pulls both towards nothing.
  Heard heard;
  const workloads::RevisedBelief truth(*heard.real.belief, {.noise_scale_factor = 1.5, .ceiling_offset = 0.004});
  for (const int batch : {32, 128, 512, 1024})
    for (const double epochs : {4.0, 16.0, 64.0, 90.0}) {
      heard.runs.push_back(heard.run(2, batch, epochs));
      heard.runs.back().time_s = epochs * heard.epoch_s(2, batch);
      sim::TrainingState state;
      truth.train(heard.job, configuration(0, 2, batch), epochs * 50000, state);
      heard.runs.back().accuracy = truth.accuracy(heard.job, state);
    }
  const policies::Prior prior = heard.prior();
  CHECK(prior.ceiling_spread < 0.003);
  CHECK(prior.mean.noise_scale_factor > 1.25);
  CHECK(prior.mean.noise_scale_factor < 1.55);
  CHECK(prior.noise_scale_spread < 0.2);
  CHECK(prior.mean.ceiling_offset > 0.002);
  CHECK(prior.mean.ceiling_offset < 0.0045);
}

// Four runs whose times and accuracies are what is believed: five readings (their accuracies, the pool's speed) that surprise
// nobody, (1 + 0) / (1 + 5). With times of 1.2 the speed alone surprises, by log(1.2)^2 / (0.1^2 + 0.065^2 / 4).
TEST_CASE("past runs that end as predicted leave little to err") {
  Heard heard;
  const workloads::RevisedBelief belief(*heard.real.belief, {});
  for (const double epochs : {4.0, 16.0, 64.0, 90.0}) {
    heard.runs.push_back(heard.run(1, 128, epochs));
    heard.runs.back().time_s = epochs * heard.epoch_s(1, 128);
    sim::TrainingState state;
    belief.train(heard.job, configuration(0, 1, 128), epochs * 50000, state);
    heard.runs.back().accuracy = belief.accuracy(heard.job, state);
  }
  const double factor = std::sqrt(1.0 / 6);
  CHECK(heard.prior().error_factor == Approx(factor));
  const policies::Prior narrow = heard.prior_with_errors();  // as if that had been believed in from the beginning
  CHECK(narrow.noise_scale_spread == Approx(heard.prior(factor).noise_scale_spread));
  CHECK(narrow.examples_spread == Approx(factor * policies::kExamplesSpread));
  CHECK(narrow.error_factor == 1);
  for (policies::PastRun& run : heard.runs) run.time_s *= 1.2;
  const double squares = std::pow(std::log(1.2), 2) / (0.01 + 0.004225 / 4);
  CHECK(heard.prior().error_factor == Approx(std::sqrt((1 + squares) / 6)));
  heard.runs.clear();
  CHECK(heard.prior().error_factor == 1);
}

TEST_CASE("the plain world trains and steps as the world, without its luck") {
  const tests::RealWorld real(tests::real_cluster({{"fast", "v100", 2, 4, 12.24}}), {{"resnet18", "cifar10"}});
  const workloads::World world = real.world(workloads::WorldErrors::scaled(0.1));
  const workloads::PlainWorld plain(world);
  const sim::Job job{.name = "j", .profile = &real.profile(), .work = sim::Work::train};
  const sim::Configuration c = configuration(0, 2, 256);
  policies::DataParallel place;
  policies::RecommendedThreads threads;
  const sim::Policy policy{.name = "t", .place = &place, .threads = &threads};
  sim::AloneRunner with(real.cluster, {}, world.models(), policy), without(real.cluster, {}, plain.models(), policy);
  CHECK(with.stages().rates(job, c).step_s == without.stages().rates(job, c).step_s);
  CHECK(with.stages().noise(job, c, 0) != 1);
  CHECK(without.stages().noise(job, c, 0) == 1);
  sim::TrainingState a, b;
  const double phi = world.models().convergence->train(job, c, 1e6, a).noise_scale;
  CHECK(plain.train(job, c, 1e6, b).noise_scale == phi);
  CHECK(a.progress == b.progress);
  CHECK(plain.measured_noise_scale(job, 0, phi) == phi);
  // An evaluation reads one deviation more, the luckiest of several: max(0.002, sqrt(0.8 x 0.2 / 10000)) = 0.004.
  CHECK(plain.measured_accuracy(job, 20, 0.8) == Approx(0.804));
  CHECK(world.models().convergence->measured_accuracy(job, 20, 0.8) != 0.8);
}

}  // namespace
