#include "policies/staged/spot_strategy.hpp"

#include <algorithm>
#include <cmath>

#include "policies/staged/spot/spot_job.hpp"
#include "policies/staged/staged.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::policies {

namespace {

constexpr double kReserve = 0.05;            ///< of the time left, that the belief may be wrong about
constexpr int kMostSlack = 512;              ///< steps that a programme tells apart
constexpr double kLongestWait_s = 6 * 3600;  ///< then the strategy is asked anew
constexpr double kShortestWait_s = 60;       ///< what is left after a wait is a twentieth of it: else there is no end of waits

bool is_spot(const sim::Cluster& cluster, sim::PoolId pool) {
  return cluster.pools[static_cast<std::size_t>(pool)].spot.has_value();
}
/// The type's name: spot pools have an entry of their own, with their price.
bool has_spot_twin(const sim::Cluster& cluster, const sim::Configuration& configuration) {
  const std::string& instance = sim::instance_of(cluster, configuration.groups.front().pool).name;
  for (sim::PoolId pool = 0; pool < static_cast<sim::PoolId>(cluster.pools.size()); ++pool)
    if (is_spot(cluster, pool) && sim::instance_of(cluster, pool).name == instance) return true;
  return false;
}

bool same_but_pool(sim::Configuration a, const sim::Configuration& b) {
  if (a.groups.size() != 1 || b.groups.size() != 1) return false;
  a.groups.front().pool = b.groups.front().pool;
  return a == b;
}

/// Of the configurations on nodes that stay: keeps the limits before others, has a spot twin before others, is cheap; else fast.
const sim::Choice* best_that_stays(const ConfigureView& view, const sim::Menu& menu) {
  const auto rank = [&](const sim::Choice& choice) {
    const bool in_time = choice.predicted.feasible && choice.predicted.time_s <= (1 - kReserve) * view.job.deadline_s;
    const double worth = in_time ? choice.predicted.cost_usd : choice.predicted.time_s;
    return std::tuple(!in_time, !has_spot_twin(view.cluster, choice.configuration), worth);
  };
  const sim::Choice* best = nullptr;
  for (const sim::Choice& choice : menu.ranked) {
    if (choice.configuration.groups.size() != 1 || is_spot(view.cluster, choice.configuration.groups.front().pool)) continue;
    if (!(choice.predicted.time_s > 0) || !(choice.predicted.epochs > 0)) continue;
    if (best == nullptr || rank(choice) < rank(*best)) best = &choice;
  }
  return best;
}

bool is_free(const ConfigureView& view, const sim::Configuration& configuration, const sim::Configuration* held) {
  return std::all_of(configuration.groups.begin(), configuration.groups.end(), [&](const sim::Group& group) {
    const long mine = held != nullptr ? held->workers_of(group.pool) : 0;
    return configuration.workers_of(group.pool) <= view.sight->pool(group.pool).free_devices + mine;
  });
}

const sim::Configuration* held_by(std::span<const sim::StageSeen> seen) {
  return seen.empty() || seen.back().let_go ? nullptr : &seen.back().configuration;
}

int whole_steps(double seconds, double step_s) { return static_cast<int>(std::ceil(seconds / step_s - 1e-9)); }

}  // namespace

SpotStrategy::Course SpotStrategy::begin(const ConfigureView& view) const {
  const sim::Menu menu = believed_menu(view);
  const sim::Choice* stays = best_that_stays(view, menu);
  if (stays == nullptr) return {};
  Course course{.on_demand = stays->configuration, .predicted = stays->predicted};
  const std::string& instance = sim::instance_of(view.cluster, stays->configuration.groups.front().pool).name;
  for (const sim::Choice& choice : menu.ranked) {
    const sim::PoolId pool = choice.configuration.groups.front().pool;
    if (is_spot(view.cluster, pool) && sim::instance_of(view.cluster, pool).name == instance &&
        same_but_pool(choice.configuration, course.on_demand))
      course.on_spot.push_back(choice);
  }
  std::sort(course.on_spot.begin(), course.on_spot.end(), [](const sim::Choice& a, const sim::Choice& b) {
    return a.configuration.groups.front().pool < b.configuration.groups.front().pool;
  });
  const double restart_s = view.costs.start_s + view.costs.checkpoint_s;
  course.step_s = std::max(options_.step_s, course.predicted.time_s / kMostSpotWork);
  course.zones.resize(course.on_spot.size());
  SpotTerms& terms = course.terms;
  terms.work = std::max(1, whole_steps(course.predicted.time_s - view.costs.start_s, course.step_s));
  terms.restart = std::max(1, whole_steps(restart_s, course.step_s));
  const double most_steps = terms.work + kMostSlack;
  const double deadline_steps = (1 - kReserve) * view.job.deadline_s / course.step_s;
  terms.deadline = static_cast<int>(std::min(most_steps, deadline_steps));
  terms.on_demand_usd = course.predicted.cost_usd / terms.work;
  terms.spot_usd = terms.on_demand_usd;
  for (const sim::Choice& choice : course.on_spot)
    terms.spot_usd = std::min(terms.spot_usd, choice.predicted.cost_usd / terms.work);
  return course;
}

