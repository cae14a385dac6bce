#include <rapidcheck/catch.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <memory>
#include <numeric>

#include "policies/registry/place_methods.hpp"
#include "sim/base/errors.hpp"
#include "tests/policies/place/toys.hpp"

namespace rehearse::tests {

using policies::DeviceOfGroup;
using policies::Groups;
using policies::PlacementView;
using policies::StepScore;

namespace {

/// A graph on a machine, with its timer.
struct Bench {
  sim::StepGraph graph;
  sim::Machine machine;
  Groups groups;
  std::unique_ptr<sim::StepTimer> timer = sim::make_fast_timer(graph, machine);
  policies::TimerScorer scorer{*timer, machine, groups};

  Bench(sim::StepGraph g, sim::Machine m, Groups o) : graph(std::move(g)), machine(std::move(m)), groups(std::move(o)) {}
  PlacementView view(std::uint64_t key = 1) const { return {graph, machine, groups, key}; }
  StepScore score(const DeviceOfGroup& placement) {
    StepScore score;
    scorer.score(std::span(&placement, 1), std::span(&score, 1));
    return score;
  }
  policies::PlacementAnswer run(const std::string& name, std::int64_t budget, std::uint64_t key = 1) {
    const policies::PlacementEntry* entry = policies::find_strategy(policies::placement_methods(), name);
    return run_placement(*entry->make(policies::Parameters(entry->parameters, {})), view(key), scorer, budget);
  }
};

/// `groups` groups of a random graph's operations, none empty.
std::unique_ptr<Bench> random_bench(sim::Random& random, int ops, int count, std::vector<std::string> devices,
                                    std::int64_t memory_bytes = 1'000'000) {
  sim::StepGraph graph = random_graph(random, ops);
  Groups groups{.count = count};
  for (int op = 0; op < ops; ++op)
    groups.of_op.push_back(op < count ? op : static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(count))));
  return std::make_unique<Bench>(std::move(graph), toy_machine(devices, memory_bytes), std::move(groups));
}

StepScore brute_force(Bench& bench) {
  DeviceOfGroup placement(static_cast<std::size_t>(bench.groups.count), 0);
  StepScore best = bench.score(placement);
  for (;;) {
    std::size_t g = 0;
    while (g < placement.size() && ++placement[g] == bench.machine.devices()) placement[g++] = 0;
    if (g == placement.size()) return best;
    best = std::min(best, bench.score(placement));
  }
}

}  // namespace

TEST_CASE("Mistakes in what is to be placed are named") {
  sim::Random random(3);
  const sim::StepGraph graph = random_graph(random, 4);
  const Groups groups = one_op_groups(graph);
  Groups many{.of_op = {0, 1, 2, 4}, .count = 5};
  CHECK_THROWS_WITH(PlacementView(graph, toy_machine({"cpu", "gpu"}), many, 1),
                    Catch::Contains("at most as many groups as operations, 4, found 5") && Catch::Contains("none in group 3"));
  CHECK_THROWS_WITH(PlacementView(graph, toy_machine({"cpu", "tpu"}), groups, 1),
                    Catch::Contains("expected a device of class cpu, gpu, found d1 of class tpu"));
  sim::MachineBuilder builder;
  builder.add_class("gpu");
  builder.add_device({.name = "d", .memory_bytes = 1});
  CHECK_THROWS_WITH(PlacementView(graph, builder.build(), groups, 1),
                    Catch::Contains("expected a device that is a CPU, found none"));
  Bench without_gpu(graph, toy_machine({"cpu"}), groups);
  CHECK_THROWS_WITH(without_gpu.run("single-gpu", 1), Catch::Contains("expected a GPU for single-gpu"));
  Bench large(random_graph(random, 17), toy_machine({"cpu", "gpu"}), {});
  large.groups = one_op_groups(large.graph);
  CHECK_THROWS_WITH(large.run("exact", 10), Catch::Contains("at most 16 groups for exact, found 17"));
}

