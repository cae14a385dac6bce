#include "experiments/run/run_one.hpp"

#include <cmath>
#include <optional>

#include "experiments/run/profiling.hpp"
#include "experiments/run/retiming.hpp"
#include "policies/registry/bundle.hpp"
#include "report/run_recorder.hpp"
#include "sim/replay/replay.hpp"
#include "traces/jobs/job_list.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::scenarios {

namespace {

/// Hands every question on, and every menu as well to who listens.
class HeardConfigurator final : public sim::Configurator {
 public:
  using OnMenu = std::function<void(const sim::Job&, const sim::Menu&)>;
  HeardConfigurator(sim::Configurator& inner, OnMenu on_menu) : inner_(inner), on_menu_(std::move(on_menu)) {}
  void look(const sim::Sight& sight) override { inner_.look(sight); }
  sim::Menu configure(const sim::Job& job, double now_s) override {
    sim::Menu menu = inner_.configure(job, now_s);
    on_menu_(job, menu);
    return menu;
  }
  sim::Menu configure_again(const sim::Job& job, std::span<const sim::StageSeen> seen, double now_s) override {
    return inner_.configure_again(job, seen, now_s);
  }

 private:
  sim::Configurator& inner_;
  OnMenu on_menu_;
};

/// What the job's own periodic checkpoints take where it runs alone: it is saved from failures there as well, so that no queue is
/// to blame for them.
class OwnCheckpoints {
 public:
  OwnCheckpoints(const Scenario& scenario, const sim::NodeRules& nodes) : scenario_(scenario) {
    for (std::size_t pool = 0; pool < scenario.cluster.pools.size(); ++pool)
      rates_.push_back(sim::failure_rate(scenario.cluster, nodes, static_cast<sim::PoolId>(pool)));
  }
  double seconds(const sim::Job& job, const policies::Bundle::AloneRun& alone) const {
    const sim::CheckpointRules& rules = scenario_.checkpoints;
    if (!rules.young_daly && rules.interval_s == sim::kNever && !(job.checkpoint_interval_s > 0)) return 0;
    const sim::Configuration& on = alone.configuration;
    if (std::isnan(alone.time_s) || !sim::could_ever_fit(scenario_.cluster, on)) return 0;
    const double mtbf_s = sim::mtbf_s(rates_, on, sim::empty_cluster_layout(scenario_.cluster, on));
    return sim::writing_before(sim::checkpoint_times(job, rules, scenario_.costs.checkpoint_s, mtbf_s), alone.running_s);
  }

 private:
  const Scenario& scenario_;
  std::vector<double> rates_;  // of failures, of one node a second, by pool
};

}  // namespace

Replayed replay_one(const Scenario& scenario, const RunTask& task, const TellProgress& on_progress,
                    void (*drive)(sim::EventQueue&, sim::EventHandler&)) {
  const policies::PolicySpec& spec = scenario.policies[task.policy];
  const std::vector<sim::Job> generated = scenario.redraws_jobs() ? scenario.jobs_of(task.repetition) : std::vector<sim::Job>();
  const std::vector<sim::Job>& jobs = scenario.redraws_jobs() ? generated : scenario.jobs;
  const workloads::Belief belief(scenario.cluster, scenario.profile_models);
  const workloads::World world(belief, scenario.world_errors, scenario.seed, task.repetition);
  const policies::RunHistory no_history;
  std::optional<Profiling> profiling;
  std::unique_ptr<policies::ProbeChooser> chooser;
  const auto* strategy = policies::find_strategy(policies::configure_strategies(), spec.configure.name);
  if (strategy != nullptr && policies::uses_history(*strategy, spec.configure.parameters)) {
    if (strategy->make_probes != nullptr)
      chooser = strategy->make_probes(policies::Parameters(strategy->parameters, spec.configure.parameters));
    const LearningPolicy learner{.kind = spec.configure.name,
                                 .seed = spec.policy_seed.value_or(scenario.policy_seed),
                                 .learning = policies::learning_of(*strategy, spec.configure.parameters),
                                 .chooser = chooser.get()};
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
                                 .profiling_reuse_jobs = scenario.profiling_reuse_jobs,
                                 .policy_seed = scenario.policy_seed,
                                 .repetition = task.repetition,
                                 .folder = task.folder.path(),
                                 .at_work = task.at_work});
  const OutputSettings& out = scenario.output;
  const auto is_wanted = [&](Record record) { return is_written(record, task.repetition); };
  sim::NodeRules nodes = scenario.nodes;
  nodes.seed = scenario.seed;
  nodes.repetition = static_cast<std::uint64_t>(task.repetition);
  const OwnCheckpoints own_checkpoints(scenario, nodes);
  double timed_for_metrics = 0;  // steps that no decision asked for
  report::RunRecorder recorder({.folder = task.folder,
                                .policy = spec.name,
                                .repetition = task.repetition,
                                .files = {.jobs = is_wanted(out.jobs),
                                          .decisions = is_wanted(out.decisions),
                                          .events = is_wanted(out.events),
                                          .stages = is_wanted(out.stages),
                                          .curves = is_wanted(out.curves),
                                          .predictions = is_wanted(out.predictions),
                                          .utilization = is_wanted(out.utilization),
                                          .life = is_wanted(out.life),
                                          .nodes = is_wanted(out.nodes)},
                                .measure = scenario.measure,
                                .cluster = &scenario.cluster,
                                .known_jobs = jobs.size(),
                                .reference_cost_usd = [&](const sim::Job& job) { return bundle.manual_alone_usd(job); },
                                .reference_alone =
                                    [&](const sim::Job& job) {
                                      const double before = static_cast<double>(workloads::steps_timed(belief));
                                      const policies::Bundle::AloneRun alone = bundle.manual_alone(job);
                                      timed_for_metrics += static_cast<double>(workloads::steps_timed(belief)) - before;
                                      return report::AloneRun{.time_s = alone.time_s + own_checkpoints.seconds(job, alone),
                                                              .devices = alone.devices};
                                    },
                                .profiling_usd =
                                    [&](const sim::Profile& profile) {
                                      return profiling ? profiling->cost_usd(profile) / scenario.profiling_reuse_jobs : 0.0;
                                    }});
  traces::VectorSource source(jobs);
  sim::Policy policy = bundle.policy();
  HeardConfigurator heard(*policy.configure, [&](const sim::Job& job, const sim::Menu& menu) {
    if (task.on_menu) task.on_menu(job, menu, belief);
  });
  if (task.on_menu) policy.configure = &heard;
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
                                                .pool_samples = task.folder && is_wanted(out.utilization),
                                                .network_solver = scenario.network_solver,
                                                .on_progress = on_progress,
                                                .at_work = task.at_work},
                                               drive);
  Replayed replayed{.outcome = recorder.finish(totals), .timed = world.timed_replicas()};
  replayed.outcome.metrics.step_evaluations =
      static_cast<double>(workloads::steps_timed(belief)) - timed_for_metrics + bundle.searched_steps();
  return replayed;
}

void run_one(const Scenario& scenario, const RunTask& task, const TellProgress& on_progress) {
  const Replayed replayed = replay_one(scenario, task, on_progress, sim::run_with_simgrid);
  write_timed_replicas(task.folder, replayed.timed);
  report::write_outcome(task.folder.file(kOutcomeFile), replayed.outcome);
}

}  // namespace rehearse::scenarios
