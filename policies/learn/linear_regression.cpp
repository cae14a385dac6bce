#include "policies/learn/linear_regression.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/linear_algebra.hpp"
#include "sim/base/statistics.hpp"

namespace rehearse::policies {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kWorthwhile = 0.99;  // of the error before: less gain than that is no term's own
constexpr double kLeastRatio = 1e-3;  // of a prediction over its value, so that logarithms stay finite

/// Rows whose least squares equal those of all rows: the triangle of a QR decomposition, with the ones on the right.
struct Reduced {
  MatrixXd a;
  VectorXd b;
};

Reduced reduced(const MatrixXd& relative, const std::vector<Index>& rows) {
  MatrixXd both(static_cast<Index>(rows.size()), relative.cols() + 1);
  both.leftCols(relative.cols()) = relative(rows, Eigen::all);
  both.rightCols(1).setOnes();
  if (both.rows() > both.cols()) both = sim::triangle_of_columns(both);
  return {both.leftCols(relative.cols()), both.rightCols(1)};
}

struct Fold {
  Reduced rest;
  std::vector<Index> held_out;
};

class Folds {
 public:
  Folds(const TermSamples& samples, int count) : relative_(samples.terms) {
    for (Index i = 0; i < relative_.rows(); ++i) relative_.row(i) /= samples.values[i];
    std::map<int, int> fold_of;  // by group, in turn
    for (const int group : samples.group) fold_of.emplace(group, 0);
    sim::check(fold_of.size() > 1, "cross-validation of fewer than two groups");
    count = std::min<int>(count, static_cast<int>(fold_of.size()));
    int next = 0;
    for (auto& [group, fold] : fold_of) fold = next++ % count;
    std::vector<Index> all;
    for (int f = 0; f < count; ++f) {
      std::vector<Index> rest, held_out;
      for (std::size_t i = 0; i < samples.group.size(); ++i)
        (fold_of[samples.group[i]] == f ? held_out : rest).push_back(static_cast<Index>(i));
      folds_.push_back({reduced(relative_, rest), std::move(held_out)});
    }
    for (Index i = 0; i < relative_.rows(); ++i) all.push_back(i);
    all_ = reduced(relative_, all);
  }

  /// Predictions over values, of each fold's rows by the others.
  std::vector<double> ratios(const std::vector<int>& terms) const {
    std::vector<double> found;
    for (const Fold& fold : folds_) {
      const VectorXd x = solve(fold.rest, terms);
      const VectorXd ratio = relative_(fold.held_out, terms) * x;
      for (const double one : ratio) found.push_back(std::max(kLeastRatio, one));
    }
    return found;
  }

  VectorXd solve_all(const std::vector<int>& terms) const { return solve(all_, terms); }
  Index candidates() const { return relative_.cols(); }

 private:
  static VectorXd solve(const Reduced& rows, const std::vector<int>& terms) {
    return nonnegative_least_squares(rows.a(Eigen::all, terms), rows.b);
  }
  MatrixXd relative_;
  std::vector<Fold> folds_;
  Reduced all_;
};

/// Mean absolute logarithm: a factor of two too much is as bad as one too little.
double error_of(const std::vector<double>& ratios) {
  double sum = 0;
  for (const double ratio : ratios) sum += std::abs(std::log(ratio));
  return sum / static_cast<double>(ratios.size());
}

std::vector<int> select(const Folds& folds, int most) {
  std::vector<int> chosen;
  double error = std::numeric_limits<double>::infinity();
  while (static_cast<int>(chosen.size()) < most) {
    int best = -1;
    double least = error;
    for (int c = 0; c < folds.candidates(); ++c) {
      if (std::ranges::count(chosen, c) > 0) continue;
      chosen.push_back(c);
      const double with = error_of(folds.ratios(chosen));
      chosen.pop_back();
      if (with < least) {
        least = with;
        best = c;
      }
    }
    if (best < 0 || least > kWorthwhile * error) break;
    chosen.push_back(best);
    error = least;
  }
  return chosen;
}

/// Least squares over the columns in `free`; 0 elsewhere.
VectorXd over(const MatrixXd& a, const VectorXd& b, const std::vector<Index>& free) {
  VectorXd x = VectorXd::Zero(a.cols());
  const MatrixXd part = a(Eigen::all, free);
  const VectorXd some = sim::least_squares(part, b);
  for (std::size_t i = 0; i < free.size(); ++i) x[free[i]] = some[static_cast<Index>(i)];
  return x;
}

Eigen::Index at(const LinearTerm& term) { return static_cast<Eigen::Index>(term.feature); }

/// Mean of a normal variable, given that it exceeds `bound`.
double mean_above(const Gaussian& normal, double bound) {
  constexpr double kFar = 8;  // deviations: the tail's mean is the bound, but for a hundredth of a deviation
  const double z = (bound - normal.mean) / normal.deviation;
  if (z > kFar) return bound + normal.deviation / z;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI);
  return normal.mean + normal.deviation * density / sim::normal_share_below(-z);
}

}  // namespace

