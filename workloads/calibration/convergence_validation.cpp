#include "workloads/calibration/convergence_validation.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "workloads/calibration/convergence_fit.hpp"
#include "workloads/calibration/error_summary.hpp"

namespace rehearse::workloads {
namespace {

constexpr double kClimb = 0.002;      // of the metric an epoch
constexpr double kTargetStep = 0.01;  // of the metric
constexpr double kPieces = 20;        // of an epoch, between which predicted examples are interpolated
constexpr double kFurther = 4;        // times the measured examples, beyond which a target counts as never reached

/// How far the run has come at this point, in epochs at the reference batch where progress was measured.
double epochs_at(const ConvergencePoint& p, const ConvergenceParameters& c) {
  return p.progress > 0 ? p.progress * c.reference_batch / c.training_samples : p.examples / c.training_samples;
}

/// Whether the metric climbs over five epochs around this one.
bool climbs(const ConvergenceRun& run, std::size_t i, const ConvergenceParameters& c) {
  const ConvergencePoint& before = run.points[i - std::min<std::size_t>(i, 2)];
  const ConvergencePoint& after = run.points[std::min(i + 2, run.points.size() - 1)];
  return after.metric - before.metric >= kClimb * (epochs_at(after, c) - epochs_at(before, c));
}

/// Examples at which training under this setting first has each of the rising targets; infinite beyond `most`.
std::vector<double> examples_to(const ConvergenceParameters& c, const StepSetting& setting, const std::vector<double>& targets,
                                double most) {
  std::vector<double> found;
  TrainingState state;
  double before = accuracy(c, {}, state);
  const double piece = c.training_samples / kPieces;
  while (found.size() < targets.size() && state.examples < most) {
    const double from = state.examples;
    advance(c, {}, state, setting, piece);
    const double now = accuracy(c, {}, state);
    while (found.size() < targets.size() && targets[found.size()] <= now) {
      const double share = now > before ? std::max(0.0, (targets[found.size()] - before) / (now - before)) : 0;
      found.push_back(from + share * piece);
    }
    before = now;
  }
  found.resize(targets.size(), HUGE_VAL);
  return found;
}

void compare_targets(const ConvergenceRun& run, const ConvergenceParameters& c, std::vector<double>& errors) {
  std::vector<double> targets, measured;
  double best = run.points.front().metric;
  for (std::size_t i = 1; i < run.points.size(); ++i) {
    const ConvergencePoint &before = run.points[i - 1], &now = run.points[i];
    if (now.metric <= best) continue;
    for (double t = kTargetStep * std::ceil(best / kTargetStep + 1e-9); t <= now.metric; t += kTargetStep) {
      if (!climbs(run, i, c)) continue;
      targets.push_back(t);
      const double share = std::clamp((t - before.metric) / (now.metric - before.metric), 0.0, 1.0);
      measured.push_back(before.examples + share * (now.examples - before.examples));
    }
    best = now.metric;
  }
  const auto predicted = examples_to(c, setting_of(run.batch, run.learning_rate), targets, kFurther * run.points.back().examples);
  for (std::size_t k = 0; k < targets.size(); ++k) errors.push_back(std::abs(predicted[k] / measured[k] - 1));
}

void compare_run(const ConvergenceRun& run, const ConvergenceParameters& c, BatchErrors& errors) {
  TrainingState state;
  for (const ConvergencePoint& p : run.points) {
    advance(c, {}, state, setting_of(run.batch, run.learning_rate), std::max(0.0, p.examples - state.examples));
    const double error = accuracy(c, {}, state) - p.metric;
    errors.metric_error += std::abs(error);
    errors.metric_bias += error;
    ++errors.evaluations;
  }
  compare_targets(run, c, errors.examples_errors);
  const StepCheck steps = check_steps(run, c.reference_batch, c.training_samples);
  if (steps.epochs > 0) errors.steps.push_back(steps);
}

void compare_setting(const TargetsAtSetting& s, const ConvergenceParameters& c, bool inner, std::vector<TargetError>& errors) {
  const double highest = s.targets.back().target;
  const auto accuracies = epoch_accuracies(c, setting_of(s.batch, s.learning_rate), kMostEpochsTried, highest);
  for (const TargetReached& t : s.targets) {
    const FirstPassage passage = first_passage(accuracies, kMostEpochsTried, t.target, c.validation_samples);
    errors.push_back({.batch = s.batch,
                      .learning_rate = s.learning_rate,
                      .inner = inner,
                      .measured = t,
                      .predicted_epochs = passage.never < 0.5 ? passage.mean_epochs : kNotMeasured});
  }
}

void append(PairErrors& all, PairErrors some) {
  all.batches.insert(all.batches.end(), some.batches.begin(), some.batches.end());
  all.targets.insert(all.targets.end(), some.targets.begin(), some.targets.end());
}

}  // namespace

double PairErrors::metric_error(bool inner_only) const {
  double sum = 0;
  int count = 0;
  for (const BatchErrors& b : batches) {
    if ((inner_only && !b.inner) || b.evaluations == 0) continue;
    sum += b.metric_error;
    ++count;
  }
  return count > 0 ? sum / count : kNotMeasured;
}

double PairErrors::examples_error(bool inner_only) const {
  std::vector<double> all;
  for (const BatchErrors& b : batches)
    if (!inner_only || b.inner) all.insert(all.end(), b.examples_errors.begin(), b.examples_errors.end());
  return quantile(all, 0.5);
}

double PairErrors::epochs_error(bool inner_only) const {
  std::vector<double> all;
  for (const TargetError& t : targets)
    if ((!inner_only || t.inner) && t.measured.is_reached() && std::isfinite(t.predicted_epochs))
      all.push_back(std::abs(t.predicted_epochs / t.measured.mean_epochs - 1));
  return quantile(all, 0.5);
}

PairErrors compare(const MeasuredPair& pair, const ConvergenceParameters& c, const std::vector<double>& all_batches) {
  PairErrors result;
  for (const double batch : pair.batches()) {
    BatchErrors errors{.batch = batch, .inner = batch > all_batches.front() && batch < all_batches.back()};
    for (const ConvergenceRun& run : pair.runs)
      if (run.batch == batch && !run.points.empty()) compare_run(run, c, errors);
    errors.metric_error /= errors.evaluations;
    errors.metric_bias /= errors.evaluations;
    for (const TargetsAtSetting& s : pair.settings)
      if (s.batch == batch && !s.targets.empty()) compare_setting(s, c, errors.inner, result.targets);
    result.batches.push_back(std::move(errors));
  }
  return result;
}

PairErrors hold_out_batches(const MeasuredPair& pair) {
  const std::vector<double> all = pair.batches();
  sim::check(all.size() > 1, "holding a batch back needs another one");
  PairErrors result;
  for (const double batch : all) {
    const MeasuredPair others = without_batch(pair, batch);
    // Without rates the reference batch is what measured progress counts in, held back or not.
    const double reference = pair.has_rates() ? reference_batch_of(others) : reference_batch_of(pair);
    const FittedConvergence fitted = fit_convergence(others, reference);
    append(result, compare(only_batch(pair, batch), fitted.parameters, all));
    result.fitted_parameters = fitted.fitted.size();
  }
  return result;
}

}  // namespace rehearse::workloads
