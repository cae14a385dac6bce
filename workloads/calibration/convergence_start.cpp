#include "workloads/calibration/convergence_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "workloads/training/datasets.hpp"

namespace rehearse::workloads {
namespace {

constexpr double kMostBatchExponent = 1;
constexpr std::size_t kMostKnots = 8;
constexpr std::size_t kPointsOfThree = 40;  // evaluations of a run that show more than one law

class Start {
 public:
  Start(const MeasuredPair& pair, double reference_batch) : pair_(pair), epoch_(pair.training_samples / reference_batch) {
    c_ = {.model = pair.model,
          .dataset = pair.dataset,
          .metric = "accuracy",
          .source = "fitted",
          .reference_batch = reference_batch,
          .reference_learning_rate = 0.1,
          .training_samples = pair.training_samples,
          .validation_samples = pair.validation_samples,
          .start_accuracy = start_accuracy(),
          .gap_batch = reference_batch};
    if (pair.adaptive) c_.rate_exponent = 0.5;
    place_end();
    place_noise();
    place_phases();
    if (pair_.has_rates()) place_rates();
  }

  FitStart done() && { return {std::move(c_), std::move(noise_), std::move(rates_), std::move(phases_)}; }

 private:
  double start_accuracy() const {
    double lowest = 1;
    for (const ConvergenceRun& run : pair_.runs)
      for (const ConvergencePoint& p : run.points) lowest = std::min(lowest, p.metric);
    const Dataset* known = find_dataset(pair_.dataset);
    const double chance = known != nullptr && known->classes > 1 ? 1.0 / known->classes : 0;
    return std::min(chance, lowest);
  }

  /// How far progress goes: measured; else steps of the batch next to the reference, between its own and those at the reference.
  void place_end() {
    double nearest = HUGE_VAL, epochs = 1;
    const auto consider = [&](double batch, double examples, double progress) {
      const double distance = std::abs(std::log(batch / c_.reference_batch));
      if (distance > nearest) return;
      end_ = std::max(distance < nearest ? 0 : end_,
                      std::isfinite(progress) ? progress : examples / std::sqrt(batch * c_.reference_batch));
      nearest = distance;
      epochs = examples / pair_.training_samples;
    };
    for (const ConvergenceRun& run : pair_.runs)
      if (!run.points.empty()) consider(run.batch, run.points.back().examples, run.points.back().progress);
    for (const TargetsAtSetting& s : pair_.settings)
      for (const TargetReached& t : s.targets)
        if (t.is_reached()) consider(s.batch, t.mean_epochs * pair_.training_samples, kNotMeasured);
    end_ = std::max(end_, epoch_);  // of nothing but targets that were never reached, or a single early evaluation
    c_.reference_epochs = std::max(1.0, std::round(std::max(epochs, end_ / epoch_)));
  }

  /// Progress where the schedule lowers the rate, from the run next to the reference batch that tells; none without a schedule.
  std::vector<double> drops() const {
    const ConvergenceRun* nearest = nullptr;
    for (const ConvergenceRun& run : pair_.runs)
      if (std::any_of(run.points.begin(), run.points.end(), [](const auto& p) { return p.phase > 0; }) &&
          (nearest == nullptr ||
           std::abs(std::log(run.batch / c_.reference_batch)) < std::abs(std::log(nearest->batch / c_.reference_batch))))
        nearest = &run;
    std::vector<double> starts;
    for (std::size_t i = 1; nearest != nullptr && i < nearest->points.size(); ++i) {
      const ConvergencePoint& before = nearest->points[i - 1];
      if (nearest->points[i].phase > before.phase)
        starts.push_back(std::isfinite(before.progress) ? before.progress
                                                        : before.examples / std::sqrt(nearest->batch * c_.reference_batch));
    }
    return starts;
  }

  /// Knots where progress doubles, and before and after each drop of the rate, where the noise scale jumps; where only curves
  /// tell of it, one each decade.
  void place_noise() {
    std::vector<double> knots;
    if (pair_.has_progress()) {
      for (double p = end_; p >= epoch_ / 2 && knots.size() < kMostKnots; p /= 2) knots.push_back(p);
      for (const double p : drops()) {
        std::erase_if(knots, [&](double k) { return k > 0.8 * p && k < 1.25 * p; });
        knots.push_back(p);
        knots.push_back(p + epoch_ / 2);
      }
      std::sort(knots.begin(), knots.end());
      knots.erase(std::unique(knots.begin(), knots.end(), [](double a, double b) { return b < 1.001 * a; }), knots.end());
    } else {
      knots = {end_ / 100, end_ / 10, end_};
    }
    for (std::size_t k = 0; k < knots.size(); ++k) {
      const double usual = usual_noise(knots[k], knots[k] / end_);
      c_.noise.push_back({knots[k], usual, 0});
      noise_.add({.name = fmt::format("noise_scale {} samples", k),
                  .usual = usual,
                  .sd = 2,
                  .low = 1,
                  .high = 1e9,
                  .set = [k](ConvergenceParameters& c, double x) { c.noise[k].noise_scale = x; }});
      if (pair_.has_progress()) place_batch_exponent(fmt::format("noise_scale {} batch_exponent", k), k, k + 1);
    }
    if (!pair_.has_progress()) place_batch_exponent("batch_exponent", 0, knots.size());
  }

