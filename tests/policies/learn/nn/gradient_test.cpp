// Every operation's gradient against finite differences, on random shapes.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/policies/draws.hpp"
#include "tests/policies/learn/nn/gradient_check.hpp"

using namespace rehearse;
using namespace rehearse::policies;
using rehearse::tests::gradient_error;
using rehearse::tests::Network;
using rehearse::tests::random_matrix;
using rehearse::tests::whole;

namespace {

sim::Random any_numbers() { return sim::Random(*rc::gen::arbitrary<std::uint64_t>()); }

constexpr double kTolerance = 1e-7;

using Unary = Var (*)(Tape&, Var);

/// An operation on one matrix of random shape, whose numbers are first mapped to (offset - 2, offset + 2).
void check_unary(const std::string& name, Unary op, double offset = 0) {
  rc::prop(name, [=] {
    ParameterSet parameters;
    sim::Random random = any_numbers();
    const auto x = parameters.add("x", random_matrix({whole(1, 4), whole(1, 5)}, random));
    RC_ASSERT(gradient_error(parameters, [&](Tape& t) { return op(t, t.affine(t.parameter(x), 1, offset)); }) < kTolerance);
  });
}

using Binary = Var (*)(Tape&, Var, Var);

/// An operation on an m x n matrix and one of a shape that repeats to it.
void check_binary(const std::string& name, Binary op, bool repeats) {
  rc::prop(name, [=] {
    ParameterSet parameters;
    sim::Random random = any_numbers();
    const Shape shape{whole(1, 4), whole(1, 5)};
    const Shape second{repeats && whole(0, 1) == 0 ? 1 : shape.rows, repeats && whole(0, 1) == 0 ? 1 : shape.columns};
    const auto a = parameters.add("a", random_matrix(shape, random));
    // 1/16 off: seldom within a step of a, where minimum has its kink.
    const auto b = parameters.add("b", random_matrix(second, random).array() + 0.0625);
    const Matrix apart =
        parameters.value(a) - parameters.value(b).replicate(shape.rows / second.rows, shape.columns / second.columns);
    if (!repeats) RC_PRE(apart.cwiseAbs().minCoeff() > 1e-4);
    RC_ASSERT(gradient_error(parameters, [&](Tape& t) { return op(t, t.parameter(a), t.parameter(b)); }) < kTolerance);
  });
}

}  // namespace

TEST_CASE("gradients of operations on each number") {
  check_unary("affine", [](Tape& t, Var x) { return t.affine(x, -1.5, 0.25); });
  check_unary("scale", [](Tape& t, Var x) { return t.scale(x, 3); });
  check_unary("tanh", [](Tape& t, Var x) { return t.tanh(x); });
  check_unary("relu", [](Tape& t, Var x) { return t.relu(x); });
  check_unary("sigmoid", [](Tape& t, Var x) { return t.sigmoid(x); });
  check_unary("exp", [](Tape& t, Var x) { return t.exp(x); });
  check_unary(
      "log", [](Tape& t, Var x) { return t.log(x); }, 2.5);
  check_unary("softplus", [](Tape& t, Var x) { return t.softplus(x); });
  check_unary("square", [](Tape& t, Var x) { return t.square(x); });
  check_unary("clamp", [](Tape& t, Var x) { return t.clamp(x, -1, 1); });
}

TEST_CASE("gradients of sums and choices") {
  check_unary("sum", [](Tape& t, Var x) { return t.sum(x); });
  check_unary("mean", [](Tape& t, Var x) { return t.mean(x); });
  check_unary("row_sum", [](Tape& t, Var x) { return t.row_sum(x); });
  check_unary("softmax", [](Tape& t, Var x) { return t.softmax(x); });
  check_unary("log_softmax", [](Tape& t, Var x) { return t.log_softmax(x); });
  check_unary("entropy", [](Tape& t, Var x) { return t.entropy(t.log_softmax(x)); });
}

TEST_CASE("gradients of operations on two matrices") {
  check_binary(
      "add", [](Tape& t, Var a, Var b) { return t.add(a, b); }, true);
  check_binary(
      "subtract", [](Tape& t, Var a, Var b) { return t.subtract(a, b); }, true);
  check_binary(
      "multiply", [](Tape& t, Var a, Var b) { return t.multiply(a, b); }, true);
  check_binary(
      "minimum", [](Tape& t, Var a, Var b) { return t.minimum(a, b); }, false);
  check_binary(
      "one matrix twice", [](Tape& t, Var a, Var b) { return t.multiply(t.add(a, b), t.multiply(a, a)); }, true);
}