TEST_CASE("Invalid answers are the method's errors") {
  struct Wrong final : policies::PlacementMethod {
    DeviceOfGroup answer;
    DeviceOfGroup place(const PlacementView&, policies::PlacementEvaluator&) override { return answer; }
  } wrong;
  sim::Random random(3);
  const auto bench = random_bench(random, 3, 3, {"cpu", "gpu"});
  wrong.answer = {0, 1};
  CHECK_THROWS_AS(run_placement(wrong, bench->view(), bench->scorer, 1), sim::PolicyError);
  wrong.answer = {0, 1, 2};
  CHECK_THROWS_AS(run_placement(wrong, bench->view(), bench->scorer, 1), sim::PolicyError);
  wrong.answer = {0, 1, 1};
  CHECK_NOTHROW(run_placement(wrong, bench->view(), bench->scorer, 1));
}

TEST_CASE("Yardsticks") {
  // Equal GPUs but for the memory of the last one.
  sim::MachineBuilder builder;
  builder.add_class("cpu");
  builder.add_class("gpu");
  builder.add_device({.name = "c", .device_class = 0, .kind = sim::DeviceKind::cpu, .memory_bytes = 100});
  builder.add_device({.name = "g1", .device_class = 1, .memory_bytes = 10});
  builder.add_device({.name = "g2", .device_class = 1, .memory_bytes = 20});
  for (const auto& [from, to] : {std::pair{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}})
    builder.set_route(from, to, {builder.add_link({.name = "l", .bandwidth_bytes_per_s = 1})}, 0);
  const ToyOp op{.durations_s = {10, 1}};
  sim::StepGraph graph = toy_graph({"cpu", "gpu"}, {op, op, op}, {{2, 1, 1}, {1, 0, 1}});
  const Groups groups = one_op_groups(graph);
  Bench bench(std::move(graph), builder.build(), groups);
  CHECK(bench.run("single-cpu", 1).device_of_group == DeviceOfGroup{0, 0, 0});
  CHECK(bench.run("single-gpu", 1).device_of_group == DeviceOfGroup{2, 2, 2});
  CHECK(bench.run("round-robin", 1).device_of_group == DeviceOfGroup{1, 2, 1});  // in the order 2, 1, 0
}

TEST_CASE("Every method answers a device for each group, the same one every time, within its evaluations") {
  rc::prop("any graph", [] {
    sim::Random random(*rc::gen::arbitrary<std::uint64_t>());
    const int ops = 1 + static_cast<int>(random.below(12)),
              count = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(ops)));
    std::vector<std::string> devices{"cpu"};
    for (std::uint64_t gpus = random.below(4); gpus > 0; --gpus) devices.emplace_back("gpu");  // none: the CPU alone
    const auto bench = random_bench(random, ops, count, devices, 20 + static_cast<std::int64_t>(random.below(100)));
    const std::uint64_t key = random.next();
    for (const policies::PlacementEntry& entry : policies::placement_methods()) {
      if (entry.name == "exact" || (entry.name == "single-gpu" && devices.size() == 1)) continue;
      const std::int64_t budget = 30;
      const policies::PlacementAnswer first = bench->run(entry.name, budget, key), second = bench->run(entry.name, budget, key);
      RC_ASSERT(first.device_of_group == second.device_of_group);
      RC_ASSERT(first.evaluations <= budget);
      if (entry.searches) RC_ASSERT(first.evaluations == budget);
      if (entry.searches) RC_ASSERT(bench->score(first.device_of_group) == first.history.back().score);
    }
  });
}

TEST_CASE("exact finds the best of all placements") {
  rc::prop("like brute force", [] {
    sim::Random random(*rc::gen::arbitrary<std::uint64_t>());
    const int ops = 1 + static_cast<int>(random.below(9)), count = 1 + static_cast<int>(random.below(std::min(6, ops)));
    // Often no placement fits at all.
    const auto bench = random_bench(random, ops, count, {"cpu", "gpu", "gpu"}, static_cast<std::int64_t>(random.below(60)));
    const policies::PlacementAnswer answer = bench->run("exact", 100000);
    RC_ASSERT(bench->score(answer.device_of_group) == brute_force(*bench));
  });
}

