#include "experiments/run/run_one.hpp"

#include <optional>

#include "experiments/run/profiling.hpp"
#include "experiments/run/retiming.hpp"
#include "policies/registry/bundle.hpp"
#include "report/repetition_row.hpp"
#include "report/run_recorder.hpp"
#include "sim/replay/replay.hpp"
#include "traces/jobs/job_list.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::scenarios {

Replayed replay_one(const Scenario& scenario, const RunTask& task, const TellProgress& on_progress,
                    void (*drive)(sim::EventQueue&, sim::EventHandler&)) {
  const policies::PolicySpec& spec = scenario.policies[task.policy];
  const std::vector<sim::Job> generated =
      scenario.generators.empty() ? std::vector<sim::Job>() : scenario.jobs_of(task.repetition);
  const std::vector<sim::Job>& jobs = scenario.generators.empty() ? scenario.jobs : generated;
  const workloads::Belief belief(scenario.cluster, scenario.profile_models);
  const workloads::World world(belief, scenario.world_errors, scenario.seed, task.repetition);
  const policies::RunHistory no_history;
  std::optional<Profiling> profiling;
  std::unique_ptr<policies::ProbeChooser> chooser;
  const auto* strategy = policies::find_strategy(policies::configure_strategies(), spec.configure.name);
  if (strategy != nullptr && policies::uses_history(*strategy, spec.configure.parameters)) {
    if (strategy->make_probes != nullptr)
      chooser = strategy->make_probes(policies::Parameters(strategy->parameters, spec.configure.parameters));
    const LearningPolicy learner{
        .name = spec.name, .learning = policies::learning_of(*strategy, spec.configure.parameters), .chooser = chooser.get()};
    profiling.emplace(scenario, belief, world, task.repetition, learner);
  }
  policies::Bundle bundle(spec, {.cluster = &scenario.cluster,
                                 .costs = scenario.costs,
                                 .belief = &belief,
                                 .world = &world,
                                 .history = &no_history,
                                 .past_runs = profiling ? &*profiling : nullptr,
                                 .manual = &scenario.manual,
                                 .stage_rules = scenario.stages,
                                 .policy_seed = scenario.policy_seed,
                                 .repetition = task.repetition,
                                 .folder = task.folder.path()});
  const OutputSettings& out = scenario.output;
  report::RunRecorder recorder(
      {.folder = task.folder,
       .policy = spec.name,
       .repetition = task.repetition,
       .files = {.jobs = true,
                 .decisions = true,
                 .events = out.events == Events::all || (out.events == Events::first && task.repetition == 0),
                 .stages = out.stages,
                 .curves = out.curves,
                 .predictions = out.predictions,
                 .utilization = out.utilization,
                 .life = out.life,
                 .nodes = out.nodes},
       .measure = scenario.measure,
       .cluster = &scenario.cluster,
       .reference_cost_usd = [&](const sim::Job& job) { return bundle.manual_alone_usd(job); },
       .profiling_usd =
           [&](const sim::Profile& profile) {
             return profiling ? profiling->cost_usd(profile) / scenario.profiling_reuse_jobs : 0.0;
           }});
  traces::VectorSource source(jobs);
  sim::NodeRules nodes = scenario.nodes;
  nodes.seed = scenario.seed;
  nodes.repetition = static_cast<std::uint64_t>(task.repetition);
  sim::Policy policy = bundle.policy();
  CountedPlace place(*policy.place);
  policy.place = &place;
  const sim::ReplayTotals totals = sim::replay({.cluster = &scenario.cluster,
                                                .costs = scenario.costs,
                                                .checkpoints = scenario.checkpoints,
                                                .nodes = nodes,
                                                .sharing = scenario.sharing,
                                                .models = world.models(),
                                                .policy = policy,
                                                .sources = {&source},
                                                .recorder = &recorder,
                                                .infeasible = scenario.infeasible,
                                                .pool_samples = task.folder && out.utilization,
                                                .network_solver = scenario.network_solver,
                                                .on_progress = on_progress},
                                               drive);
  return {.outcome = recorder.finish(totals),
          .timed = world.timed_replicas(),
          .step_evaluations = static_cast<double>(workloads::steps_timed(belief)) + place.evaluations()};
}

void run_one(const Scenario& scenario, const RunTask& task, const TellProgress& on_progress) {
  const Replayed replayed = replay_one(scenario, task, on_progress, sim::run_with_simgrid);
  write_timed_replicas(task.folder, replayed.timed);
  report::write_repetition(task.folder,
                           {.policy = scenario.policies[task.policy].name,
                            .repetition = task.repetition,
                            .step_evaluations = replayed.step_evaluations},
                           replayed.outcome.metrics);
  report::write_outcome(task.folder.file(kOutcomeFile), replayed.outcome);
}

}  // namespace rehearse::scenarios
