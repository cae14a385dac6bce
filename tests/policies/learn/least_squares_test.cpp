#include <rapidcheck/catch.h>

#include <Eigen/QR>
#include <catch2/catch.hpp>

#include "policies/learn/linear_regression.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"

using namespace rehearse;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using policies::nonnegative_least_squares;

TEST_CASE("a coefficient that would be negative is 0, and the others make up for it") {
  // Points (1, 3), (2, 2), (3, 1) lie on 4 - x. Without a falling line the best constant is their mean, 2.
  const MatrixXd line{{1, 1}, {1, 2}, {1, 3}};
  const VectorXd falling{{3, 2, 1}}, rising{{1, 2, 3}};
  CHECK((nonnegative_least_squares(line, falling) - VectorXd{{2, 0}}).norm() < 1e-12);
  CHECK((nonnegative_least_squares(line, rising) - VectorXd{{0, 1}}).norm() < 1e-12);
  // Without the constant the best slope to 3, 2, 1 is (1 x 3 + 2 x 2 + 3 x 1) / (1 + 4 + 9) = 10/14.
  CHECK(nonnegative_least_squares(line.col(1), falling)[0] == Approx(10.0 / 14));
  CHECK(nonnegative_least_squares(-line, rising) == VectorXd::Zero(2));
  CHECK(nonnegative_least_squares(MatrixXd::Zero(3, 2), rising) == VectorXd::Zero(2));
  CHECK_THROWS_AS(nonnegative_least_squares(line, VectorXd::Ones(2)), sim::CheckFailed);
}

TEST_CASE("the conditions of Karush, Kuhn and Tucker hold, so that nothing is better") {
  rc::prop("any matrix", [](std::uint64_t seed) {
    sim::Random random(seed);
    const auto rows = static_cast<Eigen::Index>(1 + random.below(12)), columns = static_cast<Eigen::Index>(1 + random.below(6));
    MatrixXd a(rows, columns);
    VectorXd b(rows);
    for (Eigen::Index r = 0; r < rows; ++r) {
      for (Eigen::Index c = 0; c < columns; ++c) a(r, c) = random.normal() * (random.below(4) == 0 ? 100 : 1);
      b[r] = random.normal();
    }
    if (random.below(3) == 0 && columns > 1) a.col(columns - 1) = a.col(0) * 2;  // one is as good as the other
    const VectorXd x = nonnegative_least_squares(a, b);
    const VectorXd slope = a.transpose() * (b - a * x);  // minus half the gradient
    for (Eigen::Index c = 0; c < columns; ++c) {
      const double scale = a.col(c).norm() * b.norm();
      RC_ASSERT(x[c] >= 0);
      RC_ASSERT(slope[c] <= 1e-8 * scale);  // more of it gains nothing
      if (x[c] > 0) RC_ASSERT(slope[c] >= -1e-8 * scale);
    }
  });
}

TEST_CASE("where no coefficient would be negative it is plain least squares") {
  rc::prop("a law with positive coefficients", [](std::uint64_t seed) {
    sim::Random random(seed);
    MatrixXd a(20, 4);
    VectorXd law(4);
    for (Eigen::Index c = 0; c < 4; ++c) law[c] = random.uniform(0.5, 2);
    for (Eigen::Index r = 0; r < a.rows(); ++r)
      for (Eigen::Index c = 0; c < 4; ++c) a(r, c) = random.normal();
    RC_ASSERT((nonnegative_least_squares(a, a * law) - law).norm() < 1e-8);
  });
}
