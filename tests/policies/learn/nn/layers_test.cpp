#include "policies/learn/nn/layers.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/policies/draws.hpp"
#include "tests/policies/learn/nn/gradient_check.hpp"

using namespace rehearse;
using namespace rehearse::policies;
using rehearse::tests::gradient_error;
using rehearse::tests::random_matrix;
using rehearse::tests::whole;

namespace {

/// Names are those that the layers gave.
void set(ParameterSet& p, std::string_view name, const Matrix& value) {
  for (std::size_t i = 0; i < p.size(); ++i)
    if (p.name({i}) == name) {
      REQUIRE((p.value({i}).rows() == value.rows() && p.value({i}).cols() == value.cols()));
      p.value({i}) = value;
      return;
    }
  FAIL("no parameter " << name);
}

bool same(const ConstMatrixView& a, const ConstMatrixView& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && (a.array() == b.array()).all();
}

}  // namespace

TEST_CASE("an LSTM step by hand") {
  // One unit; x = 1, h = 1, c = -1. Before the gates: i = 1 - 1 + 0 = 0, f = 0.5 + (ln 3 - 1.5) + 1 = ln 3, g = ln 2, o = ln 4.
  // sigmoid(ln k) = k/(k + 1), tanh(ln 2) = (4 - 1)/(4 + 1): i = 0.5, f = 0.75, g = 0.6, o = 0.8.
  // c' = 0.75 (-1) + 0.5 0.6 = -0.45, h' = 0.8 tanh(-0.45) = -0.3375192
  ParameterSet p;
  sim::Random random(1);
  const LstmCell cell({p, random}, "lstm", {.inputs = 1, .units = 1});
  CHECK(p.value({1}) == Matrix({{0, 1, 0, 0}}));  // the bias as it begins
  set(p, "lstm/input/weight", Matrix({{1, 0.5, std::log(2), 0}}));
  set(p, "lstm/recurrent", Matrix({{-1, std::log(3) - 1.5, 0, std::log(4)}}));
  Tape t(std::as_const(p));
  const auto state = cell.step(t, cell.project(t, t.constant({1, 1}, 1)), {t.constant({1, 1}, 1), t.constant({1, 1}, -1)});
  CHECK(t.number(state.c) == Approx(-0.45).epsilon(1e-14));
  CHECK(t.number(state.h) == Approx(0.8 * std::tanh(-0.45)).epsilon(1e-14));
}

TEST_CASE("attention by hand") {
  // Query 1, memory rows 0 and 2; W = 1, U = 0.5, v = 3: scores 3 tanh(1) and 3 tanh(2).
  // Clipped to 10 tanh(score/2).
  ParameterSet p;
  sim::Random random(1);
  const AdditiveAttention attention({p, random}, "attention", {.query = 1, .memory = 1, .units = 1});
  set(p, "attention/query", Matrix({{1}}));
  set(p, "attention/memory", Matrix({{0.5}}));
  set(p, "attention/direction", Matrix({{3}}));
  Tape t(std::as_const(p));
  const Var keys = attention.keys(t, t.constant(Matrix({{0}, {2}})));
  const Var scores = attention.scores(t, t.constant(Matrix({{1}})), keys);
  const double first = 3 * std::tanh(1), second = 3 * std::tanh(2);
  CHECK(t.value(scores).isApprox(Matrix({{first, second}}), 1e-14));
  CHECK(t.value(clip_scores(t, scores, {.temperature = 2, .bound = 10}))
            .isApprox(Matrix({{10 * std::tanh(first / 2), 10 * std::tanh(second / 2)}}), 1e-14));
}

