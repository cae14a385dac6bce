#include "policies/configure/menu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rehearse::policies {

namespace {

constexpr int kBatchDoublings = 5;  // the grid spans 2^-5 to 2^5 times the publication's batch

/// The money that a limit is held against.
double limited_usd(const sim::Prediction& p) { return std::isnan(p.safe_cost_usd) ? p.cost_usd : p.safe_cost_usd; }

/// How far a choice is from keeping the limits: relative lateness, missing accuracy and excess of money, 0 when it keeps them.
double violation(const sim::Job& job, const sim::Prediction& p) {
  double sum = 0;
  if (job.has_deadline()) sum += std::isnan(p.time_s) ? 1e6 : std::max(0.0, p.time_s / job.deadline_s - 1);
  if (job.has_target())
    sum += std::isnan(p.accuracy) ? 1e6 : std::max(0.0, job.target_accuracy - p.accuracy) / job.target_accuracy;
  if (job.has_cost_limit()) sum += std::isnan(p.cost_usd) ? 1e6 : std::max(0.0, limited_usd(p) / job.cost_limit_usd - 1);
  return sum;
}

/// Smaller is better.
double merit(const sim::Job& job, const sim::Prediction& p) {
  const auto known = [](double value) { return std::isnan(value) ? std::numeric_limits<double>::max() : value; };
  switch (job.objective) {
    case sim::Objective::min_cost:
      return known(std::isnan(p.ranked_cost_usd) ? p.cost_usd : p.ranked_cost_usd);
    case sim::Objective::min_time:
      return known(p.time_s);
    case sim::Objective::max_accuracy:
      return known(-p.accuracy);
  }
  return 0;
}

/// What would do alone, the other limits as they are.
std::string remedy(const sim::Job& job, const std::vector<sim::Choice>& choices) {
  double soonest_s = sim::kNever, best_accuracy = -1, least_usd = sim::kNever;
  for (const sim::Choice& choice : choices) {
    const sim::Prediction& p = choice.predicted;
    const bool accurate = !job.has_target() || p.accuracy >= job.target_accuracy;
    const bool in_time = !job.has_deadline() || p.time_s <= job.deadline_s;
    const bool affordable = !job.has_cost_limit() || limited_usd(p) <= job.cost_limit_usd;
    if (accurate && affordable && p.time_s < soonest_s) soonest_s = p.time_s;
    if (in_time && affordable && p.accuracy > best_accuracy) best_accuracy = p.accuracy;
    if (accurate && in_time && limited_usd(p) < least_usd) least_usd = limited_usd(p);
  }
  std::vector<std::string> ways;  // rounded so that they do
  if (job.has_deadline() && soonest_s != sim::kNever)
    ways.push_back(fmt::format("a deadline of {:.0f} s would do", std::ceil(soonest_s)));
  const double floor = std::floor(best_accuracy * 1000) / 1000;
  if (job.has_target() && floor > 0) ways.push_back(fmt::format("an accuracy floor of {:.3f} would do", floor));
  if (job.has_cost_limit() && least_usd != sim::kNever)
    ways.push_back(fmt::format("a cost limit of {:.2f} $ would do", std::ceil(least_usd * 100) / 100));
  if (!ways.empty()) return fmt::format("infeasible: {}", fmt::join(ways, ", or "));
  return choices.empty() ? "infeasible: nothing fits" : "infeasible: no single other limit would do for these configurations";
}

}  // namespace

bool keeps_limits(const sim::Job& job, const sim::Prediction& p) {
  return (!job.has_deadline() || p.time_s <= job.deadline_s) && (!job.has_target() || p.accuracy >= job.target_accuracy) &&
         (!job.has_cost_limit() || limited_usd(p) <= job.cost_limit_usd);
}

sim::Menu judge(const sim::Job& job, std::vector<sim::Choice> choices) {
  sim::Menu menu{.feasible = false};
  for (sim::Choice& choice : choices) {
    choice.predicted.feasible = choice.predicted.feasible && keeps_limits(job, choice.predicted);
    menu.feasible = menu.feasible || choice.predicted.feasible;
  }
  if (!menu.feasible) menu.remedy = remedy(job, choices);
  menu.ranked = std::move(choices);
  return menu;
}

sim::Menu rank(const sim::Job& job, std::vector<sim::Choice> choices) {
  struct Order {
    double violation, merit, cost;
    std::size_t index;
  };
  std::vector<Order> order;
  sim::Menu menu = judge(job, std::move(choices));
  choices = std::move(menu.ranked.own());
  menu.ranked = {};
  order.reserve(choices.size());
  menu.ranked.reserve(choices.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const sim::Prediction& p = choices[i].predicted;
    order.push_back({p.feasible ? 0 : 1e-9 + violation(job, p), merit(job, p), std::isnan(p.cost_usd) ? 0 : p.cost_usd, i});
  }
  std::sort(order.begin(), order.end(), [](const Order& a, const Order& b) {
    return std::tie(a.violation, a.merit, a.cost, a.index) < std::tie(b.violation, b.merit, b.cost, b.index);
  });
  for (const Order& o : order) menu.ranked.push_back(std::move(choices[o.index]));
  return menu;
}

