#include "policies/learn/point_learner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policies/learn/isotonic_learner.hpp"

namespace rehearse::policies {

namespace {

constexpr std::size_t kFolds = 10;
/// No guess lies further from what was measured: a law without a term that counts for one worker has it train in no time, and no
/// margin makes that safe.
constexpr double kFurthest = 1e6;

double seconds_of(const PastRun& run) { return run.time_s / run.epochs; }

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool holds(double value) const { return low <= value && value <= high; }
};

struct Ranges {
  Range workers, batch, epochs;
  explicit Ranges(std::span<const PastRun> runs) {
    for (const PastRun& run : runs) {
      workers.include(run.workers);
      batch.include(run.batch_size);
      epochs.include(run.epochs);
    }
  }
  bool hold(const PlannedRun& run) const { return workers.holds(run.workers) && batch.holds(run.batch_size); }
};

/// What `error` says of each run that is not censored and of the guess that the other nine tenths lead to.
template <class Guess, class Error>
double held_out_margin(std::span<const PastRun> runs, double quantile, Guess&& guess, Error&& error) {
  std::vector<double> errors;
  const std::size_t folds = quantile > 0 ? std::min(kFolds, runs.size()) : 0;
  for (std::size_t fold = 0; fold < folds && runs.size() > 1; ++fold) {
    std::vector<PastRun> rest;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (i % folds != fold) rest.push_back(runs[i]);
    const auto learned = guess(rest);
    for (std::size_t i = fold; i < runs.size(); i += folds)
      if (!runs[i].censored) errors.push_back(error(learned, runs[i]));
  }
  return safety_margin(std::move(errors), quantile);
}

class GuessedTimes final : public EpochTimes {
 public:
  GuessedTimes(TimeGuess guess, double margin, const Ranges& seen) : guess_(std::move(guess)), margin_(margin), seen_(seen) {}
  Prediction epoch_time_s(const PlannedRun& run) const override {
    const double seconds = guess_(run);
    return {.expected = seconds, .smooth = seconds, .safe = seconds * (1 + margin_), .extrapolated = !seen_.hold(run)};
  }

 private:
  TimeGuess guess_;
  double margin_;
  Ranges seen_;
};

class GuessedAccuracies final : public Accuracies {
 public:
  GuessedAccuracies(AccuracyGuess guess, double margin, const Ranges& seen)
      : guess_(std::move(guess)), margin_(margin), seen_(seen) {}
  Prediction accuracy(const PlannedRun& run, double epochs) const override {
    const double guessed = std::clamp(guess_(run, epochs), 0.0, 1.0);
    return {.expected = guessed,
            .smooth = guessed,
            .safe = std::max(0.0, guessed - margin_),
            .extrapolated = !seen_.hold(run) || !seen_.epochs.holds(epochs)};
  }

 private:
  AccuracyGuess guess_;
  double margin_;
  Ranges seen_;
};

}  // namespace

std::unique_ptr<EpochTimes> PointLearner::epoch_times(std::span<const PastRun> runs) const {
  if (runs.empty()) return nullptr;
  Range measured_s;
  for (const PastRun& run : runs) measured_s.include(seconds_of(run));
  const auto plain = [&](std::span<const PastRun> measured) -> TimeGuess {
    return [guessed = guess_times(measured), low = measured_s.low / kFurthest,
            high = measured_s.high * kFurthest](const PlannedRun& run) { return std::clamp(guessed(run), low, high); };
  };
  const auto guess = [&](std::span<const PastRun> some) {
    return plain(with_binding_bounds(
        some, plain, [](const TimeGuess& without, const PastRun& run) { return without(planned(run)) < seconds_of(run); }));
  };
  const double margin = held_out_margin(runs, margin_quantile_, guess, [](const TimeGuess& learned, const PastRun& run) {
    return seconds_of(run) / learned(planned(run)) - 1;
  });
  return std::make_unique<GuessedTimes>(guess(runs), margin, Ranges(runs));
}

std::unique_ptr<Accuracies> PointLearner::accuracies(std::span<const PastRun> runs, bool asynchronous) const {
  const std::vector<PastRun> alike = trained_alike(runs, asynchronous);
  if (alike.empty()) return nullptr;
  const auto guess = [this](std::span<const PastRun> some) {
    const auto plain = [this](std::span<const PastRun> measured) { return guess_accuracies(measured); };
    return guess_accuracies(with_binding_bounds(some, plain, [](const AccuracyGuess& without, const PastRun& run) {
      return without(planned(run), run.epochs) < run.accuracy;
    }));
  };
  const double margin = held_out_margin(alike, margin_quantile_, guess, [](const AccuracyGuess& learned, const PastRun& run) {
    return std::clamp(learned(planned(run), run.epochs), 0.0, 1.0) - run.accuracy;
  });
  return std::make_unique<GuessedAccuracies>(guess(alike), margin, Ranges(alike));
}

}  // namespace rehearse::policies
