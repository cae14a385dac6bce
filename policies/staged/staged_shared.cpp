#include "policies/staged/staged_shared.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/staged/staged.hpp"
#include "sim/base/errors.hpp"
#include "sim/replay/stage.hpp"

namespace rehearse::policies {

namespace {

constexpr double kReserve = 0.1, kMostReserve = 0.6;  ///< of the training time
constexpr double kWidth = 2;                          ///< of the offer, with the lever at 0: practically all
constexpr double kMostTightness = 2;
constexpr double kUnplanned = 1;  ///< log money of a plan that is not safe, more than a safe one's

const NamedShape& weights_shape() {
  static const NamedShape shape{"weights", {static_cast<Eigen::Index>(kSharedLevers), static_cast<Eigen::Index>(kSharedSights)}};
  return shape;
}

/// The fastest way to the end over the time left; 0 without a deadline.
double tightness_of(const Outlook& outlook) {
  if (outlook.time_left_s == sim::kNever) return 0;
  double fastest_s = sim::kNever;
  for (const StageOption& option : outlook.options) fastest_s = std::min(fastest_s, option.fastest_s);
  return outlook.time_left_s > 0 ? std::min(kMostTightness, fastest_s / outlook.time_left_s) : kMostTightness;
}

/// May the job take it now? Whoever arrives leaves that to the queue.
bool is_free(const ConfigureView& view, const sim::Standing& from, const sim::Configuration& configuration) {
  if (view.sight == nullptr || from.held == nullptr) return true;
  return std::all_of(configuration.groups.begin(), configuration.groups.end(), [&](const sim::Group& group) {
    return configuration.workers_of(group.pool) <= view.sight->pool(group.pool).free_devices + from.held->workers_of(group.pool);
  });
}

bool holds_devices_of(const sim::Standing& from, const StageTable::Candidate& candidate) {
  return from.held != nullptr && from.held->groups.size() == 1 && from.held->groups.front().pool == candidate.pool &&
         from.held->groups.front().workers == candidate.workers;
}

/// Entries that cost much more than the cheapest are not offered, but for the first and what is held.
void narrow_offer(sim::Menu& menu, const sim::Configuration* held, double most_factor) {
  double least_usd = sim::kNever;
  for (const sim::Choice& choice : menu.ranked)
    if (choice.predicted.cost_usd > 0) least_usd = std::min(least_usd, choice.predicted.cost_usd);
  std::vector<sim::Choice> offered;
  for (const sim::Choice& choice : std::as_const(menu.ranked)) {
    const bool is_cheap = choice.predicted.cost_usd <= least_usd * most_factor;
    if (offered.empty() || is_cheap || (held != nullptr && choice.configuration == *held)) offered.push_back(choice);
  }
  menu.ranked = sim::Choices(std::move(offered));
}

}  // namespace

SharedAgent::SharedAgent(const NetworkState& state) {
  sim::check(state.matrices.size() == 1 && state.matrices.front().numbers.size() == weights_.size(), "an agent of this kind");
  std::copy(state.matrices.front().numbers.begin(), state.matrices.front().numbers.end(), weights_.begin());
}

NetworkBlueprint SharedAgent::blueprint() { return {.kind = kKind, .matrices = {weights_shape()}}; }

NetworkState SharedAgent::state(NetworkOrigin origin) const {
  return {.origin = std::move(origin), .matrices = {{weights_shape(), {weights_.begin(), weights_.end()}}}};
}

SharedLevers SharedAgent::levers(const SharedSight& sight) const {
  std::array<double, kSharedLevers> pulled{};
  for (std::size_t lever = 0; lever < kSharedLevers; ++lever)
    pulled[lever] = std::inner_product(sight.begin(), sight.end(),
                                       weights_.begin() + static_cast<std::ptrdiff_t>(lever * kSharedSights), 0.0);
  return {.hold = pulled[0], .hurry = pulled[1], .narrow = pulled[2], .offer = pulled[3], .reserve = pulled[4]};
}

SharedSight load_seen(const ConfigureView& view) {
  if (view.sight == nullptr) return {1, 0, 0, 1};
  double devices = 0, free = 0, wanted = 0;
  for (std::size_t p = 0; p < view.cluster.pools.size(); ++p) {
    const sim::PoolSight pool = view.sight->pool(static_cast<sim::PoolId>(p));
    devices += pool.devices;
    free += pool.free_devices;
  }
  for (const sim::WaitingJob& waiting : view.sight->waiting()) wanted += waiting.wants->workers();
  return {1, 0, std::log1p(wanted / devices), free / devices};
}

int best_shared(const Outlook& outlook, const StageTable& table, const sim::Standing& from, const SharedLevers& levers,
                std::span<const double> mask, std::span<const char> free, const sim::Cluster& cluster) {
  double least_score = sim::kNever;
  int best = -1;
  for (std::size_t i = 0; i < outlook.options.size(); ++i) {
    const StageOption& option = outlook.options[i];
    if (mask[i] != 0 || free[i] == 0 || !std::isfinite(option.plan_usd)) continue;
    const StageTable::Candidate& candidate = table.candidates()[static_cast<std::size_t>(option.candidate)];
    const double devices =
        cluster.pools[static_cast<std::size_t>(candidate.pool)].nodes * sim::workers_per_node(cluster, candidate.pool);
    const bool safe = std::isfinite(option.safe_usd);
    double score = safe ? std::log(option.safe_usd) : std::log(option.plan_usd) + kUnplanned;
    score -= holds_devices_of(from, candidate) ? levers.hold : 0;
    score += levers.hurry * std::log(std::isfinite(option.kept_s) ? option.kept_s : option.plan_s);
    score += levers.narrow * candidate.workers / devices;
    if (score < least_score) least_score = score, best = static_cast<int>(i);
  }
  return best;
}

sim::Menu StagedShared::configure(const ConfigureView& view, const workloads::Belief& belief) {
  return configure_again(view, {}, belief);
}

sim::Menu StagedShared::configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                                        const workloads::Belief& belief) {
  if (view.job.work != sim::Work::train || view.candidates.empty()) return believed_menu(view);
  const StageTable& table = tables_.of(view, belief);
  const std::vector<double> all_ends = stage_ends(view.job, view.manual, view.stage_rules, view.believed->stages());
  SharedSight sight{1, 0, 0, 1};
  if (sees_load_) sight = load_seen(view);
  const double reserve = std::clamp(kReserve + agent_.levers(sight).reserve, 0.0, kMostReserve);
  const AgentDecision decision = prepare_decision(view, seen,
                                                  {.belief = belief,
                                                   .table = table,
                                                   .ends = all_ends,
                                                   .prior = priors_.of(view, belief),
                                                   .reserve = reserve,
                                                   .offers_held_devices = true});
  if (decision.outlook.options.empty()) return believed_menu(view);
  sight[1] = tightness_of(decision.outlook);
  const SharedLevers levers = agent_.levers(sight);
  std::vector<char> free;
  for (const StageOption& option : decision.outlook.options)
    free.push_back(is_free(view, decision.from, table.configurations()[static_cast<std::size_t>(option.candidate)]));
  const int best = best_shared(decision.outlook, table, decision.from, levers, decision.inputs.mask, free, view.cluster);
  if (best < 0) return decision.from.held != nullptr ? sim::Menu() : believed_menu(view);  // it keeps what it has
  const StageOption& option = decision.outlook.options[static_cast<std::size_t>(best)];
  const sim::Configuration& first = table.configurations()[static_cast<std::size_t>(option.candidate)];
  sim::Menu menu = staged_menu(view, first, {.stages = {&first}, .feasible = decision.inputs.feasible}, decision.ends);
  // The queue compares entries by whole trainings: the first one as the others.
  const double epochs = menu.ranked.front().predicted.epochs;
  menu.ranked.front().predicted = view.estimate(first);
  menu.ranked.front().predicted.feasible = decision.inputs.feasible;
  if (view.job.stop == sim::Stop::budget) menu.ranked.front().predicted.epochs = epochs;
  narrow_offer(menu, decision.from.held, std::exp(kWidth * std::exp(levers.offer)));
  return menu;
}

}  // namespace rehearse::policies
