#include "policies/learn/probe_choice.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

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

/// The runs and what they could be, by instance, in the order of names.
class Search {
 public:
  Search(const ProbeView& view, bool curves, double noise_factor) : view_(view) {
    std::map<std::string, std::vector<PastRun>> by_instance;
    for (const PastRun& run : view.seen) by_instance[run.instance].push_back(run);
    for (const auto& [instance, runs] : by_instance) times_.emplace(instance, GaussianTimes(runs, 0, noise_factor));
    if (curves)
      accuracies_.emplace(points_of_curves(view.seen), 0, noise_factor);
    else
      accuracies_.emplace(view.seen, 0, noise_factor);
    for (const Probe& probe : view.pool) money_of_[probe.instance] = {probe.usd_per_s / probe.run.workers, probe.start_s};
    for (const PastRun& run : view.seen) best_ = std::min(best_, kept_objective(run));
  }

  double merit(const Probe& probe) {
    const auto known = times_.find(probe.instance);
    if (known == times_.end()) return 0;
    const Gaussian epoch = known->second.log_epoch_time(probe.run);
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
  struct Money {
    double usd_per_worker_s, start_s;
  };

  /// The objective of a measured run; infinite when it broke a limit.
  double kept_objective(const PastRun& run) const {
    const auto money = money_of_.find(run.instance);
    const bool has_price = !std::isnan(run.price_usd_per_hour);
    if (run.censored || (money == money_of_.end() && !has_price)) return sim::kNever;  // all others there have been measured
    const double seconds = (money == money_of_.end() ? 0 : money->second.start_s) + run.time_s;
    const double usd_per_s = has_price ? run.price_usd_per_hour / 3600 : money->second.usd_per_worker_s * run.workers;
    const Foreseen seen{.log_time = certain(std::log(seconds)),
                        .log_money = certain(std::log(seconds * usd_per_s)),
                        .accuracy = certain(run.accuracy)};
    return probability_of_limits(view_.typical, seen) == 1 ? objective(view_.typical, seen).mean : sim::kNever;
  }

  /// Kept: the same for every pool and, when synchronous, every number of workers.
  const Gaussian& accuracy(const Probe& probe) {
    const auto key = std::make_pair(probe.run.asynchronous ? probe.run.workers : probe.run.batch_size, probe.epochs);
    auto known = accuracy_of_.find(key);
    if (known == accuracy_of_.end()) known = accuracy_of_.emplace(key, accuracies_->distribution(probe.run, probe.epochs)).first;
    return known->second;
  }

  const ProbeView& view_;
  std::map<std::string, GaussianTimes> times_;
  std::optional<GaussianAccuracies> accuracies_;
  std::map<std::string, Money> money_of_;
  std::map<std::pair<double, double>, Gaussian> accuracy_of_;
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
  std::map<std::string, int> left;
  for (const Probe& probe : view.pool) left[probe.instance] = initial_;
  for (const PastRun& run : view.seen)
    if (const auto found = left.find(run.instance); found != left.end()) --found->second;
  for (const auto& [instance, wanted] : left) {
    if (wanted <= 0) continue;
    std::vector<std::size_t> there;
    for (std::size_t i = 0; i < view.pool.size(); ++i)
      if (view.pool[i].instance == instance) there.push_back(i);
    return there[sim::Random(view.random_key).below(there.size())];
  }
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
