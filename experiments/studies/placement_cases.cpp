#include "experiments/studies/placement_cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "experiments/studies/process_scorer.hpp"
#include "policies/place/throughput.hpp"
#include "report/graph_dot.hpp"
#include "report/plots/timeline.hpp"
#include "sim/base/errors.hpp"
#include "sim/step/step_timer.hpp"
#include "traces/graphs/graph_json.hpp"
#include "traces/graphs/profiled_graph.hpp"
#include "workloads/steps/placed_step.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::scenarios {

namespace {

constexpr int kGroups = 64;
constexpr int kLargestBatch = 1 << 20;

struct Grouped {
  policies::Groups groups;
  int colocated;
};

/// `most` groups; 0: kGroups, or as many as there are operations.
Grouped grouped(const policies::GroupableGraph& graph, Objective objective, int most) {
  const auto rule = objective == Objective::makespan ? policies::ChainRule::chains : policies::ChainRule::none;
  const policies::Groups colocated = policies::colocate(graph, rule);
  const int count = most > 0 ? most : std::min<int>(kGroups, static_cast<int>(graph.ops.size()));
  return {policies::coarsen(graph, colocated, count), colocated.count};
}

PlacementCase made(const CaseChoice& choice, sim::Machine machine, sim::StepGraph graph, Grouped groups) {
  return {.objective = choice.objective,
          .machine = std::move(machine),
          .graph = std::move(graph),
          .host = {},
          .groups = std::move(groups.groups),
          .colocated = groups.colocated,
          .split = {}};
}

sim::OpGraph graph_of(const GraphChoice& graph) {
  return graph.file.empty() ? workloads::zoo_graph(graph.model, graph.dataset, true) : traces::read_graph(graph.file);
}

const sim::Instance& instance_of(const Scenario& scenario, const CaseChoice& choice) {
  const sim::Pool& pool = scenario.cluster.pools[static_cast<std::size_t>(choice.machine->pool)];
  return scenario.cluster.instances[static_cast<std::size_t>(pool.instance)];
}

/// The zoo's or our own format: costs by the model of operations.
PlacementCase modelled_case(const Scenario& scenario, const CaseChoice& choice, const sim::Instance& instance,
                            sim::Machine machine) {
  const GraphChoice& graph = *choice.graph;
  const std::vector<sim::Device> devices = sim::class_devices(scenario.cluster, instance);
  const sim::OpGraph ops = graph_of(graph);
  const workloads::Conditions conditions{.batch = graph.batch};
  std::vector<double> work;
  for (const sim::Op& op : ops.ops) work.push_back(workloads::op_duration_s(workloads::work_of(op), devices.back(), conditions));
  Grouped groups = grouped(policies::groupable(ops, graph.batch, work), choice.objective, graph.groups);
  sim::StepGraph step = workloads::step_graph_of(ops, devices,
                                                 {.conditions = conditions,
                                                  .optimizer = graph.optimizer,
                                                  .groups = groups.groups.of_op,
                                                  .gradient_sum = graph.gradient_sum});
  return made(choice, std::move(machine), std::move(step), std::move(groups));
}

/// In TensorFlow's operations, issued by a host.
PlacementCase tensorflow_case(const Scenario& scenario, const CaseChoice& choice, const sim::Instance& instance,
                              sim::Machine machine) {
  const GraphChoice& graph = *choice.graph;
  const std::vector<sim::Device> devices = sim::class_devices(scenario.cluster, instance);
  const workloads::TensorFlowGraph expanded = workloads::tensorflow_graph(graph.model, graph.dataset, graph.shape);
  const workloads::TfStep alone = workloads::tensorflow_step(expanded, devices, graph.batch, choice.machine->host);
  std::vector<double> work;
  for (int op = 0; op < alone.graph.ops(); ++op)
    work.push_back(sim::seconds_of(alone.graph.duration(op, alone.graph.classes() - 1)));
  Grouped groups = grouped(policies::groupable(expanded.graph, graph.batch, work, workloads::kLeastTensorBytes), choice.objective,
                           graph.groups);
  workloads::TfStep step = workloads::tensorflow_step(expanded, devices, graph.batch, choice.machine->host, groups.groups.of_op);
  PlacementCase placed = made(choice, std::move(machine), std::move(step.graph), std::move(groups));
  placed.host = std::move(step.host);
  return placed;
}

/// PipeDream's times are those of the machine's GPU.
PlacementCase measured_case(const Scenario& scenario, const CaseChoice& choice, const sim::Instance& instance,
                            sim::Machine machine) {
  const std::vector<sim::Device> devices = sim::class_devices(scenario.cluster, instance);
  if (devices.size() < 2)
    throw sim::InputError({.file = choice.graph->file, .expected = "a machine with a GPU", .found = choice.machine->name});
  sim::StepGraph step =
      traces::step_graph(traces::read_pipedream_graph(choice.graph->file), devices.back().name, devices.front().name);
  Grouped groups = grouped(policies::groupable(step, 0), choice.objective, choice.graph->groups);
  return made(choice, std::move(machine), std::move(step), std::move(groups));
}

/// A dnn-partitioning file on the devices that it plans for.
PlacementCase planned_case(const CaseChoice& choice) {
  const traces::ProfiledGraph graph = traces::read_dnn_partitioning_graph(choice.graph->file, choice.graph->edge_cost_s);
  sim::StepGraph step = traces::planned_step_graph(graph);
  Grouped groups = grouped(policies::groupable(step, 0), choice.objective, choice.graph->groups);
  PlacementCase planned = made(choice, traces::planned_machine(graph), std::move(step), std::move(groups));
  if (!choice.graph->split.empty()) {
    const std::vector<int> split = traces::read_dnn_partitioning_split(choice.graph->split, graph);
    planned.split.assign(split.begin(), split.end());
  }
  return planned;
}

}  // namespace

