#include "policies/registry/place_planned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "policies/configure/manual.hpp"
#include "policies/place/methods/methods.hpp"
#include "sim/base/random.hpp"
#include "sim/replay/stage.hpp"
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

namespace {

/// A replica on the devices of a node, ready to be placed.
class Replica {
 public:
  Replica(const workloads::ReplicaSetting& setting, const sim::OpGraph& graph, int most_groups, std::uint64_t random_key)
      : machine_(workloads::replica_machine(setting)),
        groups_(grouped(graph, setting.conditions.batch, workloads::replica_graph(setting), setting.gpus, most_groups)),
        graph_(workloads::replica_graph(setting, groups_.of_op)),
        timer_(sim::make_fast_timer(graph_, machine_)),
        scorer_(*timer_, machine_, groups_),
        view_(graph_, machine_, groups_, random_key, PlacementView::Cpu::may_be_missing) {}

  DeviceOfGroup placed(PlacementMethod& method, std::int64_t evaluations) {
    return run_placement(method, view_, scorer_, evaluations).device_of_group;
  }
  StepScore score(const DeviceOfGroup& placement) {
    StepScore score;
    scorer_.score(std::span(&placement, 1), std::span(&score, 1));
    return score;
  }
  std::vector<sim::DeviceIndex> devices(const DeviceOfGroup& placement) const {
    const std::vector<std::int32_t> devices = device_of_op(groups_, placement);
    return {devices.begin(), devices.end()};
  }
  /// No step is shorter: all work spread evenly, or the longest path.
  double bound_s(const sim::OpGraph& graph) const {
    std::vector<double> seconds;
    double work_s = 0;
    for (int op = 0; op < graph_.ops(); ++op) work_s += seconds.emplace_back(sim::seconds_of(graph_.duration(op, 0)));
    return std::max(work_s / machine_.devices(), sim::longest_path(graph, seconds).length);
  }

 private:
  sim::Machine machine_;
  Groups groups_;
  sim::StepGraph graph_;
  std::unique_ptr<sim::StepTimer> timer_;
  TimerScorer scorer_;
  PlacementView view_;
};

double batch_of(const sim::PlaceView& view) {
  return static_cast<double>(group_of(view).batch_per_worker) * view.workers_on_node;
}

Replica ready(const sim::PlaceView& view, const PlacedOptions& options, const PlaceInputs& inputs) {
  const double batch = batch_of(view);
  const std::string entity = fmt::format("{}/{}/{}/{}/{}", view.graph->name, view.worker->name, view.workers_on_node, batch,
                                         sim::instance_of(inputs.belief->cluster(), group_of(view).pool).name);
  return {replica_of(view, batch, *inputs.belief), *view.graph, options.groups,
          sim::stream_key(inputs.seed, inputs.repetition, "place " + options.name, entity)};
}

}  // namespace

double search_usd_per_s(const sim::Cluster& cluster, const sim::CostRules& costs, const sim::Configuration& configuration,
                        int gpus) {
  sim::Configuration replica{.power_limit_w = configuration.power_limit_w};
  replica.groups = {{.pool = configuration.groups.front().pool, .workers = gpus}};
  return sim::share_usd_per_s(cluster, costs, replica);
}

std::pair<const sim::OpGraph*, int> PlannedPlacement::network_on(const sim::PlaceView& view) const {
  return {view.graph, inputs_.belief->cluster().pools[static_cast<std::size_t>(group_of(view).pool)].instance};
}

