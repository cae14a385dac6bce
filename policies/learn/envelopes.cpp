#include "policies/learn/envelopes.hpp"

#include <algorithm>
#include <cmath>

#include "policies/learn/gaussian_learner.hpp"
#include "policies/learn/isotonic.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

constexpr double kSame = 1e-9;  // of logarithms

/// Beyond the largest batch that has reached an accuracy by more than this factor's logarithm nobody promises that it is reached.
constexpr double kBeyondReach = 0.7;

/// On each side of a point so many measurements may come close to its bound, the others are far: the chances of them to fail add
/// up.
constexpr double kBinding = 2;

double deviations_of(double probability) {
  return normal_quantile(1 - (1 - std::clamp(probability, 0.0, 0.999999)) / (2 * kBinding));
}

std::vector<TimePoint> merged_points(std::span<const PastRun> runs, double noise) {
  struct Sum {
    double seconds = 0;
    int count = 0;
    double longest_cut = -kUnbounded;
  };
  std::map<std::pair<double, double>, Sum> by;
  for (const PastRun& run : runs) {
    Sum& sum = by[{std::log(run.workers), std::log(run.batch_size)}];
    const double seconds = std::log(run.time_s / run.epochs / run.samples);
    if (run.censored) {
      sum.longest_cut = std::max(sum.longest_cut, seconds);
    } else {
      sum.seconds += seconds;
      ++sum.count;
    }
  }
  std::vector<TimePoint> points;
  for (const auto& [at, sum] : by) {
    TimePoint point{.workers = at.first, .batch = at.second, .censored = sum.count == 0};
    point.seconds = point.censored ? sum.longest_cut : sum.seconds / sum.count;
    point.deviation = noise / std::sqrt(std::max(1, sum.count));
    points.push_back(point);
  }
  return points;
}

/// By how much pairs of points refute each order, beyond what their noise explains.
TimeSlack refuted(std::span<const TimePoint> points, double deviations) {
  TimeSlack slack;
  const auto beyond = [&](const TimePoint& from, const TimePoint& to, const TimeSlack& known) {
    return low_from(from, known, to.workers, to.batch) - to.seconds - deviations * std::hypot(from.deviation, to.deviation);
  };
  const auto each_pair = [&](auto&& look) {
    for (const TimePoint& from : points)
      for (const TimePoint& to : points)
        if (&from != &to && !to.censored) look(from, to);
  };
  each_pair([&](const TimePoint& from, const TimePoint& to) {
    if (std::abs(to.workers - from.workers) > kSame) return;
    double& order = to.batch > from.batch ? slack.proportion : slack.batch;
    order = std::max(order, beyond(from, to, {}));
  });
  const TimeSlack of_batches = slack;
  each_pair([&](const TimePoint& from, const TimePoint& to) {  // what the batches do not explain is the workers'
    if (std::abs(to.workers - from.workers) <= kSame) return;
    double& order = to.workers > from.workers ? slack.workers : slack.together;
    order = std::max(order, beyond(from, to, of_batches));
  });
  return slack;
}

/// Log worker-seconds on (workers, -batch): what the isotonic regression fits; and log seconds again.
std::vector<double> isotonic_seconds(std::span<const TimePoint> points) {
  IsotonicSamples samples{.dimension = 2};
  for (const TimePoint& point : points) {
    samples.x.insert(samples.x.end(), {point.workers, -point.batch});
    samples.y.push_back(point.seconds + point.workers);
    samples.censored.push_back(point.censored);
  }
  const IsotonicFit fit = IsotonicFit::fit(samples);
  std::vector<double> seconds;
  for (std::size_t i = 0; i < points.size(); ++i) seconds.push_back(fit.fitted()[i] - points[i].workers);
  return seconds;
}

/// An interval whose ends measurements have crossed holds both.
LogBounds ordered(double low, double high) { return low <= high ? LogBounds{low, high} : LogBounds{high, low}; }

}  // namespace

double low_from(const TimePoint& point, const TimeSlack& slack, double workers, double batch) {
  const double more = workers - point.workers;
  double low = point.seconds, larger = batch - point.batch;
  if (more > kSame) {
    low -= more + slack.workers;
  } else if (more < -kSame) {  // the measured workers, each with as large a share of a larger batch, are no slower
    low -= slack.together;
    larger -= more;
  }
  return larger > kSame ? low - larger - slack.proportion : larger < -kSame ? low - slack.batch : low;
}

