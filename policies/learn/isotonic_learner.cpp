#include "policies/learn/isotonic_learner.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

/// The midpoint's mean over shifts of two features by half a step of the grid of powers of two: monotone, as each of them is, and
/// without most of the midpoint's steps.
template <std::size_t n>
double smoothed(const IsotonicFit& fit, const std::array<double, n>& x, std::array<std::size_t, 2> shifted) {
  constexpr std::array kFactors{0.70710678118654752, 1.0, 1.4142135623730951};
  std::array<double, n> at = x;
  double sum = 0;
  for (const double first : kFactors) {
    for (const double second : kFactors) {
      at[shifted[0]] = x[shifted[0]] * first;
      at[shifted[1]] = x[shifted[1]] * second;
      sum += fit.predict(at);
    }
  }
  return sum / (kFactors.size() * kFactors.size());
}
constexpr std::array<std::size_t, 2> kWorkersAndBatch{0, 2};  // of time_features
constexpr std::array<std::size_t, 2> kBatchAndEpochs{0, 1};   // of accuracy_features

/// By how much the target of the time predictor exceeds the seconds of an epoch.
double time_scale(RunFeatures features, const PlannedRun& run) { return features == RunFeatures::thesis ? 1 : run.workers; }

void add(IsotonicSamples& samples, std::span<const double> x, double y, bool censored) {
  samples.x.insert(samples.x.end(), x.begin(), x.end());
  samples.y.push_back(y);
  samples.censored.push_back(censored);
}

}  // namespace

std::array<double, 3> time_features(RunFeatures features, const PlannedRun& run) {
  if (features == RunFeatures::thesis) return {-static_cast<double>(run.workers), run.samples, -run.local_batch()};
  return {static_cast<double>(run.workers), run.samples, -run.batch_size};
}

std::array<double, 2> accuracy_features(RunFeatures features, const PlannedRun& run, double epochs) {
  if (features == RunFeatures::thesis) return {-run.local_batch(), epochs};
  return {run.asynchronous ? -static_cast<double>(run.workers) : -run.batch_size, epochs};
}

IsotonicSamples time_samples(std::span<const PastRun> runs, RunFeatures features) {
  IsotonicSamples samples{.dimension = 3};
  for (const PastRun& run : runs)
    add(samples, time_features(features, planned(run)), run.time_s / run.epochs * time_scale(features, planned(run)),
        run.censored);
  return samples;
}

IsotonicSamples accuracy_samples(std::span<const PastRun> runs, RunFeatures features) {
  IsotonicSamples samples{.dimension = 2};
  for (const PastRun& run : runs) add(samples, accuracy_features(features, planned(run), run.epochs), run.accuracy, run.censored);
  return samples;
}

IsotonicEpochTimes::IsotonicEpochTimes(std::span<const PastRun> runs, const IsotonicOptions& options)
    : features_(options.features) {
  const IsotonicSamples samples = time_samples(runs, features_);
  fit_ = IsotonicFit::fit(samples);
  const auto lateness = [](const IsotonicFit& fit, std::span<const double> x, double y) { return y / fit.upper(x) - 1; };
  if (options.margin_quantile > 0) margin_ = safety_margin(leave_one_out(samples, lateness), options.margin_quantile);
}

Prediction IsotonicEpochTimes::epoch_time_s(const PlannedRun& run) const {
  const auto x = time_features(features_, run);
  const double scale = time_scale(features_, run);
  const IsotonicFit::Envelopes known = fit_.envelopes(x);
  return {.expected = known.middle() / scale,
          .smooth = smoothed(fit_, x, kWorkersAndBatch) / scale,
          .safe = known.upper * (1 + margin_) / scale,
          .extrapolated = known.extrapolated};
}

IsotonicAccuracies::IsotonicAccuracies(std::span<const PastRun> runs, const IsotonicOptions& options)
    : features_(options.features) {
  const IsotonicSamples samples = accuracy_samples(runs, features_);
  fit_ = IsotonicFit::fit(samples);
  const auto shortfall = [](const IsotonicFit& fit, std::span<const double> x, double y) { return fit.lower(x) - y; };
  if (options.margin_quantile > 0) margin_ = safety_margin(leave_one_out(samples, shortfall), options.margin_quantile);
}

Prediction IsotonicAccuracies::accuracy(const PlannedRun& run, double epochs) const {
  const auto x = accuracy_features(features_, run, epochs);
  return {.expected = fit_.predict(x),
          .smooth = smooth_accuracy(run, epochs),
          .safe = safe_accuracy(run, epochs),
          .extrapolated = fit_.extrapolated(x)};
}

double IsotonicAccuracies::safe_accuracy(const PlannedRun& run, double epochs) const {
  return std::max(0.0, fit_.lower(accuracy_features(features_, run, epochs)) - margin_);
}

double IsotonicAccuracies::smooth_accuracy(const PlannedRun& run, double epochs) const {
  return smoothed(fit_, accuracy_features(features_, run, epochs), kBatchAndEpochs);
}

std::unique_ptr<EpochTimes> IsotonicLearner::epoch_times(std::span<const PastRun> runs) const {
  return runs.empty() ? nullptr : std::make_unique<IsotonicEpochTimes>(runs, options_);
}

std::unique_ptr<Accuracies> IsotonicLearner::accuracies(std::span<const PastRun> runs, bool asynchronous) const {
  if (options_.features == RunFeatures::thesis)
    return runs.empty() ? nullptr : std::make_unique<IsotonicAccuracies>(runs, options_);
  const std::vector<PastRun> alike = trained_alike(runs, asynchronous);
  return alike.empty() ? nullptr : std::make_unique<IsotonicAccuracies>(alike, options_);
}

namespace {

IsotonicSamples without(const IsotonicSamples& all, std::size_t row) {
  IsotonicSamples rest = all;
  const auto at = static_cast<std::ptrdiff_t>(row), width = static_cast<std::ptrdiff_t>(all.dimension);
  rest.x.erase(rest.x.begin() + at * width, rest.x.begin() + (at + 1) * width);
  rest.y.erase(rest.y.begin() + at);
  if (!rest.weights.empty()) rest.weights.erase(rest.weights.begin() + at);
  if (!rest.censored.empty()) rest.censored.erase(rest.censored.begin() + at);
  return rest;
}

}  // namespace

std::vector<double> leave_one_out(const IsotonicSamples& samples, const Residual& residual) {
  std::vector<double> residuals;
  const std::size_t rows = samples.rows();
  if (rows < 2) return residuals;
  const std::size_t left_out = std::min(rows, kMostLeftOut);
  for (std::size_t i = 0; i < left_out; ++i) {
    const std::size_t row = i * rows / left_out;
    if (!samples.censored.empty() && samples.censored[row]) continue;
    residuals.push_back(residual(IsotonicFit::fit(without(samples, row)), samples.features(row), samples.y[row]));
  }
  return residuals;
}

double safety_margin(std::vector<double> residuals, double quantile) {
  sim::check(quantile >= 0 && quantile <= 1, "the quantile of a safety margin lies outside [0, 1]");
  // A hair less than the product, which rounding may have put just above a whole number (0.8 x 10 residuals is 8, not 9).
  const double rank = std::ceil(quantile * static_cast<double>(residuals.size()) * (1 - 1e-12));
  if (rank < 1) return 0;
  const auto nth = residuals.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::nth_element(residuals.begin(), nth, residuals.end());
  return std::max(0.0, *nth);
}

}  // namespace rehearse::policies
