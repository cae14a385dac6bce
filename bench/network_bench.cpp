// Neural networks of the sizes that the learning policies use: learning passes with Adam's step, and decisions.
#include <benchmark/benchmark.h>

#include <type_traits>
#include <vector>

#include "policies/learn/nn/layers.hpp"
#include "policies/learn/nn/parameter_set.hpp"

namespace {

using namespace rehearse;
using namespace rehearse::policies;

Matrix uniform(Shape shape, sim::Random& random) {
  Matrix m(shape.rows, shape.columns);
  for (double& x : numbers_of(m)) x = random.uniform(-1, 1);
  return m;
}

sim::Random numbers() { return sim::Random(sim::stream_key(1, 0, "bench", "network")); }

struct Perceptron {
  explicit Perceptron(Eigen::Index rows)
      : random(numbers()),
        mlp({parameters, random}, "mlp", {.inputs = 40, .hidden = {128, 128}, .outputs = 64}),
        x(uniform({rows, 40}, random)) {}
  Var loss(Tape& tape) const { return tape.mean(tape.square(tape.log_softmax(mlp(tape, tape.constant(x))))); }

  ParameterSet parameters;
  sim::Random random;
  Mlp mlp;
  Matrix x;
};

void mlp_learn(benchmark::State& state) {
  Perceptron p(state.range(0));
  Tape tape(p.parameters);
  Adam adam;
  for (auto _ : state) {
    tape.clear();
    p.parameters.clear_gradients();
    tape.backward(p.loss(tape));
    adam.step(p.parameters, 1e-4);
  }
}

void mlp_forward_backward(benchmark::State& state) {
  Perceptron p(state.range(0));
  Tape tape(p.parameters);
  for (auto _ : state) {
    tape.clear();
    tape.backward(p.loss(tape));
  }
}

void mlp_decide(benchmark::State& state) {
  const Perceptron p(state.range(0));
  Tape tape(p.parameters);
  for (auto _ : state) {
    tape.clear();
    benchmark::DoNotOptimize(tape.value(tape.softmax(p.mlp(tape, tape.constant(p.x)))).data());
  }
}

struct NoAttention {};

/// An encoder over `steps` steps, rows = sequences side by side; with attention, over one sequence, and a decoder of `rows`
/// samples that looks at all of it in each step.
template <class Attention>
void lstm(benchmark::State& state) {
  constexpr bool attends = !std::is_same_v<Attention, NoAttention>;
  const auto rows = static_cast<std::int32_t>(state.range(0)), steps = static_cast<std::int32_t>(state.range(1));
  constexpr Eigen::Index kUnits = 64;
  ParameterSet parameters;
  sim::Random random = numbers();
  const LstmCell encoder({parameters, random}, "encoder", {.inputs = kUnits, .units = kUnits});
  const LstmCell decoder({parameters, random}, "decoder", {.inputs = kUnits, .units = kUnits});
  const auto attention = [&] {
    if constexpr (attends)
      return Attention({parameters, random}, "attention", {.query = kUnits, .memory = kUnits, .units = kUnits});
    else
      return NoAttention{};
  }();
  const Matrix x = uniform({attends ? steps : steps * rows, kUnits}, random);
  Tape tape(parameters);
  // Step t of a cell over `width` sequences.
  const auto input = [&](Var projected, std::int32_t t, std::int32_t width) {
    std::vector<std::int32_t> at;
    for (std::int32_t row = 0; row < width; ++row) at.push_back(t * width + row);
    return tape.gather(projected, at);
  };
  for (auto _ : state) {
    tape.clear();
    const std::int32_t width = attends ? 1 : rows;  // one memory serves all decoded samples
    const Var projected = encoder.project(tape, tape.constant(x));
    auto encoded = encoder.begin(tape, width);
    std::vector<Var> hidden;
    for (std::int32_t t = 0; t < steps; ++t) {
      encoded = encoder.step(tape, input(projected, t, width), encoded);
      hidden.push_back(encoded.h);
    }
    if constexpr (attends) {
      const Var memory = tape.stack(hidden), keys = attention.keys(tape, memory);
      auto decoded = decoder.begin(tape, rows);
      hidden.clear();
      for (std::int32_t t = 0; t < steps; ++t) {
        const Var weights = tape.softmax(attention.scores(tape, decoded.h, keys));
        decoded = decoder.step(tape, decoder.project(tape, tape.matmul(weights, memory)), decoded);
        hidden.push_back(decoded.h);
      }
    }
    tape.backward(tape.sum(tape.square(tape.stack(hidden))));
  }
}

}  // namespace

BENCHMARK(mlp_forward_backward)->ArgName("rows")->Arg(64)->Unit(benchmark::kMicrosecond);
BENCHMARK(mlp_learn)->ArgName("rows")->Arg(64)->Unit(benchmark::kMicrosecond);
BENCHMARK(mlp_decide)->ArgName("rows")->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(lstm, NoAttention)
    ->ArgNames({"rows", "steps"})
    ->ArgsProduct({{1, 10, 64}, {64}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(lstm, ProductAttention)
    ->ArgNames({"rows", "steps"})
    ->ArgsProduct({{1, 10}, {200}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_TEMPLATE(lstm, AdditiveAttention)
    ->ArgNames({"rows", "steps"})
    ->ArgsProduct({{1, 10}, {200}})
    ->Unit(benchmark::kMicrosecond);

BENCHMARK_MAIN();