TermRegression TermRegression::fit(const TermSamples& samples, const TermOptions& options) {
  const Folds folds(samples, options.folds);
  return fit_terms(samples, select(folds, options.most_terms), options);
}

TermRegression TermRegression::fit_terms(const TermSamples& samples, std::vector<int> terms, const TermOptions& options) {
  sim::check(!terms.empty(), "a regression without terms");
  const Folds folds(samples, options.folds);
  TermRegression result;
  result.coefficients_ = folds.solve_all(terms);
  for (const double ratio : folds.ratios(terms)) result.errors_.push_back(-std::log(ratio));
  std::ranges::sort(result.errors_);
  result.chosen_ = std::move(terms);
  return result;
}

double TermRegression::expected(const VectorXd& terms) const {
  double sum = 0;
  for (std::size_t i = 0; i < chosen_.size(); ++i) sum += coefficients_[static_cast<Index>(i)] * terms[chosen_[i]];
  return sum;
}

Interval TermRegression::predict(const VectorXd& terms) const {
  const double middle = expected(terms);
  return {middle, middle * std::exp(std::min(0.0, quantile_of_ascending(errors_, 0.1))),
          middle * std::exp(std::max(0.0, quantile_of_ascending(errors_, 0.9)))};
}

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

LinearModel::LinearModel(std::span<const double> prior_spreads, double noise)
    : means_(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(prior_spreads.size()))), noise_(noise) {
  sim::check(noise > 0, "a linear model of measurements without noise");
  covariance_ = Eigen::MatrixXd::Zero(means_.size(), means_.size());
  for (Eigen::Index i = 0; i < means_.size(); ++i) {
    const double spread = prior_spreads[static_cast<std::size_t>(i)];
    covariance_(i, i) = spread * spread;
  }
}

Gaussian LinearModel::measured_at(std::span<const LinearTerm> x) const {
  double mean = 0, variance = noise_ * noise_;
  for (const LinearTerm& a : x) {
    mean += a.value * means_[at(a)];
    for (const LinearTerm& b : x) variance += a.value * b.value * covariance_(at(a), at(b));
  }
  return {.mean = mean, .deviation = std::sqrt(variance)};
}

void LinearModel::add(std::span<const LinearTerm> x, double y) {
  Eigen::VectorXd gain = Eigen::VectorXd::Zero(means_.size());  // S x
  for (const LinearTerm& a : x) gain += a.value * covariance_.col(at(a));
  double mean = 0, variance = noise_ * noise_;
  for (const LinearTerm& a : x) {
    mean += a.value * means_[at(a)];
    variance += a.value * gain[at(a)];
  }
  means_ += gain * ((y - mean) / variance);
  covariance_ -= gain * gain.transpose() / variance;
}

void LinearModel::add_above(std::span<const LinearTerm> x, double bound) { add(x, mean_above(measured_at(x), bound)); }

}  // namespace rehearse::policies
