#include "policies/configure/manual.hpp"

#include <algorithm>
#include <cmath>

#include "policies/configure/menu.hpp"
#include "sim/base/units.hpp"

namespace rehearse::policies {

namespace {

/// What a choice of pool looks at.
struct PoolQuestion {
  const sim::Job& job;
  const sim::Cluster& cluster;
  const sim::CostRules& costs;
  const workloads::Belief& belief;
  double batch;
};

/// Powers of two times `least` of workers that hold their share of the batch.
std::vector<sim::Configuration> that_fit(const PoolQuestion& ask, int pool, int least) {
  std::vector<sim::Configuration> fitting;
  for (long workers = least; workers <= most_workers(ask.job, ask.cluster, pool); workers *= 2)
    for (sim::Configuration& c : split_batch(ask.job, pool, static_cast<int>(workers), ask.batch))
      if (fits_memory(ask.job, ask.cluster, ask.belief, c)) fitting.push_back(c);
  return fitting;
}

/// Who pays for whole nodes uses every device of them, where the batch can be divided so.
std::vector<sim::Configuration> that_fit(const PoolQuestion& ask, int pool) {
  const int least = ask.costs.billing == sim::Billing::node ? sim::workers_per_node(ask.cluster, pool) : 1;
  std::vector<sim::Configuration> fitting = that_fit(ask, pool, least);
  return fitting.empty() && least > 1 ? that_fit(ask, pool, 1) : fitting;
}

/// What a predicted sample takes with the fewest workers that hold the batch: worker-seconds for who wants the fastest pool, else
/// dollars. Infinite when none holds it.
double taken_by_sample(const PoolQuestion& ask, int pool, PoolHabit habit) {
  for (const sim::Configuration& c : that_fit(ask, pool)) {
    const sim::Layout layout = sim::empty_cluster_layout(ask.cluster, c);
    const std::vector<sim::Plans> plans(1, {.threads = {.intra_op = std::max(1, sim::worker_device(ask.cluster, pool).cores)}});
    const double step_s = ask.belief.models().step_times->timing(ask.job, c, layout, plans).step_s;
    const double rate = habit == PoolHabit::fastest ? c.workers() : sim::share_usd_per_s(ask.cluster, ask.costs, c);
    return rate * step_s / c.batch_size();
  }
  return sim::kNever;
}

int habitual_pool(const PoolQuestion& ask, PoolHabit habit) {
  std::vector<std::pair<double, int>> pools;
  for (int pool = 0; pool < static_cast<int>(ask.cluster.pools.size()); ++pool) {
    if (ask.job.gpus > 0 && most_workers(ask.job, ask.cluster, pool) < ask.job.gpus) continue;
    const double taken = taken_by_sample(ask, pool, habit);
    if (taken != sim::kNever) pools.emplace_back(taken, pool);
  }
  if (pools.empty()) return 0;
  std::sort(pools.begin(), pools.end());
  return pools[habit == PoolHabit::median ? (pools.size() - 1) / 2 : 0].second;
}

/// By the belief, and rising in workers: the fewest in good time for the deadline; where none is, the fastest. Of a job that is
/// to end soon the fastest whose money stays well within the limit; where none does, the cheapest.
sim::Configuration enough_workers(const sim::Job& job, const std::vector<sim::Configuration>& fitting,
                                  sim::AloneRunner& believed) {
  const bool soon = job.objective == sim::Objective::min_time;
  sim::Job to_target = job;
  to_target.stop = sim::Stop::target;  // a budget is what the prediction says
  struct Known {
    const sim::Configuration* configuration;
    double time_s, cost_usd;
  };
  std::vector<Known> known;
  for (const sim::Configuration& c : fitting) {
    const sim::AloneOutcome outcome = believed.run(to_target, {.configuration = c});
    if (!outcome.fits || outcome.failure != sim::FailureReason::none) continue;
    known.push_back({&c, outcome.time_s, outcome.cost_usd});
    if (!soon && (!job.has_deadline() || outcome.time_s <= kCarefulShare * job.deadline_s)) return c;
  }
  if (known.empty()) return fitting.front();
  const Known cheapest = *std::ranges::min_element(known, {}, &Known::cost_usd);
  if (soon) std::erase_if(known, [&](const Known& k) { return k.cost_usd > kCarefulShare * job.cost_limit_usd; });
  return known.empty() ? *cheapest.configuration : *std::ranges::min_element(known, {}, &Known::time_s)->configuration;
}

/// What no rule decides.
void set_by_hand(const ManualOverride& set, sim::Configuration& c) {
  c.learning_rate = set.learning_rate.value_or(0);
  if (set.sync) c.sync = *set.sync;
}

}  // namespace

ManualOverride ManualRules::for_job(const sim::Job& job) const {
  const auto found = by_model_.find(job.profile->model);
  return found == by_model_.end() ? for_all_ : found->second;
}

sim::Configuration ManualRules::configuration(const sim::Job& job, const sim::Cluster& cluster, const sim::CostRules& costs,
                                              const workloads::Belief& belief, sim::AloneRunner& believed) const {
  const ManualOverride set = for_job(job);
  double batch =
      job.batch_size > 0 ? job.batch_size : set.batch_size.value_or(belief.profiles().of(*job.profile).publication_batch);
  const auto ask = [&] { return PoolQuestion{job, cluster, costs, belief, batch}; };
  const auto chosen_pool = [&] {
    if (job.pool >= 0) return job.pool;
    if (!job.pools.empty()) return job.pools.front().pool;
    return set.pool ? *set.pool : habitual_pool(ask(), set.pool_habit);
  };
  int pool = chosen_pool();
  std::vector<sim::Configuration> fitting = that_fit(ask(), pool);
  while (fitting.empty() && binding_batch(job) == 0 && batch > 1) {
    batch = std::floor(batch / 2);
    pool = chosen_pool();
    fitting = that_fit(ask(), pool);
  }
  // A hand-set number of workers stands; the trace's stands where it fits, else it is a lower bound. A fixed batch is shared
  // evenly: by the most of them that can.
  const int least = set.workers.value_or(job.gpus);
  sim::Configuration choice;
  int workers = std::max(1, least);
  while (workers > 1 && binding_batch(job) > 0 && split_batch(job, pool, workers, batch).empty()) --workers;
  choice.groups = {{.pool = pool,
                    .workers = workers,
                    .batch_per_worker = sim::whole<int>(std::max(1.0, std::round(batch / workers)), "samples of a worker")}};
  if (!set.workers && !(least > 0 && fits_memory(job, cluster, belief, choice))) {
    std::erase_if(fitting, [&](const sim::Configuration& c) { return c.workers() < least; });
    for (sim::Configuration& c : fitting) set_by_hand(set, c);
    if (!fitting.empty()) choice = enough_workers(job, fitting, believed);
  }
  set_by_hand(set, choice);
  return choice;
}

sim::Menu Manual::configure(const ConfigureView& view, const workloads::Belief&) {
  return rank(view.job, {{.configuration = view.manual, .predicted = view.estimate(view.manual)}});
}

}  // namespace rehearse::policies
