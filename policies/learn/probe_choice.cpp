#include "policies/learn/probe_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "policies/learn/gaussian_learner.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

namespace {

/// A whole run: its seconds with start-up, its money and its accuracy, each as a normal variable of the search.
struct Foreseen {
  Gaussian log_time, log_money, accuracy;
};

Gaussian certain(double value) { return {.mean = value, .deviation = 0}; }

Gaussian objective(const sim::Job& job, const Foreseen& run) {
  switch (job.objective) {
    case sim::Objective::min_cost:
      return run.log_money;
    case sim::Objective::min_time:
      return run.log_time;
    case sim::Objective::max_accuracy:
      return {.mean = -run.accuracy.mean, .deviation = run.accuracy.deviation};
  }
  return {};
}

double probability_of_limits(const sim::Job& job, const Foreseen& run) {
  double p = 1;
  if (job.has_deadline()) p *= probability_at_most(std::log(job.deadline_s), run.log_time);
  if (job.has_cost_limit()) p *= probability_at_most(std::log(job.cost_limit_usd), run.log_money);
  if (job.has_target())
    p *= probability_at_most(-job.target_accuracy, {.mean = -run.accuracy.mean, .deviation = run.accuracy.deviation});
  return p;
}

/// What is known of an instance before anything runs there.
struct InstancePrice {
  double usd_per_worker_s = sim::kNever;  ///< the least: what a run has besides its workers is not their price
  double start_s = 0;
};
using InstancePrices = std::map<std::string, InstancePrice>;

bool has_price(const PastRun& run) { return !std::isnan(run.price_usd_per_hour); }

InstancePrices prices_of(const ProbeView& view) {
  InstancePrices prices;
  const auto note = [&](const std::string& instance, double usd_per_s, int workers) -> InstancePrice& {
    InstancePrice& price = prices[instance];
    price.usd_per_worker_s = std::min(price.usd_per_worker_s, usd_per_s / workers);
    return price;
  };
  for (const Probe& probe : view.pool) note(probe.instance, probe.usd_per_s, probe.run.workers).start_s = probe.start_s;
  for (const PastRun& run : view.seen)
    if (has_price(run)) note(run.instance, run.price_usd_per_hour / 3600, run.workers);
  return prices;
}

/// One process for all instances, so that what was seen of one says something of the others: log worker-seconds a sample on log2
/// of workers, global batch and price of a worker.
class SearchTimes {
 public:
  SearchTimes(std::span<const PastRun> seen, const InstancePrices& prices, double noise_factor) : prices_(prices) {
    GaussianSamples samples{.dimension = 4};
    for (const PastRun& run : seen) {
      if (!prices_.contains(run.instance)) continue;  // all that could run there has been measured
      const auto x = point(planned(run), run.instance);
      samples.x.insert(samples.x.end(), x.begin(), x.end());
      samples.y.push_back(std::log(run.time_s / run.epochs / run.samples * run.workers));
    }
    if (!samples.y.empty()) process_ = GaussianProcess::fit(samples, noise_factor);
  }
  bool knows_something() const { return process_.has_value(); }

  /// Of the logarithm of an epoch's seconds.
  Gaussian log_epoch_time(const PlannedRun& run, const std::string& instance) const {
    Gaussian found = process_->at(point(run, instance));
    found.mean += std::log(run.samples / run.workers);
    return found;
  }

 private:
  std::array<double, 4> point(const PlannedRun& run, const std::string& instance) const {
    constexpr double kNothing = 1e-12;  // of devices that cost nothing
    return {std::log2(run.workers), std::log2(run.batch_size), std::log2(kNothing + prices_.at(instance).usd_per_worker_s),
            run.asynchronous ? kApart : 0.0};
  }

  const InstancePrices& prices_;
  std::optional<GaussianProcess> process_;
};

/// The runs and what they could be.
class Search {
 public:
  Search(const ProbeView& view, bool curves, double noise_factor)
      : view_(view), prices_(prices_of(view)), times_(view.seen, prices_, noise_factor) {
    if (curves)
      accuracies_.emplace(points_of_curves(view.seen), 0, noise_factor);
    else
      accuracies_.emplace(view.seen, 0, noise_factor);
    for (const PastRun& run : view.seen) best_ = std::min(best_, kept_objective(run));
  }

