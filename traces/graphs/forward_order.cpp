#include "traces/graphs/forward_order.hpp"

#include <algorithm>
#include <queue>

#include "sim/io/shown.hpp"

namespace rehearse::traces {
namespace {

/// Among operations that all have one before them among them: going back far enough repeats one.
std::vector<int> find_cycle(std::span<const std::pair<int, int>> edges, const std::vector<int>& waits_for) {
  const int count = static_cast<int>(waits_for.size());
  std::vector<int> before(waits_for.size(), -1);
  for (const auto& [from, to] : edges)
    if (waits_for[from] > 0 && waits_for[to] > 0) before[to] = from;
  int op = static_cast<int>(std::find_if(waits_for.begin(), waits_for.end(), [](int n) { return n > 0; }) - waits_for.begin());
  for (int i = 0; i < count; ++i) op = before[op];
  std::vector<int> cycle{op};
  for (int at = before[op]; at != op; at = before[at]) cycle.push_back(at);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

}  // namespace

ForwardOrder forward_order(int count, std::span<const std::pair<int, int>> edges) {
  std::vector<int> waits_for(static_cast<std::size_t>(count));
  std::vector<std::vector<int>> after(static_cast<std::size_t>(count));
  for (const auto& [from, to] : edges) {
    ++waits_for[to];
    after[from].push_back(to);
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int op = 0; op < count; ++op)
    if (waits_for[op] == 0) ready.push(op);
  ForwardOrder order;
  for (; !ready.empty();) {
    const int op = ready.top();
    ready.pop();
    order.ops.push_back(op);
    for (int next : after[op])
      if (--waits_for[next] == 0) ready.push(next);
  }
  if (static_cast<int>(order.ops.size()) < count) return {{}, find_cycle(edges, waits_for)};
  return order;
}

std::string cycle_text(const std::vector<int>& cycle, const std::function<std::string_view(int)>& name_of) {
  constexpr std::size_t kMostNamed = 4;
  std::string text = "a cycle through ";
  for (std::size_t i = 0; i < std::min(cycle.size(), kMostNamed); ++i)
    text += (i == 0 ? "" : ", ") + sim::shown(name_of(cycle[i]));
  if (cycle.size() > kMostNamed) text += " and " + std::to_string(cycle.size() - kMostNamed) + " more";
  return text;
}

}  // namespace rehearse::traces
