#include "workloads/calibration.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/base/errors.hpp"
#include "workloads/error_summary.hpp"

namespace rehearse::workloads {
namespace {

/// One efficiency: where it is kept, how far from the data-sheet default devices were found to be (standard deviation of the
/// logarithm: over DeepBench's devices for products, wider where frameworks differ), and its limits.
struct Parameter {
  const char* name;
  double sim::Efficiency::*field;
  double prior_sd, low, high;
};
constexpr Parameter kParameters[] = {
    {"conv", &sim::Efficiency::conv, 0.5, 0.005, 1},
    {"gemm", &sim::Efficiency::gemm, 0.3, 0.005, 1},
    {"rnn", &sim::Efficiency::rnn, 0.5, 0.005, 1},
    {"bandwidth", &sim::Efficiency::bandwidth, 0.3, 0.01, 1},
    {"k_half", &sim::Efficiency::k_half, 0.7, 1, 4096},
    {"launch_s", &sim::Efficiency::launch_s, 1, 1e-7, 1e-2},
    {"host_s_per_op", &sim::Efficiency::host_s_per_op, 1, 1e-7, 1e-2},
};

constexpr double kHuber = 1.345;      // standard deviations; 95 % as good as least squares on normal residuals
constexpr double kDetermined = 0.85;  // of the prior's standard deviation must be left at most
constexpr double kDifference = 0.02;  // of a logarithm, for derivatives; well above the step grid's rounding
constexpr int kIterations = 40, kScalings = 3;
constexpr double kSmallestScale = 0.02, kLargestScale = 0.5;

class Fit {
 public:
  Fit(std::span<const Measurement> measurements, const MeasurementModel& model, const Place& place)
      : measurements_(measurements), model_(model), place_(place), start_(place.device.efficiency) {
    for (const Parameter& p : kParameters)
      if (start_.*p.field > 0) free_.push_back(&p);
  }

  Calibration run() {
    Eigen::VectorXd theta = solve();
    drop_unseen(theta);
    theta = solve();
    return result(theta);
  }

 private:
  Eigen::Index rows() const { return static_cast<Eigen::Index>(measurements_.size()); }
  Eigen::Index columns() const { return static_cast<Eigen::Index>(free_.size()); }

  sim::Efficiency at(const Eigen::VectorXd& theta) const {
    sim::Efficiency e = start_;
    for (Eigen::Index j = 0; j < columns(); ++j) {
      const Parameter& p = *free_[static_cast<std::size_t>(j)];
      e.*p.field = std::clamp(start_.*p.field * std::exp(theta[j]), p.low, p.high);
    }
    return e;
  }

  /// log(predicted / measured) of every measurement; theta is the logarithm of each parameter over its start.
  Eigen::VectorXd residuals(const Eigen::VectorXd& theta) {
    place_.device.efficiency = at(theta);
    Eigen::VectorXd r(rows());
    for (Eigen::Index i = 0; i < rows(); ++i) {
      const Measurement& m = measurements_[static_cast<std::size_t>(i)];
      r[i] = std::log(model_.step_s(m, place_) / m.step_s);
    }
    return r;
  }

  Eigen::MatrixXd jacobian(const Eigen::VectorXd& theta) {
    Eigen::MatrixXd j(rows(), columns());
    for (Eigen::Index c = 0; c < columns(); ++c) {
      Eigen::VectorXd up = theta, down = theta;
      up[c] += kDifference;
      down[c] -= kDifference;
      j.col(c) = (residuals(up) - residuals(down)) / (2 * kDifference);
    }
    return j;
  }

  static double huber(double z) { return std::abs(z) <= kHuber ? z * z / 2 : kHuber * (std::abs(z) - kHuber / 2); }

  double cost(const Eigen::VectorXd& r, const Eigen::VectorXd& theta) const {
    double sum = 0;
    for (Eigen::Index i = 0; i < rows(); ++i) sum += huber(r[i] / scale_);
    for (Eigen::Index j = 0; j < columns(); ++j) sum += std::pow(theta[j] / free_[static_cast<std::size_t>(j)]->prior_sd, 2) / 2;
    return sum;
  }

  /// Second derivatives of the cost at theta (Gauss-Newton), and the gradient.
  std::pair<Eigen::MatrixXd, Eigen::VectorXd> normal_equations(const Eigen::VectorXd& r, const Eigen::MatrixXd& j,
                                                               const Eigen::VectorXd& theta) const {
    Eigen::VectorXd weights(rows());
    for (Eigen::Index i = 0; i < rows(); ++i) {
      const double z = std::abs(r[i] / scale_);
      weights[i] = (z <= kHuber ? 1 : kHuber / z) / (scale_ * scale_);
    }
    Eigen::MatrixXd hessian = j.transpose() * weights.asDiagonal() * j;
    Eigen::VectorXd gradient = j.transpose() * weights.cwiseProduct(r);
    for (Eigen::Index c = 0; c < columns(); ++c) {
      const double precision = 1 / std::pow(free_[static_cast<std::size_t>(c)]->prior_sd, 2);
      hessian(c, c) += precision;
      gradient[c] += precision * theta[c];
    }
    return {std::move(hessian), std::move(gradient)};
  }

  Eigen::VectorXd clamped(Eigen::VectorXd theta) const {
    for (Eigen::Index j = 0; j < columns(); ++j) {
      const Parameter& p = *free_[static_cast<std::size_t>(j)];
      theta[j] = std::clamp(theta[j], std::log(p.low / start_.*p.field), std::log(p.high / start_.*p.field));
    }
    return theta;
  }