PlacementCase make_case(const Scenario& scenario, const CaseChoice& choice) {
  if (choice.machine == nullptr) return planned_case(choice);
  const sim::Instance& instance = instance_of(scenario, choice);
  sim::Machine machine = sim::machine_of(scenario.cluster, instance, sim::wiring_of(instance), {.gpus = choice.machine->gpus});
  if (choice.graph->granularity == Granularity::tensorflow)
    return tensorflow_case(scenario, choice, instance, std::move(machine));
  const bool is_measured = !choice.graph->file.empty() && choice.graph->format == GraphFormat::pipedream;
  return is_measured ? measured_case(scenario, choice, instance, std::move(machine))
                     : modelled_case(scenario, choice, instance, std::move(machine));
}

namespace {

/// The largest batch that fits; whoever holds one holds all smaller ones.
template <class Fits>
int largest_batch(Fits&& fits) {
  int fitting = 0, too_large = 1;
  while (too_large < kLargestBatch && fits(too_large)) fitting = too_large, too_large *= 2;
  while (too_large - fitting > 1) {
    const int middle = fitting + (too_large - fitting) / 2;
    (fits(middle) ? fitting : too_large) = middle;
  }
  return fitting;
}

}  // namespace

int largest_batch_on_a_gpu(const Scenario& scenario, const CaseChoice& choice) {
  const sim::Instance& instance = instance_of(scenario, choice);
  const sim::Machine machine =
      sim::machine_of(scenario.cluster, instance, sim::wiring_of(instance), {.gpus = 1, .with_cpu = false});
  const std::vector<sim::Device> gpu{scenario.cluster.devices[static_cast<std::size_t>(instance.gpus[0].device)]};
  if (choice.graph->granularity == Granularity::tensorflow) {
    const workloads::TensorFlowGraph made =
        workloads::tensorflow_graph(choice.graph->model, choice.graph->dataset, choice.graph->shape);
    const std::vector<std::int32_t> all(made.graph.ops.size(), 0);
    return largest_batch([&](int batch) {
      const workloads::TfStep step = workloads::tensorflow_step(made, gpu, batch, choice.machine->host);
      return !sim::make_fast_timer(step.graph, machine, step.host)->time({.device_of_op = all}).out_of_memory.happened();
    });
  }
  const sim::OpGraph ops = graph_of(*choice.graph);
  const std::vector<std::int32_t> all_there(ops.ops.size(), 0);
  return largest_batch([&](int batch) {
    const sim::StepGraph graph = workloads::step_graph_of(ops, gpu,
                                                          {.conditions = {.batch = static_cast<double>(batch)},
                                                           .optimizer = choice.graph->optimizer,
                                                           .gradient_sum = choice.graph->gradient_sum});
    return !sim::make_fast_timer(graph, machine)->time({.device_of_op = all_there}).out_of_memory.happened();
  });
}

