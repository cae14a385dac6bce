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

bool is_same_figure(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= kSameFigure * std::max(std::abs(a), std::abs(b));
}

std::vector<double> log_ratios(std::span<const double> of, std::span<const double> over, Mean mean_of) {
  std::vector<double> logs, same(of.begin(), of.end());
  for (std::size_t r = 0; r < same.size(); ++r)
    if (is_same_figure(of[r], over[r])) same[r] = over[r];
  const double mine = mean(same), theirs = mean(over);
  for (std::size_t r = 0; r < same.size(); ++r) {
    if (mean_of == Mean::geometric)
      logs.push_back(same[r] == over[r] ? 0 : same[r] > 0 && over[r] > 0 ? std::log(same[r] / over[r]) : kNan);
    else
      logs.push_back(mine > 0 && theirs > 0 ? std::log(mine / theirs) + (same[r] / mine - over[r] / theirs) : kNan);
  }
  return logs;
}

Estimate ratio_of_means(std::span<const double> of, std::span<const double> over, Mean mean) {
  std::vector<double> mine, theirs;  // of pairs of which both are known
  for (std::size_t r = 0; r < of.size(); ++r) {
    if (std::isnan(of[r]) || std::isnan(over[r])) continue;
    mine.push_back(of[r]);
    theirs.push_back(over[r]);
  }
  if (mine.size() == 1 && theirs[0] > 0) return {mine[0] / theirs[0], kNan, kNan};
  const Estimate e = estimate(log_ratios(mine, theirs, mean));
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
