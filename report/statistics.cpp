#include "report/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/base/statistics.hpp"

namespace rehearse::report {

namespace {

using sim::kNan;

}  // namespace

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? kNan : sum / static_cast<double>(values.size());
}

Estimate estimate(std::span<const double> values) {
  std::vector<double> defined;
  std::copy_if(values.begin(), values.end(), std::back_inserter(defined), [](double v) { return !std::isnan(v); });
  const double m = mean(defined);
  if (defined.size() < 2) return {m, kNan, kNan};
  double squares = 0;
  for (const double value : defined) squares += (value - m) * (value - m);
  const auto n = static_cast<double>(defined.size());
  const double t = sim::student_quantile(0.975, n - 1);
  const double half = t * std::sqrt(squares / (n - 1) / n);
  return {m, m - half, m + half};
}

Estimate estimate_of_ratios(std::span<const double> values) {
  std::vector<double> logarithms;
  for (const double value : values) logarithms.push_back(std::log(value));
  const Estimate e = estimate(logarithms);
  return {std::exp(e.mean), std::exp(e.ci95_low), std::exp(e.ci95_high)};
}

namespace {

constexpr std::size_t kBatch = 5;
constexpr std::size_t kFewestBatches = 10;

}  // namespace

std::optional<std::size_t> mser5(std::span<const double> observations) {
  const std::size_t count = observations.size() / kBatch;
  if (count < kFewestBatches) return std::nullopt;
  std::vector<double> means;
  for (std::size_t b = 0; b < count; ++b) means.push_back(mean(observations.subspan(b * kBatch, kBatch)));
  // From the end: mean and sum of squared deviations of what is kept, one more each time (Welford, Technometrics 4(3), 1962).
  double kept = 0, average = 0, squares = 0, least = std::numeric_limits<double>::infinity();
  std::size_t best = 0;
  for (std::size_t d = count; d-- > 0;) {
    ++kept;
    const double delta = means[d] - average;
    average += delta / kept;
    squares += delta * (means[d] - average);
    if (kept < kBatch) continue;  // of a handful of means any is small by chance
    const double z = squares / (kept * kept);
    if (z <= least) least = z, best = d;
  }
  if (best > count / 2) return std::nullopt;
  return best * kBatch;
}

void measure_steady_state(RunOutcome& outcome) {
  outcome.metrics.measured = true;
  std::vector<double> completion_s, submit_s;
  for (const JobOutcome& job : outcome.jobs) {
    if (!job.finished) continue;
    completion_s.push_back(job.completion_s);
    submit_s.push_back(job.submit_s);
  }
  const std::optional<std::size_t> first = mser5(completion_s);
  if (!first) return;
  outcome.metrics.steady_from_s = submit_s[*first];
  outcome.metrics.jct_steady_mean_s = mean(std::span(completion_s).subspan(*first));
}

}  // namespace rehearse::report