double high_from(const TimePoint& point, const TimeSlack& slack, double workers, double batch) {
  if (point.censored) return kUnbounded;
  const double more = workers - point.workers;
  double high = point.seconds, larger = batch - point.batch;
  if (more > kSame) {
    high += slack.together;
    larger -= more;
  } else if (more < -kSame) {
    high += -more + slack.workers;
  }
  return larger > kSame ? high + slack.batch : larger < -kSame ? high - larger + slack.proportion : high;
}

TimeEnvelope::TimeEnvelope(std::span<const PastRun> runs, const EnvelopeOptions& options, const BelievedRuns* believed)
    : points_(merged_points(runs, options.time_noise)) {
  sim::check(!points_.empty(), "an envelope of times without a run");
  deviations_ = options.time_noise > 0 ? deviations_of(options.probability) : 0;
  slack_ = refuted(points_, deviations_);
  fitted_ = isotonic_seconds(points_);
  if (believed == nullptr) return;
  believed_.emplace(*believed, runs.front().instance);
  for (const TimePoint& point : points_) believed_->add(point.workers, point.batch, point.seconds, point.censored);
  believed_->settle(options.time_noise);
}

LogBounds TimeEnvelope::bounds(double workers, double batch) const {
  double low = -kUnbounded, high = kUnbounded;
  for (const TimePoint& point : points_) {
    const double noise = deviations_ * point.deviation;
    low = std::max(low, low_from(point, slack_, workers, batch) - noise);
    high = std::min(high, high_from(point, slack_, workers, batch) + noise);
  }
  return guarded(ordered(low, high), believed_ ? believed_->at(workers, batch) : std::nullopt, deviations_);
}

double TimeEnvelope::centre(double workers, double batch) const {
  if (const auto believed = believed_ ? believed_->at(workers, batch) : std::nullopt) {
    const LogBounds within = bounds(workers, batch);
    return std::clamp(believed->mean, within.low, within.high);
  }
  double low = -kUnbounded, high = kUnbounded;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    TimePoint point = points_[i];
    point.seconds = fitted_[i];
    low = std::max(low, low_from(point, {}, workers, batch));
    high = std::min(high, high_from(point, {}, workers, batch));
  }
  if (std::isinf(high)) high = low;  // every run was cut
  return 0.5 * (low + high);
}

// ---- epochs

namespace {

double key_of(const PastRun& run) { return std::log(run.asynchronous ? run.workers : run.batch_size); }

}  // namespace

EpochEnvelope::EpochEnvelope(std::span<const PastRun> runs, const EnvelopeOptions& options, const BelievedRuns* believed)
    : options_(options), believed_(believed) {
  std::map<double, Group> by;
  for (const PastRun& run : runs) {
    if (run.told == Told::recipe) recipe_ = {.batch_size = run.batch_size, .epochs = run.epochs};
    if (run.told != Told::run) continue;
    Group& group = by[key_of(run)];
    group.batch = key_of(run);
    group.most_epochs = std::max(group.most_epochs, run.epochs);
    Curve curve;
    if (run.curve.empty()) {
      curve.epochs = {run.epochs};
      curve.accuracy = {run.accuracy};
    } else {
      IsotonicSamples samples{.dimension = 1, .y = run.curve};
      for (std::size_t e = 0; e < run.curve.size(); ++e) samples.x.push_back(static_cast<double>(e) + 1);
      const IsotonicFit fit = IsotonicFit::fit(samples);
      curve.epochs = samples.x;
      curve.accuracy.assign(fit.fitted().begin(), fit.fitted().end());
    }
    group.curves.push_back(std::move(curve));
  }
  for (auto& [batch, group] : by) groups_.push_back(std::move(group));
  deviations_ = options.epoch_noise > 0 ? deviations_of(options.probability) : 0;
}

