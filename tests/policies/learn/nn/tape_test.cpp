#include "policies/learn/nn/tape.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <new>

#include "policies/learn/nn/layers.hpp"
#include "sim/base/errors.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

std::size_t allocations = 0;

Matrix matrix(std::initializer_list<std::initializer_list<double>> rows) { return Matrix(rows); }

}  // namespace

// Every allocation of this program is counted; Eigen's own, by malloc, would not be, but the tape's memory is no Eigen matrix.
void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("two layers, backward by hand") {
  // x = (1, 2);  x W1 + b1 = (0.5 + 2 0.25, -1 + 2 0) + (0, 0.5) = (1, -0.5);  relu: h = (1, 0)
  // y = h W2 + b2 = 2 - 1 = 1;  loss = (y - 3)^2 = 4;  dy = 2 (1 - 3) = -4
  // dW2 = h' dy = (-4, 0)', db2 = -4, dh = dy W2' = (-8, -12), before relu (-8, 0)
  // db1 = (-8, 0), dW1 = x' (-8, 0) = ((-8, 0), (-16, 0))
  ParameterSet p;
  const auto w1 = p.add("w1", matrix({{0.5, -1}, {0.25, 0}})), b1 = p.add("b1", matrix({{0, 0.5}}));
  const auto w2 = p.add("w2", matrix({{2}, {3}})), b2 = p.add("b2", matrix({{-1}}));
  Tape t(p);
  const Var h = t.relu(t.add(t.matmul(t.constant(matrix({{1, 2}})), t.parameter(w1)), t.parameter(b1)));
  const Var y = t.add(t.matmul(h, t.parameter(w2)), t.parameter(b2));
  const Var loss = t.square(t.affine(y, 1, -3));
  CHECK(t.number(loss) == 4);
  t.backward(loss);
  CHECK(p.gradient(w2) == matrix({{-4}, {0}}));
  CHECK(p.gradient(b2) == matrix({{-4}}));
  CHECK(p.gradient(b1) == matrix({{-8, 0}}));
  CHECK(p.gradient(w1) == matrix({{-8, 0}, {-16, 0}}));
  t.backward(loss);  // adds up
  CHECK(p.gradient(w1) == matrix({{-16, 0}, {-32, 0}}));
}

TEST_CASE("a parameter used twice, and one behind stop_gradient") {
  // loss = x x + stop(x) x: d = 2x + stop(x) = 9 at 3; the stopped factor gives nothing.
  ParameterSet p;
  const auto x = p.add("x", matrix({{3}}));
  Tape t(p);
  const Var v = t.parameter(x);
  t.backward(t.add(t.multiply(v, t.parameter(x)), t.multiply(t.stop_gradient(v), v)));
  CHECK(p.gradient(x)(0, 0) == 9);
  p.clear_gradients();
  t.backward(t.stop_gradient(v));
  CHECK(p.gradient(x)(0, 0) == 0);
}

TEST_CASE("a clipped surrogate: the gradient ends where the clip acts") {
  // PPO (Schulman et al. 2017, equation 7) with clip 0.2: min(r A, clamp(r, 0.8, 1.2) A), ratios r and advantages A.
  //   r = 1.5, A = 1: 1.2, clipped, gradient 0.      r = 1.5, A = -1: -1.5, gradient A = -1.
  //   r = 0.5, A = -1: -0.8, clipped, gradient 0.    r = 1.1, A = 2: 2.2, gradient A = 2.
  ParameterSet p;
  const auto r = p.add("ratio", matrix({{1.5}, {1.5}, {0.5}, {1.1}}));
  Tape t(p);
  const Var ratio = t.parameter(r), advantage = t.constant(matrix({{1}, {-1}, {-1}, {2}}));
  const Var surrogate = t.minimum(t.multiply(ratio, advantage), t.multiply(t.clamp(ratio, 0.8, 1.2), advantage));
  CHECK(t.value(surrogate).isApprox(matrix({{1.2}, {-1.5}, {-0.8}, {2.2}}), 1e-15));
  t.backward(t.sum(surrogate));
  CHECK(p.gradient(r) == matrix({{0}, {-1}, {0}, {2}}));
}

TEST_CASE("softmax of large scores and under a mask") {
  // e^1000 overflows; 1 / (1 + e) and e / (1 + e) do not. A forbidden choice has probability 0 to the last bit, whatever its
  // score.
  const ParameterSet none;
  Tape t(none);
  const Var scores = t.constant(matrix({{1000, 1001, 1e300}, {-1000, -1001, 0}}));
  const Var mask = t.constant(matrix({{0, 0, kForbidden}}));
  const double e = std::exp(1.0);
  const Var p = t.softmax(scores, mask), l = t.log_softmax(scores, mask);
  CHECK(t.value(p).isApprox(matrix({{1 / (1 + e), e / (1 + e), 0}, {e / (1 + e), 1 / (1 + e), 0}}), 1e-15));
  CHECK((t.value(p)(0, 2) == 0 && t.value(p)(1, 2) == 0));
  CHECK((t.value(l)(0, 2) == kForbidden && t.value(l)(1, 2) == kForbidden));
  CHECK(t.value(l)(0, 0) == Approx(-std::log(1 + e)).epsilon(1e-15));
  // entropy = -(p log p + q log q), the forbidden one giving 0 log 0 = 0.
  const double q = 1 / (1 + e);
  CHECK(t.value(t.entropy(l))(0, 0) == Approx(-q * std::log(q) - (1 - q) * std::log(1 - q)).epsilon(1e-14));
  const Var single = t.log_softmax(scores, t.constant(matrix({{kForbidden, 0, kForbidden}})));
  CHECK(t.value(single)(0, 1) == 0);
  CHECK(t.value(t.entropy(single))(0, 0) == 0);
  CHECK_THROWS_AS(t.softmax(scores, t.constant({2, 3}, kForbidden)), sim::CheckFailed);
}

