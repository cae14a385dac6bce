#include "policies/harness/estimator.hpp"

#include <algorithm>

#include "policies/harness/curve_terms.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

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

StepEstimate Estimator::predict(const workloads::StructureFeatures& features, double batch) const {
  const Eigen::VectorXd terms = curve_terms(features, batch);
  StepEstimate estimate{.step_s = time_.predict(terms)};
  if (has_energy_) estimate.energy_j = energy_.predict(terms);
  if (has_memory_) estimate.memory_bytes = memory_.predict(terms);
  const double work = kPasses * batch * features.flops() / peak_flops_;
  const Interval& s = estimate.step_s;
  estimate.utilization = {std::min(1.0, work / s.expected), std::min(1.0, work / s.high), std::min(1.0, work / s.low)};
  return estimate;
}

}  // namespace rehearse::policies
