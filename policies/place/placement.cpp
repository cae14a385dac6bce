#include "policies/place/placement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/step/step_timer.hpp"

namespace rehearse::policies {

std::vector<std::int32_t> device_of_op(const Groups& groups, const DeviceOfGroup& devices) {
  std::vector<std::int32_t> of_op(groups.of_op.size());
  for (std::size_t op = 0; op < of_op.size(); ++op) of_op[op] = devices.at(static_cast<std::size_t>(groups.of_op[op]));
  return of_op;
}

namespace {

StepScore score_of(const sim::StepResult& timing, const sim::Machine& machine) {
  StepScore score{.makespan = timing.makespan};
  for (int d = 0; d < machine.devices(); ++d)
    score.missing_bytes += std::max<std::int64_t>(0, timing.peak_memory_bytes[d] - machine.device(d).memory_bytes);
  return score;
}

}  // namespace

void TimerScorer::score(std::span<const DeviceOfGroup> placements, std::span<StepScore> scores) {
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const std::vector<std::int32_t> devices = device_of_op(groups_, placements[i]);
    scores[i] = score_of(timer_.time({.device_of_op = devices}), machine_);
  }
}

PlacementEvaluator::PlacementEvaluator(PlacementScorer& scorer, std::int64_t budget) : scorer_(scorer), budget_(budget) {
  sim::check(budget > 0, "a budget of at least one evaluation");
}

std::vector<StepScore> PlacementEvaluator::score(std::span<const DeviceOfGroup> placements) {
  sim::check(static_cast<std::int64_t>(placements.size()) <= left(), "no more evaluations than are left");
  std::vector<StepScore> scores(placements.size());
  scorer_.score(placements, scores);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    ++used_;
    if (!history_.empty() && scores[i] >= history_.back().score) continue;
    history_.push_back({used_, scores[i]});
    best_ = placements[i];
  }
  return scores;
}

const DeviceOfGroup& PlacementEvaluator::best() const {
  sim::check(!history_.empty(), "a placement was scored");
  return best_;
}

StepScore PlacementEvaluator::best_score() const {
  sim::check(!history_.empty(), "a placement was scored");
  return history_.back().score;
}

PlacementView::PlacementView(const sim::StepGraph& graph, const sim::Machine& machine, const Groups& groups,
                             std::uint64_t random_key, Cpu cpu)
    : graph_(graph), machine_(machine), groups_(groups), random_key_(random_key) {
  sim::Mistakes mistakes;
  if (cpu == Cpu::required && !machine.has_cpu()) mistakes.add({.expected = "a device that is a CPU", .found = "none"});
  check_classes(mistakes);
  check_groups(mistakes);
  mistakes.throw_if_any();
}

void PlacementView::check_classes(sim::Mistakes& mistakes) {
  const std::vector<std::string>& known = graph_.class_names();
  for (int d = 0; d < machine_.devices(); ++d) {
    const std::string& name = machine_.class_names()[static_cast<std::size_t>(machine_.device(d).device_class)];
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      mistakes.add({.expected = fmt::format("a device of class {}", fmt::join(known, ", ")),
                    .found = fmt::format("{} of class {}", machine_.device(d).name, name)});
    class_of_device_.push_back(static_cast<int>(found - known.begin()));
  }
}

void PlacementView::check_groups(sim::Mistakes& mistakes) const {
  if (groups_.count > graph_.ops())
    mistakes.add({.expected = fmt::format("at most as many groups as operations, {}", graph_.ops()),
                  .found = std::to_string(groups_.count)});
  sim::check(groups_.of_op.size() == static_cast<std::size_t>(graph_.ops()), "a group for each operation");
  std::vector<bool> seen(static_cast<std::size_t>(std::max(0, groups_.count)));
  for (const std::int32_t group : groups_.of_op) {
    sim::check(group >= 0 && group < groups_.count, "a group's number");
    seen[static_cast<std::size_t>(group)] = true;
  }
  if (const auto empty = std::find(seen.begin(), seen.end(), false); empty != seen.end())
    mistakes.add({.expected = "an operation in every group", .found = fmt::format("none in group {}", empty - seen.begin())});
}

PlacementAnswer run_placement(PlacementMethod& method, const PlacementView& view, PlacementScorer& scorer, std::int64_t budget) {
  PlacementEvaluator evaluator(scorer, budget);
  PlacementAnswer answer{.device_of_group = method.place(view, evaluator)};
  answer.evaluations = evaluator.used();
  answer.history = evaluator.history();
  if (answer.device_of_group.size() != static_cast<std::size_t>(view.groups().count))
    throw sim::PolicyError(fmt::format("a device for each of {} groups was asked for, {} were answered", view.groups().count,
                                       answer.device_of_group.size()));
  for (const std::int32_t device : answer.device_of_group)
    if (device < 0 || device >= view.devices())
      throw sim::PolicyError(fmt::format("device {} of {} was answered", device, view.devices()));
  return answer;
}

}  // namespace rehearse::policies
