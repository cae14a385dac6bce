#include "workloads/calibration/convergence_runs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "sim/base/errors.hpp"
#include "workloads/training/datasets.hpp"
#include "workloads/calibration/error_summary.hpp"

namespace rehearse::workloads {
namespace {

constexpr std::size_t kMedianHalf = 2;     // of a window of five epochs
constexpr double kFirstCompared = 5;       // epochs at the smallest batch
constexpr double kFewestValidated = 1000;  // samples of an evaluation when nothing is known: a deviation of 1.6 %

double training_samples_of(std::span<const ConvergencePoint* const> points) {
  if (const Dataset* known = find_dataset(points.front()->dataset)) return known->training_samples;
  std::vector<double> ratios;
  for (const ConvergencePoint* p : points)
    if (p->epoch > 0 && std::isfinite(p->examples)) ratios.push_back(p->examples / p->epoch);
  sim::check(!ratios.empty(), "an unknown dataset's size is told by examples and epochs");
  return std::round(quantile(ratios, 0.5));
}

/// Adds what one point says of a target.
void add_target(TargetsAtSetting& setting, const ConvergencePoint& p, double epoch) {
  auto found = std::lower_bound(setting.targets.begin(), setting.targets.end(), p.metric,
                                [](const TargetReached& t, double metric) { return t.target < metric; });
  if (found == setting.targets.end() || found->target != p.metric) found = setting.targets.insert(found, {.target = p.metric});
  if (p.reading == Reading::never) {
    ++found->never;
    return;
  }
  const double sum = found->reached > 0 ? found->mean_epochs * found->reached : 0;
  found->mean_epochs = (sum + epoch) / ++found->reached;
}

MeasuredPair pair_of(std::span<const ConvergencePoint* const> points) {
  const ConvergencePoint& first = *points.front();
  MeasuredPair pair{.model = first.model,
                    .dataset = first.dataset,
                    .training_samples = training_samples_of(points),
                    .validation_samples = kFewestValidated,
                    .adaptive = first.adaptive};
  if (const Dataset* known = find_dataset(first.dataset)) pair.validation_samples = known->validation_samples;
  std::map<std::tuple<double, double, std::string>, ConvergenceRun> runs;
  std::map<std::pair<double, double>, TargetsAtSetting> settings;
  for (const ConvergencePoint* given : points) {
    ConvergencePoint p = *given;
    if (!std::isfinite(p.examples)) p.examples = p.epoch * pair.training_samples;
    if (p.reading != Reading::evaluation) {
      TargetsAtSetting& at = settings[{p.batch, p.learning_rate}];
      at.batch = p.batch;
      at.learning_rate = p.learning_rate;
      add_target(at, p, p.examples / pair.training_samples);
      continue;
    }
    ConvergenceRun& run = runs[{p.batch, p.learning_rate, p.run}];
    run.batch = p.batch;
    run.learning_rate = p.learning_rate;
    run.name = p.run;
    run.points.push_back(std::move(p));
  }
  for (auto& [key, run] : runs) {
    std::stable_sort(run.points.begin(), run.points.end(),
                     [](const ConvergencePoint& a, const ConvergencePoint& b) { return a.examples < b.examples; });
    pair.runs.push_back(std::move(run));
  }
  for (auto& [key, setting] : settings) pair.settings.push_back(std::move(setting));
  return pair;
}

/// Epochs that the batch's runs need on average to the target; nothing when one does not get there.
std::optional<double> epochs_to(const MeasuredPair& pair, double batch, double target) {
  std::vector<double> epochs;
  for (const ConvergenceRun& run : pair.runs) {
    if (run.batch != batch) continue;
    const auto hit = std::find_if(run.points.begin(), run.points.end(), [&](const auto& p) { return p.metric >= target; });
    if (hit == run.points.end()) return std::nullopt;
    epochs.push_back(hit->examples / pair.training_samples);
  }
  for (const TargetsAtSetting& s : pair.settings) {
    if (s.batch != batch) continue;
    const auto hit = std::find_if(s.targets.begin(), s.targets.end(), [&](const auto& t) { return t.target >= target; });
    if (hit == s.targets.end() || !hit->is_reached()) return std::nullopt;
    epochs.push_back(hit->mean_epochs);
  }
  double sum = 0;
  for (const double e : epochs) sum += e;
  return epochs.empty() ? std::nullopt : std::optional(sum / static_cast<double>(epochs.size()));
}

/// The highest metric that runs of every batch reach.
double common_metric(const MeasuredPair& pair) {
  double common = 1;
  for (const double batch : pair.batches()) common = std::min(common, only_batch(pair, batch).highest_metric());
  return common;
}

MeasuredPair selected(const MeasuredPair& pair, double batch, bool with) {
  MeasuredPair result = pair;
  std::erase_if(result.runs, [&](const ConvergenceRun& r) { return (r.batch == batch) != with; });
  std::erase_if(result.settings, [&](const TargetsAtSetting& s) { return (s.batch == batch) != with; });
  return result;
}

}  // namespace

std::vector<double> MeasuredPair::batches() const {
  std::vector<double> all;
  for (const ConvergenceRun& run : runs) all.push_back(run.batch);
  for (const TargetsAtSetting& setting : settings) all.push_back(setting.batch);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

double MeasuredPair::highest_metric() const {
  double highest = 0;
  for (const ConvergenceRun& run : runs)
    for (const ConvergencePoint& p : run.points) highest = std::max(highest, p.metric);
  for (const TargetsAtSetting& s : settings)
    for (const TargetReached& t : s.targets)
      if (t.is_reached()) highest = std::max(highest, t.target);
  return highest;
}

bool MeasuredPair::has_progress() const {
  return !runs.empty() && settings.empty() && std::all_of(runs.begin(), runs.end(), [](const ConvergenceRun& run) {
    return std::all_of(run.points.begin(), run.points.end(), [](const ConvergencePoint& p) { return p.progress > 0; });
  });
}

bool MeasuredPair::has_rates() const {
  return std::any_of(runs.begin(), runs.end(), [](const ConvergenceRun& r) { return r.learning_rate > 0; }) ||
         std::any_of(settings.begin(), settings.end(), [](const TargetsAtSetting& s) { return s.learning_rate > 0; });
}

std::vector<MeasuredPair> pairs_of(std::span<const ConvergencePoint> points) {
  std::map<std::tuple<std::string, std::string, bool>, std::vector<const ConvergencePoint*>> by_pair;
  for (const ConvergencePoint& p : points) by_pair[{p.model, p.dataset, p.adaptive}].push_back(&p);
  std::vector<MeasuredPair> pairs;
  for (const auto& [key, own] : by_pair) pairs.push_back(pair_of(own));
  return pairs;
}

MeasuredPair without_batch(const MeasuredPair& pair, double batch) { return selected(pair, batch, false); }
MeasuredPair only_batch(const MeasuredPair& pair, double batch) { return selected(pair, batch, true); }

double reference_batch_of(const MeasuredPair& pair) {
  const std::vector<double> batches = pair.batches();
  sim::check(!batches.empty(), "a pair has measurements");
  if (!pair.has_rates()) return batches.front();
  const double target = common_metric(pair);
  double fewest = HUGE_VAL, reference = batches.front();
  for (const double batch : batches) fewest = std::min(fewest, epochs_to(pair, batch, target).value_or(HUGE_VAL));
  for (const double batch : batches)
    if (epochs_to(pair, batch, target).value_or(HUGE_VAL) <= 1.25 * fewest) reference = batch;
  return reference;
}

std::vector<double> clipped_noise_scales(const ConvergenceRun& run) {
  std::vector<double> clipped;
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    std::vector<double> window;
    for (std::size_t k = i - std::min(i, kMedianHalf); k <= std::min(i + kMedianHalf, run.points.size() - 1); ++k) {
      const double phi = run.points[k].noise_scale;
      if (std::isfinite(phi) && phi > 0) window.push_back(phi);
    }
    clipped.push_back(window.empty() && !clipped.empty() ? clipped.back() : quantile(window, 0.5));
  }
  return clipped;
}

StepCheck check_steps(const ConvergenceRun& run, double reference_batch, double training_samples) {
  StepCheck result{.batch = run.batch};
  const std::vector<double> clipped = clipped_noise_scales(run);
  double predicted = 0, measured = 0;
  for (std::size_t i = 1; i < run.points.size(); ++i) {
    const ConvergencePoint &before = run.points[i - 1], &now = run.points[i];
    if (!(before.progress >= 0.999 * kFirstCompared * training_samples / reference_batch)) continue;
    // The median where a single reading is no number, or is ten times off what stands around it.
    const bool plausible = now.noise_scale > 0.1 * clipped[i] && now.noise_scale < 10 * clipped[i];
    const double phi = plausible ? now.noise_scale : clipped[i];
    predicted += (now.progress - before.progress) / step_gain(phi, run.batch, reference_batch);
    measured += (now.examples - before.examples) / run.batch;
    result.predicted_over_measured = predicted / measured;
    result.worst = std::max(result.worst, std::abs(predicted / measured - 1));
    ++result.epochs;
  }
  return result;
}

}  // namespace rehearse::workloads
