// m-TOPO (Baechi: Jeon et al., SoCC 2020, section 3.1): groups in topological order fill one GPU after the other, each up to an
// equal share of the memory.
#include <algorithm>

#include "policies/place/list_schedule.hpp"
#include "policies/place/methods/methods.hpp"

namespace rehearse::policies {

DeviceOfGroup MTopo::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  const PlacementGraph graph(view);
  const std::vector<std::int32_t> devices = gpus_or_all(view.machine());
  std::int64_t sum = 0, largest = 0;
  for (int g = 0; g < graph.groups(); ++g) {
    sum += graph.memory_bytes(g);
    largest = std::max(largest, graph.memory_bytes(g));
  }
  const std::int64_t share = sum / static_cast<std::int64_t>(devices.size()) + largest;
  return place_within_memory(view, evaluator, [&](const std::vector<std::int64_t>& capacity) {
    DeviceOfGroup answer(static_cast<std::size_t>(graph.groups()));
    std::size_t at = 0;
    std::int64_t used = 0;
    for (const std::int32_t g : graph.order()) {
      const auto room = [&] { return std::min(share, capacity[static_cast<std::size_t>(devices[at])]) - used; };
      while (graph.memory_bytes(g) > room() && at + 1 < devices.size()) {
        ++at;
        used = 0;
      }
      used += graph.memory_bytes(g);
      answer[static_cast<std::size_t>(g)] = devices[at];
    }
    return answer;
  });
}

}  // namespace rehearse::policies
