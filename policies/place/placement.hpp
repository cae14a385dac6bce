// Placement at the step level: which device runs each co-location group of a step's operations. What every method is given and
// answers, and the evaluations of the step that searching methods share.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/place/groups.hpp"
#include "sim/base/errors.hpp"
#include "sim/step/machine.hpp"
#include "sim/step/step_graph.hpp"

namespace rehearse::sim {
class StepTimer;
}

namespace rehearse::policies {

/// A device of the machine for each group.
using DeviceOfGroup = std::vector<std::int32_t>;

std::vector<std::int32_t> device_of_op(const Groups& groups, const DeviceOfGroup& devices);

/// What a step costs; of two the smaller is better: what lacks less memory, then what is faster.
struct StepScore {
  std::int64_t missing_bytes = 0;  ///< that devices would need beyond their memory, summed over devices; 0: the step fits
  sim::Tick makespan = 0;          ///< as if it had fitted
  bool fits() const { return missing_bytes == 0; }
  auto operator<=>(const StepScore&) const = default;
};

/// Scores placements; the same one always equally. Several at once, so that an implementation may spread them over processes.
class PlacementScorer {
 public:
  virtual ~PlacementScorer() = default;
  virtual void score(std::span<const DeviceOfGroup> placements, std::span<StepScore> scores) = 0;
};

/// By a timer, one after the other. Keeps references.
class TimerScorer final : public PlacementScorer {
 public:
  TimerScorer(sim::StepTimer& timer, const sim::Machine& machine, const Groups& groups)
      : timer_(timer), machine_(machine), groups_(groups) {}
  void score(std::span<const DeviceOfGroup> placements, std::span<StepScore> scores) override;

 private:
  sim::StepTimer& timer_;
  const sim::Machine& machine_;
  const Groups& groups_;
};

/// Counts evaluations, and keeps the best placement and how it came about.
class PlacementEvaluator {
 public:
  struct Improvement {
    std::int64_t evaluations;  ///< made up to it, itself included
    StepScore score;
  };

  /// `budget` > 0: how many evaluations there are.
  PlacementEvaluator(PlacementScorer& scorer, std::int64_t budget);
  /// A failed check when more are asked for than left().
  std::vector<StepScore> score(std::span<const DeviceOfGroup> placements);
  StepScore score(const DeviceOfGroup& placement) { return score(std::span(&placement, 1)).front(); }

  std::int64_t used() const { return used_; }
  std::int64_t left() const { return budget_ - used_; }
  /// Of equal ones the first. Something must have been scored.
  const DeviceOfGroup& best() const;
  StepScore best_score() const;
  const std::vector<Improvement>& history() const { return history_; }

 private:
  PlacementScorer& scorer_;
  std::int64_t budget_, used_ = 0;
  DeviceOfGroup best_;
  std::vector<Improvement> history_;
};

/// All that a method knows.
class PlacementView {
 public:
  enum class Cpu : std::uint8_t { required, may_be_missing };
  /// Keeps references. `random_key` is of the method's random numbers (sim::stream_key). Throws InputError: a class of device
  /// for which the graph has no durations, more groups than operations, an empty group, a machine without a CPU.
  PlacementView(const sim::StepGraph& graph, const sim::Machine& machine, const Groups& groups, std::uint64_t random_key,
                Cpu cpu = Cpu::required);

  const sim::StepGraph& graph() const { return graph_; }
  const sim::Machine& machine() const { return machine_; }
  const Groups& groups() const { return groups_; }
  std::uint64_t random_key() const { return random_key_; }

  int devices() const { return machine_.devices(); }
  int group_of(int op) const { return groups_.of_op[static_cast<std::size_t>(op)]; }
  sim::Tick duration(int op, int device) const { return graph_.duration(op, class_of_device_[static_cast<std::size_t>(device)]); }
  /// The graph's class of a device.
  int class_of(int device) const { return class_of_device_[static_cast<std::size_t>(device)]; }

 private:
  void check_classes(sim::Mistakes& mistakes);
  void check_groups(sim::Mistakes& mistakes) const;

  const sim::StepGraph& graph_;
  const sim::Machine& machine_;
  const Groups& groups_;
  std::uint64_t random_key_;
  std::vector<int> class_of_device_;
};

class PlacementMethod {
 public:
  virtual ~PlacementMethod() = default;
  /// A valid device for every group. Throws InputError when the method cannot place such a graph.
  virtual DeviceOfGroup place(const PlacementView& view, PlacementEvaluator& evaluator) = 0;
};

struct PlacementAnswer {
  DeviceOfGroup device_of_group;
  std::int64_t evaluations = 0;  ///< that the method made
  std::vector<PlacementEvaluator::Improvement> history;
};

/// Asks the method and checks its answer: throws what the method throws, or PolicyError for an invalid answer.
PlacementAnswer run_placement(PlacementMethod& method, const PlacementView& view, PlacementScorer& scorer, std::int64_t budget);

}  // namespace rehearse::policies