TEST_CASE("exact says when its evaluations do not suffice") {
  // Independent operations of 5, 4, 3, 3, 3 s on two GPUs. HEFT takes the longest first: 5 | 4, then 4 + 3, 5 + 3, 7 + 3: ends
  // at 10. Best is 5 + 4 | 3 + 3 + 3. Two single devices and HEFT are three evaluations, so the fourth is missing.
  sim::StepGraph graph = toy_graph({"cpu", "gpu"}, {{{99, 5}}, {{99, 4}}, {{99, 3}}, {{99, 3}}, {{99, 3}}}, {});
  const Groups groups = one_op_groups(graph);
  Bench bench(std::move(graph), toy_machine({"cpu", "gpu", "gpu"}), groups);
  CHECK(bench.score(bench.run("heft", 1).device_of_group).makespan == 10 * kSecond);
  CHECK(bench.score(bench.run("exact", 1000).device_of_group).makespan == 9 * kSecond);
  CHECK_THROWS_WITH(bench.run("exact", 3), Catch::Contains("enough evaluations"));
}

TEST_CASE("List schedulers keep the memory when two GPUs can hold everything") {
  rc::prop("with room to spare", [] {
    sim::Random random(*rc::gen::arbitrary<std::uint64_t>());
    const int ops = 2 + static_cast<int>(random.below(20));
    auto bench = random_bench(random, ops, ops, {"cpu", "gpu", "gpu"});
    // All that could ever lie on a device: parameters, every tensor where it is made and once where it is read. Two thirds of
    // it on each of three devices.
    std::int64_t all = 0;
    for (int op = 0; op < ops; ++op) all += bench->graph.op(op).resident_bytes();
    for (int t = 0; t < bench->graph.tensors(); ++t) all += 2 * bench->graph.tensor(t).bytes;
    Bench tight(bench->graph, toy_machine({"cpu", "gpu", "gpu"}, all * 2 / 3 + 20), bench->groups);
    for (const char* name : {"heft", "m-topo", "m-etf", "m-sct"})
      RC_ASSERT(tight.score(tight.run(name, 20).device_of_group).fits());
  });
}

TEST_CASE("Partitioners give devices work by their speeds and keep clusters together") {
  // Two cliques of four operations, joined by one small tensor. GPUs are alike, the CPU is 1000 times slower.
  std::vector<ToyEdge> edges;
  for (const int base : {0, 4})
    for (int i = 0; i < 4; ++i)
      for (int j = i + 1; j < 4; ++j) edges.push_back({base + i, base + j, 1000});
  edges.push_back({3, 4, 1});
  sim::StepGraph graph = toy_graph({"cpu", "gpu"}, std::vector<ToyOp>(8, {.durations_s = {1000, 1}}), edges);
  const Groups groups = one_op_groups(graph);
  Bench bench(std::move(graph), toy_machine({"cpu", "gpu", "gpu"}), groups);
  for (const char* name : {"scotch", "min-cut", "metis"}) {
    const DeviceOfGroup d = bench.run(name, 1).device_of_group;
    INFO(name);
    CHECK(std::count(d.begin(), d.end(), d[0]) == 4);
    CHECK(std::count(d.begin(), d.end(), d[4]) == 4);
    CHECK(std::all_of(d.begin(), d.begin() + 4, [&](int device) { return device == d[0]; }));
    CHECK(std::count(d.begin(), d.end(), 0) == 0);
  }
}

TEST_CASE("Partitioners put everything on the only device") {
  sim::StepGraph graph = toy_graph({"cpu"}, std::vector<ToyOp>(3, {.durations_s = {1}}), {{0, 1, 5}, {1, 2, 5}});
  const Groups groups = one_op_groups(graph);
  Bench bench(std::move(graph), toy_machine({"cpu"}), groups);
  for (const char* name : {"scotch", "min-cut", "metis"}) {
    INFO(name);
    CHECK(bench.run(name, 1).device_of_group == DeviceOfGroup{0, 0, 0});
  }
}

TEST_CASE("Libraries place a single group, and groups that nothing connects") {
  for (const std::size_t ops : {1, 2, 5}) {
    sim::StepGraph graph = toy_graph({"cpu", "gpu"}, std::vector<ToyOp>(ops, {.durations_s = {1, 1}}), {});
    const Groups groups = one_op_groups(graph);
    Bench bench(std::move(graph), toy_machine({"cpu", "gpu", "gpu"}), groups);
    for (const char* name : {"scotch", "min-cut", "metis", "m-sct"}) {
      INFO(name << ", " << ops << " operations");
      const DeviceOfGroup devices = bench.run(name, 1).device_of_group;
      REQUIRE(devices.size() == ops);
      for (const std::int32_t device : devices) CHECK((device >= 0 && device < 3));
    }
  }
}

