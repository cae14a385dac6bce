// Small graphs and machines whose times are whole seconds: durations in seconds, links of 1 byte/s without latency.
#pragma once

#include <string>
#include <vector>

#include "policies/place/placement.hpp"
#include "sim/base/random.hpp"
#include "sim/step/step_timer.hpp"

namespace rehearse::tests {

inline constexpr sim::Tick kSecond = sim::Tick{1} << 30;

struct ToyEdge {
  int from, to;
  std::int64_t bytes;
};

struct ToyOp {
  std::vector<double> durations_s;  ///< one for each class
  std::int64_t resident_bytes = 0;
};

inline sim::StepGraph toy_graph(std::vector<std::string> classes, const std::vector<ToyOp>& ops,
                                const std::vector<ToyEdge>& edges) {
  sim::StepGraphBuilder builder("toy", std::move(classes));
  for (std::size_t i = 0; i < ops.size(); ++i)
    builder.add_op({.name = "op" + std::to_string(i), .parameter_bytes = ops[i].resident_bytes}, ops[i].durations_s);
  for (const ToyEdge& edge : edges) builder.add_reader(builder.add_tensor({.producer = edge.from, .bytes = edge.bytes}), edge.to);
  return builder.build();
}

/// Devices of these classes, the first one a CPU; a link of its own for each ordered pair.
inline sim::Machine toy_machine(const std::vector<std::string>& class_of_device, std::int64_t memory_bytes = 1'000'000) {
  sim::MachineBuilder builder;
  std::vector<std::string> classes;
  for (std::size_t d = 0; d < class_of_device.size(); ++d) {
    std::size_t c = 0;
    while (c < classes.size() && classes[c] != class_of_device[d]) ++c;
    if (c == classes.size()) classes.push_back(class_of_device[d]), builder.add_class(class_of_device[d]);
    builder.add_device({.name = "d" + std::to_string(d),
                        .device_class = static_cast<int>(c),
                        .kind = d == 0 ? sim::DeviceKind::cpu : sim::DeviceKind::gpu,
                        .memory_bytes = memory_bytes});
  }
  const int n = static_cast<int>(class_of_device.size());
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to)
      if (from != to) builder.set_route(from, to, {builder.add_link({.name = "link", .bandwidth_bytes_per_s = 1})}, 0);
  return builder.build();
}

/// Every operation a group.
inline policies::Groups one_op_groups(const sim::StepGraph& graph) {
  policies::Groups groups{.count = graph.ops()};
  for (int op = 0; op < graph.ops(); ++op) groups.of_op.push_back(op);
  return groups;
}

/// A random graph of classes "cpu" and "gpu", about `edges_per_op` edges an operation; the CPU is one to five times slower.
inline sim::StepGraph random_graph(sim::Random& random, int ops, double edges_per_op = 1.5) {
  std::vector<ToyOp> toys;
  std::vector<ToyEdge> edges;
  for (int op = 0; op < ops; ++op) {
    const double gpu_s = static_cast<double>(1 + random.below(8));
    toys.push_back({.durations_s = {gpu_s * static_cast<double>(1 + random.below(5)), gpu_s},
                    .resident_bytes = static_cast<std::int64_t>(random.below(10))});
  }
  for (int op = 1; op < ops; ++op)
    for (int k = 0; k < static_cast<int>(2 * edges_per_op); ++k)
      if (random.uniform() < 0.5)
        edges.push_back(
            {static_cast<int>(random.below(static_cast<std::uint64_t>(op))), op, static_cast<std::int64_t>(random.below(6))});
  return toy_graph({"cpu", "gpu"}, toys, edges);
}

}  // namespace rehearse::tests
