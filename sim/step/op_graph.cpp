#include "sim/step/op_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

LongestPath longest_path(const OpGraph& graph, std::span<const double> durations) {
  check(durations.size() == graph.ops.size(), "one duration for each operation");
  constexpr int kNone = -1;
  std::vector<double> start(durations.size());
  std::vector<int> before(durations.size(), kNone);
  std::vector<std::vector<int>> readers(durations.size());
  for (const Edge& edge : graph.edges) readers[edge.from].push_back(edge.to);
  LongestPath path;
  int last = kNone;
  for (int op = 0; op < static_cast<int>(durations.size()); ++op) {
    const double end = start[op] + durations[op];
    if (last == kNone || end > path.length) {
      path.length = end;
      last = op;
    }
    for (int reader : readers[op]) {
      if (before[reader] != kNone && end <= start[reader]) continue;
      start[reader] = end;
      before[reader] = op;
    }
  }
  for (; last != kNone; last = before[last]) path.ops.push_back(last);
  std::reverse(path.ops.begin(), path.ops.end());
  return path;
}

std::vector<int> last_readers(const OpGraph& graph) {
  std::vector<int> last(graph.ops.size());
  for (std::size_t op = 0; op < last.size(); ++op) last[op] = static_cast<int>(op);
  for (const Edge& edge : graph.edges) last[edge.from] = std::max(last[edge.from], edge.to);
  return last;
}

double peak_tensor_bytes(const OpGraph& graph, double batch) {
  struct Tensor {
    int producer;
    double bytes_per_sample;
    auto operator<=>(const Tensor&) const = default;
  };
  std::map<Tensor, int> last;
  for (const Edge& edge : graph.edges) {
    if (edge.bytes.per_sample == 0) continue;
    int& reader = last[{edge.from, edge.bytes.per_sample}];
    reader = std::max(reader, edge.to);
  }
  std::map<std::pair<int, int>, int> last_backward;  // of each layer and time step
  for (std::size_t op = 0; op < graph.ops.size(); ++op)
    if (graph.ops[op].phase == Phase::backward) last_backward[{graph.ops[op].layer, graph.ops[op].step}] = static_cast<int>(op);
  std::vector<double> made(graph.ops.size()), freed(graph.ops.size());
  for (const auto& [tensor, reader] : last) {
    made[tensor.producer] += tensor.bytes_per_sample * batch;
    freed[reader] += tensor.bytes_per_sample * batch;
  }
  for (std::size_t op = 0; op < made.size(); ++op) {
    const auto reader = last_backward.find({graph.ops[op].layer, graph.ops[op].step});
    const double bytes = graph.ops[op].private_bytes.at(batch);
    if (bytes == 0 || reader == last_backward.end()) continue;
    made[op] += bytes;
    freed[reader->second] += bytes;
  }
  double live = 0, peak = 0;
  for (std::size_t op = 0; op < made.size(); ++op) {
    live += made[op];
    peak = std::max(peak, live);
    live -= freed[op];
  }
  return peak;
}

}  // namespace rehearse::sim
