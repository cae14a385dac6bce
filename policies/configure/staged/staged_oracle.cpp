#include "policies/configure/staged/staged_oracle.hpp"

#include "policies/configure/staged/staged.hpp"

namespace rehearse::policies {

sim::Menu StagedOracle::configure(const ConfigureView& view, const workloads::World& world, sim::AloneRunner& truth) {
  return configure_again(view, {}, world, truth);
}

sim::Menu StagedOracle::configure_again(const ConfigureView& view, std::span<const sim::StageSeen> seen,
                                        const workloads::World& /*world*/, sim::AloneRunner& truth) {
  if (view.job.work != sim::Work::train || view.candidates.empty()) return believed_menu(view);
  const std::vector<double> ends = ends_after(stage_ends(view.job, view.manual, view.stage_rules, view.believed->stages()), seen);
  const StageProblem problem{.job = &view.job,
                             .candidates = view.candidates,
                             .ends = ends,
                             .from = standing_after(view.job, view.candidates, seen, truth.stages()),
                             .deadline_s = view.job.deadline_s,
                             .budget_epochs = view.estimate(view.manual).epochs};
  const StagePlan plan = plan_stages(problem, truth.stages());
  if (plan.stages.empty()) return believed_menu(view);
  return staged_menu(view, *plan.stages.front(), plan, ends);
}

}  // namespace rehearse::policies
