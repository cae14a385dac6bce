#include "policies/threads/planner.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "policies/threads/regression.hpp"
#include "policies/threads/type_counts.hpp"
#include "tests/workloads/devices.hpp"
#include "workloads/zoo/zoo.hpp"

namespace {

using namespace rehearse;
using namespace rehearse::policies;

struct Case {
  sim::Device cpu = tests::knl();
  sim::OpGraph graph;
  workloads::CpuStepModel model;
  double batch;
  Case(const char* name, const char* dataset, double b)
      : graph(workloads::zoo_graph(name, dataset)), model(workloads::cpu_step_model(graph, cpu, b)), batch(b) {}
  StepBench bench(double noise) const {
    return {model, cpu, batch, {.deviation = noise, .counter_deviation = 8 * noise, .key = 11}};
  }
  double step_s(const sim::CpuPlan& plan) const {
    return sim::time_cpu_step(model.graph, *model.costs, model.machine, plan).makespan_s();
  }
};

double over_best(const sim::CpuGraph& graph, const sim::CpuBelief& truth, const sim::CpuBelief& belief) {
  double chosen = 0, best = 0;
  for (const std::int32_t c : graph.class_of) {
    chosen += truth.alone(c, belief.best(c, truth.cores));
    best += truth.alone(c, truth.best(c, truth.cores));
  }
  return chosen / best - 1;
}

}  // namespace

TEST_CASE("between samples seconds are linear in 1/threads", "[threads]") {
  // 12/k + 1 at 2, 4 and 8 threads: 7, 4, 2.5. At 3: 5; at 6: 3. Below 2 the work is shared evenly: 14. Above 8 as at 8.
  const std::vector<double> curve = interpolated({{8, 2.5}, {2, 7}, {4, 4}}, 9);
  CHECK(curve[0] == Approx(14));
  CHECK(curve[2] == Approx(5));
  CHECK(curve[5] == Approx(3));
  CHECK(curve[8] == Approx(2.5));
}

TEST_CASE("hill climbing finds nearly what all probes find, with a quarter of them", "[threads]") {
  const Case one("resnet34", "cifar10", 64);
  const auto truth = exact_belief(one.model);
  for (const auto& [stride, allowed] : {std::pair{2, 0.03}, std::pair{4, 0.05}}) {
    StepBench bench = one.bench(0.05);
    const sim::CpuBelief belief = HillClimbing(stride).estimate(bench);
    CHECK(over_best(one.model.graph, *truth, belief) <= allowed);
    CHECK(bench.steps() * 4 <= one.cpu.cores);
    CHECK(bench.profiled_s() > 0);
  }
  StepBench quiet = one.bench(0), all = one.bench(0);
  const sim::CpuBelief exact = ExhaustiveProbes().estimate(all);
  CHECK(all.steps() == one.cpu.cores);
  CHECK(over_best(one.model.graph, *truth, exact) == 0);
  CHECK(over_best(one.model.graph, *truth, HillClimbing(1).estimate(quiet)) <= 0.005);
}

TEST_CASE("a climb takes at most a quarter of the probes on a smaller machine, too", "[threads]") {
  sim::Device cpu = tests::knl();
  cpu.cores = 36;
  const sim::OpGraph graph = workloads::zoo_graph("resnet34", "cifar10");
  const auto model = workloads::cpu_step_model(graph, cpu, 64);
  StepBench bench(model, cpu, 64, {.deviation = 0.05, .key = 11});
  const sim::CpuBelief belief = HillClimbing(2).estimate(bench);
  CHECK(bench.steps() <= 9);
  CHECK(over_best(model.graph, *exact_belief(model), belief) <= 0.03);
}

