// The best placement there is under the timer, by branch and bound (Land and Doig, Econometrica 28(3), 1960): what a part of the
// groups' devices makes sure of bounds all that can follow.
#include <fmt/format.h>

#include <algorithm>

#include "policies/place/list_schedule.hpp"
#include "policies/place/methods/methods.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

class BranchAndBound {
 public:
  BranchAndBound(const PlacementView& view, PlacementEvaluator& evaluator)
      : view_(view),
        evaluator_(evaluator),
        graph_(view),
        devices_(view.devices()),
        placed_(static_cast<std::size_t>(view.groups().count), -1),
        resident_(static_cast<std::size_t>(devices_), 0),
        end_(static_cast<std::size_t>(view.graph().ops())) {
    // The largest groups first: their devices say most.
    order_ = graph_.order();
    std::stable_sort(order_.begin(), order_.end(), [&](std::int32_t a, std::int32_t b) { return weight(a) > weight(b); });
  }

  /// False when the evaluations did not suffice.
  bool search() { return branch(0); }

 private:
  sim::Tick weight(std::int32_t group) const {
    sim::Tick least = graph_.duration(group, 0);
    for (int d = 1; d < devices_; ++d) least = std::min(least, graph_.duration(group, d));
    return least;
  }

  bool branch(std::size_t depth) {
    if (depth == order_.size()) {
      if (evaluator_.left() == 0) return false;
      evaluator_.score(placed_);
      return true;
    }
    const auto group = static_cast<std::size_t>(order_[depth]);
    for (int d = 0; d < devices_; ++d) {
      placed_[group] = d;
      resident_[static_cast<std::size_t>(d)] += graph_.resident_bytes(static_cast<int>(group));
      const bool went_on = bound() >= evaluator_.best_score() || branch(depth + 1);
      resident_[static_cast<std::size_t>(d)] -= graph_.resident_bytes(static_cast<int>(group));
      if (!went_on) return false;
    }
    placed_[group] = -1;
    return true;
  }

  /// No placement that completes the present one scores less: memory that stays for the whole step, the longest path, and the
  /// work of each device between the earliest begin and the shortest rest.
  StepScore bound() {
    StepScore least;
    for (int d = 0; d < devices_; ++d)
      least.missing_bytes +=
          std::max<std::int64_t>(0, resident_[static_cast<std::size_t>(d)] - view_.machine().device(d).memory_bytes);
    least.makespan = std::max(longest_path(), most_work());
    return least;
  }

  std::int32_t device_of(std::int32_t op) const { return placed_[static_cast<std::size_t>(view_.group_of(op))]; }

  sim::Tick least_duration(std::int32_t op) const {
    if (const std::int32_t d = device_of(op); d >= 0) return view_.duration(op, d);
    sim::Tick least = view_.duration(op, 0);
    for (int d = 1; d < devices_; ++d) least = std::min(least, view_.duration(op, d));
    return least;
  }

  /// Rounded down, as the timer may round otherwise.
  sim::Tick least_transfer(std::int64_t bytes, std::int32_t from, std::int32_t to) const {
    return std::max<sim::Tick>(0, transfer_ticks(view_.machine(), bytes, from, to) - 2);
  }

  sim::Tick longest_path() {
    sim::Tick longest = 0;
    for (const std::int32_t op : view_.graph().topological_order()) {
      sim::Tick begin = 0;
      for (const sim::StepInput& input : view_.graph().inputs_of(op)) {
        const sim::StepTensor& tensor = view_.graph().tensor(input.tensor);
        const std::int32_t from = device_of(tensor.producer), to = device_of(op);
        begin = std::max(begin, end_[static_cast<std::size_t>(tensor.producer)] +
                                    (from < 0 || to < 0 ? 0 : least_transfer(tensor.bytes, from, to)));
      }
      end_[static_cast<std::size_t>(op)] = begin + least_duration(op);
      longest = std::max(longest, end_[static_cast<std::size_t>(op)]);
    }
    return longest;
  }

  sim::Tick most_work() const {
    sim::Tick most = 0;
    for (int d = 0; d < devices_; ++d) {
      sim::Tick work = 0;
      for (int g = 0; g < graph_.groups(); ++g)
        if (placed_[static_cast<std::size_t>(g)] == d) work += graph_.duration(g, d);
      most = std::max(most, work);
    }
    return most;
  }

  const PlacementView& view_;
  PlacementEvaluator& evaluator_;
  PlacementGraph graph_;
  int devices_;
  DeviceOfGroup placed_;
  std::vector<std::int64_t> resident_;  // of each device
  std::vector<std::int32_t> order_;
  std::vector<sim::Tick> end_;
};

}  // namespace

DeviceOfGroup Exact::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  if (view.groups().count > kMostExactGroups)
    throw sim::InputError(sim::Mistake{.expected = fmt::format("at most {} groups for exact", kMostExactGroups),
                                       .found = std::to_string(view.groups().count)});
  // Good placements to begin with cut off more.
  score_single_devices(view, evaluator);
  if (evaluator.left() > 0) Heft().place(view, evaluator);
  if (!BranchAndBound(view, evaluator).search())
    throw sim::InputError(
        sim::Mistake{.expected = "enough evaluations for exact to prove its answer", .found = std::to_string(evaluator.used())});
  return evaluator.best();
}

}  // namespace rehearse::policies
