#include "policies/learn/gaussian_learner.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "policies/learn/point_learner.hpp"

namespace rehearse::policies {

namespace {

std::array<double, 2> time_point(const PlannedRun& run) { return {std::log2(run.workers), std::log2(run.batch_size)}; }

std::array<double, 2> accuracy_point(const PlannedRun& run, double epochs) {
  return {std::log2(run.asynchronous ? run.workers : run.batch_size), std::log2(epochs)};
}

GaussianProcess time_process(std::span<const PastRun> runs) {
  GaussianSamples samples{.dimension = 2};
  for (const PastRun& run : runs) {
    const auto x = time_point(planned(run));
    samples.x.insert(samples.x.end(), x.begin(), x.end());
    samples.y.push_back(std::log(run.time_s / run.epochs / run.samples * run.workers));
  }
  return GaussianProcess::fit(samples);
}

GaussianProcess accuracy_process(std::span<const PastRun> runs) {
  GaussianSamples samples{.dimension = 2};
  for (const PastRun& run : runs) {
    const auto x = accuracy_point(planned(run), run.epochs);
    samples.x.insert(samples.x.end(), x.begin(), x.end());
    samples.y.push_back(run.accuracy);
  }
  return GaussianProcess::fit(samples);
}

double deviations_at(double quantile) { return quantile <= 0.5 ? 0 : normal_quantile(std::min(quantile, 0.9999)); }

}  // namespace

GaussianTimes::GaussianTimes(std::span<const PastRun> runs, double quantile)
    : deviations_(deviations_at(quantile)), process_(time_process(runs)) {}

Gaussian GaussianTimes::log_epoch_time(const PlannedRun& run) const {
  Gaussian found = process_.at(time_point(run));
  found.mean += std::log(run.samples / run.workers);
  return found;
}

Prediction GaussianTimes::epoch_time_s(const PlannedRun& run) const {
  const Gaussian log_time = log_epoch_time(run);
  const double expected = std::exp(log_time.mean);
  return {.expected = expected,
          .smooth = expected,
          .safe = std::exp(log_time.mean + deviations_ * log_time.deviation),
          .extrapolated = log_time.deviation > 0.9 * process_.kernel().deviation};
}

GaussianAccuracies::GaussianAccuracies(std::span<const PastRun> runs, double quantile)
    : deviations_(deviations_at(quantile)),
      most_epochs_(std::ranges::max_element(runs, {}, &PastRun::epochs)->epochs),
      process_(accuracy_process(runs)) {}

Gaussian GaussianAccuracies::distribution(const PlannedRun& run, double epochs) const {
  return process_.at(accuracy_point(run, std::min(epochs, most_epochs_)));
}

Prediction GaussianAccuracies::accuracy(const PlannedRun& run, double epochs) const {
  const Gaussian found = distribution(run, epochs);
  const double expected = std::clamp(found.mean, 0.0, 1.0);
  return {.expected = expected,
          .smooth = expected,
          .safe = std::clamp(found.mean - deviations_ * found.deviation, 0.0, 1.0),
          .extrapolated = epochs > most_epochs_ || found.deviation > 0.9 * process_.kernel().deviation};
}

std::unique_ptr<EpochTimes> GaussianLearner::epoch_times(std::span<const PastRun> runs) const {
  if (runs.empty()) return nullptr;
  const auto learn = [&](std::span<const PastRun> measured) { return GaussianTimes(measured, quantile_); };
  const auto falls_short = [](const GaussianTimes& without, const PastRun& run) {
    return without.epoch_time_s(planned(run)).expected < run.time_s / run.epochs;
  };
  return std::make_unique<GaussianTimes>(learn(with_binding_bounds(runs, learn, falls_short)));
}

std::unique_ptr<Accuracies> GaussianLearner::accuracies(std::span<const PastRun> runs, bool asynchronous) const {
  const std::vector<PastRun> alike = trained_alike(runs, asynchronous);
  if (alike.empty()) return nullptr;
  const auto learn = [&](std::span<const PastRun> measured) { return GaussianAccuracies(measured, quantile_); };
  const auto falls_short = [](const GaussianAccuracies& without, const PastRun& run) {
    return without.accuracy(planned(run), run.epochs).expected < run.accuracy;
  };
  return std::make_unique<GaussianAccuracies>(learn(with_binding_bounds(alike, learn, falls_short)));
}

}  // namespace rehearse::policies