  /// Levenberg and Marquardt's damping on iteratively reweighted least squares, at the present scale.
  Eigen::VectorXd descend(Eigen::VectorXd theta) {
    Eigen::VectorXd r = residuals(theta);
    double damping = 1e-3, now = cost(r, theta);
    for (int i = 0; i < kIterations; ++i) {
      const auto [hessian, gradient] = normal_equations(r, jacobian(theta), theta);
      bool better = false;
      while (!better && damping < 1e6) {
        Eigen::MatrixXd damped = hessian;
        damped.diagonal() *= 1 + damping;
        const Eigen::VectorXd next = clamped(theta - damped.ldlt().solve(gradient));
        const Eigen::VectorXd next_r = residuals(next);
        const double then = cost(next_r, next);
        better = then < now;
        damping *= better ? 0.3 : 4;
        if (!better) continue;
        const double gain = now - then;
        theta = next;
        r = next_r;
        now = then;
        if (gain < 1e-6 * (1 + now)) return theta;
      }
      if (!better) return theta;
    }
    return theta;
  }

  Eigen::VectorXd solve() {
    Eigen::VectorXd theta = Eigen::VectorXd::Zero(columns());
    scale_ = 0.15;
    for (int i = 0; i < kScalings; ++i) {
      theta = descend(theta);
      const Eigen::VectorXd absolute = residuals(theta).cwiseAbs();
      constexpr double kNormal = 1.4826;  // standard deviation over median absolute deviation
      scale_ = std::clamp(kNormal * quantile({absolute.data(), measurements_.size()}, 0.5), kSmallestScale, kLargestScale);
    }
    return theta;
  }

  Eigen::VectorXd deviations(const Eigen::VectorXd& theta) {
    const auto [hessian, gradient] = normal_equations(residuals(theta), jacobian(theta), theta);
    return hessian.inverse().diagonal().cwiseSqrt();
  }

  void drop_unseen(const Eigen::VectorXd& theta) {
    const Eigen::VectorXd sd = deviations(theta);
    std::vector<const Parameter*> seen;
    for (std::size_t j = 0; j < free_.size(); ++j)
      if (sd[static_cast<Eigen::Index>(j)] <= kDetermined * free_[j]->prior_sd) seen.push_back(free_[j]);
    free_ = std::move(seen);
  }

  Calibration result(const Eigen::VectorXd& theta) {
    const Eigen::VectorXd sd = deviations(theta);
    Calibration c{.efficiency = at(theta), .residual_sd = scale_};
    for (const Parameter& p : kParameters) {
      const auto found = std::find(free_.begin(), free_.end(), &p);
      const bool seen = found != free_.end();
      c.parameters.push_back({.name = p.name,
                              .value = c.efficiency.*p.field,
                              .before = start_.*p.field,
                              .relative_sd = seen ? sd[found - free_.begin()] : p.prior_sd,
                              .prior_sd = p.prior_sd,
                              .determined = seen});
    }
    return c;
  }

  std::span<const Measurement> measurements_;
  const MeasurementModel& model_;
  Place place_;
  sim::Efficiency start_;
  std::vector<const Parameter*> free_;
  double scale_ = 0.15;
};

/// What makes two measurements of a subject differ: the batch, or a kernel's shape.
std::string variant_of(const Measurement& m) {
  if (!m.kernel) return fmt::format("{:020.3f}", m.batch_per_worker);
  std::string key;
  for (const OpWork& w : kernel_work(*m.kernel))
    key += fmt::format("{:.0f} {:.0f} {:.0f} {}|", w.matrix.m.fixed, w.matrix.n.fixed, w.matrix.k.fixed, w.repeats);
  return key;
}

}  // namespace

Calibration calibrate(std::span<const Measurement> measurements, const MeasurementModel& model, const Place& place) {
  std::set<std::string> subjects, variants;
  for (const Measurement& m : measurements) {
    sim::check(m.workers == 1, "a device is calibrated on single workers");
    subjects.insert(subject(m));
    variants.insert(variant_of(m));
  }
  if (measurements.empty())
    return {.efficiency = place.device.efficiency, .warnings = {"no measurement of a single worker: nothing is fitted"}};
  Calibration c = Fit(measurements, model, place).run();
  const bool kernels = measurements.front().kernel.has_value();
  if (subjects.size() == 1)
    c.warnings.push_back(fmt::format("only {}: other {} may behave differently", *subjects.begin(),
                                     kernels ? "kinds of kernel" : "models"));
  if (variants.size() == 1)
    c.warnings.emplace_back("only one batch size: what is fixed and what grows with the batch cannot be told apart");
  return c;
}

std::vector<std::vector<std::size_t>> folds(std::span<const Measurement> measurements, HoldOut by) {
  std::map<std::string, std::map<std::string, std::vector<std::size_t>>> groups;  // subject, variant
  for (std::size_t i = 0; i < measurements.size(); ++i)
    groups[subject(measurements[i])][variant_of(measurements[i])].push_back(i);
  std::vector<std::vector<std::size_t>> result(by == HoldOut::batches ? 2 : groups.size());
  std::size_t g = 0;
  for (const auto& [name, variants] : groups) {
    std::size_t v = 0;
    for (const auto& [variant, rows] : variants) {
      auto& fold = result[by == HoldOut::batches ? v++ % 2 : g];
      fold.insert(fold.end(), rows.begin(), rows.end());
    }
    ++g;
  }
  std::erase_if(result, [](const auto& fold) { return fold.empty(); });
  return result;
}

}  // namespace rehearse::workloads
