// Graphs, machines and placements for the tests of the step level: small ones by hand, random ones from a seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/step/step_timer.hpp"

namespace rehearse::tests {

/// `count` equal devices of class "gpu", each with a port in and a port out; a transfer takes the sender's and the receiver's.
inline sim::Machine ported(int count, double bandwidth_bytes_per_s, double latency_s, std::int64_t memory_bytes = 1 << 30) {
  sim::MachineBuilder builder;
  const int gpu = builder.add_class("gpu");
  for (int d = 0; d < count; ++d) {
    builder.add_device({.name = "gpu" + std::to_string(d), .device_class = gpu, .memory_bytes = memory_bytes});
    builder.add_link({"gpu" + std::to_string(d) + " out", sim::LinkKind::pcie, bandwidth_bytes_per_s});
    builder.add_link({"gpu" + std::to_string(d) + " in", sim::LinkKind::pcie, bandwidth_bytes_per_s});
  }
  for (int from = 0; from < count; ++from)
    for (int to = 0; to < count; ++to)
      if (from != to) builder.set_route(from, to, {2 * from, 2 * to + 1}, latency_s);
  return builder.build();
}

/// One of `values`.
template <class T>
T pick(sim::Random& random, std::initializer_list<T> values) {
  return *(values.begin() + random.below(values.size()));
}

/// Links of equal or unequal bandwidths, routes over some of them, latencies equal or not, two classes of devices.
inline sim::Machine random_machine(sim::Random& random) {
  sim::MachineBuilder builder;
  builder.add_class("cpu");
  builder.add_class("gpu");
  const int devices = 2 + static_cast<int>(random.below(6)), links = 1 + static_cast<int>(random.below(10));
  const bool equal = random.below(2) == 0;
  for (int d = 0; d < devices; ++d)
    builder.add_device({.name = "d" + std::to_string(d),
                        .device_class = d == 0 ? 0 : 1,
                        .kind = d == 0 ? sim::DeviceKind::cpu : sim::DeviceKind::gpu,
                        .memory_bytes = pick<std::int64_t>(random, {0, 100'000'000, 1'000'000'000'000})});
  for (int l = 0; l < links; ++l)
    builder.add_link({"l" + std::to_string(l), sim::LinkKind::other,
                      equal ? 1e10 : pick(random, {1e10, 1.2e10, 7e9, random.uniform(1e8, 1e11)})});
  const double latency_s = pick(random, {0.0, 1e-5, random.uniform(0, 1e-4)});
  for (int from = 0; from < devices; ++from)
    for (int to = 0; to < devices; ++to) {
      if (from == to) continue;
      std::vector<std::int32_t> all(links);
      std::iota(all.begin(), all.end(), 0);
      random.shuffle(std::span(all));
      all.resize(1 + random.below(std::min(links, 5)));
      builder.set_route(from, to, all, equal ? latency_s : random.uniform(0, 1e-4));
    }
  return builder.build();
}

/// Durations and sizes of few or many values; operations in an order that says nothing about who reads whom.
inline sim::StepGraph random_graph(sim::Random& random, int most_ops) {
  const int ops = 1 + static_cast<int>(random.below(most_ops));
  const bool equal = random.below(2) == 0;
  sim::StepGraphBuilder builder("random", {"gpu", "cpu"});
  for (int op = 0; op < ops; ++op) {
    const double gpu_s = equal ? pick(random, {0.0, 1e-4, 1e-4, 2e-4}) : random.uniform(0, 1e-3);
    builder.add_op({.name = "op" + std::to_string(op),
                    .parameter_bytes = static_cast<std::int64_t>(random.below(3) * random.below(10'000'000)),
                    .workspace_bytes = static_cast<std::int64_t>(random.below(1'000'000))},
                   std::vector{gpu_s, 10 * gpu_s});
  }
  std::vector<int> order(ops);
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(std::span(order));
  for (int i = 0; i + 1 < ops; ++i) {
    for (std::uint64_t tensors = 1 + random.below(2); tensors > 0; --tensors) {
      const std::int64_t bytes = equal ? pick<std::int64_t>(random, {0, 1'000'000, 1'000'000, 0x100000})
                                       : static_cast<std::int64_t>(random.below(3'000'000));
      const int tensor = builder.add_tensor({.producer = order[i], .bytes = bytes, .held = random.below(4) == 0});
      for (std::uint64_t readers = random.below(4); readers > 0; --readers)
        builder.add_reader(tensor, order[i + 1 + random.below(std::min(ops - i - 1, 12))]);
    }
  }
  return builder.build();
}

inline std::vector<std::int32_t> random_placement(sim::Random& random, int ops, int devices) {
  std::vector<std::int32_t> result(ops);
  for (std::int32_t& device : result) device = static_cast<std::int32_t>(random.below(devices));
  return result;
}

}  // namespace rehearse::tests