TEST_CASE("gradients of products and of scores of pairs") {
  rc::prop("matmul", [] {
    ParameterSet parameters;
    sim::Random random = any_numbers();
    const int inner = whole(1, 6);
    const auto a = parameters.add("a", random_matrix({whole(1, 6), inner}, random));
    const auto b = parameters.add("b", random_matrix({inner, whole(1, 6)}, random));
    RC_ASSERT(gradient_error(parameters, [&](Tape& t) { return t.matmul(t.parameter(a), t.parameter(b)); }) < kTolerance);
  });
  rc::prop("matmul_transposed and additive_scores", [] {
    ParameterSet parameters;
    sim::Random random = any_numbers();
    const int columns = whole(1, 6);
    const auto a = parameters.add("a", random_matrix({whole(1, 6), columns}, random));
    const auto b = parameters.add("b", random_matrix({whole(1, 6), columns}, random));
    RC_ASSERT(gradient_error(parameters, [&](Tape& t) { return t.matmul_transposed(t.parameter(a), t.parameter(b)); }) <
              kTolerance);
    const auto v = parameters.add("v", random_matrix({columns, 1}, random));
    const Network scores = [&](Tape& t) { return t.additive_scores(t.parameter(a), t.parameter(b), t.parameter(v)); };
    RC_ASSERT(gradient_error(parameters, scores) < kTolerance);
    const Matrix fixed = parameters.value(b);
    RC_ASSERT(gradient_error(parameters, [&](Tape& t) {
                return t.additive_scores(t.constant(fixed), t.parameter(a), t.constant(Matrix::Ones(columns, 1)));
              }) < kTolerance);
  });
}

TEST_CASE("gradients of choices under a mask") {
  rc::prop("softmax, log_softmax and entropy", [] {
    ParameterSet parameters;
    sim::Random random = any_numbers();
    const Shape shape{whole(1, 4), whole(2, 5)};
    const auto x = parameters.add("x", random_matrix(shape, random));
    Matrix mask = Matrix::Zero(whole(0, 1) == 0 ? 1 : shape.rows, shape.columns);
    std::vector<std::int32_t> valid;  // of each row, one that is never forbidden
    for (Eigen::Index i = 0; i < mask.rows(); ++i) {
      valid.push_back(whole(0, static_cast<int>(shape.columns) - 1));
      for (Eigen::Index j = 0; j < mask.cols(); ++j)
        if (j != valid.back() && random.below(2) == 0) mask(i, j) = kForbidden;
    }
    valid.resize(static_cast<std::size_t>(shape.rows), valid[0]);
    for (const Network& network :
         {Network([&](Tape& t) { return t.softmax(t.parameter(x), t.constant(mask)); }),
          Network([&](Tape& t) { return t.pick(t.log_softmax(t.parameter(x), t.constant(mask)), valid); }),
          Network([&](Tape& t) { return t.entropy(t.log_softmax(t.parameter(x), t.constant(mask))); })})
      RC_ASSERT(gradient_error(parameters, network) < kTolerance);
  });
}

TEST_CASE("gradients of parts") {
  rc::prop("gather, columns, stack, side_by_side, reshape", [] {
    ParameterSet parameters;
    sim::Random random = any_numbers();
    const int rows = whole(1, 4), columns = whole(1, 4);
    const auto x = parameters.add("x", random_matrix({rows, columns}, random));
    const auto y = parameters.add("y", random_matrix({rows, columns}, random));
    const auto some =
        *rc::gen::container<std::vector<std::int32_t>>(static_cast<std::size_t>(whole(1, 6)), rc::gen::inRange(0, rows));
    const int first = whole(0, columns - 1), count = whole(1, columns - first);
    const auto squared = [](Tape& t, Var v) { return t.multiply(v, v); };
    for (const Network& network :
         {Network([&](Tape& t) { return squared(t, t.gather(t.parameter(x), some)); }),
          Network([&](Tape& t) { return squared(t, t.columns(t.parameter(x), first, count)); }), Network([&](Tape& t) {
            return squared(t, t.stack({t.parameter(x), t.parameter(y), t.parameter(x)}));
          }),
          Network([&](Tape& t) {
            return squared(t, t.side_by_side({t.parameter(x), t.parameter(y), t.parameter(x)}));
          }),
          Network([&](Tape& t) {
            return t.matmul(t.reshape(t.parameter(x), {columns, rows}), t.parameter(y));
          })})
      RC_ASSERT(gradient_error(parameters, network) < kTolerance);
  });
}
