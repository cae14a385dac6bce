#include "traces/jobs/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/base/errors.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

namespace {

constexpr double kHour_s = 3600;
constexpr std::int64_t kWeek = 168;  // hours
/// A bin of fewer jobs gives values anywhere in it, so that none of the trace's own can be told.
constexpr std::int64_t kFewest = 5;
/// A bin's commonest value counts from here on: without one, the votes come out near 0.
constexpr double kClearVote = 0.2;
/// Jobs are drawn in blocks of at most so many, one from each of as many equal parts of the distribution.
constexpr std::int64_t kBlock = std::int64_t{1} << 20;

/// Gamma deviate of mean 1 (Marsaglia, Tsang: "A simple method for generating gamma variables", ACM TOMS 26, 2000).
double gamma_of_mean_1(sim::Random& random, double shape) {
  const double boosted = shape < 1 ? shape + 1 : shape;
  const double d = boosted - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  double v = 0;
  while (true) {
    const double x = random.normal();
    v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = 1 - random.uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) break;
  }
  const double gamma = d * v * (shape < 1 ? std::pow(1 - random.uniform(), 1 / shape) : 1);
  return gamma / shape;
}

}  // namespace

SyntheticTrace::SyntheticTrace(const Workload& workload, std::int64_t jobs, std::uint64_t seed)
    : burst_shape_(std::numeric_limits<double>::infinity()),
      jobs_(jobs),
      seed_(seed),
      arrivals_(sim::stream_key(seed, 0, "synthetic-arrivals", "")),
      kinds_(sim::stream_key(seed, 0, "synthetic-jobs", "")) {
  if (workload.durations().count() == 0 || !(workload.span_s() > 0))
    throw sim::InputError({.expected = "a trace with measured durations and more than one date to draw from",
                           .found = fmt::format("{} jobs", workload.jobs())});
  // As many a second as in the trace, whose first and last jobs mark its ends.
  last_s_ = workload.span_s() * static_cast<double>(jobs) / static_cast<double>(workload.jobs());
  if (last_s_ > kLastDate_s)
    throw sim::InputError({.expected = "a trace of at most 272 years", .found = fmt::format("{:.3g} s", last_s_)});
  fit_jobs(workload);
  fit_arrivals(workload);
  strata_.resize(static_cast<std::size_t>(std::min(jobs, kBlock)));
  std::iota(strata_.begin(), strata_.end(), 0u);
  stratum_ = strata_.size();
}

void SyntheticTrace::fit_jobs(const Workload& workload) {
  const auto total = static_cast<double>(workload.durations().count());
  double below = 0;
  const auto add = [&](double jobs, double gpus, double least_s, double most_s) {
    below += jobs;
    cells_.push_back({.upto = below / total, .gpus = gpus, .least_s = least_s, .most_s = most_s});
  };
  for (const auto& [gpus, durations] : workload.by_gpus())
    for (const auto& [index, bin] : durations.bins()) {
      const auto jobs = static_cast<double>(bin.count), votes = static_cast<double>(bin.votes);
      if (bin.count < kFewest) {
        add(jobs, gpus, LogHistogram::lower_edge(index), LogHistogram::upper_edge(index));
      } else if (votes < kClearVote * jobs) {
        add(jobs, gpus, bin.least, bin.most);
      } else {  // a limit, a default: c jobs that have it outvote the others by 2 c - jobs
        add((jobs + votes) / 2, gpus, bin.common, bin.common);
        add((jobs - votes) / 2, gpus, bin.least, bin.most);
      }
    }
}

