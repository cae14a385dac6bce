#include "report/steady_state.hpp"

#include <limits>
#include <vector>

#include "report/statistics.hpp"

namespace rehearse::report {
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
