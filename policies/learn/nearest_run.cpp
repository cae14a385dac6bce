#include "policies/learn/nearest_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rehearse::policies {

namespace {

double doublings(double a, double b) { return std::log2(a) - std::log2(b); }

double seconds_per_sample(const PastRun& run) { return run.time_s / run.epochs / run.samples; }

/// The mean of `value` over the runs of least `distance`.
template <class Distance, class Value>
double mean_of_nearest(std::span<const PastRun> runs, Distance&& distance, Value&& value) {
  double least = std::numeric_limits<double>::infinity(), sum = 0, count = 0;
  for (const PastRun& run : runs) {
    const double d = distance(run);
    if (d > least) continue;
    if (d < least) sum = count = 0;
    least = d;
    sum += value(run);
    ++count;
  }
  return sum / count;
}

/// What accuracy hangs on beside the epochs.
double dose(const PlannedRun& run) { return run.asynchronous ? run.workers : run.batch_size; }

bool same(const PlannedRun& plan, const PastRun& run) { return plan.workers == run.workers && plan.batch_size == run.batch_size; }

class MeasuredTimes final : public EpochTimes {
 public:
  explicit MeasuredTimes(std::span<const PastRun> runs) : runs_(runs.begin(), runs.end()) {}
  Prediction epoch_time_s(const PlannedRun& plan) const override {
    double sum = 0, count = 0;
    for (const PastRun& run : runs_) {
      if (!same(plan, run) || run.censored) continue;
      sum += seconds_per_sample(run) * plan.samples;
      ++count;
    }
    const double mean = sum / count;  // NaN without any
    return {.expected = mean, .smooth = mean, .safe = mean, .extrapolated = count == 0};
  }

 private:
  std::vector<PastRun> runs_;
};

class MeasuredAccuracies final : public Accuracies {
 public:
  explicit MeasuredAccuracies(std::vector<PastRun> runs) : runs_(std::move(runs)) {}
  bool depends_on_workers() const override { return true; }
  Prediction accuracy(const PlannedRun& plan, double epochs) const override {
    double best = std::numeric_limits<double>::quiet_NaN();
    for (const PastRun& run : runs_)
      if (same(plan, run) && run.epochs <= epochs) best = std::fmax(best, run.accuracy);
    return {.expected = best, .smooth = best, .safe = best, .extrapolated = std::isnan(best)};
  }

 private:
  std::vector<PastRun> runs_;
};

}  // namespace

TimeGuess NearestRun::guess_times(std::span<const PastRun> runs) const {
  return [known = std::vector<PastRun>(runs.begin(), runs.end())](const PlannedRun& plan) {
    const auto distance = [&](const PastRun& run) {
      return std::hypot(doublings(run.workers, plan.workers), doublings(run.batch_size, plan.batch_size));
    };
    return plan.samples * mean_of_nearest(known, distance, seconds_per_sample);
  };
}

AccuracyGuess NearestRun::guess_accuracies(std::span<const PastRun> runs) const {
  return [known = std::vector<PastRun>(runs.begin(), runs.end())](const PlannedRun& plan, double epochs) {
    const auto distance = [&](const PastRun& run) {
      return std::hypot(doublings(dose(planned(run)), dose(plan)), doublings(run.epochs, epochs));
    };
    return mean_of_nearest(known, distance, [](const PastRun& run) { return run.accuracy; });
  };
}

std::unique_ptr<EpochTimes> MeasuredRuns::epoch_times(std::span<const PastRun> runs) const {
  return runs.empty() ? nullptr : std::make_unique<MeasuredTimes>(runs);
}

std::unique_ptr<Accuracies> MeasuredRuns::accuracies(std::span<const PastRun> runs, bool asynchronous) const {
  std::vector<PastRun> alike = trained_alike(runs, asynchronous);
  return alike.empty() ? nullptr : std::make_unique<MeasuredAccuracies>(std::move(alike));
}

}  // namespace rehearse::policies