/// Each hour of the week has its mean rate; what varies beyond that and beyond chance is a gamma factor of each hour by itself,
/// fitted by moments: Var N = mu + mu^2 / shape for a count N of mean mu.
void SyntheticTrace::fit_arrivals(const Workload& workload) {
  const std::int64_t first = workload.hours().begin()->first, last = workload.hours().rbegin()->first;
  std::array<double, kWeek> counts{}, times{}, rate{};
  for (std::int64_t hour = first; hour <= last; ++hour) ++times[static_cast<std::size_t>(hour % kWeek)];
  for (const auto& [hour, count] : workload.hours()) counts[static_cast<std::size_t>(hour % kWeek)] += static_cast<double>(count);
  const double mean = static_cast<double>(workload.jobs()) / static_cast<double>(last - first + 1);
  // A trace of less than two weeks says nothing about hours of the week.
  const bool weekly = last - first >= 2 * kWeek;
  for (std::size_t i = 0; i < rate.size(); ++i) rate[i] = weekly ? counts[i] / times[i] : mean;

  double excess = 0, squares = 0;
  for (std::int64_t hour = first; hour <= last; ++hour) {
    const auto found = workload.hours().find(hour);
    const double count = found != workload.hours().end() ? static_cast<double>(found->second) : 0;
    const double mu = rate[static_cast<std::size_t>(hour % kWeek)];
    excess += (count - mu) * (count - mu) - mu;
    squares += mu * mu;
  }
  if (excess > 0) burst_shape_ = squares / excess;

  sim::Random bursts(sim::stream_key(seed_, 0, "synthetic-bursts", ""));
  const auto hours = static_cast<std::int64_t>(std::ceil(last_s_ / kHour_s));
  double total = 0;
  for (std::int64_t hour = 0; hour < std::max<std::int64_t>(hours, 1); ++hour) {
    const double part = std::min(1.0, last_s_ / kHour_s - static_cast<double>(hour));  // the last hour is not whole
    const double burst = std::isfinite(burst_shape_) ? gamma_of_mean_1(bursts, burst_shape_) : 1;
    total += part * rate[static_cast<std::size_t>((first + hour) % kWeek)] * burst;
    hours_.push_back(total);
  }
  for (double& upto : hours_) upto = total > 0 ? upto / total : 1;
  hours_.back() = 1;
}

/// The next of jobs_ sorted uniform numbers, through the inverse of the cumulative intensity: given their number, the dates of a
/// Poisson process are such numbers (Devroye: "Non-Uniform Random Variate Generation", 1986, V.3.1 and VI.1). The first and the
/// last are the ends, so that the mean rate is the trace's.
double SyntheticTrace::next_date() {
  if (made_ == 0) return 0;
  if (made_ + 1 >= jobs_) return last_s_;
  const double left = static_cast<double>(jobs_ - 1 - made_);
  position_ += (1 - position_) * (1 - std::pow(1 - arrivals_.uniform(), 1 / left));
  while (hour_ + 1 < hours_.size() && hours_[hour_] <= position_) ++hour_;
  const double before = hour_ == 0 ? 0 : hours_[hour_ - 1];
  const double part = hours_[hour_] > before ? std::clamp((position_ - before) / (hours_[hour_] - before), 0.0, 1.0) : 0;
  return std::min((static_cast<double>(hour_) + part) * kHour_s, last_s_);
}

double SyntheticTrace::next_stratum() {
  if (stratum_ == strata_.size()) {
    kinds_.shuffle(std::span(strata_));
    stratum_ = 0;
  }
  return (strata_[stratum_++] + kinds_.uniform()) / static_cast<double>(strata_.size());
}

std::optional<TraceJob> SyntheticTrace::next() {
  if (made_ == jobs_) return std::nullopt;
  TraceJob job;
  job.submit_s = next_date();
  const double u = next_stratum();
  const auto cell =
      std::min(std::upper_bound(cells_.begin(), cells_.end(), u, [](double x, const Cell& c) { return x < c.upto; }),
               std::prev(cells_.end()));
  job.gpus = std::ceil(cell->gpus);
  if (cell->gpus < job.gpus) job.gpu_fraction = cell->gpus / job.gpus;
  job.duration_s = kinds_.uniform(cell->least_s, cell->most_s);
  job.job_id = fmt::format("synthetic-{}", ++made_);
  return job;
}

}  // namespace rehearse::traces
