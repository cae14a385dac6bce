#include "policies/learn/parametric.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/learn/linear_regression.hpp"
#include "sim/base/errors.hpp"
#include "workloads/calibration/robust_fit.hpp"

namespace rehearse::policies {

namespace {

using Eigen::Index;
using Eigen::VectorXd;

template <class Value>
double median(std::span<const PastRun> runs, Value&& value) {
  std::vector<double> values;
  for (const PastRun& run : runs) values.push_back(value(run));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double step_s(const PastRun& run) { return run.time_s / run.epochs * run.batch_size / run.samples; }

template <class Residual>
VectorXd residuals(std::span<const PastRun> runs, Residual&& residual) {
  VectorXd found(static_cast<Index>(runs.size()));
  for (std::size_t i = 0; i < runs.size(); ++i) found[static_cast<Index>(i)] = residual(runs[i]);
  return found;
}

/// Logarithms of factors on a first guess, within e^-5 and e^5 but for the overlap.
struct StepLaw {
  double a, b, s, l;  ///< the first guess

  double operator()(const VectorXd& theta, const PlannedRun& run) const {
    const double compute_s = a * std::exp(theta[0]) + b * std::exp(theta[1]) * run.local_batch();
    const double others = run.workers - 1;
    if (others == 0) return compute_s;
    const double exchange_s = s * std::exp(theta[2]) * others / run.workers + l * std::exp(theta[3]) * others;
    const double g = 2 * std::exp(theta[4]);
    const double longer = std::max(compute_s, exchange_s);  // taken out, so that no power overflows
    return longer * std::pow(std::pow(compute_s / longer, g) + std::pow(exchange_s / longer, g), 1 / g);
  }
};

struct AccuracyLaw {
  double headroom, start, scale, noise_scale;  ///< the first guess

  double operator()(const VectorXd& theta, const PlannedRun& run, double epochs) const {
    const double ceiling = 1 - headroom * std::exp(theta[0]), first = start * std::exp(theta[1]);
    const double phi = noise_scale * std::exp(theta[4]);
    const double batch = run.asynchronous ? run.local_batch() : run.batch_size;
    const double progress = epochs * (phi + 1) / (phi + batch);
    const double stale = run.asynchronous ? 0.003 * std::exp(theta[5]) * (run.workers - 1) : 0;
    return ceiling - stale - (ceiling - first) * std::pow(1 + progress / (scale * std::exp(theta[2])), -std::exp(theta[3]));
  }
};

std::array<double, 4> terms(const PlannedRun& run) {
  const double n = run.workers;
  return {1, run.local_batch(), std::log(n), n};
}

double steps_per_epoch(const PlannedRun& run) { return run.samples / run.batch_size; }

}  // namespace

TimeGuess Parametric::guess_times(std::span<const PastRun> runs) const {
  const double step = median(runs, step_s);
  const double of_a_sample = median(runs, [](const PastRun& r) { return step_s(r) / planned(r).local_batch(); });
  const StepLaw law{.a = step / 2, .b = of_a_sample / 2, .s = step / 10, .l = step / 100};
  const workloads::FitResult fitted = workloads::fit({
      .residuals =
          [&](const VectorXd& theta) {
            return residuals(runs, [&](const PastRun& r) { return std::log(law(theta, planned(r)) / step_s(r)); });
          },
      .prior_sd = spread_factor_ * VectorXd{{3, 3, 3, 3, 1}},
      .low = VectorXd{{-5, -5, -5, -5, std::log(0.5)}},  // g from 1 to 10
      .high = VectorXd{{5, 5, 5, 5, std::log(5.0)}},
  });
  return [law, theta = fitted.theta](const PlannedRun& run) { return law(theta, run) * run.samples / run.batch_size; };
}

AccuracyGuess Parametric::guess_accuracies(std::span<const PastRun> runs) const {
  const auto accuracy = [](const PastRun& r) { return r.accuracy; };
  const double best = std::ranges::max_element(runs, {}, accuracy)->accuracy;
  const double worst = std::ranges::min_element(runs, {}, accuracy)->accuracy;
  const double batch = median(runs, [](const PastRun& r) { return r.batch_size; });
  const double epochs = median(runs, [](const PastRun& r) { return r.epochs; });
  const AccuracyLaw law{.headroom = std::clamp(1 - best, 0.01, 1.0),
                        .start = std::max(worst / 2, 0.001),
                        .scale = epochs * (batch + 1) / (2 * batch),
                        .noise_scale = batch};
  const workloads::FitResult fitted = workloads::fit({
      .residuals =
          [&](const VectorXd& theta) {
            return residuals(runs, [&](const PastRun& r) { return law(theta, planned(r), r.epochs) - r.accuracy; });
          },
      .prior_sd = spread_factor_ * VectorXd{{1, 2, 3, 1, 3, 2}},
      .low = VectorXd{{-3, -5, -5, -2, -5, -5}},
      .high = VectorXd{{0, 3, 5, 2, 5, 3}},
      .start = VectorXd{{-0.1, 0, 0, 0, 0, 0}},
      .smallest_scale = 0.003,
  });
  return [law, theta = fitted.theta](const PlannedRun& run, double e) { return law(theta, run, e); };
}

std::array<double, 4> Ernest::coefficients(std::span<const PastRun> runs) {
  const auto rows = static_cast<Eigen::Index>(runs.size());
  Eigen::MatrixXd a(rows, 4);
  for (Eigen::Index row = 0; row < rows; ++row) {
    const PastRun& run = runs[static_cast<std::size_t>(row)];
    const double measured_s = run.time_s / run.epochs / steps_per_epoch(planned(run));
    const auto x = terms(planned(run));
    for (Eigen::Index c = 0; c < 4; ++c) a(row, c) = x[static_cast<std::size_t>(c)] / measured_s;
  }
  const Eigen::VectorXd found = nonnegative_least_squares(a, Eigen::VectorXd::Ones(rows));
  return {found[0], found[1], found[2], found[3]};
}

TimeGuess Ernest::guess_times(std::span<const PastRun> runs) const {
  return [c = coefficients(runs)](const PlannedRun& run) {
    const auto x = terms(run);
    double step_s = 0;
    for (std::size_t i = 0; i < x.size(); ++i) step_s += c[i] * x[i];
    return step_s * steps_per_epoch(run);
  };
}

AccuracyGuess Ernest::guess_accuracies(std::span<const PastRun>) const { sim::fail_check("Ernest was asked for accuracies"); }

}  // namespace rehearse::policies