PlannedPlacement::Known& PlannedPlacement::known(const sim::PlaceView& view) {
  const auto [graph, instance] = network_on(view);
  const auto [entry, is_new] =
      known_.try_emplace({graph, instance, view.workers_on_node, batch_of(view), view.configuration->power_limit_w});
  Known& known = entry->second;
  if (!is_new) return known;
  Replica replica = ready(view, options_, inputs_);
  constexpr std::int64_t kTries = 10;  // with less and less memory
  struct Constructor {
    std::string name;
    std::unique_ptr<PlacementMethod> method;
    std::int64_t evaluations;
  };
  std::vector<Constructor> constructors;
  if (!options_.searches) constructors.push_back({options_.name, make_(), options_.evaluations});
  if (options_.searches || options_.tries_others) {
    constructors.push_back({"single-device", std::make_unique<SingleGpu>(), kTries});
    constructors.push_back({"heft", std::make_unique<Heft>(), kTries});
    constructors.push_back({"m-etf", std::make_unique<MEtf>(), kTries});
  }
  std::optional<StepScore> least;
  for (const Constructor& made : constructors) {
    const DeviceOfGroup placement = replica.placed(*made.method, made.evaluations);
    const StepScore score = replica.score(placement);
    if (least && !(score < *least)) continue;
    least = score;
    known.constructed = {made.name, replica.devices(placement)};
  }
  known.least_share = replica.bound_s(*view.graph) / sim::seconds_of(least->makespan);
  return known;
}

PlannedPlacement::Timed PlannedPlacement::timed(const sim::PlaceView& view, sim::StepPlan plan, std::string by) const {
  sim::Configuration alone = *view.configuration;
  alone.groups = {group_of(view)};
  const sim::Models models = inputs_.belief->models();
  const std::vector<sim::Plans> plans{{.step = plan}};
  Timed made{.by = std::move(by), .timing = models.step_times->timing(*view.job, alone, {*view.nodes}, plans)};
  made.pace_s = made.timing.step_s;
  if (view.job->work == sim::Work::train) {
    const sim::EpochTimes epoch = sim::epoch_times(*view.job, alone, *models.convergence, made.timing);
    const double steps = std::ceil(models.convergence->samples_per_epoch(*view.job->profile) / alone.batch_size());
    made.pace_s = (epoch.training_s + epoch.evaluation_s) / steps;
  }
  made.plan = std::move(plan);
  return made;
}

PlannedPlacement::Timed PlannedPlacement::best(const sim::PlaceView& view, const Known& known) const {
  Timed constructed = timed(view, {.device_of_op = known.constructed.device_of_op}, known.constructed.by);
  if (options_.alone) return constructed;
  Timed least = timed(view, {.replicas = view.workers_on_node}, "data-parallel");
  if (constructed.rank() < least.rank()) least = std::move(constructed);
  if (!known.searched) return least;
  Timed found = timed(view, {.device_of_op = known.found->device_of_op}, known.found->by);
  return found.rank() < least.rank() ? found : least;
}

/// With what the search takes.
PlannedPlacement::Timed PlannedPlacement::searched(const sim::PlaceView& view, sim::StepPlan plan) const {
  if (options_.measures) {
    plan.evaluations = options_.evaluations;
    plan.reinitialisation_s = options_.reinitialisation_s;
  }
  return timed(view, std::move(plan), options_.name);
}

bool PlannedPlacement::pays(const sim::PlaceView& view, double search_s, double gain_s) const {
  if (!(gain_s > 0)) return false;
  if (search_s == 0) return true;
  const sim::PlacePurpose& expected = view.purpose;
  const double saved_s = expected.steps * gain_s;
  const sim::CostRules costs = inputs_.costs != nullptr ? *inputs_.costs : sim::CostRules{};
  const sim::Cluster& cluster = inputs_.belief->cluster();
  const double price_usd =
      search_s * search_usd_per_s(cluster, costs, *view.configuration, view.workers_on_node) / inputs_.reuse_jobs;
  if (price_usd > usd_for(cluster, costs, *view.configuration, expected.time_s) -
                      usd_for(cluster, costs, *view.configuration, std::max(0.0, expected.time_s - saved_s)))
    return false;
  if (search_s <= saved_s) return true;  // the job ends earlier with the search than without
  return view.job->objective != sim::Objective::min_time &&
         (!view.job->has_deadline() || expected.time_s - saved_s + search_s <= kCarefulShare * view.job->deadline_s);
}