TEST_CASE("product attention by hand") {
  // Query 2, memory rows (1, 0) and (0, 3); W = (1 2), U the identity: scores (2 4) . row / sqrt 2 = 2/sqrt 2 and 12/sqrt 2.
  ParameterSet p;
  sim::Random random(1);
  const ProductAttention attention({p, random}, "attention", {.query = 1, .memory = 2, .units = 2});
  set(p, "attention/query", Matrix({{1, 2}}));
  set(p, "attention/memory", Matrix::Identity(2, 2));
  Tape t(std::as_const(p));
  const Var scores = attention.scores(t, t.constant(Matrix({{2}})), attention.keys(t, t.constant(Matrix({{1, 0}, {0, 3}}))));
  CHECK(t.value(scores).isApprox(Matrix({{std::sqrt(2), 6 * std::sqrt(2)}}), 1e-15));
}

TEST_CASE("gradients of the layers") {
  sim::Random random(sim::stream_key(1, 0, "test", "layers"));
  SECTION("a perceptron of either activation") {
    for (const Activation activation : {Activation::tanh, Activation::relu}) {
      ParameterSet p;
      const Mlp mlp({p, random}, "mlp", {.inputs = 3, .hidden = {5, 4}, .outputs = 2, .activation = activation});
      const Matrix x = random_matrix({6, 3}, random);
      CHECK(p.size() == 6);
      CHECK(gradient_error(p, [&](Tape& t) { return mlp(t, t.constant(x)); }) < 1e-7);
    }
  }
  SECTION("four steps of an LSTM, and attention to them") {
    ParameterSet p;
    const LstmCell cell({p, random}, "lstm", {.inputs = 3, .units = 4});
    const AdditiveAttention attention({p, random}, "attention", {.query = 4, .memory = 4, .units = 3});
    const Matrix x = random_matrix({4, 3}, random);
    CHECK(gradient_error(p, [&](Tape& t) {
            const Var inputs = cell.project(t, t.constant(x));
            auto state = cell.begin(t, 1);
            std::vector<Var> hidden;
            for (std::int32_t step = 0; step < 4; ++step) {
              state = cell.step(t, t.gather(inputs, {&step, 1}), state);
              hidden.push_back(state.h);
            }
            const Var memory = t.stack(hidden);
            const Var scores = clip_scores(t, attention.scores(t, memory, attention.keys(t, memory)), {});
            return t.matmul(t.softmax(scores), memory);
          }) < 1e-7);
  }
}

TEST_CASE("a sample has the same bits alone and in a batch") {
  rc::prop("perceptron, LSTM step and attention", [] {
    ParameterSet p;
    sim::Random random(*rc::gen::arbitrary<std::uint64_t>());
    const int inputs = whole(1, 40), units = whole(1, 40), rows = whole(2, 9), memory_rows = whole(1, 9);
    const Mlp mlp({p, random}, "mlp", {.inputs = inputs, .hidden = {units}, .outputs = inputs});
    const LstmCell cell({p, random}, "lstm", {.inputs = inputs, .units = units});
    const AdditiveAttention attention({p, random}, "attention", {.query = units, .memory = inputs, .units = inputs});
    const ProductAttention products({p, random}, "products", {.query = units, .memory = inputs, .units = inputs});
    const Matrix x = random_matrix({rows, inputs}, random), memory = random_matrix({memory_rows, inputs}, random);
    const auto run = [&](Tape& t, const Matrix& samples) {
      const Var state = cell.step(t, cell.project(t, mlp(t, t.constant(samples))), cell.begin(t, samples.rows())).h;
      const Var kept = t.constant(memory);
      return t.log_softmax(
          t.add(attention.scores(t, state, attention.keys(t, kept)), products.scores(t, state, products.keys(t, kept))));
    };
    Tape batch(p), alone(std::as_const(p));
    const ConstMatrixView all = batch.value(run(batch, x));
    for (int i = 0; i < rows; ++i) {
      alone.clear();
      const ConstMatrixView one = alone.value(run(alone, x.row(i)));
      RC_ASSERT(same(one, {all.data() + i * all.cols(), 1, all.cols()}));
    }
  });
}
