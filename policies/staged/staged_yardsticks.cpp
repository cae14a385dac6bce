#include "policies/staged/staged_yardsticks.hpp"

#include <algorithm>
#include <cmath>

#include "policies/staged/staged.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::policies {

namespace {

/// Every candidate, kept from here to the job's end, by the belief.
std::vector<StagePlan> kept_to_the_end(const ConfigureView& view, std::span<const sim::StageSeen> seen) {
  sim::StageRunner& runner = view.believed->stages();
  const sim::Standing from = standing_after(view.job, view.candidates, seen, runner);
  const double epochs = budget_epochs(view);
  std::vector<StagePlan> plans;
  for (const sim::Configuration& c : view.candidates) {
    sim::Choice choice{.configuration = c, .predicted = {.epochs = epochs}};
    sim::Standing standing = from;
    if (!runner.run(view.job, choice, standing)) continue;
    StagePlan plan{.stages = {&c},
                   .time_s = standing.time_s,
                   .cost_usd = standing.cost_usd,
                   .accuracy = standing.progress.accuracy,
                   .epochs = static_cast<double>(standing.progress.epochs)};
    plan.feasible = standing.failure == sim::FailureReason::none && plan.time_s <= view.job.deadline_s &&
                    (!view.job.has_target() || plan.accuracy >= view.job.target_accuracy);
    plans.push_back(std::move(plan));
  }
  return plans;
}

std::vector<double> stages_to_come(const ConfigureView& view, std::span<const sim::StageSeen> seen) {
  return ends_after(stage_ends(view.job, view.manual, view.stage_rules, view.believed->stages()), seen);
}

/// Feasible before others; then cheaper. Without any feasible, sooner.
bool better(const StagePlan& a, const StagePlan& b) {
  if (a.feasible != b.feasible) return a.feasible;
  return a.feasible ? a.cost_usd < b.cost_usd : a.time_s < b.time_s;
}

}  // namespace

sim::Menu StagedGreedy::configure(const ConfigureView& view, const workloads::Belief& belief) {
  return configure_again(view, {}, belief);
}

sim::Menu StagedGreedy::configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                                        const workloads::Belief& belief) {
  std::vector<StagePlan> plans;
  if (view.job.work == sim::Work::train) plans = kept_to_the_end(view, seen);
  if (plans.empty()) return believed_menu(view);
  const double noise_scale = [&] {
    if (!seen.empty()) return seen.back().noise_scale;
    sim::TrainingState state;  // nothing is seen yet: what is believed of the first samples
    return belief.models().convergence->train(view.job, view.manual, view.manual.batch_size(), state).noise_scale;
  }();
  const auto distance = [&](const StagePlan& plan) {
    return noise_scale > 0 ? std::abs(std::log(plan.stages.front()->batch_size() / noise_scale)) : 0.0;
  };
  const StagePlan* best = &plans.front();
  for (const StagePlan& plan : plans) {
    if (plan.feasible != best->feasible                      ? plan.feasible
        : distance(plan) != distance(*best) && plan.feasible ? distance(plan) < distance(*best)
                                                             : better(plan, *best))
      best = &plan;
  }
  return staged_menu(view, *best->stages.front(), *best, stages_to_come(view, seen));
}

sim::Menu StagedRandom::configure(const ConfigureView& view, const workloads::Belief& belief) {
  return configure_again(view, {}, belief);
}

sim::Menu StagedRandom::configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                                        const workloads::Belief&) {
  std::vector<StagePlan> plans;
  if (view.job.work == sim::Work::train) plans = kept_to_the_end(view, seen);
  if (plans.empty()) return believed_menu(view);
  std::vector<const StagePlan*> feasible;
  for (const StagePlan& plan : plans)
    if (plan.feasible) feasible.push_back(&plan);
  sim::Random random(sim::Random::mix(view.random_key + seen.size()));
  const StagePlan& chosen =
      feasible.empty() ? *std::min_element(plans.begin(), plans.end(), better) : *feasible[random.below(feasible.size())];
  return staged_menu(view, *chosen.stages.front(), chosen, stages_to_come(view, seen));
}

sim::Menu StagedOracle::configure(const ConfigureView& view, const workloads::World& world, sim::AloneRunner& truth) {
  return configure_again(view, {}, world, truth);
}

sim::Menu StagedOracle::configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                                        const workloads::World& world, sim::AloneRunner& truth) {
  if (view.job.work != sim::Work::train || view.candidates.empty()) return believed_menu(view);
  const std::vector<double> ends = ends_after(stage_ends(view.job, view.manual, view.stage_rules, view.believed->stages()), seen);
  const workloads::PlainWorld plain(world);
  sim::StageRunner lasting = truth.stages_on(plain.models());
  const bool believes = knows_ == Foresight::world_later && seen.empty();
  sim::StageRunner& runner = knows_ == Foresight::everything ? truth.stages() : believes ? view.believed->stages() : lasting;
  const sim::Standing from = standing_after(view.job, view.candidates, seen, runner);
  const StageProblem problem{.job = &view.job,
                             .candidates = view.candidates,
                             .ends = ends,
                             .from = from,
                             .deadline_s = from.time_s + (1 - reserve_) * (view.job.deadline_s - from.time_s),
                             .budget_epochs = budget_epochs(view)};
  const StagePlan plan = plan_stages(problem, runner);
  if (plan.stages.empty()) return believed_menu(view);
  return staged_menu(view, *plan.stages.front(), plan, ends);
}

}  // namespace rehearse::policies
