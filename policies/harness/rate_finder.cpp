#include "policies/harness/rate_finder.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/linear_algebra.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr int kDegree = 7;  // high enough for flat, rising, flat and falling, in this order
constexpr std::size_t kFewest = 12;
constexpr double kSteep = 0.5;  // of the steepest: the interval
constexpr double kChance = 3;   // standard errors that a rise must be above 0
constexpr int kGrid = 400;      // places at which the steepness is looked at

/// Least squares of a polynomial; x in [-1, 1].
VectorXd polynomial(const VectorXd& x, const VectorXd& y, int degree) {
  Eigen::MatrixXd powers(x.size(), degree + 1);
  powers.col(0).setOnes();
  for (int k = 1; k <= degree; ++k) powers.col(k) = powers.col(k - 1).cwiseProduct(x);
  return sim::least_squares(powers, y);
}

double slope(const VectorXd& coefficients, double x) {
  double sum = 0, power = 1;
  for (Index k = 1; k < coefficients.size(); ++k, power *= x) sum += static_cast<double>(k) * coefficients[k] * power;
  return sum;
}

/// The slope of a line through the points, and its standard error.
struct Line {
  double slope = 0, error = 0;
};

Line line_through(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, left = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / n;
    mean_y += y[i] / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
  }
  const double b = xy / xx;
  for (std::size_t i = 0; i < x.size(); ++i) left += std::pow(y[i] - mean_y - b * (x[i] - mean_x), 2);
  return {b, std::sqrt(left / std::max(1.0, n - 2) / xx)};
}

}  // namespace

std::optional<FoundRate> find_rate(std::span<const RampPoint> ramp) {
  // What comes after the best reading is divergence: of no use, and large enough to bend the polynomial everywhere.
  const auto best = std::ranges::max_element(ramp, {}, &RampPoint::value);
  const auto kept = static_cast<std::size_t>(best - ramp.begin()) + 1;
  if (kept < kFewest) return std::nullopt;
  const double first = std::log(ramp[0].rate), last = std::log(ramp[kept - 1].rate);
  VectorXd x(static_cast<Index>(kept)), y(static_cast<Index>(kept));
  for (std::size_t i = 0; i < kept; ++i) {
    x[static_cast<Index>(i)] = 2 * (std::log(ramp[i].rate) - first) / (last - first) - 1;
    y[static_cast<Index>(i)] = ramp[i].value;
  }
  const VectorXd curve = polynomial(x, y, kDegree);
  const auto at = [&](int i) { return -1 + 2.0 * i / kGrid; };
  const auto rate_at = [&](int i) { return std::exp(first + (at(i) + 1) / 2 * (last - first)); };
  int steepest = 0;
  for (int i = 1; i <= kGrid; ++i)
    if (slope(curve, at(i)) > slope(curve, at(steepest))) steepest = i;
  const double enough = kSteep * slope(curve, at(steepest));
  int low = steepest, high = steepest;
  while (low > 0 && slope(curve, at(low - 1)) >= enough) --low;
  while (high < kGrid && slope(curve, at(high + 1)) >= enough) ++high;
  FoundRate found{.low = rate_at(low), .high = rate_at(high)};
  found.rate = (found.low + found.high) / 2;
  std::vector<double> logs, values;
  for (std::size_t i = 0; i < kept; ++i) {
    if (ramp[i].rate < found.low || ramp[i].rate > found.high) continue;
    logs.push_back(std::log(ramp[i].rate));
    values.push_back(ramp[i].value);
  }
  if (logs.size() < 3) return std::nullopt;
  const Line rising = line_through(logs, values);
  found.rise = rising.slope;
  if (!(rising.slope > kChance * rising.error)) return std::nullopt;
  return found;
}

std::vector<RampPoint> simulated_ramp(const workloads::ConvergenceParameters& convergence, const RampSettings& settings) {
  sim::check(settings.readings > 1 && settings.first_rate > 0 && settings.last_rate > settings.first_rate, "a ramp that rises");
  const double factor = std::pow(settings.last_rate / settings.first_rate, 1.0 / (settings.readings - 1));
  // Samples between two readings: as many as make `share` of the scale of progress, all readings together at the best rate.
  const double gain = workloads::step_gain(workloads::noise_scale(convergence, {}, 0, settings.batch), settings.batch,
                                           convergence.reference_batch);
  const double examples = settings.share * convergence.phases.front().scale / settings.readings / gain * settings.batch;
  sim::Random random(settings.random_key);
  workloads::TrainingState state;
  std::vector<RampPoint> ramp;
  double rate = settings.first_rate;
  for (int i = 0; i < settings.readings; ++i, rate *= factor) {
    advance(convergence, {}, state, {.global_batch = settings.batch, .learning_rate = rate}, examples);
    if (state.diverged) break;
    ramp.push_back({rate, accuracy(convergence, {}, state) + random.normal(0, settings.noise)});
  }
  return ramp;
}

}  // namespace rehearse::policies
