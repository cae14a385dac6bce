#include "traces/jobs/workload.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <iterator>
#include <vector>

#include "sim/io/shown.hpp"

namespace rehearse::traces {

namespace {

/// Dates before 1990 count from the trace's own beginning.
std::string date(double seconds) {
  std::string text = fmt::format("{:.15g}", seconds);
  if (seconds > 631152000) text += fmt::format(" ({:%Y-%m-%d %H:%M:%S} UTC)", fmt::gmtime(static_cast<std::time_t>(seconds)));
  return text;
}

/// "users: 15; 6214e9 41.1 %, ...": the five that occur most.
void append_names(std::string& text, std::string_view what, const std::map<std::string, std::int64_t>& names, double jobs) {
  if (names.empty()) return;
  std::vector<std::pair<std::int64_t, std::string_view>> by_count;
  for (const auto& [name, count] : names) by_count.emplace_back(-count, name);
  std::sort(by_count.begin(), by_count.end());
  fmt::format_to(std::back_inserter(text), "{:<20}{}", what, names.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(5, by_count.size()); ++i)
    fmt::format_to(std::back_inserter(text), "{} {} {:.1f} %", i == 0 ? ";" : ",", sim::printable(by_count[i].second),
                   -100.0 * static_cast<double>(by_count[i].first) / jobs);
  text += '\n';
}

void append_sizes(std::string& text, const Workload& workload) {
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "\n{:>8}{:>12}{:>10}{:>14}{:>16}\n", "gpus", "jobs", "% jobs", "% GPU time", "median s");
  for (const auto& [gpus, durations] : workload.by_gpus())
    fmt::format_to(out, "{:>8.4g}{:>12}{:>10.2f}{:>14.2f}{:>16.4g}\n", gpus, durations.count(),
                   100.0 * static_cast<double>(durations.count()) / static_cast<double>(workload.durations().count()),
                   100.0 * workload.gpu_seconds_by_gpus().at(gpus) / workload.gpu_seconds(), durations.quantile(0.5));
}

}  // namespace

void Workload::add(const TraceJob& job) {
  ++jobs_;
  first_s_ = std::min(first_s_, job.submit_s);
  last_s_ = std::max(last_s_, job.submit_s);
  ++hours_[static_cast<std::int64_t>(job.submit_s / 3600)];
  if (!job.user.empty()) ++users_[job.user];
  if (!job.model.empty()) ++models_[job.model];
  if (!job.status.empty()) ++statuses_[job.status];
  const double gpus = gpus_held(job);
  if (!is_given(job.duration_s) || !is_given(gpus)) return;
  durations_.add(job.duration_s);
  const double size = std::round(gpus * 1e6) / 1e6;  // 3 x 0.1 and 0.3 are one
  by_gpus_[size].add(job.duration_s);
  gpu_seconds_by_gpus_[size] += traces::gpu_seconds(job);
  gpu_seconds_ += traces::gpu_seconds(job);
}

Workload::Arrivals Workload::arrivals() const {
  if (hours_.empty()) return {};
  const double hours = static_cast<double>(hours_.rbegin()->first - hours_.begin()->first + 1);
  Arrivals result{.mean = static_cast<double>(jobs_) / hours};
  double squares = 0;
  for (const auto& [hour, count] : hours_) {
    squares += static_cast<double>(count) * static_cast<double>(count);
    result.most = std::max(result.most, static_cast<double>(count));
  }
  result.dispersion = (squares / hours - result.mean * result.mean) / result.mean;
  return result;
}

std::string to_string(const Workload& workload) {
  std::string text;
  const auto out = std::back_inserter(text);
  const double jobs = static_cast<double>(workload.jobs());
  const Workload::Arrivals arrivals = workload.arrivals();
  fmt::format_to(out, "{:<20}{}, {} of them with a duration\n", "jobs", workload.jobs(), workload.durations().count());
  fmt::format_to(out, "{:<20}{} to {}: {:.4g} days\n", "submitted, s", date(workload.first_s()), date(workload.last_s()),
                 workload.span_s() / 86400);
  fmt::format_to(out, "{:<20}mean {:.4g}, most {:.0f}, variance / mean {:.4g}\n", "arrivals an hour", arrivals.mean,
                 arrivals.most, arrivals.dispersion);
  append_names(text, "users", workload.users(), jobs);
  append_names(text, "models", workload.models(), jobs);
  append_names(text, "status", workload.statuses(), jobs);
  if (workload.durations().count() == 0) return text;
  const double load = workload.mean_load_gpus();
  fmt::format_to(out, "{:<20}{}; {:.4g} GPU-hours\n", "mean load",
                 load > 0 ? fmt::format("{:.4g} GPUs busy, if no job waits", load)
                          : fmt::format("none: a burst, all jobs come within {} mean durations", Workload::kSpanInDurations),
                 workload.gpu_seconds() / 3600);
  const LogHistogram& d = workload.durations();
  fmt::format_to(
      out, "{:<20}mean {:.4g}; 5 % {:.4g}, 25 % {:.4g}, median {:.4g}, 75 % {:.4g}, 95 % {:.4g}, 99 % {:.4g}, most {:.4g}\n",
      "duration, s", d.mean(), d.quantile(0.05), d.quantile(0.25), d.quantile(0.5), d.quantile(0.75), d.quantile(0.95),
      d.quantile(0.99), d.quantile(1));
  append_sizes(text, workload);
  return text;
}

}  // namespace rehearse::traces
