// What must hold job by job, alone on an empty cluster, with noise, failures and contention off.
#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/random.hpp"
#include "tests/policies/configure/strategies.hpp"

using namespace rehearse::policies;
namespace sim = rehearse::sim;
using rehearse::tests::Bundled;
using rehearse::tests::configuration;
using rehearse::tests::PoolSheet;
using rehearse::tests::real_cluster;
using rehearse::tests::RealWorld;

namespace {

sim::Cluster random_cluster(sim::Random& random) {
  std::vector<PoolSheet> pools;
  const auto nodes = [&] { return 1 + static_cast<int>(random.below(2)); };
  if (random.below(3) > 0) pools.push_back({"slow", "k80", nodes(), 1, random.uniform(0.2, 2)});
  if (random.below(3) > 0) pools.push_back({"cpu", "knl7250", nodes(), 0, random.uniform(0.2, 4)});
  if (pools.empty() || random.below(3) > 0) pools.push_back({"fast", "v100", nodes(), 4, random.uniform(2, 20)});
  return real_cluster(pools);
}

const std::vector<rehearse::tests::ModelSheet> kModels{{"resnet18", "cifar10"}, {"rnnlm", "ptb"}, {"deepspeech2", "cmu-arctic"}};

/// A job with a floor that may be out of reach and a deadline that may be too short.
sim::Job random_job(sim::Random& random, const RealWorld& real) {
  sim::Job job{.name = "j", .profile = &real.profile(), .work = sim::Work::train};
  if (random.below(5) > 0) job.target_accuracy = random.uniform(0.1, 0.95);
  if (random.below(3) == 0) job.epochs = 1 + static_cast<double>(random.below(60));
  if (random.below(5) > 0) job.deadline_s = std::exp(random.uniform(std::log(60.0), std::log(3e5)));
  return job;
}

/// Every choice of the grid for 1, 4, 16, ... epochs and as many as the job may train, measured without noise.
RunHistory rich_history(Bundled& bundled, const sim::Job& job) {
  const RealWorld& real = bundled.real;
  const double cap = job.epochs > 0 ? job.epochs : real.belief->models().convergence->default_epoch_cap(*job.profile);
  std::vector<double> epochs;
  for (double e = 1; e < cap; e *= 4) epochs.push_back(e);
  epochs.push_back(cap);
  sim::Job open = job;
  open.target_accuracy = sim::kUnset;
  open.deadline_s = sim::kNever;
  std::vector<PastRun> runs;
  for (const sim::Configuration& c :
       candidate_configurations(open, real.cluster, *real.belief, bundled.menu("manual", open).ranked.front().configuration)) {
    const auto pool = static_cast<std::size_t>(c.groups[0].pool);
    for (const double e : epochs) {
      open.epochs = e;
      const sim::AloneOutcome outcome = bundled.truth(open, {.configuration = c});
      if (!outcome.fits || outcome.failure != sim::FailureReason::none) continue;
      runs.push_back({.model = job.profile->model,
                      .dataset = job.profile->dataset,
                      .instance = real.cluster.instances[pool].name,
                      .workers = c.workers(),
                      .batch_size = c.batch_size(),
                      .samples = real.models.of(*job.profile).training_samples,
                      .epochs = e,
                      .time_s = outcome.time_s - bundled.costs.start_s,
                      .accuracy = outcome.accuracy});
    }
  }
  return RunHistory(runs);
}

/// How far the runs' worker-seconds an epoch are from rising with the workers and falling with the batch, as isotonic regression
/// supposes: the greatest factor by which a pair is the wrong way round, 1 where none is. Waves of tiles and the choice of
/// convolution algorithms make a larger batch slower now and then, by a few percent. A least-squares isotonic fit is at each
/// point at least the smallest value above it (min-max formula), thus at least the point's own value over this factor.
double disorder(const RunHistory& history) {
  double worst = 1;
  const auto worker_seconds = [](const PastRun& run) { return run.time_s * run.workers / run.epochs; };
  for (const PastRun& low : history.runs())
    for (const PastRun& high : history.runs())
      if (low.instance == high.instance && low.workers <= high.workers && low.batch_size >= high.batch_size)
        worst = std::max(worst, worker_seconds(low) / worker_seconds(high));
  return worst;
}

bool keeps_limits(const RealWorld& real, const sim::Job& job, const sim::AloneOutcome& outcome) {
  return outcome.fits &&
         outcome.keeps_limits(job, real.belief->models().convergence->evaluation_deviation(*job.profile, outcome.accuracy));
}

}  // namespace

TEST_CASE("the oracle is never costlier than a choice that keeps the limits", "[invariant]") {
  rc::prop("any static policy, under every billing", [](std::uint64_t seed) {
    sim::Random random(seed);
    const RealWorld real(random_cluster(random), {kModels[random.below(kModels.size())]});
    Bundled bundled(real);
    bundled.costs.billing = static_cast<sim::Billing>(random.below(3));
    if (bundled.costs.billing == sim::Billing::node && random.below(2) == 0)
      bundled.costs.minimum_node_s = random.uniform(0, 7200);
    const sim::Job job = random_job(random, real);
    bundled.history = rich_history(bundled, job);
    const sim::Menu best = bundled.menu("oracle", job);
    const sim::AloneOutcome oracle = bundled.truth(job, best.ranked.front());
    // What the oracle says of its choices is what happens.
    RC_ASSERT(best.feasible == keeps_limits(real, job, oracle));
    RC_ASSERT(best.ranked.front().predicted.cost_usd == oracle.cost_usd);
    for (const char* policy :
         {"manual", "resource-only", "batch-only", "static-isotonic-shared", "random-feasible", "median-feasible"}) {
      const sim::AloneOutcome other = bundled.truth(job, bundled.menu(policy, job).ranked.front());
      if (!keeps_limits(real, job, other)) continue;
      RC_TAG(std::string(policy));
      RC_ASSERT(keeps_limits(real, job, oracle));
      RC_ASSERT(oracle.cost_usd <= other.cost_usd);
    }
  });
}

