// static-isotonic-shared's answer for one job over very many configurations: predictions and ranking, the fits made before.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "policies/configure/from_history.hpp"
#include "policies/configure/menu.hpp"
#include "policies/learn/isotonic_learner.hpp"
#include "sim/base/random.hpp"
#include "tests/workloads/real_world.hpp"

namespace {

using namespace rehearse;

/// Pools of 8 nodes with 4 V100 each: 6 numbers of workers and 11 batches, but for those that do not fit.
tests::RealWorld many_pools(int pools) {
  std::vector<tests::PoolSheet> sheets;
  for (int i = 0; i < pools; ++i) sheets.push_back({fmt::format("pool-{}", i), "v100", 8, 4, 10.0 + i});
  return tests::RealWorld(tests::real_cluster(sheets), {{"resnet18", "cifar10"}});
}

policies::RunHistory past_runs(const tests::RealWorld& real) {
  sim::Random random(sim::stream_key(1, 0, "bench", "ranking"));
  std::vector<policies::PastRun> runs;
  for (const sim::Instance& instance : real.cluster.instances) {
    for (int i = 0; i < 20; ++i) {
      policies::PastRun run{.model = "resnet18", .dataset = "cifar10", .instance = instance.name, .samples = 50'000};
      run.workers = 1 << random.below(6);
      run.batch_size = 4 << random.below(11);
      run.epochs = 1 << random.below(7);
      run.time_s = run.epochs * (10 + 3000 / run.batch_size) / run.workers * random.log_normal_factor(0.1);
      run.accuracy = 0.95 - 0.6 / (1 + run.epochs / 4) - 0.02 * random.uniform();
      runs.push_back(std::move(run));
    }
  }
  return policies::RunHistory(std::move(runs));
}

void rank(benchmark::State& state) {
  const tests::RealWorld real = many_pools(static_cast<int>(state.range(0)));
  const policies::RunHistory history = past_runs(real);
  sim::Job job{.name = "j", .profile = &real.profile(), .work = sim::Work::train, .target_accuracy = 0.8, .deadline_s = 3600};
  const std::vector<sim::Configuration> candidates = policies::candidate_configurations(job, real.cluster, *real.belief, {});
  const std::function<sim::Prediction(const sim::Configuration&)> nothing;
  policies::FromHistory strategy(std::make_unique<policies::IsotonicLearner>(policies::IsotonicOptions{}));
  const auto answer = [&] {
    return strategy.configure({.job = job,
                               .cluster = real.cluster,
                               .costs = {},
                               .candidates = candidates,
                               .manual = candidates.front(),
                               .estimate = nothing,
                               .history = &history},
                              *real.belief);
  };
  answer();  // fits
  for (auto _ : state) {
    job.target_accuracy += 1e-9;  // another floor: nothing of the last answer helps
    benchmark::DoNotOptimize(answer());
  }
  state.counters["configurations"] = static_cast<double>(candidates.size());
}

}  // namespace

BENCHMARK(rank)->ArgNames({"pools"})->Arg(3)->Arg(160)->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