/// No search is tried on believed times where even a step at the bound would not pay for it.
bool PlannedPlacement::could_pay(const sim::PlaceView& view, const Known& known, const Timed& now) const {
  if (view.configuration->groups.size() > 1) return false;
  if (!now.timing.fits) return true;
  const Timed own = searched(view, {.device_of_op = known.constructed.device_of_op});
  const double waits_s = own.plan.reinitialisation_s * static_cast<double>(own.plan.evaluations);
  const double least_s = waits_s + std::max(0.0, own.timing.profiling_s - waits_s) * known.least_share;
  return pays(view, least_s, now.pace_s - own.pace_s * known.least_share);
}

std::string PlannedPlacement::note(const sim::PlaceView& view, const Timed& answer, const Known& known) const {
  const Plan& plan = known.searched ? *known.found : known.constructed;
  const sim::StepPlan step{.device_of_op = plan.device_of_op};
  const Timed placed = known.searched ? searched(view, step) : timed(view, step, plan.by);
  const sim::StepTiming& timing = placed.timing;
  const sim::StepTiming parallel = timed(view, {.replicas = view.workers_on_node}, {}).timing;
  const std::set<sim::DeviceIndex> used(plan.device_of_op.begin(), plan.device_of_op.end());
  const auto fits = [](const sim::StepTiming& t) { return t.fits ? "" : ", does not fit"; };
  std::string text = fmt::format("{}{}: {} GPUs of a node, {:.4g} s a step{}; data-parallel {:.4g} s{}", options_.name,
                                 plan.by == options_.name ? "" : " by " + plan.by, used.size(), timing.step_s, fits(timing),
                                 parallel.step_s, fits(parallel));
  if (options_.measures && !known.searched) text += "; no search";
  const bool in_vain = answer.by != plan.by;
  if (options_.measures && known.searched) {
    text += fmt::format("; search of {} steps {:.4g} s", options_.evaluations, timing.profiling_s);
    const double gained_s = parallel.step_s - timing.step_s;
    if (!in_vain && parallel.fits && gained_s > 0)
      text += fmt::format(", worth it from {:.0f} steps on", timing.profiling_s / gained_s);
  }
  return in_vain ? text + fmt::format("; {} runs", answer.by) : text;
}

PlannedPlacement::Timed PlannedPlacement::decided(const sim::PlaceView& view, Known& known, Timed now) {
  if (!could_pay(view, known, now)) return now;
  const bool is_new = !known.found;
  if (is_new) {
    Replica replica = ready(view, options_, inputs_);
    known.found = {options_.name, replica.devices(replica.placed(*make_(), options_.evaluations))};
  }
  Timed found = searched(view, {.device_of_op = known.found->device_of_op});
  if (!found.timing.fits) return now;
  if (now.timing.fits) {
    if (is_new) gains_[network_on(view)].add(std::min(1.0, found.pace_s / now.pace_s));
    if (!pays(view, found.timing.profiling_s, now.pace_s - found.pace_s)) return now;
  }
  known.searched = true;
  ++searches_;
  return found;
}

void PlannedPlacement::expect(const sim::PlaceView& view, Timed& now) const {
  const auto gains = gains_.find(network_on(view));
  if (gains == gains_.end() || !now.timing.fits) return;
  const double share = gains->second.mean();
  const Timed search = searched(view, now.plan);
  if (!pays(view, search.timing.profiling_s, now.pace_s * (1 - share))) return;
  now.plan = search.plan;
  now.plan.expected_share = share;
}

sim::StepPlan PlannedPlacement::place(const sim::PlaceView& view) {
  if (!has_something_to_place(view)) return {.replicas = view.workers_on_node};
  Known& known = this->known(view);
  Timed answer = best(view, known);
  const bool may_search = options_.searches && !known.searched;
  if (!view.purpose.decides) {
    if (may_search && view.purpose.steps > 0) expect(view, answer);
    return std::move(answer.plan);
  }
  if (may_search) answer = decided(view, known, std::move(answer));
  answer.plan.note = note(view, answer, known);
  return std::move(answer.plan);
}

}  // namespace rehearse::policies