TEST_CASE("uniform settings", "[threads]") {
  const Case one("resnet18", "cifar10", 32);
  StepBench bench = one.bench(0);
  const sim::CpuPlan recommended = RecommendedPlanner().plan(bench), standard = DefaultPlanner().plan(bench);
  CHECK(recommended.slots == 1);
  CHECK(recommended.threads.front() == 68);
  CHECK(standard.slots == 272);
  CHECK(standard.threads.front() == 272);
  CHECK(bench.steps() == 0);
  // The best of a family that has the recommended setting in it.
  CHECK(one.step_s(ManualBestPlanner().plan(bench)) <= one.step_s(recommended));
  CHECK(bench.steps() > 100);
}

TEST_CASE("S2 counts the change of teams: with free changes S1 is quickest, with dear ones S2", "[threads]") {
  const Case one("resnet34", "cifar10", 64);
  for (const double factor : {0.0, 1.0, 4.0}) {
    const auto model = workloads::cpu_step_model(one.graph, one.cpu, one.batch, {.rethreading = factor});
    const auto belief = exact_belief(model);
    const auto step_s = [&](const ThreadStrategies& s) {
      return sim::time_cpu_step(model.graph, *model.costs, model.machine,
                                strategy_plan(model.machine, model.graph, model.classes, belief, s))
          .makespan_s();
    };
    const double s1 = step_s({.own_counts = true}), s2 = step_s({.type_counts = true}), none = step_s({});
    if (factor == 0) {
      CHECK(s1 <= s2);
      CHECK(s1 < none);
    } else {
      CHECK(s2 < s1);
    }
  }
}

TEST_CASE("one team runs first what has been ready longest", "[threads]") {
  // 0 -> 2, 0 -> 4, 1 -> 3: 0 and 1 are ready at once, then 2 and 4 when 0 has ended, then 3.
  sim::OpGraph graph;
  graph.ops.resize(5);
  graph.edges = {{0, 2, {}}, {0, 4, {}}, {1, 3, {}}};
  CHECK(serial_order(sim::cpu_graph(graph, 1, {0, 0, 0, 0, 0})) == std::vector<std::int32_t>{0, 1, 2, 4, 3});
}

TEST_CASE("S2 weighs the change of teams against what types gain", "[threads]") {
  // Two types in turn, A B A B, on two cores. A: 3 s on one, 2 s on two; B: 1 s on one, 2 s on two. Three changes, each wakes one
  // thread. A at two and B at one takes 2 + 1 + 2 + 1 = 6 s and three changes, both at two 8 s, both at one 8 s. A change of
  // 0.6 s is worth it (7.8 s), one of 0.7 s is not (8.1 s).
  sim::OpGraph graph;
  graph.ops.resize(4);
  graph.edges = {{0, 1, {}}, {1, 2, {}}, {2, 3, {}}};
  const sim::CpuGraph chain = sim::cpu_graph(graph, 1, {0, 1, 0, 1});
  workloads::OpClasses classes;
  classes.type_of = {0, 1};
  classes.types = 2;
  const sim::CpuBelief belief = sim::CpuBelief::of(2, {3, 2, 1, 2});
  sim::CpuMachine machine{.cores = 2, .bandwidth_bytes_per_s = 1, .core_bandwidth_bytes_per_s = 1, .wake_s = 0.6};
  CHECK(type_counts(machine, chain, classes, belief) == std::vector<int>{2, 1});
  machine.wake_s = 0.7;
  const std::vector<int> equal = type_counts(machine, chain, classes, belief);
  CHECK(equal[0] == equal[1]);
}

TEST_CASE("a strategy that does not pay is left out", "[threads]") {
  // Changing teams costs twenty times what it does: own numbers of threads lose, and the planner finds out in trial steps.
  Case one("resnet34", "cifar10", 64);
  one.model = workloads::cpu_step_model(one.graph, one.cpu, one.batch, {.rethreading = 20});
  using Use = StrategyPlanner::Use;
  const auto planned = [&](Use use) {
    StepBench bench = one.bench(0.05);
    return one.step_s(StrategyPlanner(std::make_unique<HillClimbing>(4), {.own_counts = true}, use).plan(bench));
  };
  StepBench bench = one.bench(0);
  const double recommended_s = one.step_s(RecommendedPlanner().plan(bench));
  CHECK(planned(Use::as_given) > 1.1 * recommended_s);
  CHECK(planned(Use::if_quicker) == recommended_s);
}