std::unique_ptr<sim::StepTimer> fast_timer(const PlacementCase& placed) {
  return placed.host ? sim::make_fast_timer(placed.graph, placed.machine, *placed.host)
                     : sim::make_fast_timer(placed.graph, placed.machine);
}

std::unique_ptr<sim::StepTimer> reference_timer(const PlacementCase& placed) {
  return placed.host ? sim::make_reference_timer(placed.graph, placed.machine, *placed.host)
                     : sim::make_reference_timer(placed.graph, placed.machine);
}

namespace {

std::string shown(const sim::OutOfMemory& oom, const PlacementCase& placed) {
  if (!oom.happened()) return {};
  return fmt::format("{}: {} asks for {:.3g} GB, {:.3g} GB are free", placed.machine.device(oom.device).name,
                     placed.graph.op(oom.op).name, static_cast<double>(oom.bytes) / 1e9,
                     static_cast<double>(oom.free_bytes) / 1e9);
}

/// What is reported comes from the reference; the searches' timer must agree.
void time_answer(const PlacementCase& placed, sim::StepTimer& fast, std::span<const std::int32_t> devices,
                 PlacementFigures& out) {
  const double fast_s = fast.time({.device_of_op = devices}).makespan_s();
  const auto reference = reference_timer(placed);
  const sim::StepResult& timing = reference->time({.device_of_op = devices});
  out.step_s = timing.makespan_s();
  sim::check(std::abs(out.step_s - fast_s) <= 1e-9 * out.step_s, "both timers agree");
  for (int d = 0; d < placed.machine.devices(); ++d)
    out.missing_bytes +=
        std::max<std::int64_t>(0, timing.peak_memory_bytes[static_cast<std::size_t>(d)] - placed.machine.device(d).memory_bytes);
  out.transferred_bytes = timing.transferred_bytes;
  out.out_of_memory = shown(timing.out_of_memory, placed);
}

/// The busiest device of a pipeline. Bytes are those of one sample.
void load_answer(const policies::PlacementView& view, sim::StepTimer& fast, std::span<const std::int32_t> devices,
                 PlacementFigures& out) {
  const policies::StepScore score = policies::throughput_score(view, devices);
  out.step_s = sim::seconds_of(score.makespan);
  out.missing_bytes = score.missing_bytes;
  if (score.missing_bytes > 0) out.out_of_memory = "more lies on devices than they hold";
  out.transferred_bytes = fast.time({.device_of_op = devices}).transferred_bytes;
}

/// A device for each operation.
std::vector<std::int32_t> answer_of(const PlacementTask& task, const policies::PlacementView& view,
                                    policies::PlacementScorer& scorer, PlacementFigures& figures) {
  const PlacementCase& placed = *task.placed;
  const policies::PlacementEntry* entry = task.method->entry;
  if (entry == nullptr) {
    if (placed.split.empty()) throw sim::InputError(sim::Mistake{.expected = "a split", .found = "none"});
    return placed.split;
  }
  const policies::Parameters parameters(entry->parameters, task.method->parameters);
  const auto method =
      task.method->network != nullptr ? entry->make_agent(parameters, *task.method->network) : entry->make(parameters);
  ProcessScorer sampler(scorer, task.sampling_processes);
  const policies::PlacementAnswer answer = run_placement(*method, view, sampler, task.evaluations);
  figures.evaluations = answer.evaluations;
  if (entry->searches)
    for (const auto& point : answer.history)
      figures.history.push_back({point.evaluations, sim::seconds_of(point.score.makespan), point.score.fits()});
  return policies::device_of_op(placed.groups, answer.device_of_group);
}

}  // namespace

