// A small robust non-linear least squares solver; normal priors around 0, bounds; Levenberg and Marquardt's damping on reweighted
// normal equations, derivatives by central differences.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <vector>

namespace rehearse::workloads {

enum class RobustLoss : std::uint8_t {
  cauchy,  ///< all but ignores residuals of many times the scale (Holland and Welsch 1977): rows that a model cannot explain
  huber    ///< grows with every residual (Huber 1964): curves of which every point counts
};

struct FitProblem {
  /// One residual an observation, at parameters theta. Meant for logarithms: steps are of 0.02.
  std::function<Eigen::VectorXd(const Eigen::VectorXd& theta)> residuals;
  Eigen::VectorXd prior_sd;   ///< of each parameter around 0; above 0
  Eigen::VectorXd low, high;  ///< bounds, around 0
  Eigen::VectorXd start;      ///< empty: 0
  /// Of the residuals: by how much measurements differ when they are made again. A few of them may be met better by chance.
  double smallest_scale = 0.05;
  /// The residuals that each parameter moves: parameters of different ones are differentiated together. None: all, of each;
  /// likewise of a parameter with none.
  std::vector<std::vector<Eigen::Index>> moves;
  RobustLoss loss = RobustLoss::cauchy;
};

/// A parameter is determined where at most so much of the prior's standard deviation is left.
inline constexpr double kDetermined = 0.85;
/// By how much a parameter must lower the cost, which is in logarithms of probabilities, to be told from others: twenty to one.
inline constexpr double kEvidence = 3;

struct FitResult {
  Eigen::VectorXd theta;
  Eigen::MatrixXd covariance;  ///< posterior (Gauss-Newton approximation)
  Eigen::VectorXd sd;          ///< its standard deviations
  double scale = 0;            ///< robust standard deviation of the residuals
};

FitResult fit(const FitProblem& problem);

/// What fit() makes least: the losses of the residuals over their scale, and half of the squares of parameters over their
/// prior's.
double cost_of(const FitProblem& problem, const Eigen::VectorXd& theta, double scale);

}  // namespace rehearse::workloads
