#include "policies/place/throughput.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "policies/place/methods/methods.hpp"
#include "policies/place/placement_graph.hpp"
#include "tests/policies/place/toys.hpp"

namespace rehearse::tests {

using policies::DeviceOfGroup;
using policies::PlacementView;

namespace {

DeviceOfGroup dpl(const PlacementView& view) {
  policies::ThroughputScorer scorer(view);
  policies::Dpl method;
  return run_placement(method, view, scorer, 1).device_of_group;
}

sim::Tick load_of(const PlacementView& view, const DeviceOfGroup& devices) {
  return throughput_score(view, device_of_op(view.groups(), devices)).makespan;
}

}  // namespace

TEST_CASE("a device's load is its work and what passes between it and the host") {
  // a (2 s on a GPU) makes 3 bytes for b, c and d; b makes 1 byte for d; c (9 s on the CPU) makes 4 bytes for d. Links: 1 byte/s.
  sim::StepGraphBuilder builder("toy", {"cpu", "gpu"});
  const sim::Machine machine = toy_machine({"cpu", "gpu", "gpu"}, 10);
  builder.add_op({.name = "a", .parameter_bytes = 5}, std::vector{90.0, 2.0});
  builder.add_op({.name = "b", .parameter_bytes = 7}, std::vector{90.0, 4.0});
  builder.add_op({.name = "c"}, std::vector{9.0, 4.0});
  builder.add_op({.name = "d"}, std::vector{90.0, 5.0});
  const int of_a = builder.add_tensor({.producer = 0, .bytes = 3});
  for (const int reader : {1, 2, 3}) builder.add_reader(of_a, reader);
  builder.add_reader(builder.add_tensor({.producer = 1, .bytes = 1}), 3);
  builder.add_reader(builder.add_tensor({.producer = 2, .bytes = 4}), 3);
  const sim::StepGraph graph = builder.build();
  const policies::Groups groups = one_op_groups(graph);
  const PlacementView view(graph, machine, groups, 1);
  // GPU 1 has a and b: 2 + 4, a's tensor out once 3, b's out 1: 10 s. The CPU has c: 9 s, its transfers cost it nothing.
  // GPU 2 has d: 5, in 3 + 1 + 4: 13 s.
  const std::vector<std::int32_t> apart{1, 1, 0, 2};
  CHECK(device_loads(view, apart) == std::vector<sim::Tick>{9 * kSecond, 10 * kSecond, 13 * kSecond});
  // 5 + 7 bytes lie on GPU 1, which has 10.
  CHECK(throughput_score(view, apart) == policies::StepScore{2, 13 * kSecond});
  // b, c, d on GPU 2: they read a's tensor together, in 3; 4 + 4 + 5 + 3 = 16. GPU 1: 2 + 3.
  CHECK(device_loads(view, std::vector<std::int32_t>{1, 2, 2, 2}) == std::vector<sim::Tick>{0, 5 * kSecond, 16 * kSecond});
}

TEST_CASE("DPL cuts a chain where it is balanced and cheap") {
  // 4, 4, 4, 4 s; tensors of 6, 1, 6 bytes: in the middle each GPU has 8 + 1; anywhere else one has 12 or more.
  const sim::StepGraph graph =
      toy_graph({"cpu", "gpu"}, std::vector<ToyOp>(4, {.durations_s = {400, 4}}), {{0, 1, 6}, {1, 2, 1}, {2, 3, 6}});
  const policies::Groups groups = one_op_groups(graph);
  const sim::Machine machine = toy_machine({"cpu", "gpu", "gpu"});
  const PlacementView view(graph, machine, groups, 1);
  CHECK(dpl(view) == DeviceOfGroup{1, 1, 2, 2});
  CHECK(load_of(view, dpl(view)) == 9 * kSecond);
}

TEST_CASE("DPL finds the best contiguous parts") {
  rc::prop("as trying all cuts does", [] {
    sim::Random random(*rc::gen::arbitrary<std::uint64_t>());
    const int ops = 1 + static_cast<int>(random.below(9));
    const sim::StepGraph graph = random_graph(random, ops);
    const policies::Groups groups = one_op_groups(graph);
    // Up to 9 bytes an operation: some parts do not fit.
    const sim::Machine machine = toy_machine({"cpu", "gpu", "gpu"}, 10 + static_cast<std::int64_t>(random.below(60)));
    const PlacementView view(graph, machine, groups, 1);
    const std::vector<std::int32_t> order = policies::PlacementGraph(view).order();
    // Of those that fit; when none does, by load alone.
    std::optional<sim::Tick> fitting, any;
    for (int first = 0; first <= ops; ++first)
      for (int second = first; second <= ops; ++second) {
        DeviceOfGroup devices(static_cast<std::size_t>(ops));
        for (int i = 0; i < ops; ++i) devices[static_cast<std::size_t>(order[i])] = i < first ? 1 : i < second ? 2 : 0;
        const policies::StepScore score = throughput_score(view, device_of_op(groups, devices));
        any = std::min(any.value_or(score.makespan), score.makespan);
        if (score.fits()) fitting = std::min(fitting.value_or(score.makespan), score.makespan);
      }
    const policies::StepScore found = throughput_score(view, device_of_op(groups, dpl(view)));
    RC_ASSERT(found.fits() == fitting.has_value());
    RC_ASSERT(found.makespan == fitting.value_or(*any));
  });
}

}  // namespace rehearse::tests
