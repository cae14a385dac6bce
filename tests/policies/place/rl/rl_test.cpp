// The parts of placement by reinforcement learning; what the methods find is in methods_test.cpp.
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "policies/place/rl/placers.hpp"
#include "policies/place/rl/training.hpp"
#include "tests/policies/place/toys.hpp"

namespace rehearse::tests {

using policies::DeviceOfGroup;
using policies::PlacementRows;
using policies::StepScore;

namespace {

/// Draws three placements, then asks for the probability of the same three.
void check_given(const policies::PlacementNetwork& network, policies::ParameterSet& parameters) {
  policies::Tape tape(parameters);
  std::vector<sim::Random> streams{sim::Random(1), sim::Random(2), sim::Random(3)};
  const auto drawn = network.sample(tape, {.drawn = streams});
  const policies::Matrix expected = tape.value(drawn.log_probability);
  tape.clear();
  const auto given = network.sample(tape, {.drawn = {}, .given = drawn.placements, .likeliest = true});
  RC_ASSERT(given.placements.size() == 4u);
  const auto values = tape.value(given.log_probability);
  for (Eigen::Index r = 0; r < 3; ++r) {
    RC_ASSERT(given.placements[static_cast<std::size_t>(r)] == drawn.placements[static_cast<std::size_t>(r)]);
    RC_ASSERT(values(r, 0) == expected(r, 0));
  }
}

}  // namespace

TEST_CASE("A placement has the same probability when it is drawn and when it is asked for") {
  rc::prop("for both networks", [](std::uint32_t seed) {
    sim::Random random(seed);
    const sim::StepGraph graph = random_graph(random, 3 + static_cast<int>(random.below(20)));
    const sim::Machine machine = toy_machine({"cpu", "gpu", "gpu"});
    const policies::Groups groups = one_op_groups(graph);
    const policies::PlacementView view(graph, machine, groups, 1);
    policies::ParameterSet of_sequence, of_graph;
    const policies::GroupFeatures features = policies::group_features(view, policies::PlacementGraph(view));
    check_given(policies::Seq2SeqPlacer({of_sequence, random}, features, 3, {}), of_sequence);
    const policies::GraphLayers layers({of_graph, random});
    check_given(policies::GraphPlacer(layers, view), of_graph);
  });
}

TEST_CASE("Bundles that explain a placement") {
  // Three bundles, two devices. Votes for device 0 and 1: bundle 0 has 0.6 + 0.1 and 0.2, bundle 1 0.3 + 0.1 and 0.7, bundle 2
  // 0.1 + 0.8 and 0.1: devices 0, 1, 0. Groups 0 and 1 are on device 0, in bundles 0 (0.6 > 0.1) and 2; group 2 in bundle 1.
  policies::Matrix share(3, 3);
  share << 0.6, 0.3, 0.1, 0.1, 0.1, 0.8, 0.2, 0.7, 0.1;
  using policies::Bundling;
  const std::vector<std::int32_t> placement{0, 0, 1};
  const policies::ConstMatrixView view(share.data(), 3, 3);
  CHECK(policies::explain(view, placement, 2) == Bundling{{0, 2, 1}, {0, 1, 0}});
  // Votes for device 0: 0.8, 0.8, 0.4, for device 1: 0.34, 0.33, 0.33. All take device 0, and bundle 0 gives way to device 1.
  share << 0.4, 0.4, 0.2, 0.4, 0.4, 0.2, 0.34, 0.33, 0.33;
  CHECK(policies::explain(view, placement, 2) == Bundling{{1, 1, 0}, {1, 0, 0}});
}

TEST_CASE("The learned grouper: bundles move as one, and a given placement is told by bundles") {
  rc::prop("", [](std::uint32_t seed) {
    sim::Random random(seed);
    const int ops = 3 + static_cast<int>(random.below(20));
    const sim::StepGraph graph = random_graph(random, ops);
    const sim::Machine machine = toy_machine({"cpu", "gpu", "gpu"});
    const policies::Groups groups = one_op_groups(graph);
    const policies::PlacementView view(graph, machine, groups, 1);
    const policies::GroupFeatures features = policies::group_features(view, policies::PlacementGraph(view));
    policies::ParameterSet parameters;
    const policies::HierarchicalPlacer network({parameters, random}, features, 3, {.bundles = 4});
    std::vector<DeviceOfGroup> wanted;
    for (int i = 0; i < 2; ++i)
      for (DeviceOfGroup& placement = wanted.emplace_back(); placement.size() < static_cast<std::size_t>(ops);)
        placement.push_back(static_cast<std::int32_t>(random.below(3)));
    policies::Tape tape(parameters);
    const auto sampled = [&](std::vector<std::uint64_t> keys, std::span<const DeviceOfGroup> given, bool likeliest) {
      std::vector<sim::Random> streams(keys.begin(), keys.end());
      tape.clear();
      const auto samples = network.sample(tape, {.drawn = streams, .given = given, .likeliest = likeliest});
      const policies::Matrix chances = tape.value(samples.log_probability);
      return std::pair(samples.placements, chances);
    };
    const auto [all, chances] = sampled({1, 2}, wanted, true);
    RC_ASSERT(all.size() == 5u);
    RC_ASSERT(all[2] == wanted[0]);
    RC_ASSERT(all[3] == wanted[1]);
    for (Eigen::Index r = 0; r < 5; ++r) RC_ASSERT(chances(r, 0) < 0);
    // What a row gets depends on no other row.
    const auto [alone, chance] = sampled({2}, {}, false);
    RC_ASSERT(alone[0] == all[1]);
    RC_ASSERT(std::abs(chance(0, 0) - chances(1, 0)) <= 1e-12 * std::abs(chance(0, 0)));
  });
}

TEST_CASE("The graph network's weights fit graphs and machines of every size") {
  sim::Random random(5);
  policies::ParameterSet parameters;
  const policies::GraphLayers layers({parameters, random});
  CHECK(policies::GraphLayers::blueprint().matrices == policies::blueprint("rl-transfer", parameters).matrices);
  for (const int ops : {1, 4, 40}) {
    const sim::StepGraph graph = random_graph(random, ops);
    const sim::Machine machine = toy_machine(ops == 4 ? std::vector<std::string>{"cpu", "gpu"}
                                                      : std::vector<std::string>{"cpu", "gpu", "gpu", "gpu", "gpu"});
    const policies::Groups groups = one_op_groups(graph);
    const policies::PlacementView view(graph, machine, groups, 1);
    policies::Tape tape(parameters);
    const auto made = policies::GraphPlacer(layers, view).sample(tape, {.drawn = {}, .likeliest = true});
    REQUIRE(made.placements.size() == 1);
    CHECK(made.placements[0].size() == static_cast<std::size_t>(ops));
  }
}

TEST_CASE("A partial placement knows when a group would start and end") {
  // Two operations of 4 s on the GPUs (8 s on the CPU), 2 bytes between them: 2 s on a link. Unit: mean shortest time, 4 s.
  const sim::StepGraph graph = toy_graph({"cpu", "gpu"}, {{{8, 4}, 250}, {{8, 4}, 250}}, {{0, 1, 2}});
  const sim::Machine machine = toy_machine({"cpu", "gpu", "gpu"}, 1000);
  const policies::Groups groups = one_op_groups(graph);
  const policies::PlacementView view(graph, machine, groups, 1);
  const policies::PlacementCosts costs(view);
  policies::PartialPlacement partial(costs);
  policies::Matrix f(3, policies::kDeviceFeatures);
  partial.place(0, 1);
  partial.describe(1, policies::numbers_of(f));
  // Group 0 ends at 1 (unit 4 s) on device 1. Group 1 would start at 1 + 0.5 elsewhere, at 1 there; end at 3.5, 2, 2.5.
  CHECK(f(1, policies::kLateness) == 0);
  CHECK(f(2, policies::kLateness) == Approx(0.5 / 1.5));
  CHECK(f(0, policies::kLateness) == Approx(1.5 / 2.5));
  CHECK(f(2, 1) == Approx(0.5 / 1.5));  // starts 0.5 later than on device 1
  CHECK(f(1, 2) == Approx(1.0 / 2));    // ends 1 after all that is planned
  CHECK(f(2, 3) == Approx(1.5 / 2.5));  // idle for 1.5 before
  CHECK(f(1, 4) == 1);                  // busiest
  CHECK(f(2, 4) == 0);
  CHECK(f(1, 5) == 1);  // all that is read comes from there
  CHECK(f(0, 5) == 0);
  CHECK(f(0, 6) == Approx(1.0 / 2));  // twice as slow as the fastest: 1 more
  CHECK(f(0, 8) == 1);
  CHECK(f(1, 9) == 1);
  CHECK(f(1, 10) == 0);
  CHECK(f(2, 10) == 1);
}

TEST_CASE("Rewards are how much faster than usual, in spreads") {
  const sim::StepGraph graph = toy_graph({"cpu"}, {{{1}}}, {});
  const sim::Machine machine = toy_machine({"cpu"}, 100);
  const policies::Groups groups = one_op_groups(graph);
  const policies::PlacementView view(graph, machine, groups, 1);
  policies::PlacementRewards rewards(view, {.baseline_decay = 0.5, .out_of_memory_penalty = 2});
  // Roots of 1 and 9 s: 1 and 3, mean 2 = unit: costs 0.5 and 1.5, baseline 1, spread sqrt((0.25 + 0.25) / 2) = 0.5.
  const auto first = rewards.advantages(std::vector<StepScore>{{0, kSecond}, {0, 9 * kSecond}});
  CHECK(first[0] == Approx(1));
  CHECK(first[1] == Approx(-1));
  // Root of 4 s: cost 1; a tenth of the memory is missing: 2 x 1.1 more, 3.2. Mean 2.1, baseline (1 + 2.1) / 2 = 1.55;
  // deviations 0.55 and -1.65, spread sqrt((0.3025 + 2.7225) / 2) = 1.229837.
  const auto second = rewards.advantages(std::vector<StepScore>{{0, 4 * kSecond}, {10, 4 * kSecond}});
  CHECK(second[0] == Approx(0.55 / 1.229837));
  CHECK(second[1] == Approx(-1.65 / 1.229837));
}

TEST_CASE("The elite is the best different placements") {
  policies::Elite elite;
  std::vector<DeviceOfGroup> placements;
  std::vector<StepScore> scores;
  for (int i = 0; i < 12; ++i) {
    placements.push_back({i});
    scores.push_back({i < 2 ? 5 : 0, (i * 5 % 12) * kSecond});
  }
  elite.offer(placements, scores);
  elite.offer(placements, scores);
  // Of 2 to 11 (0 and 1 lack memory) the times are 10 3 8 1 6 11 4 9 2 7: the eight least are 5 10 3 8 6 11 4 9.
  const std::vector<DeviceOfGroup> expected{{5}, {10}, {3}, {8}, {6}, {11}, {4}, {9}};
  CHECK(std::vector<DeviceOfGroup>(elite.placements().begin(), elite.placements().end()) == expected);
}

}  // namespace rehearse::tests
