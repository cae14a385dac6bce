#include "policies/learn/probe_choice.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "policies/learn/gaussian_learner.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

/// One worker costs a milli-dollar a second on "i", three on "dear"; 10 s of start.
Probe probe(int workers, double batch, double epochs, const std::string& instance = "i") {
  return {.run = {.workers = workers, .batch_size = batch, .samples = 1000},
          .instance = instance,
          .epochs = epochs,
          .usd_per_s = workers * (instance == "i" ? 0.001 : 0.003),
          .start_s = 10};
}

std::vector<Probe> grid() {
  std::vector<Probe> pool;
  for (const int workers : {1, 2, 4, 8})
    for (const double batch : {16.0, 32.0, 64.0, 128.0, 256.0})
      for (const double epochs : {1.0, 2.0, 4.0, 8.0}) pool.push_back(probe(workers, batch, epochs));
  return pool;
}

/// The larger the batch, the faster and the less accurate; workers help less and less.
PastRun measured(const Probe& p) {
  const double n = p.run.workers;
  return {.model = "m",
          .dataset = "d",
          .instance = p.instance,
          .workers = p.run.workers,
          .batch_size = p.run.batch_size,
          .samples = p.run.samples,
          .epochs = p.epochs,
          .time_s = p.epochs * (20 + 2000 / p.run.batch_size) * (1 + 0.1 * (n - 1)) / n,
          .accuracy = 1 - std::pow(1 + 64 * p.epochs / p.run.batch_size, -0.5)};
}

double usd(const Probe& p) { return p.usd_per_s * (p.start_s + measured(p).time_s); }

bool keeps(const sim::Job& job, const Probe& p) {
  return measured(p).accuracy >= job.target_accuracy && p.start_s + measured(p).time_s <= job.deadline_s;
}

/// The cheapest run that kept the limits, after so many probes.
double best_after(ProbeChooser& chooser, const sim::Job& job, int probes, std::uint64_t key) {
  std::vector<Probe> pool = grid();
  std::vector<PastRun> seen;
  double best = sim::kNever;
  for (int i = 0; i < probes; ++i) {
    const std::size_t next = chooser.next({.pool = pool,
                                           .seen = seen,
                                           .typical = job,
                                           .budget = static_cast<std::size_t>(probes),
                                           .random_key = key + static_cast<std::uint64_t>(i)});
    REQUIRE(next < pool.size());
    seen.push_back(measured(pool[next]));
    if (keeps(job, pool[next])) best = std::min(best, usd(pool[next]));
    pool.erase(pool.begin() + static_cast<std::ptrdiff_t>(next));
  }
  return best;
}

const sim::Job kLimited{.name = "j", .work = sim::Work::train, .target_accuracy = 0.7, .deadline_s = 400};

}  // namespace

TEST_CASE("random probes train any configuration to the end") {
  const std::vector<Probe> pool = grid();
  RandomProbes chooser;
  std::set<std::pair<int, double>> configurations;
  for (std::uint64_t key = 0; key < 300; ++key) {
    const Probe& next = pool[chooser.next({.pool = pool, .seen = {}, .typical = kLimited, .random_key = key})];
    CHECK(next.epochs == 8);
    configurations.emplace(next.run.workers, next.run.batch_size);
  }
  CHECK(configurations.size() == 20);
}

// Two instances, two random probes for each: 4, and of a budget of 9 at most a third, 3.
TEST_CASE("Bayesian probes start at random") {
  std::vector<Probe> pool = grid();
  for (const Probe& p : grid()) pool.push_back(probe(p.run.workers, p.run.batch_size, p.epochs, "dear"));
  BayesianProbes chooser(2);
  const auto choices = [&](std::size_t seen, std::size_t budget) {
    std::vector<PastRun> runs;
    for (std::size_t i = 0; i < seen; ++i) runs.push_back(measured(pool[i * 37]));
    std::set<std::size_t> found;
    for (std::uint64_t key = 0; key < 5; ++key)
      found.insert(chooser.next({.pool = pool, .seen = runs, .typical = kLimited, .budget = budget, .random_key = key}));
    return found.size();
  };
  CHECK(choices(0, 60) > 1);
  CHECK(choices(3, 60) > 1);
  CHECK(choices(4, 60) == 1);
  CHECK(choices(2, 9) > 1);
  CHECK(choices(3, 9) == 1);
}

