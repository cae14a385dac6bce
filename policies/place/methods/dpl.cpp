// Contiguous parts for the best throughput by dynamic programming over one linear order of the graph: DPL of Tarnawski et al.,
// "Efficient Algorithms for Device Placement of DNN Graph Operators", NeurIPS 2020, section 5.
#include <algorithm>
#include <limits>
#include <optional>

#include "policies/place/methods/methods.hpp"
#include "policies/place/placement_graph.hpp"
#include "policies/place/throughput.hpp"
#include "sim/engine/flow_network.hpp"

namespace rehearse::policies {

namespace {

/// Of each tensor that passes between groups: its maker's and its readers' positions in the linear order.
struct Passing {
  int from;
  std::vector<int> to;  ///< ascending, each once
  std::int64_t bytes;
};

class Parts {
 public:
  /// `within_memory`: parts that their device cannot hold do not count.
  Parts(const PlacementView& view, const PlacementGraph& groups, bool within_memory)
      : view_(view),
        groups_(groups),
        within_memory_(within_memory),
        transfers_(view.machine()),
        passing_(static_cast<std::size_t>(groups.groups())) {
    std::vector<int> position(passing_.size());
    for (std::size_t i = 0; i < position.size(); ++i) position[static_cast<std::size_t>(groups.order()[i])] = static_cast<int>(i);
    for (int t = 0; t < view.graph().tensors(); ++t) {
      Passing p{.from = position[static_cast<std::size_t>(view.group_of(view.graph().tensor(t).producer))],
                .to = {},
                .bytes = view.graph().tensor(t).bytes};
      for (const std::int32_t reader : view.graph().readers_of(t))
        p.to.push_back(position[static_cast<std::size_t>(view.group_of(reader))]);
      std::sort(p.to.begin(), p.to.end());
      p.to.erase(std::unique(p.to.begin(), p.to.end()), p.to.end());
      std::erase(p.to, p.from);
      if (!p.to.empty() && p.bytes > 0) add(p);
    }
  }

  /// For a part that ends before `end`, its load on the device by where it begins: element b for [b, end); sim::kNeverTick: too
  /// large.
  std::vector<sim::Tick> loads(int end, std::int32_t device) const {
    std::vector<sim::Tick> result(static_cast<std::size_t>(end) + 1, 0);
    std::int64_t room = view_.machine().device(device).memory_bytes;
    sim::Tick load = 0;
    for (int begin = end - 1; begin >= 0; --begin) {
      const std::int32_t group = groups_.order()[static_cast<std::size_t>(begin)];
      load += groups_.duration(group, device);
      for (const Passing& p : passing_[static_cast<std::size_t>(begin)])
        load += cost(p, begin, end, device) - cost(p, begin + 1, end, device);
      room -= groups_.resident_bytes(group);
      result[static_cast<std::size_t>(begin)] = within_memory_ && room < 0 ? sim::kNeverTick : load;
    }
    return result;
  }

 private:
  void add(const Passing& p) {
    passing_[static_cast<std::size_t>(p.from)].push_back(p);
    for (const int reader : p.to) passing_[static_cast<std::size_t>(reader)].push_back(p);
  }

  /// What one tensor costs the part [begin, end).
  sim::Tick cost(const Passing& p, int begin, int end, std::int32_t device) const {
    const auto first = std::lower_bound(p.to.begin(), p.to.end(), begin), last = std::lower_bound(first, p.to.end(), end);
    if (p.from < begin || p.from >= end) return first == last ? 0 : transfers_.in(p.bytes, device);
    return last - first == static_cast<std::ptrdiff_t>(p.to.size()) ? 0 : transfers_.out(p.bytes, device);
  }

  const PlacementView& view_;
  const PlacementGraph& groups_;
  bool within_memory_;
  HostTransfers transfers_;
  std::vector<std::vector<Passing>> passing_;  // of each position: those that it makes or reads
};

/// GPUs, then CPUs.
std::vector<std::int32_t> line_of_devices(const sim::Machine& machine) {
  std::vector<std::int32_t> devices = all_devices(machine);
  std::stable_partition(devices.begin(), devices.end(),
                        [&](std::int32_t d) { return machine.device(d).kind == sim::DeviceKind::gpu; });
  return devices;
}

// best[d][end]: the least possible largest load when the first d devices have the groups before `end`; a part may be empty.
std::optional<DeviceOfGroup> best_parts(const PlacementView& view, const PlacementGraph& groups, bool within_memory) {
  const Parts parts(view, groups, within_memory);
  const std::vector<std::int32_t> devices = line_of_devices(view.machine());
  const auto n = static_cast<std::size_t>(groups.groups());
  std::vector<std::vector<sim::Tick>> best(devices.size() + 1, std::vector<sim::Tick>(n + 1, sim::kNeverTick));
  std::vector<std::vector<int>> begin_of(devices.size() + 1, std::vector<int>(n + 1, 0));
  best[0][0] = 0;
  for (std::size_t d = 0; d < devices.size(); ++d)
    for (std::size_t end = 0; end <= n; ++end) {
      const std::vector<sim::Tick> loads = parts.loads(static_cast<int>(end), devices[d]);
      for (std::size_t begin = 0; begin <= end; ++begin) {
        const sim::Tick most = std::max(best[d][begin], loads[begin]);
        if (most >= best[d + 1][end]) continue;
        best[d + 1][end] = most;
        begin_of[d + 1][end] = static_cast<int>(begin);
      }
    }
  if (best.back()[n] == sim::kNeverTick) return {};
  DeviceOfGroup answer(n);
  std::size_t end = n;
  for (std::size_t d = devices.size(); d > 0; --d) {
    const auto begin = static_cast<std::size_t>(begin_of[d][end]);
    for (std::size_t i = begin; i < end; ++i) answer[static_cast<std::size_t>(groups.order()[i])] = devices[d - 1];
    end = begin;
  }
  return answer;
}

}  // namespace

DeviceOfGroup Dpl::place(const PlacementView& view, PlacementEvaluator&) {
  const PlacementGraph groups(view);
  const std::optional<DeviceOfGroup> fitting = best_parts(view, groups, true);
  return fitting ? *fitting : *best_parts(view, groups, false);
}

DeviceOfGroup DplAnnealed::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  const DeviceOfGroup start = Dpl().place(view, evaluator);
  const StepScore score = evaluator.score(start);
  anneal(view, evaluator, start, score, {.hottest = 0.02});
  return evaluator.best();
}

}  // namespace rehearse::policies
