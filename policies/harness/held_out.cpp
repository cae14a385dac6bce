#include "policies/harness/held_out.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "policies/harness/estimator.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

ErrorSpread spread_of(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::ranges::sort(errors);
  return {quantile_of_ascending(errors, 0.5), quantile_of_ascending(errors, 0.9),
          std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size())};
}

struct Errors {
  std::vector<double> time, flops_only, energy, memory;
  int covered = 0;
};

void judge(const Estimator& estimator, const TermRegression& flops_only, const ProfiledStep& step, Errors& errors) {
  const StepEstimate estimate = estimator.predict(step.features, step.batch);
  const auto error = [](double predicted, double measured) { return std::abs(predicted / measured - 1); };
  errors.time.push_back(error(estimate.step_s.expected, step.step_s));
  errors.flops_only.push_back(error(flops_only.expected(curve_terms(step.features, step.batch)), step.step_s));
  if (estimator.energy() != nullptr) errors.energy.push_back(error(estimate.energy_j.expected, step.energy_j));
  if (estimator.memory() != nullptr) errors.memory.push_back(error(estimate.memory_bytes.expected, step.memory_bytes));
  if (step.step_s >= estimate.step_s.low && step.step_s <= estimate.step_s.high) ++errors.covered;
}

}  // namespace

HeldOut held_out(std::span<const ProfiledStep> steps, double peak_flops, int folds) {
  std::map<int, int> fold_of;
  for (const ProfiledStep& step : steps) fold_of.emplace(step.network, 0);
  sim::check(fold_of.size() > 2, "networks to hold out, and two to learn from");
  folds = std::min<int>(folds, static_cast<int>(fold_of.size()));
  int next = 0;
  for (auto& [network, fold] : fold_of) fold = next++ % folds;
  Errors errors;
  for (int f = 0; f < folds; ++f) {
    std::vector<ProfiledStep> rest, held;
    for (const ProfiledStep& step : steps) (fold_of[step.network] == f ? held : rest).push_back(step);
    const Estimator estimator = Estimator::fit(rest, peak_flops);
    const std::span<const int> two = flops_only_terms();
    const TermRegression flops_only = TermRegression::fit_terms(step_time_samples(rest), {two.begin(), two.end()});
    for (const ProfiledStep& step : held) judge(estimator, flops_only, step, errors);
  }
  return {.networks = static_cast<int>(fold_of.size()),
          .rows = static_cast<int>(steps.size()),
          .step_time = spread_of(errors.time),
          .flops_only = spread_of(errors.flops_only),
          .energy = spread_of(errors.energy),
          .memory = spread_of(errors.memory),
          .coverage = errors.covered / static_cast<double>(steps.size())};
}

}  // namespace rehearse::policies