TEST_CASE("look-up, picks and parts") {
  const ParameterSet none;
  Tape t(none);
  const Var x = t.constant(matrix({{1, 2, 3}, {4, 5, 6}}));
  const std::int32_t rows[] = {1, 0, 1}, columns[] = {2, 0};
  CHECK(t.value(t.gather(x, rows)) == matrix({{4, 5, 6}, {1, 2, 3}, {4, 5, 6}}));
  CHECK(t.value(t.pick(x, columns)) == matrix({{3}, {4}}));
  CHECK(t.value(t.columns(x, 1, 2)) == matrix({{2, 3}, {5, 6}}));
  CHECK(t.value(t.side_by_side({t.columns(x, 2, 1), x})) == matrix({{3, 1, 2, 3}, {6, 4, 5, 6}}));
  CHECK(t.value(t.stack({x, t.constant(matrix({{7, 8, 9}}))})) == matrix({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}));
  CHECK(t.value(t.reshape(x, {3, 2})) == matrix({{1, 2}, {3, 4}, {5, 6}}));
  CHECK(t.value(t.matmul_transposed(x, t.constant(matrix({{1, 0, 1}})))) == matrix({{4}, {10}}));
  CHECK(t.value(t.row_sum(x)) == matrix({{6}, {15}}));
  CHECK(t.number(t.mean(x)) == Approx(3.5).epsilon(1e-15));
}

TEST_CASE("shapes that do not fit are found at once") {
  ParameterSet p;
  Tape t(p);
  const Var a = t.constant({2, 3}, 1), b = t.constant({2, 2}, 1);
  const std::int32_t outside[] = {0, 3};
  CHECK_THROWS_AS(t.matmul(a, b), sim::CheckFailed);
  CHECK_THROWS_AS(t.add(a, b), sim::CheckFailed);
  CHECK_THROWS_AS(t.add(t.columns(a, 0, 1), a), sim::CheckFailed);  // it is the second that repeats
  CHECK_THROWS_AS(t.minimum(a, b), sim::CheckFailed);
  CHECK_THROWS_AS(t.matmul_transposed(a, b), sim::CheckFailed);
  CHECK_THROWS_AS(t.additive_scores(a, a, b), sim::CheckFailed);
  CHECK_THROWS_AS(t.softmax(a, b), sim::CheckFailed);
  CHECK_THROWS_AS(t.pick(a, outside), sim::CheckFailed);
  CHECK_THROWS_AS(t.pick(a, std::span(outside, 1)), sim::CheckFailed);
  CHECK_THROWS_AS(t.gather(a, outside), sim::CheckFailed);
  CHECK_THROWS_AS(t.columns(a, 2, 2), sim::CheckFailed);
  CHECK_THROWS_AS(t.side_by_side({a, t.constant({3, 3}, 1)}), sim::CheckFailed);
  CHECK_THROWS_AS(t.stack({a, b}), sim::CheckFailed);
  CHECK_THROWS_AS(t.stack({}), sim::CheckFailed);
  CHECK_THROWS_AS(t.reshape(a, {4, 2}), sim::CheckFailed);
  CHECK_THROWS_AS(t.constant({0, 2}, 1), sim::CheckFailed);
  CHECK_THROWS_AS(t.backward(a), sim::CheckFailed);
  CHECK_THROWS_AS(t.number(a), sim::CheckFailed);
}

TEST_CASE("deciding: the bits of learning, without gradients and without allocating") {
  ParameterSet p;
  sim::Random random(sim::stream_key(1, 0, "test", "tape"));
  const Mlp mlp({p, random}, "mlp", {.inputs = 5, .hidden = {33, 17}, .outputs = 6});
  const Matrix x = Matrix::Random(1, 5), mask = matrix({{0, kForbidden, 0, 0, kForbidden, 0}});
  const auto decide = [&](Tape& t) {
    t.clear();
    return t.log_softmax(mlp(t, t.constant(x)), t.constant(mask));
  };
  Tape learning(p), deciding(std::as_const(p));
  const Matrix expected = learning.value(decide(learning));
  CHECK(Matrix(deciding.value(decide(deciding))) == expected);
  CHECK_THROWS_AS(deciding.backward(deciding.sum(deciding.constant(x))), sim::CheckFailed);

  const std::size_t before = allocations;
  const Var again = decide(deciding);
  CHECK(allocations == before);
  CHECK(Matrix(deciding.value(again)) == expected);

  const auto learn = [&] {
    learning.backward(learning.sum(learning.square(learning.softmax(mlp(learning, learning.constant(x))))));
  };
  for (int warm_up = 0; warm_up < 2; ++warm_up) {
    learning.clear();
    learn();
  }
  learning.clear();
  const std::size_t after_warm_up = allocations;
  learn();
  CHECK(allocations == after_warm_up);
}
