#include "policies/harness/recommend.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "sim/base/errors.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/steps/step_model.hpp"

namespace rehearse::policies {

namespace {

constexpr std::size_t kAlternatives = 3;
constexpr int kAllCounts = 16;  // up to which every number of workers is tried
constexpr double kForward = 1.0 / 3;

/// By the goal; of equals less time, then fewer workers, then the earlier pool.
bool better(Goal goal, const PlanChoice& a, const PlanChoice& b) {
  return std::tuple(a.by(goal), a.time_s.expected, a.workers, a.pool) <
         std::tuple(b.by(goal), b.time_s.expected, b.workers, b.pool);
}

std::optional<PlanChoice> best_of(const std::vector<PlanChoice>& all, const PlanLimits& limits, Goal goal) {
  const PlanChoice* best = nullptr;
  for (const PlanChoice& one : all)
    if (keeps(limits, one) && (best == nullptr || better(goal, one, *best))) best = &one;
  return best == nullptr ? std::nullopt : std::optional(*best);
}

bool same_resources(const PlanChoice& a, const PlanChoice& b) { return a.pool == b.pool && a.workers == b.workers; }

std::vector<PlanChoice> alternatives(const std::vector<PlanChoice>& all, const PlanLimits& limits, Goal goal,
                                     const PlanChoice& best) {
  std::vector<PlanChoice> found;
  while (found.size() < kAlternatives) {
    const PlanChoice* next = nullptr;
    for (const PlanChoice& one : all) {
      const bool known =
          same_resources(one, best) || std::ranges::any_of(found, [&](const PlanChoice& f) { return same_resources(one, f); });
      if (!known && keeps(limits, one) && (next == nullptr || better(goal, one, *next))) next = &one;
    }
    if (next == nullptr) break;
    found.push_back(*next);
  }
  return found;
}

Interval map(const Interval& one, auto&& f) { return {f(one.expected), f(one.low), f(one.high)}; }

}  // namespace

double PlanChoice::by(Goal goal) const {
  return goal == Goal::energy ? energy_j.expected : goal == Goal::cost ? cost_usd.expected : time_s.expected;
}

bool keeps(const PlanLimits& limits, const PlanChoice& choice) {
  return choice.time_s.high <= limits.deadline_s && choice.cost_usd.high <= limits.cost_usd &&
         (limits.pool < 0 || limits.pool == choice.pool) && (limits.workers == 0 || limits.workers == choice.workers) &&
         (limits.free_devices.empty() || choice.workers <= limits.free_devices[static_cast<std::size_t>(choice.pool)]);
}

std::vector<int> Recommender::counts(int pool, const PlanLimits& limits) const {
  const int most = cluster_.pools[static_cast<std::size_t>(pool)].nodes * sim::workers_per_node(cluster_, pool);
  std::set<int> found{most, std::min(most, std::max(1, limits.workers))};
  if (!limits.free_devices.empty() && limits.free_devices[static_cast<std::size_t>(pool)] > 0)
    found.insert(std::min(most, limits.free_devices[static_cast<std::size_t>(pool)]));
  for (int n = 1; n <= most; n += n < kAllCounts ? 1 : n) found.insert(n);
  return {found.begin(), found.end()};
}

PlanChoice priced(const sim::Cluster& cluster, const sim::CostRules& costs, const PlanJob& job, PlanChoice c,
                  const StepEstimate& step, const std::function<double(double)>& global_step_s) {
  const sim::Device& device = sim::worker_device(cluster, c.pool);
  const double steps = c.epochs * std::ceil(job.samples / c.batch);
  const double evaluations = c.epochs * std::ceil(job.evaluation_samples / c.batch);
  c.memory_bytes = step.memory_bytes;
  c.step_s = map(step.step_s, global_step_s);
  const auto training_s = [&](double compute_s) { return steps * global_step_s(compute_s) + evaluations * kForward * compute_s; };
  sim::Configuration configuration;
  configuration.groups.push_back({.pool = c.pool, .workers = c.workers});
  const double start_s = sim::boot_seconds(cluster, nullptr, configuration) + costs.start_s;
  c.time_s = map(step.step_s, [&](double s) { return start_s + training_s(s); });
  c.cost_usd = map(c.time_s, [&](double s) { return sim::usd_for(cluster, costs, configuration, s); });
  c.nodes = sim::nodes_for(cluster, c.pool, c.workers);
  const double peak = step.utilization.expected * step.step_s.expected;  // seconds at the device's peak
  c.utilization = {peak / c.step_s.expected, peak / c.step_s.high, peak / c.step_s.low};
  // The device's own energy while it computes, what it draws ready while it waits, and the node's part.
  const double running_w = sim::power_law(device).running_w;
  const double span_w = device.busy_w - device.idle_w;
  // Of nodes that are rented whole nobody else uses the rest.
  const long unused = c.nodes * sim::workers_per_node(cluster, c.pool) - c.workers;
  const double unused_w =
      costs.billing == sim::Billing::node ? static_cast<double>(unused) * sim::worker_idle_w(cluster, c.pool) : 0;
  const auto energy_j = [&](double step_j, double compute_s) {
    const double waiting_s = global_step_s(compute_s) - compute_s;
    const double mean_w = (step_j + running_w * waiting_s) / (compute_s + waiting_s);
    const double fraction = span_w > 0 ? std::max(0.0, (mean_w - device.idle_w) / span_w) : 1;
    return (unused_w + sim::power_w(cluster, configuration, fraction)) * training_s(compute_s) +
           (unused_w + sim::power_w(cluster, configuration, 0)) * start_s;
  };
  c.energy_j = {energy_j(step.energy_j.expected, step.step_s.expected), energy_j(step.energy_j.low, step.step_s.low),
                energy_j(step.energy_j.high, step.step_s.high)};
  return c;
}

std::optional<PlanChoice> Recommender::evaluated(const PlanJob& job, const PlanChoice& choice, const Estimator& estimator) const {
  const sim::Pool& pool = cluster_.pools[static_cast<std::size_t>(choice.pool)];
  const sim::Instance& instance = cluster_.instances[static_cast<std::size_t>(pool.instance)];
  const sim::Device& device = sim::worker_device(cluster_, choice.pool);
  const int per_node = std::min(choice.workers, sim::workers_per_node(cluster_, choice.pool));
  const double share = std::ceil(choice.batch / choice.workers);  // the fullest worker's
  const StepEstimate step = estimator.predict(job.features, share);
  if (step.memory_bytes.expected > sim::kUsableMemory * device.memory_bytes) return std::nullopt;
  const double storage = instance.storage_bandwidth_bytes_per_s / per_node;
  const double input_s = storage > 0 ? share * job.sample_bytes / storage : 0;
  const double number_bytes = workloads::kBytesPerNumber / (sim::is_half(estimators_.precision()) ? 2 : 1);
  const auto global_step_s = [&](double compute_s) {
    return workloads::step_time({.compute = {.forward_s = kForward * compute_s, .backward_s = (1 - kForward) * compute_s},
                                 .input_s = input_s,
                                 .gradient_bytes = number_bytes * job.features.parameters,
                                 .ring = {.nodes = (choice.workers + per_node - 1) / per_node,
                                          .workers_per_node = per_node,
                                          .inside = instance.inside,
                                          .network = instance.network},
                                 .overlap = instance.overlap,
                                 .straggling = workloads::straggling(choice.workers)})
        .step_s;
  };
  return priced(cluster_, costs_, job, choice, step, global_step_s);
}

std::optional<PlanChoice> Recommender::evaluate(const PlanJob& job, const PlanChoice& choice) const {
  for (const EstimatorSet::Limited& one : estimators_.of_pool(choice.pool))
    if (one.power_limit_w == choice.power_limit_w) return evaluated(job, choice, one.estimator);
  sim::fail_check("a power limit that no estimator is for");
}

std::vector<PlanChoice> Recommender::choices(const PlanJob& job, const PlanLimits& limits) const {
  std::vector<PlanChoice> found;
  for (int pool = 0; pool < static_cast<int>(cluster_.pools.size()); ++pool) {
    for (const int workers : counts(pool, limits))
      for (const BatchOption& option : job.batches)
        for (const EstimatorSet::Limited& limited : estimators_.of_pool(pool)) {
          if (option.batch < workers || !(option.epochs > 0)) continue;
          const PlanChoice choice{.pool = pool,
                                  .workers = workers,
                                  .batch = option.batch,
                                  .power_limit_w = limited.power_limit_w,
                                  .epochs = option.epochs};
          if (const auto one = evaluated(job, choice, limited.estimator)) found.push_back(*one);
        }
  }
  return found;
}

Recommendation Recommender::recommend(const PlanJob& job, const PlanLimits& limits, Goal goal) const {
  const std::vector<PlanChoice> all = choices(job, limits);
  Recommendation r;
  PlanLimits unhurried = limits;
  unhurried.deadline_s = unhurried.cost_usd = std::numeric_limits<double>::infinity();
  r.soonest = best_of(all, unhurried, Goal::time);
  r.cheapest = best_of(all, unhurried, Goal::cost);
  r.best = best_of(all, limits, goal);
  if (r.best) r.alternatives = alternatives(all, limits, goal, *r.best);
  const auto without = [&](std::string name, auto&& lift) {
    PlanLimits fewer = limits;
    lift(fewer);
    const auto choice = best_of(all, fewer, goal);
    if (choice && (!r.best || choice->by(goal) < r.best->by(goal))) r.costs.push_back({std::move(name), *choice});
  };
  without("deadline", [](PlanLimits& l) { l.deadline_s = std::numeric_limits<double>::infinity(); });
  without("cost limit", [](PlanLimits& l) { l.cost_usd = std::numeric_limits<double>::infinity(); });
  without("pool", [](PlanLimits& l) { l.pool = -1; });
  without("workers", [](PlanLimits& l) { l.workers = 0; });
  without("free devices", [](PlanLimits& l) { l.free_devices.clear(); });
  return r;
}

}  // namespace rehearse::policies