std::unique_ptr<SpotPolicy> SpotStrategy::make_rule(const ConfigureView& view, const Course& course) {
  double up_s = options_.up_s, down_s = options_.down_s;
  if (!course.on_spot.empty() && view.sight != nullptr) {
    const sim::PoolSight pool = view.sight->pool(course.on_spot.front().configuration.groups.front().pool);
    if (pool.mean_up_s < sim::kNever) up_s = pool.mean_up_s, down_s = pool.down_s;
  }
  const MeanRuns mean{.up = std::max(1.0, up_s / course.step_s), .down = std::max(1.0, down_s / course.step_s)};
  switch (options_.rule) {
    case SpotRule::uniform_progress:
      return make_uniform_progress();
    case SpotRule::greedy:
      return make_spot_greedy();
    case SpotRule::mean:
      return make_mean_planner(&mean);
    case SpotRule::programme: {
      if (course.on_spot.empty() || course.terms.slack() < course.terms.restart) return make_on_demand();
      const ZoneLaw law = ZoneLaw::of_rates(1 / mean.up, 1 / mean.down);
      const int zones = static_cast<int>(course.on_spot.size());
      return make_table_policy("staged-sdp", std::make_shared<const SpotTable>(law, zones, course.terms));
    }
  }
  return nullptr;
}

sim::Menu SpotStrategy::configure(const ConfigureView& view, const workloads::Belief& belief) {
  return configure_again(view, {}, belief);
}

sim::Menu SpotStrategy::configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                                        const workloads::Belief&) {
  if (view.job.work != sim::Work::train || view.candidates.empty()) return believed_menu(view);
  auto known = courses_.find(view.job.name);
  if (known == courses_.end()) {
    known = courses_.emplace(view.job.name, begin(view)).first;
    Course& course = known->second;
    if (!course.on_demand.groups.empty()) {
      course.rule = make_rule(view, course);
      course.rule->begin(course.terms);
    }
  }
  Course& course = known->second;
  if (course.rule == nullptr) return believed_menu(view);
  const double epochs = seen.empty() ? 0 : seen.back().epochs;
  const double done = std::min(1.0, epochs / course.predicted.epochs);
  const sim::Configuration* held = held_by(seen);
  const int now = whole_steps(view.now_s - view.job.submit_s, course.step_s);
  for (std::size_t z = 0; z < course.zones.size(); ++z) {
    const bool is_up = view.sight == nullptr || is_free(view, course.on_spot[z].configuration, held);
    ZoneHistory& zone = course.zones[z];
    const bool stays = course.seen_at >= 0 && zone.is_up == is_up;
    zone.see(is_up, course.seen_at < 0);
    if (stays) zone.age += std::max(0, now - course.seen_at - 1);
  }
  course.seen_at = now;
  SpotState state{.time = now, .work_left = std::max(1, static_cast<int>(std::ceil((1 - done) * course.terms.work - 1e-9)))};
  if (held != nullptr && *held == course.on_demand) state.mode = kOnDemand;
  for (std::size_t z = 0; z < course.zones.size(); ++z)
    if (held != nullptr && *held == course.on_spot[z].configuration) state.mode = static_cast<int>(z);
  // More slack than the terms have is as good as what they have.
  state.time = std::max(state.time, course.terms.work - state.work_left);
  const SpotView spot{.terms = course.terms, .state = state, .zones = course.zones};
  const int mode = course.zones.empty() ? kOnDemand : course.rule->decide(spot);
  return answer(view, course, keeps_deadline(spot, mode) ? mode : kOnDemand, epochs);
}

