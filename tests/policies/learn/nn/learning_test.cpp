// Whole trainings, small and from fixed seeds.
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "policies/learn/nn/layers.hpp"
#include "policies/learn/nn/network_state.hpp"
#include "policies/learn/nn/parameter_set.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

struct Trained {
  double loss;
  NetworkState network;
};

/// Four points, labels 1 where the coordinates differ: no linear classifier gets below log 2 = 0.69.
Trained exclusive_or(std::uint64_t seed) {
  ParameterSet p;
  sim::Random random(sim::stream_key(seed, 0, "test", "xor"));
  const Mlp mlp({p, random}, "mlp", {.inputs = 2, .hidden = {8}, .outputs = 2});
  const Matrix x({{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  const std::vector<std::int32_t> labels{0, 1, 1, 0};
  Tape t(p);
  Adam adam;
  double loss = 0;
  for (int step = 0; step < 400; ++step) {
    t.clear();
    const Var l = t.scale(t.mean(t.pick(t.log_softmax(mlp(t, t.constant(x))), labels)), -1);
    loss = t.number(l);
    p.clear_gradients();
    t.backward(l);
    p.clip_gradients(1);
    adam.step(p, 0.03);
  }
  return {loss, save(p, {.kind = "xor", .seed = seed})};
}

}  // namespace

TEST_CASE("a perceptron learns exclusive or, the same bits from the same seed") {
  const Trained first = exclusive_or(1), again = exclusive_or(1), other = exclusive_or(2);
  CHECK(first.loss < 0.01);
  CHECK(other.loss < 0.01);
  CHECK(first.network == again.network);
  CHECK(first.network.matrices != other.network.matrices);
}

TEST_CASE("an LSTM learns to remember its first input over five steps") {
  // Guessing has loss log 2 = 0.69; the only way below is through the state.
  ParameterSet p;
  sim::Random random(sim::stream_key(1, 0, "test", "memory"));
  const LstmCell cell({p, random}, "lstm", {.inputs = 1, .units = 8});
  const Linear out({p, random}, "out", {.inputs = 8, .outputs = 2});
  Tape t(p);
  Adam adam;
  double loss = 0;
  for (int update = 0; update < 300; ++update) {
    constexpr int kSamples = 16, kSteps = 5;
    Matrix inputs(kSteps * kSamples, 1);  // step after step
    for (double& x : numbers_of(inputs)) x = random.below(2) == 0 ? -1 : 1;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < kSamples; ++i) labels.push_back(inputs(i, 0) > 0 ? 1 : 0);
    t.clear();
    const Var projected = cell.project(t, t.constant(inputs));
    auto state = cell.begin(t, kSamples);
    for (int step = 0; step < kSteps; ++step) {
      std::vector<std::int32_t> rows;
      for (int i = 0; i < kSamples; ++i) rows.push_back(step * kSamples + i);
      state = cell.step(t, t.gather(projected, rows), state);
    }
    const Var l = t.scale(t.mean(t.pick(t.log_softmax(out(t, state.h)), labels)), -1);
    loss = t.number(l);
    p.clear_gradients();
    t.backward(l);
    p.clip_gradients(1);
    adam.step(p, 0.02);
  }
  CHECK(loss < 0.05);
}
