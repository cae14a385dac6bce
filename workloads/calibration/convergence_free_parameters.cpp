#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "workloads/calibration/convergence_start.hpp"

namespace rehearse::workloads {
namespace {

constexpr double kHalfDetermined = 0.5;  // posterior over prior standard deviation: half of it is the measurements' doing

double to_scale(ParameterScale scale, double x) {
  switch (scale) {
    case ParameterScale::linear:
      return x;
    case ParameterScale::log:
      return std::log(x);
    case ParameterScale::logit:
      return std::log(x / (1 - x));
  }
  sim::fail_check("unknown scale");
}

double from_scale(ParameterScale scale, double x) {
  switch (scale) {
    case ParameterScale::linear:
      return x;
    case ParameterScale::log:
      return std::exp(x);
    case ParameterScale::logit:
      return 1 / (1 + std::exp(-x));
  }
  sim::fail_check("unknown scale");
}

}  // namespace

double FreeParameters::value(std::size_t i, double theta) const {
  const FreeParameter& p = all_[i];
  return std::clamp(from_scale(p.scale, to_scale(p.scale, p.usual) + theta), p.low, p.high);
}

void FreeParameters::shift(std::string_view name_ends, double factor) {
  for (FreeParameter& p : all_)
    if (p.name.ends_with(name_ends)) p.usual = std::clamp(p.usual * factor, p.low, p.high);
}

FitResult FreeParameters::fit(ConvergenceParameters& c,
                              const std::function<Eigen::VectorXd(const ConvergenceParameters&)>& residuals,
                              double smallest_scale) const {
  const auto n = static_cast<Eigen::Index>(all_.size());
  FitProblem problem{
      .prior_sd = Eigen::VectorXd(n), .low = Eigen::VectorXd(n), .high = Eigen::VectorXd(n), .smallest_scale = smallest_scale};
  for (Eigen::Index i = 0; i < n; ++i) {
    const FreeParameter& p = all_[static_cast<std::size_t>(i)];
    const double centre = to_scale(p.scale, p.usual);
    problem.prior_sd[i] = p.sd;
    problem.low[i] = to_scale(p.scale, p.low) - centre;
    problem.high[i] = to_scale(p.scale, p.high) - centre;
  }
  const auto applied = [&](const Eigen::VectorXd& theta) {
    ConvergenceParameters moved = c;
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i].set(moved, value(i, theta[static_cast<Eigen::Index>(i)]));
    return moved;
  };
  problem.residuals = [&](const Eigen::VectorXd& theta) { return residuals(applied(theta)); };
  problem.loss = RobustLoss::huber;
  FitResult result = workloads::fit(problem);
  c = applied(result.theta);
  return result;
}

std::vector<FittedConvergence::Parameter> FreeParameters::told(const FitResult& result) const {
  std::vector<FittedConvergence::Parameter> told;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const double theta = result.theta[static_cast<Eigen::Index>(i)], sd = result.sd[static_cast<Eigen::Index>(i)];
    told.push_back({.name = all_[i].name,
                    .value = value(i, theta),
                    .low = value(i, theta - sd),
                    .high = value(i, theta + sd),
                    .determined = sd < kHalfDetermined * all_[i].sd});
  }
  return told;
}

}  // namespace rehearse::workloads
