#include "policies/learn/least_squares.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <vector>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Least squares over the columns in `free`; 0 elsewhere.
VectorXd over(const MatrixXd& a, const VectorXd& b, const std::vector<Index>& free) {
  VectorXd x = VectorXd::Zero(a.cols());
  const MatrixXd part = a(Eigen::all, free);
  const VectorXd some = part.colPivHouseholderQr().solve(b);
  for (std::size_t i = 0; i < free.size(); ++i) x[free[i]] = some[static_cast<Index>(i)];
  return x;
}

}  // namespace

VectorXd nonnegative_least_squares(const MatrixXd& a, const VectorXd& b) {
  sim::check(a.rows() > 0 && a.cols() > 0 && a.rows() == b.size(), "least squares of nothing, or of sizes that do not match");
  const VectorXd lengths = a.colwise().norm();
  VectorXd x = VectorXd::Zero(a.cols());
  std::vector<Index> free;
  // Each round frees the column that gains most and goes on to the least squares of the free ones, stopping at each column that
  // would turn negative. The error falls with every round, so that no set of columns comes back.
  for (Index round = 0; round < 3 * a.cols(); ++round) {
    const VectorXd residual = b - a * x;
    Index best = -1;
    double most = 1e-10 * b.norm();
    for (Index c = 0; c < a.cols(); ++c) {
      if (lengths[c] == 0 || std::ranges::count(free, c) > 0) continue;
      const double gain = a.col(c).dot(residual) / lengths[c];
      if (gain > most) {
        most = gain;
        best = c;
      }
    }
    if (best < 0) break;
    free.push_back(best);
    for (;;) {
      const VectorXd goal = over(a, b, free);
      double share = 1;
      for (const Index c : free)
        if (goal[c] <= 0) share = std::min(share, x[c] / (x[c] - goal[c]));
      const bool whole = std::ranges::all_of(free, [&](Index c) { return goal[c] > 0; });
      x += (whole ? 1 : share) * (goal - x);
      if (whole) break;
      std::erase_if(free, [&](Index c) { return goal[c] <= 0 && x[c] <= 1e-14 * x.maxCoeff(); });
      for (Index c = 0; c < a.cols(); ++c)
        if (std::ranges::count(free, c) == 0) x[c] = 0;
      if (free.empty()) break;
    }
  }
  return x;
}

}  // namespace rehearse::policies