const std::vector<EpochEnvelope::Reached>& EpochEnvelope::reached(double accuracy) const {
  const auto known = reached_.find(accuracy);
  if (known != reached_.end()) return known->second;
  if (reached_.size() > 1000) reached_.clear();
  std::vector<Reached> all;
  for (const Group& group : groups_) {
    double sum = 0;
    int count = 0;
    for (const Curve& curve : group.curves) {
      const auto at = std::lower_bound(curve.accuracy.begin(), curve.accuracy.end(), accuracy);
      if (at == curve.accuracy.end()) continue;
      const auto i = static_cast<std::size_t>(at - curve.accuracy.begin());
      double epochs = curve.epochs[i];
      if (i > 0) {
        const double rise = curve.accuracy[i] - curve.accuracy[i - 1];
        epochs = curve.epochs[i - 1] + (curve.epochs[i] - curve.epochs[i - 1]) * (accuracy - curve.accuracy[i - 1]) / rise;
      }
      sum += std::log(epochs);
      ++count;
    }
    all.push_back({.batch = group.batch,
                   .epochs = count > 0 ? sum / count : std::log(group.most_epochs),
                   .deviation = options_.epoch_noise / std::sqrt(std::max(1, count)),
                   .reached = count > 0});
  }
  return reached_.emplace(accuracy, std::move(all)).first->second;
}

LogBounds EpochEnvelope::within(const std::vector<Reached>& seen, double batch, double deviations) const {
  double low = 0, high = kUnbounded, reach = -kUnbounded;
  for (const Reached& group : seen)
    if (group.reached) reach = std::max(reach, group.batch);
  for (const Reached& group : seen) {
    const double larger = batch - group.batch, noise = deviations * group.deviation;
    // A run that ended below the accuracy says nothing of batches below its own but that they need examples too.
    low = std::max(low, group.epochs + std::min(0.0, larger) - noise);
    if (group.reached && (larger <= kSame || batch <= reach + kBeyondReach))
      high = std::min(high, group.epochs + std::max(0.0, larger) + noise);
  }
  if (recipe_.epochs > 0) {
    const double larger = batch - std::log(recipe_.batch_size), epochs = std::log(recipe_.epochs);
    const bool is_refuted = std::any_of(seen.begin(), seen.end(), [&](const Reached& group) {
      return !group.reached && group.batch <= std::log(recipe_.batch_size) + kSame && group.epochs >= epochs - kSame;
    });
    if (!is_refuted && larger <= kBeyondReach) high = std::min(high, epochs + std::max(0.0, larger));
  }
  return ordered(low, high);
}

std::optional<Gaussian> EpochEnvelope::believed(double batch, double accuracy) const {
  if (believed_ == nullptr) return std::nullopt;
  if (believed_epochs_.size() > 1000) believed_epochs_.clear();
  const auto [known, is_new] = believed_epochs_.try_emplace(accuracy, *believed_, accuracy);
  if (is_new) {
    for (const Reached& group : reached(accuracy)) known->second.add(group.batch, group.epochs, !group.reached);
    known->second.settle(options_.epoch_noise);
  }
  return known->second.at(batch);
}

LogBounds EpochEnvelope::bounds(double batch, double accuracy) const {
  return guarded(within(reached(accuracy), batch, deviations_), believed(batch, accuracy), deviations_);
}

double EpochEnvelope::centre(double batch, double accuracy) const {
  if (const auto epochs = believed(batch, accuracy)) {
    const LogBounds within = bounds(batch, accuracy);
    return std::clamp(epochs->mean, within.low, within.high);
  }
  std::vector<Reached> seen = reached(accuracy);
  IsotonicSamples samples{.dimension = 1};
  for (const Reached& group : seen) {
    if (!group.reached) continue;
    samples.x.push_back(group.batch);
    samples.y.push_back(group.epochs);
    samples.weights.push_back(std::pow(options_.epoch_noise > 0 ? options_.epoch_noise / group.deviation : 1, 2));
  }
  if (!samples.y.empty()) {
    const IsotonicFit fit = IsotonicFit::fit(samples);
    std::size_t row = 0;
    for (Reached& group : seen)
      if (group.reached) group.epochs = fit.fitted()[row++];
  }
  return within(seen, batch, 0).middle();
}

double EpochEnvelope::trained(double batch) const {
  for (const Group& group : groups_)
    if (std::abs(group.batch - batch) < kSame) return group.most_epochs;
  return 0;
}

// ---- the learner

