#include "sim/replay/alone.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "policies/place/data_parallel.hpp"
#include "policies/queue/line_orders.hpp"
#include "policies/threads/recommended.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "tests/sim/replay/toy.hpp"
#include "tests/workloads/real_world.hpp"

using namespace rehearse::sim;
using rehearse::policies::DataParallel;
using rehearse::policies::Fifo;
using rehearse::policies::RecommendedThreads;
using rehearse::tests::real_cluster;
using rehearse::tests::RealWorld;

namespace {

const Profile kToyProfile{.model = "toy", .dataset = "tenths"};

/// One job under one choice, replayed and in closed form.
struct Case {
  const Cluster& cluster;
  CostRules costs;
  Models models;
  Job job;
  Choice choice;
};

struct Both {
  JobRecord replayed;  ///< its pointers have ended
  AloneOutcome alone;
};

Both run_both(const Case& c) {
  DataParallel place;
  RecommendedThreads threads;
  toy::SameMenu menus;
  menus.menu.ranked = {c.choice};
  Fifo fifo;
  toy::Keeper keeper;
  toy::ListSource source({c.job});
  const Policy policy{.name = "one", .configure = &menus, .place = &place, .threads = &threads, .queue = &fifo};
  replay(
      {.cluster = &c.cluster, .costs = c.costs, .models = c.models, .policy = policy, .sources = {&source}, .recorder = &keeper},
      run_plain);
  AloneRunner runner(c.cluster, c.costs, c.models, policy);
  return {keeper.jobs.front().record, runner.run_until_it_fits(c.job, c.choice)};
}

/// To 1e-9, and to the grid of dates: the start and the end are rounded up to it.
void check_equal(const Both& both, double submit_s, double usd_per_s, double most_w) {
  const JobRecord& r = both.replayed;
  const AloneOutcome& a = both.alone;
  const double grid_s = 2 * kDateGrid;
  const auto near = [](double x, double y, double slack) { return std::abs(x - y) <= 1e-9 * std::abs(y) + slack; };
  const bool memory = r.reason == FailureReason::out_of_memory || r.reason == FailureReason::does_not_fit;
  RC_ASSERT(a.fits == !memory);
  if (!a.fits) return;
  RC_ASSERT(a.failure == r.reason);
  RC_ASSERT(near(a.time_s, r.end_s - submit_s, grid_s));
  RC_ASSERT(near(a.cost_usd, r.cost.total(), usd_per_s * grid_s));
  RC_ASSERT(near(a.cost_usd, r.marginal_usd, usd_per_s * grid_s));
  RC_ASSERT(near(a.energy_j, r.energy_j, most_w * grid_s));
  RC_ASSERT(a.epochs == r.epochs);
  RC_ASSERT(a.accuracy == r.accuracy || (std::isnan(a.accuracy) && std::isnan(r.accuracy)));
}

void check_case(const Case& c) {
  check_equal(run_both(c), c.job.submit_s, usd_per_s(c.cluster, c.costs, c.choice.configuration),
              power_w(c.cluster, c.choice.configuration, 1));
}

double between(Random& random, int low, int high) {
  return low + static_cast<double>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

/// Any billing, with a minimum time of nodes or without.
void draw_billing(Random& random, CostRules& costs) {
  costs.billing = static_cast<Billing>(random.below(3));
  if (costs.billing == Billing::node && random.below(2) == 0) costs.minimum_node_s = random.uniform(0, 1000);
}

/// Nodes that boot when a job takes them, in some pools.
void draw_autoscaling(Random& random, Cluster& cluster) {
  for (Pool& pool : cluster.pools)
    if (random.below(3) == 0) pool.autoscale = Autoscale{.boot_s = random.uniform(0, 300), .idle_s = 0};
}

/// Steps, or epochs and/or a target; `most_epochs` is small where an epoch is slow to simulate.
Job modelled_job(Random& random, const Profile& profile, double batch, int most_epochs) {
  Job job{.name = "job", .profile = &profile, .submit_s = between(random, 0, 1000)};
  if (random.below(3) == 0) {
    job.work = Work::steps;
    job.steps = between(random, 1, 100'000);
    job.batch_size = batch;
    return job;
  }
  job.work = Work::train;
  const auto kind = random.below(4);
  if (kind != 0) job.epochs = between(random, 1, 4 * most_epochs) / 4;
  if (kind != 1) job.target_accuracy = random.uniform(0.05, 1.1);
  job.readings = 1 + static_cast<double>(random.below(3));
  if (kind == 2) job.stop = Stop::budget;
  return job;
}

}  // namespace

TEST_CASE("a rigid job alone is its replay", "[alone]") {
  rc::prop("time, money, energy", [](std::uint64_t seed) {
    Random random(seed);
    Cluster cluster = toy::cluster({{2, 2}, {4, 4}});
    draw_autoscaling(random, cluster);
    CostRules costs;
    draw_billing(random, costs);
    const int gpus = 1 + static_cast<int>(random.below(18));
    const Job job{.name = "r", .submit_s = between(random, 0, 100), .gpus = gpus, .duration_s = random.uniform(0.001, 1e6)};
    const Choice choice{.configuration = rehearse::tests::configuration(gpus <= 4 ? 0 : 1, gpus, 0)};  // the first it fits
    check_case({cluster, costs, {}, job, choice});
  });
}

TEST_CASE("a job of the toy world alone is its replay", "[alone]") {
  const toy::Tenths tenths;
  rc::prop("steps and training, divergence and too large batches included", [&](std::uint64_t seed) {
    Random random(seed);
    toy::Steps steps;
    if (random.below(2) == 0) steps.profiling_s = random.uniform(0, 100);
    Cluster cluster = toy::cluster({{2, 2}, {1, 4}});
    draw_autoscaling(random, cluster);
    const int batch = random.below(8) == 0 ? 1500 : 1 + static_cast<int>(random.below(120));
    Choice choice = toy::choice(static_cast<int>(random.below(2)), 1 + static_cast<int>(random.below(5)), batch);
    if (random.below(6) == 0) choice.configuration.learning_rate = 9;  // diverges
    if (random.below(3) == 0)
      choice.configuration.sync = {.kind = random.below(2) == 0 ? SyncKind::servers_sync : SyncKind::servers_async, .servers = 2};
    choice.predicted.epochs = between(random, 1, 12);
    const double fixed = choice.configuration.batch_size();
    CostRules costs{.collect_s = between(random, 0, 3), .start_s = between(random, 0, 60)};
    draw_billing(random, costs);
    if (random.below(2) == 0) {
      steps.store(between(random, 1, 9));
      costs.preload_bytes_per_s = random.uniform(1, 100);
    }
    check_case({cluster, costs, {&steps, &tenths}, modelled_job(random, kToyProfile, fixed, 12), choice});
  });
}

TEST_CASE("a job of the real world alone is its replay, with noise and without", "[alone]") {
  const RealWorld real(real_cluster({{"slow", "k80", 8, 1, 1}, {"fast", "v100", 3, 4, 12}, {"cpu", "knl7250", 4, 0, 2}}),
                       {{"resnet18", "cifar10"}, {"rnnlm", "ptb"}, {"vgg16", "imagenet"}});
  rc::prop("over configurations and worlds", [&](std::uint64_t seed) {
    Random random(seed);
    const rehearse::workloads::WorldErrors errors = rehearse::workloads::WorldErrors::scaled(random.below(2) == 0 ? 0 : 0.1);
    const rehearse::workloads::World world = real.world(errors, seed, static_cast<int>(random.below(5)));
    const Profile& profile = real.profile(random.below(3));
    Choice choice{.configuration = rehearse::tests::configuration(static_cast<int>(random.below(3)),
                                                                  1 + static_cast<int>(random.below(9)), 1 << random.below(13))};
    if (random.below(3) == 0)
      choice.configuration.sync = {.kind = random.below(2) == 0 ? SyncKind::servers_sync : SyncKind::servers_async, .servers = 3};
    if (random.below(4) == 0)  // more workers, of the same pool or of another
      choice.configuration.groups.push_back({.pool = static_cast<int>(random.below(3)),
                                             .workers = 1 + static_cast<int>(random.below(6)),
                                             .batch_per_worker = 1 << random.below(8)});
    if (random.below(4) == 0) choice.configuration.learning_rate = random.uniform(0.01, 5);
    if (random.below(4) == 0) choice.configuration.power_limit_w = random.uniform(60, 250);
    choice.predicted.epochs = between(random, 1, 20);
    Job job = modelled_job(random, profile, choice.configuration.batch_size(), 20);
    if (job.work == Work::steps && random.below(2) == 0) {
      job.gpus = choice.configuration.workers();
      job.duration_s = random.uniform(1, 1e5);
    }
    CostRules costs;
    draw_billing(random, costs);
    check_case({real.cluster, costs, world.models(), job, choice});
  });
}

TEST_CASE("a target reached by hand", "[alone]") {
  // As in the replay's tests: 30 s of start, 3 epochs of 2 steps of 1 s, an evaluation of 0.25 s each, at 0.0005 dollars a
  // second.
  const Cluster cluster = toy::cluster({{1, 4}});
  const toy::Steps steps;
  const toy::Tenths tenths;
  toy::DataParallel place;
  toy::OneThread threads;
  const CostRules costs{.start_s = 30};
  AloneRunner runner(cluster, costs, {&steps, &tenths}, {.name = "one", .place = &place, .threads = &threads});
  const Job job{.name = "t", .profile = &kToyProfile, .work = Work::train, .target_accuracy = 0.3, .deadline_s = 36.75};
  const AloneOutcome outcome = runner.run(job, toy::choice(0, 2, 25));
  CHECK(outcome.time_s == Approx(36.75));
  CHECK(outcome.cost_usd == Approx(36.75 * 0.0005));
  CHECK(outcome.energy_j == Approx(2 * (100 * 30 + 200 * 6.75)));
  CHECK(outcome.epochs == 3);
  CHECK(outcome.keeps_limits(job, 0));
  Job sooner = job, higher = job;
  sooner.deadline_s = 36.7;
  CHECK_FALSE(outcome.keeps_limits(sooner, 0));
  higher.target_accuracy = 0.32;
  CHECK_FALSE(outcome.keeps_limits(higher, 0.005));
  CHECK(outcome.keeps_limits(higher, 0.01));  // within two standard deviations
  CHECK_FALSE(runner.run(job, toy::choice(0, 5, 25)).fits);
  CHECK_FALSE(runner.run(job, toy::choice(0, 1, 1001)).fits);
}

TEST_CASE("a job ends when so many evaluations in a row have read its target", "[alone]") {
  // Accuracies 0.1, 0.2, ...; the second evaluation is lucky and reads 0.9. A target of 0.5 is read at epoch 2, then from epoch 5
  // on: with one reading the job ends after 2 epochs and 0.3 short, with two in a row after 6, with three after 7.
  struct Lucky final : toy::ConvergenceOfTenths {
    double measured_accuracy(const Job&, int epoch, double accuracy) const override { return epoch == 2 ? 0.9 : accuracy; }
  };
  const Cluster cluster = toy::cluster({{1, 4}});
  const toy::Steps steps;
  const Lucky lucky;
  toy::DataParallel place;
  toy::OneThread threads;
  const CostRules free;
  AloneRunner runner(cluster, free, {&steps, &lucky}, {.name = "one", .place = &place, .threads = &threads});
  Job job{.name = "t", .profile = &kToyProfile, .work = Work::train, .target_accuracy = 0.5};
  const std::vector<std::pair<double, double>> epochs{{1, 2}, {2, 6}, {3, 7}};
  for (const auto& [readings, expected] : epochs) {
    job.readings = readings;
    const AloneOutcome outcome = runner.run(job, toy::choice(0, 2, 25));
    CHECK(outcome.epochs == expected);
    CHECK(outcome.accuracy == Approx(expected / 10));
    // What is kept is judged by the accuracy without noise, two deviations allowed.
    CHECK(outcome.keeps_limits(job, 0.05) == (readings > 1));
  }
}

TEST_CASE("groups of one pool share its nodes, as in a replay", "[alone]") {
  // Nodes of 4: 2 and 2 share the first; 3 and 3 take two; after 5 (4 and 1), 3 fill the second.
  const Cluster cluster = toy::cluster({{2, 4}});
  const auto layout = [&](int first, int second) {
    Configuration c = rehearse::tests::configuration(0, first, 1);
    c.groups.push_back({.pool = 0, .workers = second, .batch_per_worker = 1});
    REQUIRE(could_ever_fit(cluster, c));
    std::vector<std::vector<std::pair<int, int>>> shares;
    for (const auto& group : empty_cluster_layout(cluster, c)) {
      shares.emplace_back();
      for (const NodeShare& share : group) shares.back().emplace_back(share.node, share.devices);
    }
    return shares;
  };
  using Shares = std::vector<std::vector<std::pair<int, int>>>;
  CHECK(layout(2, 2) == Shares{{{0, 2}}, {{0, 2}}});
  CHECK(layout(3, 3) == Shares{{{0, 3}}, {{1, 3}}});
  CHECK(layout(5, 3) == Shares{{{0, 4}, {1, 1}}, {{1, 3}}});
}

TEST_CASE("groups of one job on one node do not share its price with somebody else", "[alone]") {
  // 10 steps of 1 s on a node at 0.001 $/s, whose four devices are two groups': 0.01 dollars, and without the job nothing.
  const Cluster cluster = toy::cluster({{1, 4}});
  const toy::Steps steps;
  Choice choice = toy::choice(0, 2, 10);
  choice.configuration.groups.push_back({.pool = 0, .workers = 2, .batch_per_worker = 10});
  const Job job{.name = "t", .profile = &kToyProfile, .work = Work::steps, .steps = 10, .batch_size = 40};
  const Both both = run_both({cluster, {.billing = Billing::node, .start_s = 0}, {&steps, nullptr}, job, choice});
  CHECK(both.replayed.end_s == Approx(10));
  CHECK(both.replayed.cost.total() == Approx(0.01));
  CHECK(both.replayed.marginal_usd == Approx(0.01));
}

TEST_CASE("a lost part of an epoch takes as long as it trained", "[alone]") {
  // Half an epoch of 100 samples at batch 10 is 5 of 10 steps; it diverges three times: 15 s.
  const Cluster cluster = toy::cluster({{1, 1}});
  const toy::Steps steps;
  const toy::Tenths tenths;
  Choice diverging = toy::choice(0, 1, 10);
  diverging.configuration.learning_rate = 9;
  const Job job{.name = "t", .profile = &kToyProfile, .work = Work::train, .epochs = 0.5};
  const Both both = run_both({cluster, {.start_s = 0}, {&steps, &tenths}, job, diverging});
  CHECK(both.alone.time_s == Approx(15));
  CHECK(both.replayed.end_s == Approx(15));
  CHECK(both.alone.failure == FailureReason::cannot_converge);
  CHECK(both.alone.epochs == 3);
}

TEST_CASE("a stage that is slower than its rates is so while it trains and while it evaluates", "[alone]") {
  // 2.5 epochs of 10 s, each of the whole ones with an evaluation of 2 s, half as long again: 1.5 (25 + 4) = 43.5 s at 0.1
  // dollars and 200 W.
  const StageRates rates{.fits = true, .epoch = {.training_s = 10, .evaluation_s = 2}, .usd_per_s = 0.1, .busy_w = 200};
  const StageCost cost = StageRunner::running(rates, {.epochs = 2.5, .evaluations = 2}, 1.5);
  CHECK(cost.time_s == Approx(43.5));
  CHECK(cost.cost_usd == Approx(4.35));
  CHECK(cost.energy_j == Approx(8700));
}

TEST_CASE("what is remembered of one job is no other job's", "[alone]") {
  // Same runner, jobs that differ in one thing each: as if each had a runner of its own.
  const RealWorld real(real_cluster({{"fast", "v100", 3, 4, 12}}), {{"resnet18", "cifar10"}, {"rnnlm", "ptb"}});
  const rehearse::workloads::World world = real.world({});
  DataParallel place;
  RecommendedThreads threads;
  const CostRules costs;
  const Policy policy{.name = "one", .place = &place, .threads = &threads};
  AloneRunner shared(real.cluster, costs, world.models(), policy);
  Job job{.name = "a", .profile = &real.profile(0), .work = Work::train, .epochs = 8, .target_accuracy = 0.6};
  Choice choice{.configuration = rehearse::tests::configuration(0, 2, 64), .predicted = {.epochs = 3}};
  std::vector<std::pair<Job, Choice>> cases{{job, choice}};
  const auto vary = [&](auto&& change) {
    Job other = job;
    Choice with = choice;
    change(other, with);
    cases.emplace_back(other, with);
  };
  vary([](Job& j, Choice&) { j.name = "b"; });
  vary([](Job& j, Choice&) { j.epochs = 9; });
  vary([](Job& j, Choice&) { j.target_accuracy = 0.7; });
  vary([](Job& j, Choice&) { j.target_accuracy = kUnset; });
  vary([](Job& j, Choice&) { j.stop = Stop::budget; });
  vary([&](Job& j, Choice&) { j.profile = &real.profile(1); });
  vary([](Job&, Choice& c) { c.configuration.groups[0].batch_per_worker = 128; });
  vary([](Job&, Choice& c) { c.configuration.learning_rate = 0.3; });
  vary([](Job&, Choice& c) { c.configuration.sync = {.kind = SyncKind::servers_async, .servers = 1}; });
  vary([](Job&, Choice& c) { c.configuration.groups[0] = {.pool = 0, .workers = 4, .batch_per_worker = 32}; });
  for (int round = 0; round < 2; ++round)
    for (const auto& [j, c] : cases) {
      AloneRunner own(real.cluster, costs, world.models(), policy);
      const AloneOutcome expected = own.run(j, c), found = shared.run(j, c);
      CHECK(found.time_s == expected.time_s);
      CHECK(found.accuracy == expected.accuracy);
      CHECK(found.epochs == expected.epochs);
    }
}

TEST_CASE("a stage pays for the whole of the least time that its node is rented for", "[alone]") {
  // 5 s to start and 8 epochs of 1.25 s on a node at 0.001 dollars a second that is rented for 100 s at least.
  toy::World world{.cluster = toy::cluster({{3, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  world.costs.billing = Billing::node;
  world.costs.minimum_node_s = 100;
  const Policy policy{.name = "toy", .place = &world.place, .threads = &world.threads};
  AloneRunner runner(world.cluster, world.costs, {&world.steps, &world.tenths}, policy);
  const Job job{.name = "a", .profile = &kToyProfile, .work = Work::train, .epochs = 8};
  const Choice one = toy::choice(0, 1, 100);
  Standing standing;
  REQUIRE(runner.stages().run(job, one, standing));
  CHECK(standing.time_s == Approx(15));
  CHECK(standing.cost_usd == Approx(0.1));

  // Of three nodes at 20 s: 80 s ahead, 10 s ahead, over. Another at 40 s has 50 s of the first, none of the second, and the
  // third: 30 s are missing, and a rental of 100 s.
  const StageRunner& stages = runner.stages();
  const std::vector<PaidNode> paid{
      {.node = 0, .paid_until_s = 100}, {.node = 1, .paid_until_s = 30}, {.node = 2, .paid_until_s = 5}};
  const std::vector<PaidNode> other{{.node = 0, .paid_until_s = 90}, {.node = 2, .paid_until_s = 70}};
  CHECK(stages.paid_further_usd(paid, 20, other, 40) == Approx(0.001 * (30 + 100)));
  CHECK(stages.paid_further_usd(other, 40, paid, 20) == Approx(0.001 * 100));
  CHECK(stages.paid_further_usd(paid, 20, paid, 20) == 0);
}

TEST_CASE("what changing a configuration takes, by hand", "[alone]") {
  // 5 s to start, 2 s to write a checkpoint; a GPU is 0.001 dollars a second and draws 100 W when it does nothing.
  toy::World world{.cluster = toy::cluster({{3, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  const Policy policy{.name = "toy", .place = &world.place, .threads = &world.threads};
  AloneRunner runner(world.cluster, world.costs, {&world.steps, &world.tenths}, policy);
  const Job job{.name = "a", .profile = &kToyProfile, .work = Work::train, .epochs = 8};
  const Configuration one = toy::choice(0, 1, 100).configuration, two = toy::choice(0, 2, 50).configuration;
  const auto check = [&](const Configuration* held, const Configuration& next, double time_s, double device_s) {
    const StageCost cost = runner.stages().switching(job, held, next);
    CHECK(cost.time_s == Approx(time_s));
    CHECK(cost.cost_usd == Approx(0.001 * device_s));
    CHECK(cost.energy_j == Approx(100 * device_s));
  };
  check(nullptr, two, 5, 5 * 2);
  check(&one, two, 2 + 5, 2 * 1 + 5 * 2);
  check(&two, one, 2 + 5, 2 * 2 + 5 * 1);
  check(&two, two, 0, 0);
}
