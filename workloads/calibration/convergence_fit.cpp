#include "workloads/calibration/convergence_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "workloads/calibration/convergence_start.hpp"

namespace rehearse::workloads {

namespace {

using Residuals = std::vector<double>;

// By how much evaluations, logarithms of examples and logarithms of epochs differ when they are measured again.
constexpr double kMetricScale = 0.003, kExamplesScale = 0.01, kEpochsScale = 0.05;
constexpr double kMetricWeight = 5;     // of a metric's error beside one of the logarithm of epochs: 0.01 is as bad as 5 %
constexpr double kNoiseWeight = 0.1;    // of the logarithm of a noise scale: one reading is off by tens of per cent
constexpr double kEpochRounding = 2.9;  // an epoch's number is off by 0.29 (uniform rounding), a run by about a tenth
constexpr double kHorizon = 4;          // a target counts as missed at so many times its measured epochs

Eigen::VectorXd vector_of(const Residuals& residuals) {
  return Eigen::Map<const Eigen::VectorXd>(residuals.data(), static_cast<Eigen::Index>(residuals.size()));
}

class Fit {
 public:
  Fit(const MeasuredPair& pair, double reference_batch)
      : pair_(pair), start_(start_of(pair, reference_batch)), c_(start_.parameters) {}

  FittedConvergence run() {
    FittedConvergence result;
    if (pair_.has_progress()) {
      result.fitted = start_.noise.told(start_.noise.fit(
          c_, [this](const auto& c) { return examples_residuals(c); }, kExamplesScale));
      const auto phases = best_start(
          start_.phases, [this](const auto& c) { return metric_residuals(c); }, kMetricScale);
      result.fitted.insert(result.fitted.end(), phases.begin(), phases.end());
    } else {
      FreeParameters all = start_.noise;
      all.add(start_.rates);
      all.add(start_.phases);
      result.fitted = best_start(
          all, [this](const auto& c) { return joint_residuals(c); }, kEpochsScale);
    }
    result.parameters = c_;
    warn(result);
    return result;
  }

 private:
  /// A power law is found from where it bends: three places to look for it.
  std::vector<FittedConvergence::Parameter> best_start(
      const FreeParameters& free, const std::function<Eigen::VectorXd(const ConvergenceParameters&)>& residuals, double scale) {
    std::optional<ConvergenceParameters> best;
    std::vector<FittedConvergence::Parameter> told;
    double least = HUGE_VAL;
    for (const double factor : {0.3, 1.0, 5.0}) {
      FreeParameters started = free;
      started.shift(" scale", factor);
      ConvergenceParameters c = c_;
      const FitResult result = started.fit(c, residuals, scale);
      const double cost = residuals(c).cwiseAbs().sum();
      if (!(cost < least)) continue;
      least = cost;
      best = c;
      told = started.told(result);
    }
    sim::check(best.has_value(), "a fit's residuals are numbers");
    c_ = *best;
    return told;
  }

  /// Logarithms of predicted over measured examples at equal progress, and a little of the noise scales themselves.
  Eigen::VectorXd examples_residuals(const ConvergenceParameters& c) const {
    Residuals residuals;
    for (std::size_t r = 0; r < pair_.runs.size(); ++r) {
      const ConvergenceRun& run = pair_.runs[r];
      double examples = 0, before = 0;
      for (std::size_t i = 0; i < run.points.size(); ++i) {
        const ConvergencePoint& p = run.points[i];
        examples += examples_between(c, setting_of(run.batch, run.learning_rate), before, p.progress);
        before = p.progress;
        if (run.batch != c.reference_batch) residuals.push_back(std::log(examples / p.examples));
      }
      add_noise(c, run, residuals);
    }
    return vector_of(residuals);
  }

  /// Simpson's rule.
  static double examples_between(const ConvergenceParameters& c, const StepSetting& setting, double from, double to) {
    const auto at = [&](double p) { return 1 / progress_per_example(c, {}, {.progress = p}, setting); };
    return (to - from) / 6 * (at(from) + 4 * at((from + to) / 2) + at(to));
  }

  void add_noise(const ConvergenceParameters& c, const ConvergenceRun& run, Residuals& residuals) const {
    const std::vector<double> clipped = clipped_noise_scales(run);
    for (std::size_t i = 0; i < clipped.size(); ++i) {
      const double p = run.points[i].progress;
      if (!std::isfinite(clipped[i]) || !std::isfinite(p)) continue;
      residuals.push_back(kNoiseWeight * std::log(noise_scale(c, {}, p, run.batch) / clipped[i]));
    }
  }