namespace {

class EnvelopeTimes final : public EpochTimes {
 public:
  EnvelopeTimes(std::span<const PastRun> runs, const EnvelopeOptions& options, double margin, const BelievedRuns* believed)
      : envelope_(runs, options, believed), margin_(margin) {}
  Prediction epoch_time_s(const PlannedRun& run) const override {
    const double workers = std::log(run.workers), batch = std::log(run.batch_size);
    const LogBounds bounds = envelope_.bounds(workers, batch);
    const double centre = std::min(envelope_.centre(workers, batch), bounds.high);
    const double expected = run.samples * std::exp(centre);
    return {.expected = expected,
            .smooth = expected,
            .safe = std::isinf(bounds.high) ? std::numeric_limits<double>::max() / 1e30
                                            : run.samples * std::exp(bounds.high) * (1 + margin_),
            .extrapolated = bounds.width() > std::log(2.0)};
  }

 private:
  TimeEnvelope envelope_;
  double margin_;
};

class EnvelopeAccuracies final : public Accuracies {
 public:
  EnvelopeAccuracies(std::span<const PastRun> runs, const EnvelopeOptions& options, double margin, const BelievedRuns* believed)
      : envelope_(runs, options, believed), margin_(margin) {}
  bool empty() const { return envelope_.empty(); }

  Prediction accuracy(const PlannedRun& run, double epochs) const override {
    const double smooth = smooth_accuracy(run, epochs);
    return {.expected = smooth, .smooth = smooth, .safe = std::min(smooth, safe_accuracy(run, epochs))};
  }
  double safe_accuracy(const PlannedRun& run, double epochs) const override {
    return most([&](double a) { return safe_epochs(run, a); }, epochs);
  }
  double smooth_accuracy(const PlannedRun& run, double epochs) const override {
    return most([&](double a) { return smooth_epochs(run, a); }, epochs);
  }
  std::optional<int> fewest_epochs(const PlannedRun& run, double floor, int cap) const override {
    return whole(safe_epochs(run, floor), cap);
  }
  std::optional<int> expected_epochs(const PlannedRun& run, double floor, int cap) const override {
    return whole(smooth_epochs(run, floor), cap);
  }

 private:
  static double key(const PlannedRun& run) { return std::log(run.asynchronous ? run.workers : run.batch_size); }
  double safe_epochs(const PlannedRun& run, double accuracy) const {
    return std::exp(envelope_.bounds(key(run), accuracy).high) * (1 + margin_);
  }
  double smooth_epochs(const PlannedRun& run, double accuracy) const { return std::exp(envelope_.centre(key(run), accuracy)); }
  static std::optional<int> whole(double epochs, int cap) {
    if (!(epochs <= cap) || cap < 1) return std::nullopt;
    return std::max(1, static_cast<int>(std::ceil(epochs - 1e-9)));
  }
  /// The largest accuracy that takes no more than so many epochs.
  template <class Epochs>
  static double most(Epochs&& needed, double epochs) {
    constexpr int kHalvings = 20;
    double low = 0, high = 1;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = 0.5 * (low + high);
      (needed(middle) <= epochs + 1e-9 ? low : high) = middle;
    }
    return low;
  }

  EpochEnvelope envelope_;
  double margin_;
};

}  // namespace

std::unique_ptr<EpochTimes> EnvelopeLearner::epoch_times(std::span<const PastRun> runs) const {
  return weighed_times(runs, nullptr);
}

std::unique_ptr<EpochTimes> EnvelopeLearner::weighed_times(std::span<const PastRun> runs, const BelievedRuns* believed) const {
  return runs.empty() ? nullptr : std::make_unique<EnvelopeTimes>(runs, options_, margins_.time, believed);
}

std::unique_ptr<Accuracies> EnvelopeLearner::accuracies(std::span<const PastRun> runs, bool asynchronous) const {
  return weighed_accuracies(runs, asynchronous, nullptr);
}

std::unique_ptr<Accuracies> EnvelopeLearner::weighed_accuracies(std::span<const PastRun> runs, bool asynchronous,
                                                                const BelievedRuns* believed) const {
  std::vector<PastRun> alike;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(alike),
               [&](const PastRun& run) { return run.asynchronous == asynchronous || run.told == Told::recipe; });
  auto made = std::make_unique<EnvelopeAccuracies>(alike, options_, margins_.epochs, asynchronous ? nullptr : believed);
  if (made->empty()) return nullptr;
  return made;
}

}  // namespace rehearse::policies
