#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "policies/learn/nn/arithmetic.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "tests/policies/draws.hpp"

using namespace rehearse;
using namespace rehearse::policies;
using rehearse::tests::whole;

namespace {

Matrix uniform(Shape shape, sim::Random& random) {
  Matrix m(shape.rows, shape.columns);
  for (double& x : numbers_of(m)) x = random.uniform(-1, 1);
  return m;
}

ConstMatrixView view(const Matrix& m) { return {m.data(), m.rows(), m.cols()}; }
MatrixView view(Matrix& m) { return {m.data(), m.rows(), m.cols()}; }

}  // namespace

TEST_CASE("products against the definition, and each row as if it were alone") {
  rc::prop("add_product", [] {
    sim::Random random(*rc::gen::arbitrary<std::uint64_t>());
    const int rows = whole(1, 11), inner = *rc::gen::element(1, 2, 5, 255, 256, 257, 600), columns = whole(1, 37);
    const Matrix a = uniform({rows, inner}, random), b = uniform({inner, columns}, random);
    const Matrix a_flipped = a.transpose(), b_flipped = b.transpose(), before = uniform({rows, columns}, random);

    Matrix out = before;
    add_product(plain(view(a)), plain(view(b)), view(out));
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        long double sum = before(i, j);
        for (int t = 0; t < inner; ++t) sum += static_cast<long double>(a(i, t)) * b(t, j);
        RC_ASSERT(std::abs(static_cast<double>(sum) - out(i, j)) < 1e-12);
      }
      const Matrix row = a.row(i);
      Matrix alone = before.row(i);
      add_product(plain(view(row)), plain(view(b)), view(alone));
      RC_ASSERT((alone.array() == out.row(i).array()).all());
    }
    Matrix other = before;
    add_product(transposed(view(a_flipped)), plain(view(b)), view(other));
    RC_ASSERT((other.array() == out.array()).all());
    other = before;
    add_product(plain(view(a)), transposed(view(b_flipped)), view(other));
    RC_ASSERT((other.array() == out.array()).all());
  });
}

TEST_CASE("products of shapes that do not fit") {
  const Matrix a = Matrix::Ones(2, 3), b = Matrix::Ones(2, 4);
  Matrix out = Matrix::Zero(2, 4);
  CHECK_THROWS_AS(add_product(plain(view(a)), plain(view(b)), view(out)), sim::CheckFailed);
  CHECK_THROWS_AS(add_product(transposed(view(a)), plain(view(b)), view(out)), sim::CheckFailed);
}