sim::Menu SpotStrategy::answer(const ConfigureView& view, Course& course, int mode, double epochs) const {
  sim::Menu menu{.feasible = course.predicted.feasible, .asks_when_lost = true};
  if (!menu.feasible) menu.remedy = believed_menu(view).remedy;
  const double epoch_s = course.predicted.time_s / course.predicted.epochs;
  const double until = epochs + std::max(1.0, std::ceil(course.step_s / epoch_s));
  const auto add = [&](const sim::Configuration& configuration, const sim::Prediction& predicted) {
    menu.ranked.push_back({.configuration = configuration, .predicted = predicted, .until_epochs = until});
  };
  if (mode >= 0) {
    const sim::Choice& on_spot = course.on_spot[static_cast<std::size_t>(mode)];
    add(on_spot.configuration, on_spot.predicted);
  }
  add(course.on_demand, course.predicted);
  if (mode != kWaits) return menu;
  menu.pause = {.wait_s = course.step_s};
  if (course.on_spot.size() == 1) {
    const sim::Group& group = course.on_spot.front().configuration.groups.front();
    if (view.sight != nullptr && view.sight->pool(group.pool).free_devices < group.workers)
      menu.pause.pool = group.pool, menu.pause.workers = group.workers;
  }
  return menu;
}

sim::Menu WaitsForPool::configure(const ConfigureView& view, const workloads::Belief& belief) {
  return configure_again(view, {}, belief);
}

sim::Menu WaitsForPool::configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                                        const workloads::Belief& belief) {
  sim::Job job = view.job;
  if (seen.empty() && job.has_deadline()) {  // what it has waited, or run for nothing, is gone from its time
    job.deadline_s = std::max(1e-6, job.deadline_s - (view.now_s - job.submit_s));
    job.submit_s = view.now_s;
  }
  const auto ask = [&](const std::vector<sim::Configuration>& candidates) {
    const ConfigureView asked{.job = job,
                              .cluster = view.cluster,
                              .costs = view.costs,
                              .now_s = view.now_s,
                              .candidates = candidates,
                              .manual = view.manual,
                              .estimate = view.estimate,
                              .history = view.history,
                              .random_key = view.random_key,
                              .stage_rules = view.stage_rules,
                              .believed = view.believed,
                              .sight = view.sight};
    sim::Menu menu = inner_->configure_again(asked, seen, belief);
    menu.asks_when_lost = true;
    return menu;
  };
  sim::Menu wanted = ask(view.candidates);
  if (view.sight == nullptr || wanted.ranked.empty()) return wanted;
  const sim::Configuration* held = held_by(seen);
  const sim::Configuration& first = std::as_const(wanted.ranked).front().configuration;
  if (first.groups.size() != 1 || is_free(view, first, held)) return wanted;
  std::vector<sim::Configuration> there;
  for (const sim::Configuration& candidate : view.candidates)
    if (is_free(view, candidate, held)) there.push_back(candidate);
  if (there.empty()) return wanted;  // the queue says when
  sim::Menu other = ask(there);
  if (other.ranked.empty()) return wanted;
  const double now_s = view.now_s - job.submit_s;
  const sim::Prediction& here = std::as_const(other.ranked).front().predicted;
  const double left_s = job.has_deadline() ? (1 - kReserve) * (job.deadline_s - now_s) - (here.time_s - now_s) : kLongestWait_s;
  const bool saves = !(here.cost_usd <= std::as_const(wanted.ranked).front().predicted.cost_usd);
  const sim::Group& group = first.groups.front();
  const bool may_pause = view.sight->pool(group.pool).free_devices < group.workers;  // not only with what it holds
  if (!saves || !may_pause || !(left_s > kShortestWait_s) || held != nullptr) return other;
  wanted.pause = {.wait_s = std::min(left_s, kLongestWait_s), .pool = group.pool, .workers = group.workers};
  return wanted;
}

}  // namespace rehearse::policies