TEST_CASE("under any objective the oracle is never worse than a choice that keeps the limits", "[invariant]") {
  rc::prop("any static policy", [](std::uint64_t seed) {
    sim::Random random(seed);
    const RealWorld real(random_cluster(random), {kModels[random.below(kModels.size())]});
    Bundled bundled(real);
    sim::Job job = random_job(random, real);
    job.objective = random.below(2) == 0 ? sim::Objective::min_time : sim::Objective::max_accuracy;
    if (random.below(2) == 0) job.cost_limit_usd = std::exp(random.uniform(std::log(0.01), std::log(100.0)));
    const sim::AloneOutcome oracle = bundled.truth(job, bundled.menu("oracle", job).ranked.front());
    for (const char* policy : {"manual", "random-feasible", "median-feasible"}) {
      const sim::AloneOutcome other = bundled.truth(job, bundled.menu(policy, job).ranked.front());
      if (!keeps_limits(real, job, other)) continue;
      RC_TAG(std::string(policy));
      RC_ASSERT(keeps_limits(real, job, oracle));
      // A floor counts as kept from two deviations below; the oracle does not tell such choices apart.
      const double deviation = real.belief->models().convergence->evaluation_deviation(*job.profile, other.accuracy);
      if (job.objective == sim::Objective::min_time)
        RC_ASSERT(oracle.time_s <= other.time_s);
      else if (!std::isnan(other.accuracy))
        RC_ASSERT(oracle.accuracy >= other.accuracy - (job.has_target() ? 2 * deviation : 0));
    }
  });
}

TEST_CASE("relaxing a deadline never raises the oracle's cost", "[invariant]") {
  rc::prop("for a job that was feasible before", [](std::uint64_t seed) {
    sim::Random random(seed);
    const RealWorld real(random_cluster(random), {kModels[random.below(kModels.size())]});
    Bundled bundled(real);
    sim::Job job = random_job(random, real);
    job.deadline_s = std::exp(random.uniform(std::log(60.0), std::log(3e5)));
    double cost_usd = sim::kNever;
    for (int relaxed = 0; relaxed < 6; ++relaxed, job.deadline_s *= random.uniform(1, 3)) {
      const sim::Menu menu = bundled.menu("oracle", job);
      RC_ASSERT(menu.feasible || cost_usd == sim::kNever);  // once feasible, always
      if (!menu.feasible) continue;
      const double now_usd = bundled.truth(job, menu.ranked.front()).cost_usd;
      RC_ASSERT(now_usd <= cost_usd);
      cost_usd = now_usd;
    }
  });
}

TEST_CASE(
    "with a rich history without noise static-isotonic-shared keeps the limits that it promises as far as its runs are monotone",
    "[invariant]") {
  rc::prop("in the world that the history is from", [](std::uint64_t seed) {
    sim::Random random(seed);
    const RealWorld real(random_cluster(random), {kModels[random.below(kModels.size())]});
    Bundled bundled(real);
    const sim::Job job = random_job(random, real);
    bundled.history = rich_history(bundled, job);
    sim::Job as_promised = job;
    as_promised.deadline_s *= disorder(bundled.history);
    for (const char* policy : {"resource-only", "batch-only", "static-isotonic-shared"}) {
      const sim::Menu menu = bundled.menu(policy, job);
      if (!menu.feasible) continue;
      RC_TAG(std::string(policy));
      RC_ASSERT(keeps_limits(real, as_promised, bundled.truth(job, menu.ranked.front())));
    }
  });
}

TEST_CASE("with the same runs a looser deadline never raises the expected cost of static-isotonic's choice", "[invariant]") {
  rc::prop("whatever was measured, with and without what is believed", [](std::uint64_t seed) {
    sim::Random random(seed);
    const RealWorld real(random_cluster(random), {kModels[random.below(kModels.size())]});
    Bundled bundled(real);
    sim::Job job = random_job(random, real);
    std::vector<PastRun> runs = rich_history(bundled, job).runs();
    random.shuffle(std::span(runs));
    runs.resize(std::min<std::size_t>(runs.size(), random.below(12)));
    for (PastRun& run : runs) run.time_s *= random.log_normal_factor(0.3);
    bundled.history = RunHistory(runs);
    const PolicySpec spec{.name = "s", .configure = {"static-isotonic", {{"belief", random.below(2) == 0}}}};
    double before_usd = std::numeric_limits<double>::infinity();
    for (job.deadline_s = 30; job.deadline_s < 1e7; job.deadline_s *= random.uniform(1.1, 4)) {
      const sim::Prediction chosen = Bundle(spec, bundled.inputs()).configure(job, 0).ranked.front().predicted;
      if (std::isnan(chosen.cost_usd)) break;  // nothing is known at all, whatever the deadline
      RC_ASSERT(chosen.cost_usd <= before_usd);
      before_usd = chosen.cost_usd;
    }
  });
}