TEST_CASE("METIS leaves parts empty without a word on stdout") {
  // The CPU is so much quicker that the two GPUs together get nothing to be divided.
  sim::StepGraph graph = toy_graph({"cpu", "gpu"}, std::vector<ToyOp>(8, {.durations_s = {1, 1000}}), {{0, 1, 5}, {1, 2, 5}});
  const Groups groups = one_op_groups(graph);
  Bench bench(std::move(graph), toy_machine({"cpu", "gpu", "gpu"}), groups);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> said(std::tmpfile(), std::fclose);
  std::fflush(stdout);
  const int stdout_before = ::dup(STDOUT_FILENO);
  ::dup2(fileno(said.get()), STDOUT_FILENO);
  CHECK(bench.run("metis", 1).device_of_group == DeviceOfGroup(8, 0));
  std::fflush(stdout);
  ::dup2(stdout_before, STDOUT_FILENO);
  ::close(stdout_before);
  CHECK(::lseek(fileno(said.get()), 0, SEEK_END) == 0);
}

TEST_CASE("Annealing is never worse than the best single device, and finds small optima") {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    sim::Random random(seed);
    const auto bench = random_bench(random, 10, 6, {"cpu", "gpu", "gpu"});
    const StepScore score = bench->score(bench->run("annealing", 600, seed).device_of_group);
    CHECK(score <= bench->score(DeviceOfGroup(6, 1)));
    found += score == brute_force(*bench) ? 1 : 0;
  }
  CHECK(found >= 9);
}

TEST_CASE("RL finds the optimum of 12 groups on 3 devices", "[slow]") {
  const std::vector<const char*> methods{"rl", "rl-refined"};
  std::vector<int> found(methods.size(), 0);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    sim::Random random(seed);
    const auto bench = random_bench(random, 14, 12, {"cpu", "gpu", "gpu"});
    const StepScore best = bench->score(bench->run("exact", 600'000).device_of_group);
    for (std::size_t m = 0; m < methods.size(); ++m) {
      const StepScore score = bench->score(bench->run(methods[m], 2000, seed).device_of_group);
      CHECK(best <= score);
      found[m] += score == best ? 1 : 0;
    }
  }
  CHECK(found[0] >= 9);
  CHECK(found[1] >= 9);
}

TEST_CASE("RL is never worse than as many random placements") {
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    sim::Random random(seed);
    const auto bench = random_bench(random, 40, 20, {"cpu", "gpu", "gpu", "gpu"}, 80);
    const StepScore yardstick = bench->score(bench->run("random-search", 1000, seed).device_of_group);
    for (const char* method : {"rl", "rl-refined", "rl-transfer"}) {
      INFO(method);
      CHECK(bench->score(bench->run(method, 1000, seed).device_of_group) <= yardstick);
    }
  }
}

TEST_CASE("What RL draws gets better") {
  // The mean of the first and the last hundred evaluations, as they come.
  struct Recorder final : policies::PlacementScorer {
    explicit Recorder(policies::PlacementScorer& all) : scorer(all) {}
    void score(std::span<const DeviceOfGroup> placements, std::span<StepScore> scores) override {
      scorer.score(placements, scores);
      for (const StepScore& score : scores) times.push_back(sim::seconds_of(score.makespan));
    }
    policies::PlacementScorer& scorer;
    std::vector<double> times;
  };
  for (const char* network : {"sequence", "graph", "hierarchy"}) {
    sim::Random random(3);
    const auto bench = random_bench(random, 40, 20, {"cpu", "gpu", "gpu"});
    Recorder recorder(bench->scorer);
    const policies::PlacementEntry* entry = policies::find_strategy(policies::placement_methods(), "rl");
    const policies::Parameters parameters(entry->parameters, {{"network", std::string(network)}});
    run_placement(*entry->make(parameters), bench->view(), recorder, 1000);
    const auto mean = [&](std::size_t from) {
      return std::accumulate(recorder.times.begin() + static_cast<std::ptrdiff_t>(from),
                             recorder.times.begin() + static_cast<std::ptrdiff_t>(from + 100), 0.0) /
             100;
    };
    INFO(network);
    CHECK(mean(900) < mean(450));
    CHECK(mean(450) < mean(0));
  }
}

}  // namespace rehearse::tests
