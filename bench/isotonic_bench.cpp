// Isotonic regression on noisy monotone data: a fit of n rows, one prediction from it, and all the refits behind a margin.
#include <benchmark/benchmark.h>

#include "policies/learn/isotonic.hpp"
#include "policies/learn/isotonic_learner.hpp"
#include "sim/base/random.hpp"

namespace {

using namespace rehearse;

policies::IsotonicSamples noisy_sum(std::size_t rows, std::size_t dimension) {
  sim::Random random(sim::stream_key(1, 0, "bench", "isotonic"));
  policies::IsotonicSamples samples{.dimension = dimension};
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::size_t d = 0; d < dimension; ++d) {
      samples.x.push_back(random.uniform());
      sum += samples.x.back();
    }
    samples.y.push_back(sum + random.normal(0, 0.3));
  }
  return samples;
}

void fit(benchmark::State& state) {
  const auto samples = noisy_sum(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  for (auto _ : state) benchmark::DoNotOptimize(policies::IsotonicFit::fit(samples));
}

void predict(benchmark::State& state) {
  const auto fitted = policies::IsotonicFit::fit(noisy_sum(static_cast<std::size_t>(state.range(0)), 3));
  const double x[] = {0.4, 0.5, 0.6};
  for (auto _ : state) benchmark::DoNotOptimize(fitted.predict(x));
}

void leave_one_out(benchmark::State& state) {
  const auto samples = noisy_sum(static_cast<std::size_t>(state.range(0)), 3);
  const auto residual = [](const policies::IsotonicFit& fit, std::span<const double> x, double y) { return y - fit.upper(x); };
  for (auto _ : state) benchmark::DoNotOptimize(policies::leave_one_out(samples, residual));
}

}  // namespace

BENCHMARK(fit)
    ->ArgNames({"rows", "dimension"})
    ->ArgsProduct({{100, 1000, 5000}, {3}})
    ->Args({1000, 1})
    ->Args({1000, 4})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(predict)->ArgNames({"rows"})->Arg(100)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK(leave_one_out)->ArgNames({"rows"})->Arg(20)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