TEST_CASE("the next probe has the largest expected improvement x probability of keeping the limits") {
  std::vector<Probe> pool = grid();
  std::vector<PastRun> seen;
  const auto known = [](const Probe& p) { return p.run.workers == 4 || p.run.batch_size == 64; };
  for (const Probe& p : pool)
    if (known(p)) seen.push_back(measured(p));
  std::erase_if(pool, known);
  // The best so far: 4 workers at batch 16 for 4 epochs, 4 x 145 x 1.3 / 4 = 188.5 s and 10 s of start at 0.004 dollars a second.
  const double best = 0.004 * 198.5;
  double most_accurate_seen = 0;
  for (const PastRun& run : seen)
    if (10 + run.time_s <= 400) most_accurate_seen = std::max(most_accurate_seen, run.accuracy);
  const GaussianTimes times(seen, 0);
  const GaussianAccuracies accuracies(seen, 0);
  const auto chosen = [&](const sim::Job& job) {
    return BayesianProbes(3).next({.pool = pool, .seen = seen, .typical = job, .random_key = 1});
  };
  std::size_t cheapest = 0, fastest = 0, most_accurate = 0;
  std::array<double, 3> most{-1, -1, -1};
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const Gaussian epoch = times.log_epoch_time(pool[i].run), accuracy = accuracies.distribution(pool[i].run, pool[i].epochs);
    const double running_s = pool[i].epochs * std::exp(epoch.mean), seconds = 10 + running_s;
    const Gaussian log_time{std::log(seconds), epoch.deviation * running_s / seconds};  // d log(10 + e^x)/dx = e^x/(10 + e^x)
    const Gaussian log_money{std::log(seconds * pool[i].usd_per_s), log_time.deviation};
    const double in_time = probability_at_most(std::log(400), log_time), accurate = 1 - probability_at_most(0.7, accuracy);
    const std::array<double, 3> merit{in_time * accurate * expected_improvement(std::log(best), log_money),
                                      in_time * accurate * expected_improvement(std::log(198.5), log_time),
                                      in_time * expected_improvement(-most_accurate_seen, {-accuracy.mean, accuracy.deviation})};
    for (std::size_t m = 0; m < merit.size(); ++m) {
      if (merit[m] <= most[m]) continue;
      most[m] = merit[m];
      (m == 0 ? cheapest : m == 1 ? fastest : most_accurate) = i;
    }
  }
  CHECK(chosen(kLimited) == cheapest);
  sim::Job other = kLimited;
  other.objective = sim::Objective::min_time;
  CHECK(chosen(other) == fastest);
  other.objective = sim::Objective::max_accuracy;
  other.target_accuracy = sim::kUnset;
  CHECK(chosen(other) == most_accurate);
}

TEST_CASE("until a run has kept the limits, the likeliest to keep them is next") {
  sim::Job strict = kLimited;
  strict.deadline_s = 1;
  std::vector<Probe> pool = grid();
  std::vector<PastRun> seen;
  for (std::size_t i = 0; i < pool.size(); i += 7) seen.push_back(measured(pool[i]));
  const std::size_t next = BayesianProbes(3).next({.pool = pool, .seen = seen, .typical = strict, .random_key = 1});
  strict.deadline_s = sim::kNever;
  const GaussianAccuracies accuracies(seen, 0);
  strict.target_accuracy = 0.999;
  double likeliest = -1;
  std::size_t expected = 0;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const Gaussian accuracy = accuracies.distribution(pool[i].run, pool[i].epochs);
    const double p = probability_at_most(-0.999, {-accuracy.mean, accuracy.deviation});  // of at least 0.999
    if (p <= likeliest) continue;
    likeliest = p;
    expected = i;
  }
  CHECK(BayesianProbes(3).next({.pool = pool, .seen = seen, .typical = strict, .random_key = 1}) == expected);
  CHECK(next < pool.size());  // a deadline that nothing can keep is no reason to fail
}

TEST_CASE("Bayesian probes find a cheaper run than as many random ones") {
  double bayesian = 0, random = 0;
  for (std::uint64_t key = 0; key < 10; ++key) {
    BayesianProbes by_improvement(3);
    RandomProbes at_random;
    const double found = best_after(by_improvement, kLimited, 14, 100 * key),
                 drawn = best_after(at_random, kLimited, 14, 100 * key);
    REQUIRE(found != sim::kNever);
    bayesian += found;
    random += std::min(drawn, 2.0);  // two dollars where none was found
  }
  CHECK(bayesian < random);
}