TEST_CASE("the full plan reaches the best uniform setting", "[threads]") {
  // An unrolled LSTM has many small operations side by side, on one socket (four of all cores) and on two (four of half of them).
  const sim::OpGraph graph = workloads::zoo_graph("rnnlm", "ptb", true);
  for (const int sockets : {1, 2}) {
    sim::Device cpu = tests::knl();
    cpu.sockets = sockets;
    if (sockets == 2) {
      cpu.cores = 36;
      cpu.threads_per_core = 2;
    }
    const auto model = workloads::cpu_step_model(graph, cpu, 20);
    const auto step_s = [&](const ThreadPlanner& planner) {
      StepBench bench(model, cpu, 20, {.deviation = 0.05, .key = 11});
      return sim::time_cpu_step(model.graph, *model.costs, model.machine, planner.plan(bench)).makespan_s();
    };
    const ThreadStrategies all{.own_counts = true, .type_counts = true, .co_run = true, .spare_threads = true};
    const double full_s = step_s(StrategyPlanner(std::make_unique<HillClimbing>(4), all, StrategyPlanner::Use::or_uniform));
    CHECK(full_s <= 1.005 * step_s(ManualBestPlanner()));
  }
}

TEST_CASE("strategies by name", "[threads]") {
  CHECK(to_string({}) == "recommended");
  CHECK(to_string({.own_counts = true, .spare_threads = true}) == "S1+S4");
  CHECK(to_string({.type_counts = true, .co_run = true, .spare_threads = true}) == "S2+S3+S4");
  CHECK(all_thread_strategies().size() == 11);
}

TEST_CASE("nothing beats the bound, and the list schedule beats the strategies with exact times", "[threads]") {
  for (const char* name : {"dcgan", "rnnlm"}) {
    const Case one(name, "", 32);
    const double bound_s = thread_lower_bound_s(one.model), list_s = one.step_s(list_schedule(one.model));
    CHECK(bound_s > 0);
    CHECK(list_s >= bound_s);
    for (const ThreadStrategies& strategies : all_thread_strategies())
      CHECK(one.step_s(strategy_plan(one.model.machine, one.model.graph, one.model.classes, exact_belief(one.model),
                                     strategies)) >= list_s * (1 - 1e-12));
  }
}

TEST_CASE("the regression learns curves of other models from counters", "[threads]") {
  const Case a("resnet18", "cifar10", 32), b("dcgan", "", 32), c("inception-v2", "imagenet", 16);
  CurveExamples examples;
  for (const Case* other : {&a, &b}) {
    StepBench bench = other->bench(0.05);
    examples.add(bench, other == &a ? 0 : 1);
  }
  const auto model = std::make_shared<const CurveRegression>(examples, 68);
  CHECK_FALSE(model->chosen().empty());
  CHECK(model->chosen().size() < counter_features(68).size());  // features are selected
  StepBench bench = c.bench(0.05);
  const sim::CpuBelief belief = CounterRegression(model).estimate(bench);
  CHECK(bench.steps() == 3);
  const auto truth = exact_belief(c.model);
  double sum = 0;
  for (std::size_t i = 0; i < truth->alone_s.size(); ++i) sum += std::abs(std::log(belief.alone_s[i] / truth->alone_s[i]));
  CHECK(sum / static_cast<double>(truth->alone_s.size()) < 0.2);
}

TEST_CASE("a bench's noise depends on its key alone", "[threads]") {
  const Case one("resnet18", "cifar10", 32);
  StepBench first = one.bench(0.05), second = one.bench(0.05);
  const std::vector<int> threads(static_cast<std::size_t>(first.class_count()), 16);
  CHECK(first.probe(threads) == second.probe(threads));
  CHECK(first.probe(threads) != second.probe(std::vector<int>(threads.size(), 17)));
}
