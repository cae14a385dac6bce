#include "policies/harness/estimator.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "policies/harness/curve_terms.hpp"
#include "sim/base/errors.hpp"
#include "workloads/calibration/robust_fit.hpp"

namespace rehearse::policies {

namespace {

// How far a real device's software is from the simulated one, as deviations of logarithms: a factor of two and a half; launches
// against work a factor of two.
constexpr double kFactorSpread = 1, kPartsSpread = 0.35;
constexpr double kPasses = 3;  // forward, and both gradients

using Eigen::Index;

TermSamples samples_of(std::span<const ProfiledStep> steps, double ProfiledStep::*value) {
  const auto rows = static_cast<Index>(steps.size());
  TermSamples samples{Eigen::MatrixXd(rows, static_cast<Index>(curve_term_names().size())), Eigen::VectorXd(rows), {}};
  for (Index i = 0; i < rows; ++i) {
    const ProfiledStep& step = steps[static_cast<std::size_t>(i)];
    samples.terms.row(i) = curve_terms(step.features, step.batch);
    samples.values[i] = step.*value;
    samples.group.push_back(step.network);
  }
  return samples;
}

bool measured(std::span<const ProfiledStep> steps, double ProfiledStep::*value) {
  return std::ranges::all_of(steps, [&](const ProfiledStep& s) { return s.*value > 0; });
}

Interval scaled(const Interval& one, double factor, double offset = 0) {
  return {one.expected * factor + offset, one.low * factor + offset, one.high * factor + offset};
}

/// Seconds of a step, in the part that does not grow with the batch and the part that does.
struct StepParts {
  double fixed_s = 0, growing_s = 0;
};

StepParts parts(const TermRegression& time, const workloads::StructureFeatures& features, double batch) {
  const double fixed_s = time.expected(curve_terms(features, 0));
  return {fixed_s, time.expected(curve_terms(features, batch)) - fixed_s};
}

std::vector<int> terms_of(const TermRegression& fit) { return {fit.chosen().begin(), fit.chosen().end()}; }

}  // namespace

TermSamples step_time_samples(std::span<const ProfiledStep> steps) { return samples_of(steps, &ProfiledStep::step_s); }

TrainingEstimate whole_training(const StepEstimate& step, double steps, double start_s) {
  return {.time_s = scaled(step.step_s, steps, start_s), .energy_j = scaled(step.energy_j, steps)};
}

Estimator Estimator::fit(std::span<const ProfiledStep> steps, double peak_flops, const TermOptions& options) {
  sim::check(!steps.empty() && measured(steps, &ProfiledStep::step_s), "an estimator without times");
  Estimator result;
  result.peak_flops_ = peak_flops;
  result.time_ = TermRegression::fit(samples_of(steps, &ProfiledStep::step_s), options);
  result.has_energy_ = measured(steps, &ProfiledStep::energy_j);
  if (result.has_energy_) result.energy_ = TermRegression::fit(samples_of(steps, &ProfiledStep::energy_j), options);
  result.has_memory_ = measured(steps, &ProfiledStep::memory_bytes);
  if (result.has_memory_) result.memory_ = TermRegression::fit(samples_of(steps, &ProfiledStep::memory_bytes), options);
  return result;
}

Estimator Estimator::fit_like(const Estimator& other, std::span<const ProfiledStep> steps) {
  Estimator result = other;
  result.time_ = TermRegression::fit_terms(samples_of(steps, &ProfiledStep::step_s), terms_of(other.time_));
  if (other.has_energy_)
    result.energy_ = TermRegression::fit_terms(samples_of(steps, &ProfiledStep::energy_j), terms_of(other.energy_));
  return result;
}

Estimator Estimator::calibrated_to(std::span<const ProfiledStep> measured) const {
  std::vector<StepParts> predicted;
  for (const ProfiledStep& step : measured) predicted.push_back(parts(time_, step.features, step.batch));
  // Logarithms of a factor on both parts, and of one on the fixed part against the growing one.
  const auto factors = [](const Eigen::VectorXd& theta) {
    return std::pair{std::exp(theta[0] + theta[1]), std::exp(theta[0] - theta[1])};
  };
  const workloads::FitResult fitted = workloads::fit({
      .residuals =
          [&](const Eigen::VectorXd& theta) {
            const auto [fixed, growing] = factors(theta);
            Eigen::VectorXd found(static_cast<Index>(measured.size()));
            for (std::size_t i = 0; i < measured.size(); ++i)
              found[static_cast<Index>(i)] =
                  std::log((fixed * predicted[i].fixed_s + growing * predicted[i].growing_s) / measured[i].step_s);
            return found;
          },
      .prior_sd = Eigen::Vector2d(kFactorSpread, kPartsSpread),
      .low = Eigen::Vector2d(-3, -3),
      .high = Eigen::Vector2d(3, 3),
      .loss = workloads::RobustLoss::huber,
  });
  Estimator result = *this;
  std::tie(result.fixed_factor_, result.growing_factor_) = factors(fitted.theta);
  return result;
}

StepEstimate Estimator::predict(const workloads::StructureFeatures& features, double batch) const {
  const Eigen::VectorXd terms = curve_terms(features, batch);
  StepEstimate estimate{.step_s = time_.predict(terms)};
  const StepParts seconds = parts(time_, features, batch);
  const double corrected_s = fixed_factor_ * seconds.fixed_s + growing_factor_ * seconds.growing_s;
  estimate.step_s = scaled(estimate.step_s, corrected_s / estimate.step_s.expected);
  if (has_energy_) estimate.energy_j = energy_.predict(terms);
  if (has_memory_) estimate.memory_bytes = memory_.predict(terms);
  const double work = kPasses * batch * features.flops() / peak_flops_;
  const Interval& s = estimate.step_s;
  estimate.utilization = {std::min(1.0, work / s.expected), std::min(1.0, work / s.high), std::min(1.0, work / s.low)};
  return estimate;
}

}  // namespace rehearse::policies
