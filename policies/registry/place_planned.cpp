#include "policies/registry/place_planned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "sim/base/random.hpp"
#include "sim/step/step_timer.hpp"
#include "workloads/steps/placed_step.hpp"

namespace rehearse::policies {

namespace {

const sim::Group& group_of(const sim::PlaceView& view) {
  return view.configuration->groups[static_cast<std::size_t>(view.group)];
}

/// A model that is one chain would be one group: chains are joined only where that leaves every GPU something.
Groups grouped(const sim::OpGraph& graph, double batch, const sim::StepGraph& timed, int gpus, int most) {
  std::vector<double> work;
  for (int op = 0; op < timed.ops(); ++op) work.push_back(sim::seconds_of(timed.duration(op, 0)));
  const GroupableGraph groupable_graph = groupable(graph, batch, work);
  Groups groups = colocate(groupable_graph, ChainRule::chains);
  if (groups.count < gpus) groups = colocate(groupable_graph, ChainRule::none);
  return coarsen(groupable_graph, groups, std::min<int>(most, static_cast<int>(graph.ops.size())));
}

}  // namespace

workloads::ReplicaSetting replica_of(const sim::PlaceView& view, double batch, const workloads::Belief& belief) {
  return workloads::setting_of({.profile = view.job->profile->index,
                                .pool = group_of(view).pool,
                                .gpus = view.workers_on_node,
                                .batch = batch,
                                .power_limit_w = view.configuration->power_limit_w},
                               belief.profiles().of(*view.job->profile), belief.cluster(), view.job->profile->precision);
}

bool has_something_to_place(const sim::PlaceView& view) {
  return view.worker->kind == sim::DeviceKind::gpu && view.workers_on_node > 1 &&
         view.configuration->sync.kind != sim::SyncKind::servers_async &&
         std::all_of(view.nodes->begin(), view.nodes->end(),
                     [&](const sim::NodeShare& share) { return share.devices == view.workers_on_node; });
}

sim::StepPlan PlannedPlacement::found(const sim::PlaceView& view, double batch) const {
  const workloads::Belief& belief = *inputs_.belief;
  const sim::Group& group = group_of(view);
  const workloads::ReplicaSetting setting = replica_of(view, batch, belief);
  const sim::Machine machine = workloads::replica_machine(setting);
  const Groups groups = grouped(*view.graph, batch, workloads::replica_graph(setting), view.workers_on_node, options_.groups);
  const sim::StepGraph graph = workloads::replica_graph(setting, groups.of_op);
  const auto timer = sim::make_fast_timer(graph, machine);
  TimerScorer scorer(*timer, machine, groups);
  const std::string entity =
      fmt::format("{}/{}/{}/{}/{}", view.graph->name, view.worker->name, view.workers_on_node, batch, group.pool);
  const PlacementView placement(graph, machine, groups,
                                sim::stream_key(inputs_.seed, inputs_.repetition, "place " + options_.name, entity),
                                PlacementView::Cpu::may_be_missing);
  const PlacementAnswer answer = run_placement(*method_, placement, scorer, options_.evaluations);
  const std::vector<std::int32_t> devices = device_of_op(groups, answer.device_of_group);
  sim::StepPlan plan{.replicas = 1, .device_of_op = {devices.begin(), devices.end()}};
  if (options_.measures) {
    plan.evaluations = answer.evaluations;
    plan.reinitialisation_s = options_.reinitialisation_s;
  }
  return plan;
}

sim::StepTiming PlannedPlacement::believed(const sim::PlaceView& view, const sim::StepPlan& plan) const {
  sim::Configuration alone = *view.configuration;
  alone.groups = {group_of(view)};
  const sim::Layout layout{*view.nodes};
  const std::vector<sim::Plans> plans{{.step = plan}};
  return inputs_.belief->models().step_times->timing(*view.job, alone, layout, plans);
}

std::string PlannedPlacement::note(const sim::StepPlan& placed, const sim::StepTiming& timing,
                                   const sim::StepTiming& parallel) const {
  const std::set<sim::DeviceIndex> used(placed.device_of_op.begin(), placed.device_of_op.end());
  std::string text =
      fmt::format("{}: {} GPUs of a node, {:.4g} s a step{}; data-parallel {:.4g} s{}", options_.name, used.size(), timing.step_s,
                  timing.fits ? "" : ", does not fit", parallel.step_s, parallel.fits ? "" : ", does not fit");
  if (!options_.measures) return text;
  text += fmt::format("; search of {} steps {:.4g} s", placed.evaluations, timing.profiling_s);
  if (timing.fits && !parallel.fits) return text;
  const double gained_s = parallel.step_s - timing.step_s;
  return text + (gained_s > 0 && timing.fits ? fmt::format(", worth it from {:.0f} steps on", timing.profiling_s / gained_s)
                                             : std::string(", in vain"));
}

sim::StepPlan PlannedPlacement::place(const sim::PlaceView& view) {
  sim::StepPlan parallel{.replicas = view.workers_on_node};
  if (!has_something_to_place(view)) return parallel;
  const double batch = static_cast<double>(group_of(view).batch_per_worker) * view.workers_on_node;
  const Key key{view.graph, group_of(view).pool, view.workers_on_node, batch, view.configuration->power_limit_w};
  const auto known = known_.find(key);
  sim::StepPlan placed = known != known_.end() ? known->second : known_.emplace(key, found(view, batch)).first->second;
  const sim::StepTiming timing = believed(view, placed), parallel_timing = believed(view, parallel);
  placed.note = note(placed, timing, parallel_timing);
  const auto rank = [](const sim::StepTiming& t) { return std::pair(!t.fits, t.step_s); };
  if (!options_.searches || rank(timing) < rank(parallel_timing)) return placed;
  parallel.evaluations = placed.evaluations;
  parallel.reinitialisation_s = placed.reinitialisation_s;
  parallel.note = std::move(placed.note);
  return parallel;
}

}  // namespace rehearse::policies