  /// At measured progress.
  Eigen::VectorXd metric_residuals(const ConvergenceParameters& c) const {
    Residuals residuals;
    for (const ConvergenceRun& run : pair_.runs)
      for (const ConvergencePoint& p : run.points)
        residuals.push_back(
            accuracy(c, {}, {.progress = p.progress, .examples = 1, .log2_batch_examples = std::log2(run.batch)}) - p.metric);
    return vector_of(residuals);
  }

  Eigen::VectorXd joint_residuals(const ConvergenceParameters& c) const {
    Residuals residuals;
    for (const ConvergenceRun& run : pair_.runs) {
      TrainingState state;
      for (const ConvergencePoint& p : run.points) {
        advance(c, {}, state, setting_of(run.batch, run.learning_rate), std::max(0.0, p.examples - state.examples));
        residuals.push_back(kMetricWeight * (accuracy(c, {}, state) - p.metric));
      }
      add_noise(c, run, residuals);
    }
    for (const TargetsAtSetting& s : pair_.settings) add_targets(c, s, residuals);
    return vector_of(residuals);
  }

  static void add_targets(const ConvergenceParameters& c, const TargetsAtSetting& s, Residuals& residuals) {
    double longest = 0, highest = 0;
    for (const TargetReached& t : s.targets)
      if (t.is_reached()) longest = std::max(longest, t.mean_epochs), highest = t.target;
    const int epochs = sim::whole<int>(std::ceil(kHorizon * longest), "epochs to a target");
    const std::vector<double> accuracies = epoch_accuracies(c, setting_of(s.batch, s.learning_rate), epochs, highest);
    const double ceiling = accuracy_ceiling(c, {}, {.progress = 1, .examples = 1, .log2_batch_examples = std::log2(s.batch)});
    for (const TargetReached& t : s.targets) {
      if (!t.is_reached()) {
        residuals.push_back(kMetricWeight * std::max(0.0, ceiling - t.target));
        continue;
      }
      const int horizon = sim::whole<int>(std::ceil(kHorizon * t.mean_epochs), "epochs to a target");
      const FirstPassage passage = first_passage(accuracies, horizon, t.target, c.validation_samples);
      const double last = accuracies[std::min(accuracies.size(), static_cast<std::size_t>(horizon)) - 1];
      const double missed = kMetricWeight * passage.never * std::max(0.0, t.target - last);
      const double rounding = kEpochRounding / t.mean_epochs;
      residuals.push_back((std::log(passage.mean_epochs / t.mean_epochs) + missed) / std::sqrt(1 + rounding * rounding));
    }
  }

  void warn(FittedConvergence& result) const {
    if (pair_.batches().size() == 1)
      result.warnings.emplace_back("only one batch size: what another batch would need is a guess");
    if (!pair_.has_progress())
      result.warnings.emplace_back(
          "no progress is measured: the noise scale is what fits the curves, and stands for whatever "
          "else slows large batches");
    std::size_t vague = 0;
    for (const auto& p : result.fitted) vague += p.determined ? 0 : 1;
    if (vague > 0)
      result.warnings.push_back(fmt::format("{} of {} parameters are not determined by these rows", vague, result.fitted.size()));
  }

  const MeasuredPair& pair_;
  FitStart start_;
  ConvergenceParameters c_;
};

}  // namespace

FittedConvergence fit_convergence(const MeasuredPair& pair, double reference_batch) {
  sim::check(!pair.runs.empty() || !pair.settings.empty(), "a fit needs measurements");
  return Fit(pair, reference_batch).run();
}

StepSetting setting_of(double batch, double learning_rate) { return {.global_batch = batch, .learning_rate = learning_rate}; }

std::vector<double> epoch_accuracies(const ConvergenceParameters& c, const StepSetting& setting, int epochs, double enough) {
  constexpr double kSurely = 0.05;
  std::vector<double> accuracies;
  TrainingState state;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    advance(c, {}, state, setting, c.training_samples);
    accuracies.push_back(accuracy(c, {}, state));
    if (accuracies.back() > enough + kSurely) break;
  }
  return accuracies;
}

FirstPassage first_passage(const std::vector<double>& accuracies, int epochs, double target, double validation_samples) {
  FirstPassage passage{.mean_epochs = 0, .never = 1};
  for (int epoch = 0; epoch < epochs; ++epoch) {
    passage.mean_epochs += passage.never;
    const auto at = static_cast<std::size_t>(epoch);
    const double a = at < accuracies.size() ? accuracies[at] : HUGE_VAL;
    // The chance that a reading stays below the target.
    const double below =
        std::isfinite(a) ? std::erfc((a - target) / evaluation_deviation(a, validation_samples) / std::sqrt(2.0)) / 2 : 0.0;
    passage.never *= below;
    if (passage.never < 1e-9) break;
  }
  return passage;
}

}  // namespace rehearse::workloads
