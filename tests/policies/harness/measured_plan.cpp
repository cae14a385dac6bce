#include "tests/policies/harness/measured_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/learn/linear_regression.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

namespace {

/// NaN when a run never reached the target, or there is none.
double mean_epochs(const MeasuredTraining& training, double batch) {
  for (const SettingRuns& runs : training.runs)
    if (runs.batch == batch && !runs.epochs.empty())
      return std::accumulate(runs.epochs.begin(), runs.epochs.end(), 0.0) / static_cast<double>(runs.epochs.size());
  return std::nan("");
}

/// Of an epoch's time or power: its batch and limit in curves. A device that a small batch does not fill goes with 1/batch; one
/// that a low limit slows with 1/limit.
Eigen::VectorXd setting_terms(const MeasuredSetting& s) {
  const double b = s.batch, w = s.power_limit_w;
  Eigen::VectorXd terms(9);
  terms << 1, 1 / b, 1 / std::sqrt(b), 1 / w, 1 / (w * w), w, std::sqrt(w), std::log2(1 + b), 1 / (b * w);
  return terms;
}

TermRegression curve(const MeasuredTraining& training, const std::vector<bool>& measured, double MeasuredSetting::*value) {
  TermSamples samples;
  std::vector<Eigen::VectorXd> rows;
  std::vector<double> values;
  for (std::size_t i = 0; i < training.settings.size(); ++i) {
    if (!measured[i]) continue;
    rows.push_back(setting_terms(training.settings[i]));
    values.push_back(training.settings[i].*value);
    samples.group.push_back(static_cast<int>(i));
  }
  samples.terms.resize(static_cast<Eigen::Index>(rows.size()), rows.front().size());
  samples.values = Eigen::Map<Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) samples.terms.row(static_cast<Eigen::Index>(i)) = rows[i];
  return TermRegression::fit(samples);
}

}  // namespace

std::vector<SettingOutcome> outcomes(const MeasuredTraining& training) {
  std::vector<SettingOutcome> found;
  for (std::size_t i = 0; i < training.settings.size(); ++i) {
    const MeasuredSetting& s = training.settings[i];
    const double time_s = mean_epochs(training, s.batch) * s.epoch_s;
    if (time_s > 0 && s.power_w > 0) found.push_back({i, time_s * s.power_w, time_s});
  }
  std::ranges::stable_sort(found, {}, &SettingOutcome::energy_j);
  return found;
}

std::optional<SettingOutcome> least_energy(const MeasuredTraining& training, double deadline_s) {
  for (const SettingOutcome& one : outcomes(training))
    if (one.time_s <= deadline_s) return one;
  return std::nullopt;
}

std::optional<SettingOutcome> least_energy_from(const MeasuredTraining& training, const std::vector<bool>& measured) {
  MeasuredTraining guessed = training;
  const TermRegression epoch = curve(training, measured, &MeasuredSetting::epoch_s);
  const TermRegression power = curve(training, measured, &MeasuredSetting::power_w);
  for (std::size_t i = 0; i < guessed.settings.size(); ++i) {
    if (measured[i]) continue;
    MeasuredSetting& s = guessed.settings[i];
    s.epoch_s = epoch.expected(setting_terms(s));
    s.power_w = power.expected(setting_terms(s));
  }
  const std::vector<SettingOutcome> chosen = outcomes(guessed);
  if (chosen.empty()) return std::nullopt;
  for (const SettingOutcome& one : outcomes(training))  // what it really takes
    if (one.setting == chosen.front().setting) return one;
  return std::nullopt;
}

std::vector<double> win_shares(const MeasuredTraining& training, int draws, std::uint64_t random_key) {
  std::vector<double> shares(training.settings.size());
  sim::Random random(random_key);
  for (int draw = 0; draw < draws; ++draw) {
    MeasuredTraining drawn = training;
    for (std::size_t r = 0; r < drawn.runs.size(); ++r)
      for (double& epochs : drawn.runs[r].epochs) epochs = training.runs[r].epochs[random.below(training.runs[r].epochs.size())];
    const std::vector<SettingOutcome> found = outcomes(drawn);
    if (!found.empty()) shares[found.front().setting] += 1.0 / draws;
  }
  return shares;
}

}  // namespace rehearse::policies