bool differ_only_in(const FreeKnobs& free, const sim::Configuration& a, const sim::Configuration& b) {
  const sim::Group &mine = a.groups.front(), &theirs = b.groups.front();
  return (free.pool || mine.pool == theirs.pool) && (free.workers || mine.workers == theirs.workers) &&
         (free.batch || a.batch_size() == b.batch_size());
}

bool fits_memory(const sim::Job& job, const sim::Cluster& cluster, const workloads::Belief& belief,
                 const sim::Configuration& configuration) {
  const workloads::ProfileModel& model = belief.profiles().of(*job.profile);
  if (model.measured != nullptr) {
    const sim::Group& group = configuration.groups.front();
    return configuration.groups.size() == 1 &&
           model.measured->step_s(
               {.pool = group.pool, .workers = group.workers, .batch = group.workers * group.batch_per_worker}) != nullptr;
  }
  return std::all_of(configuration.groups.begin(), configuration.groups.end(), [&](const sim::Group& group) {
    return model.passes(group.batch_per_worker, sim::worker_device(cluster, group.pool), job.profile->precision) > 0;
  });
}

long most_workers(const sim::Job& job, const sim::Cluster& cluster, int pool) {
  if (job.gpu_fraction < 1) return sim::has_gpus(cluster, pool) ? 1 : 0;
  return static_cast<long>(cluster.pools[static_cast<std::size_t>(pool)].nodes) * sim::workers_per_node(cluster, pool);
}

std::vector<sim::Configuration> split_batch(const sim::Job& job, int pool, int workers, double global_batch) {
  const double share = std::round(global_batch / workers);
  if (share < 1 || share > 1e9) return {};
  sim::Configuration c;
  c.groups.push_back({.pool = pool, .workers = workers, .batch_per_worker = static_cast<int>(share)});
  if (binding_batch(job) > 0 && c.batch_size() != job.batch_size) return {};
  return {c};
}

std::vector<sim::Configuration> configuration_grid(const sim::Job& job, const sim::Cluster& cluster,
                                                   const workloads::Belief& belief) {
  std::vector<double> batches;
  const double published = belief.profiles().of(*job.profile).publication_batch;
  if (binding_batch(job) > 0)
    batches.push_back(job.batch_size);
  else
    for (int j = -kBatchDoublings; j <= kBatchDoublings; ++j) batches.push_back(published * std::exp2(j));
  const auto may_use = [&job](int pool) {
    const auto is_named = [pool](const sim::PoolSpeed& named) { return named.pool == pool; };
    if (!job.pools.empty()) return std::any_of(job.pools.begin(), job.pools.end(), is_named);
    return job.pool < 0 || job.pool == pool;
  };
  std::vector<sim::Configuration> grid;
  if (const workloads::MeasuredSteps* measured = belief.profiles().of(*job.profile).measured.get()) {
    for (const auto& setting : measured->settings(job.batch_size, job.pool))
      if (may_use(setting.pool) && setting.workers <= most_workers(job, cluster, setting.pool))
        for (sim::Configuration& c : split_batch(job, setting.pool, setting.workers, job.batch_size))
          grid.push_back(std::move(c));
    return grid;
  }
  for (int pool = 0; pool < static_cast<int>(cluster.pools.size()); ++pool) {
    if (!may_use(pool)) continue;
    const long most = most_workers(job, cluster, pool);
    for (long workers = 1; workers <= most; workers *= 2)
      for (const double batch : batches)
        for (sim::Configuration& c : split_batch(job, pool, static_cast<int>(workers), batch)) grid.push_back(std::move(c));
  }
  return grid;
}

std::vector<sim::Configuration> candidate_configurations(const sim::Job& job, const sim::Cluster& cluster,
                                                         const workloads::Belief& belief, const sim::Configuration& manual) {
  std::vector<sim::Configuration> found;
  if (!manual.groups.empty() && fits_memory(job, cluster, belief, manual) && sim::could_ever_fit(cluster, manual))
    found.push_back(manual);
  // Besides manual's only batches of the same workers can come out the same, and the grid has those one after the other.
  const auto is_known = [&found](const sim::Configuration& c) {
    if (!found.empty() && found.front() == c) return true;
    const auto other_workers = [&c](const sim::Configuration& other) {
      return other.groups.front().pool != c.groups.front().pool || other.groups.front().workers != c.groups.front().workers;
    };
    const auto end = std::find_if(found.rbegin(), found.rend(), other_workers);
    return std::find(found.rbegin(), end, c) != end;
  };
  for (sim::Configuration& c : configuration_grid(job, cluster, belief))
    if (!is_known(c) && fits_memory(job, cluster, belief, c)) found.push_back(std::move(c));
  if (found.empty() && !manual.groups.empty()) found.push_back(manual);  // so that the job can fail by its own reason
  return found;
}

}  // namespace rehearse::policies