PlacementFigures place(const PlacementTask& task) {
  const PlacementCase& placed = *task.placed;
  PlacementFigures figures;
  try {
    const auto timer = fast_timer(placed);
    const policies::PlacementView view(placed.graph, placed.machine, placed.groups, task.random_key);
    policies::TimerScorer by_time(*timer, placed.machine, placed.groups);
    policies::ThroughputScorer by_load(view);
    const bool loads = placed.objective == Objective::throughput;
    policies::PlacementScorer& scorer = loads ? static_cast<policies::PlacementScorer&>(by_load) : by_time;
    const std::vector<std::int32_t> devices = answer_of(task, view, scorer, figures);
    figures.device_of_op = devices;
    figures.devices_used = static_cast<int>(std::set(devices.begin(), devices.end()).size());
    if (loads)
      load_answer(view, *timer, devices, figures);
    else
      time_answer(placed, *timer, devices, figures);
  } catch (const sim::InputError& error) {
    figures.failure = error.what();
  }
  return figures;
}

std::string to_text(const PlacementFigures& f) {
  std::string text = fmt::format("{}\n{}\n{} {} {} {} {} {}\n", f.failure, f.out_of_memory, f.step_s, f.missing_bytes,
                                 f.transferred_bytes, f.evaluations, f.devices_used, f.history.size());
  text += fmt::format("{} {}\n", f.device_of_op.size(), fmt::join(f.device_of_op, " "));
  for (const auto& point : f.history) text += fmt::format("{} {} {}\n", point.evaluations, point.step_s, point.fits ? 1 : 0);
  return text;
}

PlacementFigures figures_of(const std::string& text) {
  std::istringstream in(text);
  PlacementFigures f;
  std::size_t points = 0;
  std::getline(in, f.failure);
  std::getline(in, f.out_of_memory);
  in >> f.step_s >> f.missing_bytes >> f.transferred_bytes >> f.evaluations >> f.devices_used >> points;
  std::size_t ops = 0;
  in >> ops;
  for (std::size_t op = 0; op < ops && in; ++op) in >> f.device_of_op.emplace_back();
  for (std::size_t i = 0; i < points; ++i) {
    PlacementFigures::Point& point = f.history.emplace_back();
    in >> point.evaluations >> point.step_s >> point.fits;
  }
  sim::check(!in.fail(), "a child's figures are whole");
  return f;
}

namespace {

/// The device of each group; -1 where its operations lie on several.
std::vector<int> devices_of_groups(const policies::Groups& groups, const std::vector<std::int32_t>& device_of_op) {
  constexpr int kNone = -2;
  std::vector<int> devices(static_cast<std::size_t>(groups.count), kNone);
  for (std::size_t op = 0; op < device_of_op.size(); ++op) {
    int& device = devices[static_cast<std::size_t>(groups.of_op[op])];
    device = device == kNone || device == device_of_op[op] ? device_of_op[op] : -1;
  }
  return devices;
}

}  // namespace

void write_pictures(const ResultsFolder& folder, const std::string& name, const PlacementCase& placed,
                    const std::vector<std::int32_t>& device_of_op) {
  std::vector<std::string> names;
  for (int d = 0; d < placed.machine.devices(); ++d) names.push_back(placed.machine.device(d).name);
  const std::vector<int> devices = devices_of_groups(placed.groups, device_of_op);
  const report::DotGraph graph = report::dot_graph(placed.graph);
  const bool by_group = std::find(devices.begin(), devices.end(), -1) == devices.end();
  folder.write("placement-" + name + ".dot",
               by_group ? to_dot(grouped(graph, placed.groups.of_op), devices, names) : to_dot(graph, device_of_op, names));
  sim::StepTimeline timeline;
  fast_timer(placed)->time({.device_of_op = device_of_op}, &timeline);
  folder.write("timeline-" + name + ".json", report::step_timeline_json(placed.graph, placed.machine, timeline));
}

}  // namespace rehearse::scenarios
