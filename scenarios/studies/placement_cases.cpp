#include "scenarios/studies/placement_cases.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <sstream>

#include "sim/base/errors.hpp"
#include "sim/step/step_timer.hpp"
#include "workloads/step_graph_of.hpp"
#include "workloads/zoo.hpp"

namespace rehearse::scenarios {

PlacementCase make_case(const Scenario& scenario, const GraphChoice& choice, const MachineChoice& on) {
  const sim::Pool& pool = scenario.cluster.pools[static_cast<std::size_t>(on.pool)];
  const sim::Instance& instance = scenario.cluster.instances[static_cast<std::size_t>(pool.instance)];
  sim::Machine machine = sim::machine_of(scenario.cluster, instance, sim::wiring_of(instance), {.gpus = on.gpus});
  const std::vector<sim::Device> devices = sim::class_devices(scenario.cluster, instance);
  const sim::OpGraph ops = workloads::zoo_graph(choice.model, choice.dataset, true);
  const workloads::Conditions conditions{.batch = choice.batch};
  std::vector<double> work;
  for (const sim::Op& op : ops.ops) work.push_back(workloads::op_duration_s(workloads::work_of(op), devices.back(), conditions));
  const policies::GroupableGraph groupable = policies::groupable(ops, choice.batch, work);
  const policies::Groups colocated = policies::colocate(groupable);
  policies::Groups groups = policies::coarsen(groupable, colocated, std::min(choice.groups, static_cast<int>(ops.ops.size())));
  sim::StepGraph graph =
      workloads::step_graph_of(ops, devices, {.conditions = conditions, .optimizer = choice.optimizer, .groups = groups.of_op});
  return {.machine = std::move(machine), .graph = std::move(graph), .groups = std::move(groups), .colocated = colocated.count};
}

namespace {

std::string shown(const sim::OutOfMemory& oom, const PlacementCase& placed) {
  if (!oom.happened()) return {};
  return fmt::format("{}: {} asks for {:.3g} GB, {:.3g} GB are free", placed.machine.device(oom.device).name,
                     placed.graph.op(oom.op).name, static_cast<double>(oom.bytes) / 1e9,
                     static_cast<double>(oom.free_bytes) / 1e9);
}

/// What is reported comes from the reference; the searches' timer must agree.
void time_answer(const PlacementCase& placed, sim::StepTimer& fast, const policies::DeviceOfGroup& answer,
                 PlacementFigures& out) {
  const std::vector<std::int32_t> devices = policies::device_of_op(placed.groups, answer);
  const double fast_s = fast.time({.device_of_op = devices}).makespan_s();
  const auto reference = sim::make_reference_timer(placed.graph, placed.machine);
  const sim::StepResult& timing = reference->time({.device_of_op = devices});
  out.step_s = timing.makespan_s();
  sim::check(std::abs(out.step_s - fast_s) <= 1e-9 * out.step_s, "both timers agree");
  for (int d = 0; d < placed.machine.devices(); ++d)
    out.missing_bytes +=
        std::max<std::int64_t>(0, timing.peak_memory_bytes[static_cast<std::size_t>(d)] - placed.machine.device(d).memory_bytes);
  out.transferred_bytes = timing.transferred_bytes;
  out.out_of_memory = shown(timing.out_of_memory, placed);
  out.devices_used = static_cast<int>(std::set(answer.begin(), answer.end()).size());
}

}  // namespace

PlacementFigures place(const PlacementTask& task) {
  const PlacementCase& placed = *task.placed;
  PlacementFigures figures;
  try {
    const auto timer = sim::make_fast_timer(placed.graph, placed.machine);
    policies::TimerScorer scorer(*timer, placed.machine, placed.groups);
    const policies::PlacementView view(placed.graph, placed.machine, placed.groups, task.random_key);
    const auto method = task.method->entry->make(policies::Parameters(task.method->entry->parameters, task.method->parameters));
    const policies::PlacementAnswer answer = run_placement(*method, view, scorer, task.evaluations);
    figures.evaluations = answer.evaluations;
    if (task.method->entry->searches)
      for (const auto& point : answer.history)
        figures.history.push_back({point.evaluations, sim::seconds_of(point.score.makespan), point.score.fits()});
    time_answer(placed, *timer, answer.device_of_group, figures);
  } catch (const sim::InputError& error) {
    figures.failure = error.what();
  }
  return figures;
}

std::string to_text(const PlacementFigures& f) {
  std::string text = fmt::format("{}\n{}\n{} {} {} {} {} {}\n", f.failure, f.out_of_memory, f.step_s, f.missing_bytes,
                                 f.transferred_bytes, f.evaluations, f.devices_used, f.history.size());
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
  for (std::size_t i = 0; i < points; ++i) {
    PlacementFigures::Point& point = f.history.emplace_back();
    in >> point.evaluations >> point.step_s >> point.fits;
  }
  sim::check(!in.fail(), "a child's figures are whole");
  return f;
}

}  // namespace rehearse::scenarios