  double merit(const Probe& probe) {
    if (!times_.knows_something()) return 0;
    const Gaussian epoch = times_.log_epoch_time(probe.run, probe.instance);
    const double seconds = std::exp(epoch.mean) * probe.epochs;
    // Start-up is certain: the logarithm of the sum spreads by the share of the rest.
    const Gaussian log_time{.mean = std::log(probe.start_s + seconds),
                            .deviation = epoch.deviation * seconds / (probe.start_s + seconds)};
    const Foreseen run{.log_time = log_time,
                       .log_money = {.mean = log_time.mean + std::log(probe.usd_per_s), .deviation = log_time.deviation},
                       .accuracy = accuracy(probe)};
    const double p = probability_of_limits(view_.typical, run);
    return best_ == sim::kNever ? p : p * expected_improvement(best_, objective(view_.typical, run));
  }

 private:
  /// The objective of a measured run; infinite when it broke a limit.
  double kept_objective(const PastRun& run) const {
    const auto price = prices_.find(run.instance);
    if (run.censored || price == prices_.end()) return sim::kNever;  // all others there have been measured
    const double seconds = price->second.start_s + run.time_s;
    const double usd_per_s = has_price(run) ? run.price_usd_per_hour / 3600 : price->second.usd_per_worker_s * run.workers;
    const Foreseen seen{.log_time = certain(std::log(seconds)),
                        .log_money = certain(std::log(seconds * usd_per_s)),
                        .accuracy = certain(run.accuracy)};
    return probability_of_limits(view_.typical, seen) == 1 ? objective(view_.typical, seen).mean : sim::kNever;
  }

  /// Kept: the same for every pool and, when synchronous, every number of workers.
  const Gaussian& accuracy(const Probe& probe) {
    const std::tuple key{probe.run.asynchronous, probe.run.asynchronous ? probe.run.workers : probe.run.batch_size, probe.epochs};
    auto known = accuracy_of_.find(key);
    if (known == accuracy_of_.end()) known = accuracy_of_.emplace(key, accuracies_->distribution(probe.run, probe.epochs)).first;
    return known->second;
  }

  const ProbeView& view_;
  const InstancePrices prices_;
  const SearchTimes times_;
  std::optional<GaussianAccuracies> accuracies_;
  std::map<std::tuple<bool, double, double>, Gaussian> accuracy_of_;
  double best_ = sim::kNever;
};

}  // namespace

std::size_t RandomProbes::next(const ProbeView& view) {
  sim::Random random(view.random_key);
  const Probe& drawn = view.pool[random.below(view.pool.size())];
  std::size_t longest = 0;
  double most_epochs = 0;
  for (std::size_t i = 0; i < view.pool.size(); ++i) {
    const Probe& probe = view.pool[i];
    const bool same = probe.instance == drawn.instance && probe.run.workers == drawn.run.workers &&
                      probe.run.batch_size == drawn.run.batch_size && probe.run.asynchronous == drawn.run.asynchronous;
    if (!same || probe.epochs <= most_epochs) continue;
    most_epochs = probe.epochs;
    longest = i;
  }
  return longest;
}

std::size_t BayesianProbes::next(const ProbeView& view) {
  std::set<std::string_view> instances;
  for (const Probe& probe : view.pool) instances.insert(probe.instance);
  for (const PastRun& run : view.seen) instances.insert(run.instance);
  const std::size_t random = std::clamp<std::size_t>(view.budget / 3, 1, initial_ * instances.size());
  if (view.seen.size() < random) return sim::Random(view.random_key).below(view.pool.size());
  Search search(view, curves_, noise_factor_);
  std::size_t best = 0;
  double most = -1;
  for (std::size_t i = 0; i < view.pool.size(); ++i) {
    const double merit = search.merit(view.pool[i]);
    if (merit <= most) continue;
    most = merit;
    best = i;
  }
  return best;
}

}  // namespace rehearse::policies