  void place_batch_exponent(std::string name, std::size_t first, std::size_t last) {
    noise_.add({.name = std::move(name),
                .scale = ParameterScale::linear,
                .usual = 0.3,
                .sd = 0.3,
                .low = 0,
                .high = kMostBatchExponent,
                .set = [first, last](ConvergenceParameters& c, double x) {
                  for (std::size_t k = first; k < last; ++k) c.noise[k].batch_exponent = x;
                }});
  }

  /// Measured next to the reference batch about there; else it grows tenfold in 1.5 decades up to 3,000 samples, which the prior
  /// may move far.
  double usual_noise(double progress, double share) const {
    const ConvergenceRun* nearest = nullptr;
    for (const ConvergenceRun& run : pair_.runs)
      if (nearest == nullptr ||
          std::abs(std::log(run.batch / c_.reference_batch)) < std::abs(std::log(nearest->batch / c_.reference_batch)))
        nearest = &run;
    if (nearest != nullptr) {
      const std::vector<double> clipped = clipped_noise_scales(*nearest);
      double usual = kNotMeasured;
      for (std::size_t i = 0; i < clipped.size(); ++i)
        if (std::isfinite(clipped[i]) && (nearest->points[i].progress <= progress || !std::isfinite(usual))) usual = clipped[i];
      if (std::isfinite(usual)) return usual;
    }
    return 300 * std::pow(10.0, 1 + std::log(share) / std::log(30.0));
  }

  /// As many laws as the curve has points for, at most three: the first epochs, then one before and one after the middle. Where
  /// the schedule is known, one for each of its phases beside the first epochs.
  void place_phases() {
    std::size_t points = 0;
    for (const ConvergenceRun& run : pair_.runs) points = std::max(points, run.points.size());
    std::vector<double> starts = drops();
    const std::size_t fixed = starts.size();
    const double first_part = starts.empty() ? end_ : starts.front();
    if (points >= kPointsOfThree) starts.push_back((fixed > 0 ? 0.12 : 0.06) * first_part);
    if (points >= kPointsOfThree && fixed == 0) starts.push_back(0.4 * end_);
    starts.push_back(0);
    std::sort(starts.begin(), starts.end());
    const double top = std::min(0.99, pair_.highest_metric() + 0.02);
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const double length = (k + 1 < starts.size() ? starts[k + 1] : end_) - starts[k];
      c_.phases.push_back({.start_progress = starts[k]});
      add_phase(k, top, std::max(length, epoch_) / 3, k > 0 && k + fixed < starts.size());
    }
    phases_.add({.name = "gap_batch",
                 .usual = 4 * c_.reference_batch,
                 .sd = 1.5,
                 .low = std::max(1.0, c_.reference_batch / 64),
                 .high = std::max(pair_.batches().back(), 8 * c_.reference_batch),
                 .set = [](ConvergenceParameters& c, double x) { c.gap_batch = x; }});
  }

  void add_phase(std::size_t k, double top, double scale, bool fit_start) {
    const auto name = [k](const char* what) { return fmt::format("phase {} {}", k, what); };
    phases_.add({.name = name("ceiling"),
                 .scale = ParameterScale::logit,
                 .usual = top,
                 .sd = 1,
                 .low = 0.001,
                 .high = 0.9999,
                 .set = [k](ConvergenceParameters& c, double x) { c.phases[k].ceiling = x; }});
    phases_.add({.name = name("scale"),
                 .usual = scale,
                 .sd = 2,
                 .low = 0.02 * epoch_,
                 .high = 1000 * std::max(epoch_, scale),
                 .set = [k](ConvergenceParameters& c, double x) { c.phases[k].scale = x; }});
    phases_.add(
        {.name = name("exponent"), .usual = 1, .sd = 1, .low = 0.2, .high = 8, .set = [k](ConvergenceParameters& c, double x) {
           c.phases[k].exponent = x;
         }});
    phases_.add({.name = name("ceiling_loss"),
                 .usual = 0.001,
                 .sd = 2,
                 .low = 0,
                 .high = 0.05,
                 .set = [k](ConvergenceParameters& c, double x) { c.phases[k].ceiling_loss = x; }});
    if (!fit_start) return;
    const double start = c_.phases[k].start_progress;
    phases_.add({.name = name("start_progress"),
                 .usual = start,
                 .sd = 0.5,
                 .low = start / 2,
                 .high = 1.9 * start,
                 .set = [k](ConvergenceParameters& c, double x) { c.phases[k].start_progress = x; }});
  }

  void place_rates() {
    double nearest = HUGE_VAL;
    const auto consider = [&](double batch, double rate) {
      const double distance = std::abs(std::log(batch / c_.reference_batch));
      if (rate <= 0 || distance >= nearest) return;
      nearest = distance;
      c_.reference_learning_rate = rate;
    };
    for (const ConvergenceRun& run : pair_.runs) consider(run.batch, run.learning_rate);
    for (const TargetsAtSetting& s : pair_.settings) consider(s.batch, s.learning_rate);
    rates_.add({.name = "reference_rate_fraction",
                .scale = ParameterScale::logit,
                .usual = 0.5,
                .sd = 1,
                .low = 0.01,
                .high = 0.999,
                .set = [](ConvergenceParameters& c, double x) { c.reference_rate_fraction = x; }});
  }

  const MeasuredPair& pair_;
  double epoch_;    ///< progress of one epoch at the reference batch
  double end_ = 0;  ///< progress of the longest run
  ConvergenceParameters c_;
  FreeParameters noise_, rates_, phases_;
};

}  // namespace

FitStart start_of(const MeasuredPair& pair, double reference_batch) { return Start(pair, reference_batch).done(); }

}  // namespace rehearse::workloads
