#include "policies/staged/staged_oracle.hpp"

#include "policies/staged/staged.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::policies {

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
