#include "policies/staged/staged_rl.hpp"

#include <cmath>

#include "policies/learn/gaussian_learner.hpp"
#include "policies/staged/staged.hpp"
#include "policies/staged/staged_mpc.hpp"
#include "sim/replay/stage.hpp"

namespace rehearse::policies {

namespace {

double cap_of(const ConfigureView& view, const workloads::Belief& belief) {
  const double budget = view.job.stop == sim::Stop::budget ? budget_epochs(view) : sim::kUnset;
  return sim::epoch_cap(view.job, budget, *belief.models().convergence);
}

/// The chosen option as the plan that it stands for.
StagePlan plan_of(const AgentDecision& decision, const StageTable& table, const StageOption& option, bool feasible) {
  StagePlan plan{.stages = {&table.configurations()[static_cast<std::size_t>(option.candidate)]}, .feasible = feasible};
  const bool planned = std::isfinite(option.plan_usd);
  plan.time_s = decision.from.time_s + (planned ? option.plan_s : option.kept_s);
  plan.cost_usd = decision.from.cost_usd + (planned ? option.plan_usd : option.kept_usd);
  // Kept to the end it would never get there, and what comes after it is not chosen yet: nothing is predicted.
  if (!std::isfinite(plan.time_s) || !std::isfinite(plan.cost_usd)) plan.time_s = plan.cost_usd = sim::kUnset;
  return plan;
}

}  // namespace

AgentDecision prepare_decision(const ConfigureView& view, std::span<const sim::StageSeen> seen, const AgentBasis& basis) {
  const StageTable& table = basis.table;
  const Prior known = corrected(view, seen, basis.belief, basis.prior);
  const workloads::Revision& revision = known.mean;
  const workloads::RevisedBelief revised(basis.belief, revision);
  AgentDecision decision{.ends = ends_after(basis.ends, seen)};
  decision.from = standing_after(view.job, table.configurations(), seen, view.believed->stages_on(revised.models()));
  decision.outlook =
      look_ahead({.job = &view.job,
                  .table = &table,
                  .costs = &view.costs,
                  .checkpoint_bytes = revised.checkpoint_bytes(*view.job.profile),
                  .ends = decision.ends,
                  .from = &decision.from,
                  .revision = &revision,
                  .epoch_cap = cap_of(view, basis.belief),
                  .reserve = basis.reserve,
                  .deviations = basis.deviations,
                  .offers_held_devices = basis.offers_held_devices,
                  .known = &known,
                  .evaluation_deviation =
                      view.job.has_target() ? revised.evaluation_deviation(*view.job.profile, view.job.target_accuracy) : 0});
  if (decision.outlook.options.empty()) return decision;
  decision.inputs = agent_inputs({.job = &view.job,
                                  .cluster = &view.cluster,
                                  .table = &table,
                                  .from = &decision.from,
                                  .seen = seen,
                                  .revision = &revision,
                                  .prior = &basis.prior,
                                  .stages_left = decision.ends.size() + 1},
                                 decision.outlook);
  return decision;
}

StagedRl::StagedRl(const NetworkState* network, Priors priors, double miss_chance)
    : agent_(0),
      tape_(std::as_const(agent_.parameters())),
      priors_(std::move(priors)),
      deviations_(miss_chance > 0 ? normal_quantile(1 - miss_chance) : 0) {
  if (network != nullptr) agent_.load_from(*network);
}

const StageTable& StageTables::of(const ConfigureView& view, const workloads::Belief& belief) {
  std::unique_ptr<StageTable>& table = tables_[view.job.profile->index];
  if (table == nullptr || table->configurations() != view.candidates)
    table =
        std::make_unique<StageTable>(view.job, view.candidates, view.believed->stages(), belief.profiles().of(*view.job.profile));
  return *table;
}

sim::Menu StagedRl::configure(const ConfigureView& view, const workloads::Belief& belief) {
  return configure_again(view, {}, belief);
}

sim::Menu StagedRl::configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                                    const workloads::Belief& belief) {
  if (view.job.work != sim::Work::train || view.candidates.empty()) return believed_menu(view);
  const StageTable& table = tables_.of(view, belief);
  const std::vector<double> all_ends = stage_ends(view.job, view.manual, view.stage_rules, view.believed->stages());
  const AgentDecision decision = prepare_decision(view, seen, {belief, table, all_ends, priors_.of(view, belief), deviations_});
  if (decision.outlook.options.empty()) return believed_menu(view);
  const StageOption& chosen = decision.outlook.options[static_cast<std::size_t>(agent_.best(tape_, decision.inputs))];
  if (!std::isfinite(chosen.fastest_s))
    return believed_menu(view);  // the target is out of reach: the belief knows what is nearest
  const StagePlan plan = plan_of(decision, table, chosen, decision.inputs.feasible);
  sim::Menu menu = staged_menu(view, *plan.stages.front(), plan, decision.ends);
  if (view.job.stop != sim::Stop::budget) menu.ranked.front().predicted.epochs = sim::kUnset;  // the agent does not say
  return menu;
}

}  // namespace rehearse::policies
