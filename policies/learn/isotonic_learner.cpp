#include "policies/learn/run_predictors.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "policies/learn/leave_one_out.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

PlannedRun planned(const PastRun& run) { return {.workers = run.workers, .batch_size = run.batch_size, .samples = run.samples}; }

/// The midpoint's mean over shifts of two features by half a step of the grid of powers of two: monotone, as each of them is, and
/// without most of the midpoint's steps.
double smoothed(const IsotonicFit& fit, std::span<const double> x, std::array<std::size_t, 2> shifted) {
  constexpr std::array kFactors{0.70710678118654752, 1.0, 1.4142135623730951};
  std::vector<double> at(x.begin(), x.end());
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

double local_batch(const PlannedRun& run) { return run.batch_size / run.workers; }

std::array<double, 3> time_features(RunFeatures features, const PlannedRun& run) {
  if (features == RunFeatures::thesis) return {-static_cast<double>(run.workers), run.samples, -local_batch(run)};
  return {static_cast<double>(run.workers), run.samples, -run.batch_size};
}

/// By how much the target of the time predictor exceeds the seconds of an epoch.
double time_scale(RunFeatures features, const PlannedRun& run) { return features == RunFeatures::thesis ? 1 : run.workers; }

struct AccuracyKind {
  RunFeatures features;
  bool asynchronous;
};

std::array<double, 2> accuracy_features(const AccuracyKind& kind, const PlannedRun& run, double epochs) {
  if (kind.features == RunFeatures::thesis) return {-local_batch(run), epochs};
  return {kind.asynchronous ? -static_cast<double>(run.workers) : -run.batch_size, epochs};
}

void add(IsotonicSamples& samples, std::span<const double> x, double y) {
  samples.x.insert(samples.x.end(), x.begin(), x.end());
  samples.y.push_back(y);
}

/// Appends the richest other instance's runs, their times scaled; false if there are none.
bool borrow(std::vector<PastRun>& runs, const RunHistory& history, std::string_view model, std::string_view instance,
            const PredictorOptions& options) {
  if (runs.size() >= options.enough_runs || !options.time_ratio) return false;
  const std::string from = history.richest_other_instance(model, instance);
  if (from.empty()) return false;
  const double ratio = options.time_ratio(from, std::string(instance));
  sim::check(std::isfinite(ratio) && ratio > 0, "the time ratio of two instances is not a number above 0");
  for (PastRun& run : history.on_instance(model, from)) {
    run.time_s *= ratio;
    runs.push_back(std::move(run));
  }
  return true;
}

}  // namespace

std::optional<EpochTimePredictor> EpochTimePredictor::fit(const RunHistory& history, std::string_view model,
                                                          std::string_view instance, const PredictorOptions& options) {
  EpochTimePredictor predictor;
  predictor.features_ = options.features;
  std::vector<PastRun> runs = history.on_instance(model, instance);
  predictor.borrowed_ = borrow(runs, history, model, instance, options);
  if (runs.empty()) return std::nullopt;

  IsotonicSamples samples{.dimension = 3};
  for (const PastRun& run : runs)
    add(samples, time_features(options.features, planned(run)),
        run.time_s / run.epochs * time_scale(options.features, planned(run)));
  predictor.fit_ = IsotonicFit::fit(samples);
  const auto lateness = [](const IsotonicFit& fit, std::span<const double> x, double y) { return y / fit.upper(x) - 1; };
  predictor.margin_ = safety_margin(leave_one_out(samples, lateness), options.margin_quantile);
  return predictor;
}

Prediction EpochTimePredictor::epoch_time_s(const PlannedRun& run) const {
  const auto x = time_features(features_, run);
  const double scale = time_scale(features_, run);
  return {.expected = fit_.predict(x) / scale,
          .smooth = smoothed(fit_, x, kWorkersAndBatch) / scale,
          .safe = fit_.upper(x) * (1 + margin_) / scale,
          .extrapolated = fit_.extrapolated(x),
          .borrowed = borrowed_};
}

std::optional<AccuracyPredictor> AccuracyPredictor::fit(const RunHistory& history, const AccuracyQuestion& question,
                                                        const PredictorOptions& options) {
  AccuracyPredictor predictor;
  predictor.features_ = options.features;
  predictor.asynchronous_ = question.asynchronous;
  const AccuracyKind kind{options.features, question.asynchronous};
  IsotonicSamples samples{.dimension = 2};
  for (const PastRun& run : history.on_dataset(question.model, question.dataset)) {
    if (options.features != RunFeatures::thesis && run.asynchronous != question.asynchronous) continue;
    add(samples, accuracy_features(kind, planned(run), run.epochs), run.accuracy);
  }
  if (samples.rows() == 0) return std::nullopt;

  predictor.fit_ = IsotonicFit::fit(samples);
  const auto shortfall = [](const IsotonicFit& fit, std::span<const double> x, double y) { return fit.lower(x) - y; };
  predictor.margin_ = safety_margin(leave_one_out(samples, shortfall), options.margin_quantile);
  return predictor;
}

namespace {

/// The first of 1..cap for which `enough` holds; it holds for all after that.
template <class Enough>
std::optional<int> first_enough(int cap, Enough&& enough) {
  if (cap < 1 || !enough(cap)) return std::nullopt;
  int too_few = 0, reached = cap;
  while (reached - too_few > 1) {
    const int middle = too_few + (reached - too_few) / 2;
    (enough(middle) ? reached : too_few) = middle;
  }
  return reached;
}

}  // namespace

Prediction AccuracyPredictor::accuracy(const PlannedRun& run, double epochs) const {
  const auto x = accuracy_features({features_, asynchronous_}, run, epochs);
  return {.expected = fit_.predict(x),
          .smooth = smoothed(fit_, x, kBatchAndEpochs),
          .safe = safe_accuracy(x),
          .extrapolated = fit_.extrapolated(x)};
}

double AccuracyPredictor::safe_accuracy(std::span<const double> x) const { return std::max(0.0, fit_.lower(x) - margin_); }

std::optional<int> AccuracyPredictor::fewest_epochs(const PlannedRun& run, double floor, int cap) const {
  return first_enough(cap, [&](int epochs) {
    return safe_accuracy(accuracy_features({features_, asynchronous_}, run, epochs)) >= floor;
  });
}

std::optional<int> AccuracyPredictor::expected_epochs(const PlannedRun& run, double floor, int cap) const {
  return first_enough(cap, [&](int epochs) {
    return smoothed(fit_, accuracy_features({features_, asynchronous_}, run, epochs), kBatchAndEpochs) >= floor;
  });
}

}  // namespace rehearse::policies
