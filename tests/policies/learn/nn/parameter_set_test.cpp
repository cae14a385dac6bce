#include "policies/learn/nn/parameter_set.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/errors.hpp"

using namespace rehearse;
using namespace rehearse::policies;

TEST_CASE("norm and clipping of gradients") {
  ParameterSet p;
  const auto a = p.add("a", Matrix::Ones(1, 2)), b = p.add("b", Matrix::Ones(2, 1));
  CHECK(p.size() == 2);
  CHECK(p.numbers() == 4);
  p.gradient(a)(0, 1) = 3;
  p.gradient(b)(0, 0) = -4;
  // sqrt(9 + 16) = 5; clipped to 1, each is a fifth of it.
  CHECK(p.gradient_norm() == 5);
  CHECK(p.clip_gradients(10) == 5);
  CHECK(p.gradient(b)(0, 0) == -4);
  CHECK(p.clip_gradients(1) == 5);
  CHECK(p.gradient(a)(0, 1) == Approx(0.6));
  CHECK(p.gradient(b)(0, 0) == Approx(-0.8));
  p.clear_gradients();
  CHECK(p.gradient_norm() == 0);
  CHECK(p.finite());
  p.gradient(a)(0, 0) = NAN;
  CHECK_THROWS_AS(p.clip_gradients(1), sim::CheckFailed);
  p.value(b)(1, 0) = INFINITY;
  CHECK_FALSE(p.finite());
}

TEST_CASE("parameters need a new name and numbers") {
  ParameterSet p;
  p.add("a", Matrix::Ones(1, 1));
  CHECK_THROWS_AS(p.add("a", Matrix::Ones(1, 1)), sim::CheckFailed);
  CHECK_THROWS_AS(p.add("", Matrix::Ones(1, 1)), sim::CheckFailed);
  CHECK_THROWS_AS(p.add("b", Matrix(0, 3)), sim::CheckFailed);
}

TEST_CASE("Adam's first two steps by hand") {
  // rate 0.1, beta 0.9 and 0.999, epsilon 1e-8; x = 1, gradients 2 and -1.
  // 1: m = 0.2, v = 0.004; m/(1 - 0.9) = 2, v/(1 - 0.999) = 4;        x = 1 - 0.1 2/(2 + 1e-8) = 0.9 + 5e-10
  // 2: m = 0.18 - 0.1 = 0.08, v = 0.003996 + 0.001 = 0.004996; m/0.19 = 0.4210526316,
  //    v/0.001999 = 2.4992496248, its root 1.5809015228 (+ 1e-8);
  //    x = 0.9 + 5e-10 - 0.1 0.4210526316/1.5809015328 = 0.8733662967
  ParameterSet p;
  const auto x = p.add("x", Matrix::Ones(1, 1));
  Adam adam;
  p.gradient(x)(0, 0) = 2;
  adam.step(p, 0.1);
  CHECK(p.value(x)(0, 0) == Approx(0.9 + 5e-10).epsilon(1e-14));
  p.gradient(x)(0, 0) = -1;
  adam.step(p, 0.1);
  CHECK(p.value(x)(0, 0) == Approx(0.8733662967).epsilon(1e-9));
}

TEST_CASE("plain gradient descent by hand") {
  // 1 - 0.5 3 = -0.5
  ParameterSet p;
  const auto x = p.add("x", Matrix::Ones(1, 1));
  p.gradient(x)(0, 0) = 3;
  sgd_step(p, 0.5);
  CHECK(p.value(x)(0, 0) == -0.5);
}

TEST_CASE("Glorot's limits, and orthogonal matrices") {
  sim::Random random(sim::stream_key(1, 0, "test", "initialise")), same(sim::stream_key(1, 0, "test", "initialise"));
  // gain sqrt(6/(40 + 56)) = 2 0.25 = 0.5; uniform in +-0.5: variance 0.25/3.
  const Matrix glorot = glorot_uniform({40, 56}, 2, random);
  CHECK(glorot.cwiseAbs().maxCoeff() <= 0.5);
  CHECK(glorot.cwiseAbs().maxCoeff() > 0.499);
  CHECK(glorot.squaredNorm() / 2240 == Approx(0.25 / 3).epsilon(0.05));
  CHECK(glorot_uniform({40, 56}, 2, same) == glorot);
  for (const Shape shape : {Shape{4, 7}, Shape{7, 4}, Shape{5, 5}, Shape{1, 3}}) {
    const Matrix m = orthogonal(shape, 3, random);
    CHECK((m.rows() == shape.rows && m.cols() == shape.columns));
    const Matrix gram = shape.rows < shape.columns ? Matrix(m * m.transpose()) : Matrix(m.transpose() * m);
    CHECK(gram.isApprox(9 * Matrix::Identity(gram.rows(), gram.cols()), 1e-14));
  }
}
