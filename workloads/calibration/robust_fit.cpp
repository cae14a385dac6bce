#include "workloads/calibration/robust_fit.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "sim/base/linear_algebra.hpp"
#include "workloads/calibration/error_summary.hpp"

namespace rehearse::workloads {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Standard deviations; both 95 % as good as least squares on normal residuals.
constexpr double kCauchy = 2.385, kHuber = 1.345;
constexpr double kDifference = 0.02;  // of a parameter, for derivatives
constexpr double kFirstScale = 3;     // times the smallest
constexpr double kLargestScale = 0.5;
constexpr double kNormal = 1.4826;  // standard deviation over median absolute deviation
constexpr int kIterations = 40, kScalings = 3;

class Solver {
 public:
  explicit Solver(const FitProblem& problem) : Solver(problem, kFirstScale * problem.smallest_scale) {}

  Solver(const FitProblem& problem, double scale) : problem_(problem), scale_(scale) {
    for (Index c = 0; c < problem.prior_sd.size(); ++c) {
      const auto apart = std::find_if(together_.begin(), together_.end(), [&](const auto& group) { return are_apart(group, c); });
      if (apart == together_.end())
        together_.push_back({c});
      else
        apart->push_back(c);
    }
  }

  double cost(const VectorXd& theta) const { return cost(problem_.residuals(theta), theta); }

  FitResult run() {
    VectorXd theta = problem_.start.size() > 0 ? problem_.start : VectorXd::Zero(problem_.prior_sd.size());
    for (int i = 0; i < kScalings; ++i) {
      theta = descend(theta);
      const VectorXd absolute = problem_.residuals(theta).cwiseAbs();
      scale_ = std::clamp(kNormal * quantile({absolute.data(), static_cast<std::size_t>(absolute.size())}, 0.5),
                          problem_.smallest_scale, kLargestScale);
    }
    if (theta.size() == 0) return {.theta = {}, .covariance = MatrixXd(0, 0), .sd = {}, .scale = scale_};
    theta = descend(theta);
    const Normal normal = normal_equations(problem_.residuals(theta), theta);
    const MatrixXd covariance = sim::inverse(normal.hessian);
    return {.theta = theta, .covariance = covariance, .sd = covariance.diagonal().cwiseSqrt(), .scale = scale_};
  }

 private:
  struct Normal {
    MatrixXd hessian;
    VectorXd gradient;
  };

  /// Of residuals; empty: all.
  std::span<const Index> moved_by(Index c) const {
    if (problem_.moves.empty()) return {};
    return problem_.moves[static_cast<std::size_t>(c)];
  }

  bool are_apart(const std::vector<Index>& group, Index c) const {
    const auto of_c = moved_by(c);
    return !of_c.empty() && std::ranges::all_of(group, [&](Index other) {
      const auto of_other = moved_by(other);
      return !of_other.empty() && std::ranges::find_first_of(of_c, of_other) == of_c.end();
    });
  }

  /// Parameters of different residuals move at once (Curtis, Powell and Reid, J. Inst. Maths Applics 13, 1974).
  MatrixXd jacobian(const VectorXd& theta) const {
    MatrixXd j;
    for (const std::vector<Index>& group : together_) {
      VectorXd up = theta, down = theta;
      for (const Index c : group) {
        up[c] += kDifference;
        down[c] -= kDifference;
      }
      const VectorXd column = (problem_.residuals(up) - problem_.residuals(down)) / (2 * kDifference);
      if (j.size() == 0) j = MatrixXd::Zero(column.size(), theta.size());
      for (const Index c : group) {
        const auto rows = moved_by(c);
        if (rows.empty()) j.col(c) = column;
        for (const Index row : rows) j(row, c) = column[row];
      }
    }
    return j;
  }

  double loss(double z) const {
    if (problem_.loss == RobustLoss::cauchy) return kCauchy * kCauchy / 2 * std::log1p(z * z / (kCauchy * kCauchy));
    return std::abs(z) <= kHuber ? z * z / 2 : kHuber * (std::abs(z) - kHuber / 2);
  }

  /// The loss's slope over z.
  double weight(double z) const {
    if (problem_.loss == RobustLoss::cauchy) return 1 / (1 + z * z / (kCauchy * kCauchy));
    return std::abs(z) <= kHuber ? 1 : kHuber / std::abs(z);
  }

  double cost(const VectorXd& r, const VectorXd& theta) const {
    double sum = theta.cwiseQuotient(problem_.prior_sd).squaredNorm() / 2;
    for (const double one : r) sum += loss(one / scale_);
    return sum;
  }

  /// Second derivatives of the cost (Gauss-Newton), and its gradient.
  Normal normal_equations(const VectorXd& r, const VectorXd& theta) const {
    const MatrixXd j = jacobian(theta);
    const VectorXd weights = r.unaryExpr([this](double one) { return weight(one / scale_) / (scale_ * scale_); });
    const VectorXd precision = problem_.prior_sd.cwiseAbs2().cwiseInverse();
    MatrixXd hessian = sim::weighted_square(j, weights);
    hessian.diagonal() += precision;
    return {std::move(hessian), j.transpose() * weights.cwiseProduct(r) + precision.cwiseProduct(theta)};
  }

  /// At the present scale.
  VectorXd descend(VectorXd theta) const {
    if (theta.size() == 0) return theta;
    VectorXd r = problem_.residuals(theta);
    double damping = 1e-3, now = cost(r, theta);
    for (int i = 0; i < kIterations; ++i) {
      const Normal normal = normal_equations(r, theta);
      double gain = 0;
      for (; gain <= 0 && damping<1e6; damping *= gain> 0 ? 0.3 : 4) {
        MatrixXd damped = normal.hessian;
        damped.diagonal() *= 1 + damping;
        const VectorXd step = sim::solve_symmetric(damped, normal.gradient);
        const VectorXd next = (theta - step).cwiseMax(problem_.low).cwiseMin(problem_.high);
        const VectorXd next_r = problem_.residuals(next);
        gain = now - cost(next_r, next);
        if (gain <= 0) continue;
        theta = next;
        r = next_r;
        now -= gain;
      }
      if (gain < 1e-7 * (1 + now)) break;
    }
    return theta;
  }

  const FitProblem& problem_;
  double scale_;
  std::vector<std::vector<Index>> together_;  // parameters
};

}  // namespace

FitResult fit(const FitProblem& problem) { return Solver(problem).run(); }

double cost_of(const FitProblem& problem, const VectorXd& theta, double scale) { return Solver(problem, scale).cost(theta); }

}  // namespace rehearse::workloads
