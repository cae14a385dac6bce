#include "sim/step/cpu_step.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <map>

#include "sim/base/errors.hpp"

namespace {

using namespace rehearse::sim;

/// Costs of classes by threads: fixed + arithmetic / threads, and bytes.
struct ToyClass {
  double fixed_s = 0, one_core_s = 0, bytes = 0;
};

class ToyCosts final : public CpuCosts {
 public:
  ToyCosts(std::vector<ToyClass> classes, int most) : classes_(std::move(classes)), most_(most) {
    for (const ToyClass& c : classes_)
      for (int k = 1; k <= most; ++k)
        costs_.push_back({.fixed_s = c.fixed_s, .arithmetic_s = c.one_core_s / k, .bytes = c.bytes});
  }
  int classes() const override { return static_cast<int>(classes_.size()); }
  const CpuOpCost& cost(int op_class, int threads) const override {
    return costs_[static_cast<std::size_t>(op_class * most_ + threads - 1)];
  }

 private:
  std::vector<ToyClass> classes_;
  int most_;
  std::vector<CpuOpCost> costs_;
};

CpuGraph graph_of(std::vector<std::int32_t> class_of, const std::vector<std::pair<int, int>>& edges, double edge_bytes = 0) {
  OpGraph graph;
  graph.ops.resize(class_of.size());
  for (const auto& [from, to] : edges) graph.edges.push_back({from, to, {edge_bytes, 0}});
  return cpu_graph(graph, 1, std::move(class_of));
}

/// 4 cores in tiles of 2, one socket, 2 threads a core that give 1.5; 10 GB/s for each core, 20 GB/s for all.
CpuMachine four_cores() {
  return {.cores = 4,
          .cores_per_tile = 2,
          .threads_per_core = 2,
          .bandwidth_bytes_per_s = 20e9,
          .core_bandwidth_bytes_per_s = 10e9,
          .tile_cache_bytes = 1e6,
          .smt_yield = {1, 1.5},
          .wake_s = 1e-3,
          .time_slice_s = 0.5};
}

std::shared_ptr<const CpuBelief> belief_of(const CpuMachine& machine, const CpuCosts& costs) {
  std::vector<double> alone_s;
  for (int c = 0; c < costs.classes(); ++c)
    for (int k = 1; k <= machine.cores; ++k) alone_s.push_back(cpu_alone_s(machine, costs.cost(c, k), k));
  return std::make_shared<const CpuBelief>(CpuBelief::of(machine.cores, std::move(alone_s)));
}

const double kGrid = 1e-8;  // a few ticks

}  // namespace

TEST_CASE("an operation alone: fixed time, arithmetic beside memory, threads that share cores", "[cpu_step]") {
  const CpuMachine machine = four_cores();
  // 0.1 + max(1.2/3, 3e9 B / 20 GB/s = 0.15) = 0.5 s.
  CHECK(cpu_alone_s(machine, {.fixed_s = 0.1, .arithmetic_s = 0.4, .bytes = 3e9}, 3) == Approx(0.5));
  // One core draws 10 GB/s: 0.3 s of memory; 0.1 + max(0.2, 0.3).
  CHECK(cpu_alone_s(machine, {.fixed_s = 0.1, .arithmetic_s = 0.2, .bytes = 3e9}, 1) == Approx(0.4));
  // Packed first: 0.1 + 0.4 + 0.15.
  CHECK(cpu_alone_s(machine, {.fixed_s = 0.1, .arithmetic_s = 0.4, .bytes = 3e9, .packs = true}, 3) == Approx(0.65));
  // Eight threads on four cores: 8 cores' worth of arithmetic on 4 x 1.5: 8/6 of 0.15 s.
  CHECK(cpu_alone_s(machine, {.arithmetic_s = 0.15}, 8) == Approx(0.2));
  // Twelve: three threads a core, one and a half times what the hardware has: half of a time slice more.
  CHECK(cpu_alone_s(machine, {.arithmetic_s = 0.1}, 12) == Approx(0.1 * 12 / 6 + 0.25));
}

TEST_CASE("co-running operations share bandwidth by max-min", "[cpu_step]") {
  // Three streams on a core each. Alone they draw 10, 10 and 4 GB/s (2e9 B in 0.5 s); 20 GB/s are shared 8, 8, 4.
  const CpuMachine machine = four_cores();
  const ToyCosts costs({{0, 0, 10e9}, {0.3, 0, 2e9}}, 8);
  const CpuGraph graph = graph_of({0, 0, 1}, {});
  const CpuPlan plan{.dispatch = Dispatch::list, .threads = {1, 1, 1}};
  const CpuTiming timing = time_cpu_step(graph, costs, machine, plan);
  // The third ends after 0.5 s as if alone; then the others, which have 10 - 4 = 6e9 B left, draw 10 GB/s each: 0.5 + 0.6.
  CHECK(seconds_of(timing.duration_of_op[2]) == Approx(0.5).margin(kGrid));
  CHECK(timing.makespan_s() == Approx(1.1).margin(kGrid));
  CHECK(timing.core_busy_s == Approx(0.5 + 1.1 + 1.1).margin(kGrid));
}

TEST_CASE("traffic goes to the sockets of an operation's cores", "[cpu_step]") {
  // Two sockets of 10 GB/s; tiles of one core go round. Cores 0 and 2 belong to socket 0. Three streams on cores 0, 1, 2: those
  // on socket 0 share it, 5 GB/s each, the one on socket 1 has 10.
  CpuMachine machine = four_cores();
  machine.sockets = 2;
  machine.cores_per_tile = 1;
  const ToyCosts costs({{0, 0, 1e9}}, 8);
  const CpuTiming timing =
      time_cpu_step(graph_of({0, 0, 0}, {}), costs, machine, {.dispatch = Dispatch::list, .threads = {1, 1, 1}});
  CHECK(seconds_of(timing.duration_of_op[0]) == Approx(0.2).margin(kGrid));
  CHECK(seconds_of(timing.duration_of_op[1]) == Approx(0.1).margin(kGrid));
  CHECK(seconds_of(timing.duration_of_op[2]) == Approx(0.2).margin(kGrid));
}

TEST_CASE("a core that is asked for more than its threads give is shared in proportion", "[cpu_step]") {
  // Two operations that only compute, four threads each on four cores of yield 1.5: asked for 2, each gets 0.75 and takes 4/3.
  const ToyCosts busy({{0, 4, 0}}, 8);
  const CpuPlan both{.dispatch = Dispatch::slots, .threads = {4, 4}, .slots = 2};
  CHECK(time_cpu_step(graph_of({0, 0}, {}), busy, four_cores(), both).makespan_s() == Approx(4.0 / 3).margin(kGrid));
  // Half of each waits: 0.5 + 0.5 asked for, less than 1.5: neither is slowed.
  const ToyCosts waiting({{1, 4, 0}}, 8);
  CHECK(time_cpu_step(graph_of({0, 0}, {}), waiting, four_cores(), both).makespan_s() == Approx(2).margin(kGrid));
}

TEST_CASE("changing the number of threads wakes threads and fills caches again", "[cpu_step]") {
  const ToyCosts costs({{0, 4, 0}}, 8);
  const CpuGraph graph = graph_of({0, 0, 0}, {{0, 1}, {1, 2}}, 5e6);
  // 4 s on one core, then twice 1 s on four; the second wakes three threads and fetches 2 MB (what two tiles hold) at 20 GB/s.
  const CpuTiming timing = time_cpu_step(graph, costs, four_cores(), {.threads = {1, 4, 4}});
  CHECK(timing.makespan_s() == Approx(4 + 1 + 3e-3 + 1e-4 + 1).margin(kGrid));
  CHECK(timing.rethreadings == 1);
  CpuMachine free = four_cores();
  free.rethreading = 0;
  CHECK(time_cpu_step(graph, costs, free, {.threads = {1, 4, 4}}).makespan_s() == Approx(6).margin(kGrid));
}

TEST_CASE("S3 runs what ends within the leader beside it, and nothing longer", "[cpu_step]") {
  // The leader: 3 s on three cores. Of the ready ones on the core that is left, 2 s fit, 4 s do not.
  const CpuMachine machine = four_cores();
  const ToyCosts costs({{0, 9, 0}, {0, 2, 0}, {0, 4, 0}}, 8);
  CpuPlan plan{.threads = {3, 3, 4}, .belief = belief_of(machine, costs)};
  const CpuGraph graph = graph_of({0, 1, 2}, {});
  CpuTimeline timeline;
  // One after the other: 3 + 2/3 + 1; the last wakes a thread.
  CHECK(time_cpu_step(graph, costs, machine, plan).makespan_s() == Approx(3 + 2.0 / 3 + 1 + 1e-3).margin(kGrid));
  plan.co_run = true;
  // The second beside the first; then the third alone, 1 s on four cores and a thread to wake.
  CHECK(time_cpu_step(graph, costs, machine, plan, &timeline).makespan_s() == Approx(3 + 1 + 1e-3).margin(kGrid));
  REQUIRE(timeline.runs.size() == 3);
  CHECK(timeline.runs[1].op == 1);
  CHECK(timeline.runs[1].start == 0);
  CHECK(timeline.cores_of(timeline.runs[1])[0].core == 3);
}

TEST_CASE("S4 puts on spare threads what slows others by less than its own time", "[cpu_step]") {
  // The leader computes 2 s on four cores. A second operation waits 1 s and computes hardly: it runs beside, nobody is slowed.
  const CpuMachine machine = four_cores();
  const ToyCosts costs({{0, 8, 0}, {1, 0.004, 0}}, 8);
  CpuPlan plan{.threads = {4, 4}, .belief = belief_of(machine, costs)};
  const CpuGraph graph = graph_of({0, 1}, {});
  CHECK(time_cpu_step(graph, costs, machine, plan).makespan_s() == Approx(3.001).margin(1e-6));
  plan.spare_threads = true;
  CpuTimeline timeline;
  CHECK(time_cpu_step(graph, costs, machine, plan, &timeline).makespan_s() == Approx(2).margin(1e-6));
  REQUIRE(timeline.runs.size() == 2);
  CHECK(timeline.runs[1].spare);
  // With as many threads as planned, not with the four that would be quickest.
  plan.threads = {4, 2};
  time_cpu_step(graph, costs, machine, plan, &timeline);
  REQUIRE(timeline.runs[1].spare);
  CHECK(timeline.runs[1].threads == 2);
}

TEST_CASE("plans that the machine cannot run are our bugs", "[cpu_step]") {
  const ToyCosts costs({{0, 1, 0}}, 8);
  const CpuGraph graph = graph_of({0}, {});
  CHECK_THROWS_AS(time_cpu_step(graph, costs, four_cores(), {.threads = {5}}), CheckFailed);
  CHECK_THROWS_AS(time_cpu_step(graph, costs, four_cores(), {.threads = {0}}), CheckFailed);
  CHECK_THROWS_AS(time_cpu_step(graph, costs, four_cores(), {.threads = {}}), CheckFailed);
  CHECK_THROWS_AS(time_cpu_step(graph, costs, four_cores(), {.threads = {1}, .co_run = true}), CheckFailed);
}

namespace {

/// What a timeline must keep, whatever the scheduler believes of itself.
void check_timeline(const CpuGraph& graph, const CpuMachine& machine, const CpuPlan& plan, const CpuTiming& timing,
                    const CpuTimeline& timeline) {
  const auto ops = static_cast<std::size_t>(graph.ops());
  std::vector<const CpuTimeline::Run*> run_of(ops, nullptr);
  Tick last = 0;
  for (const CpuTimeline::Run& run : timeline.runs) {
    RC_ASSERT(run_of[static_cast<std::size_t>(run.op)] == nullptr);  // once
    run_of[static_cast<std::size_t>(run.op)] = &run;
    RC_ASSERT(run.start < run.end);
    last = std::max(last, run.end);
    int threads = 0;
    std::map<int, int> on_core;
    for (const CpuTimeline::Share& share : timeline.cores_of(run)) {
      RC_ASSERT(share.core >= 0 && share.core < machine.cores);
      RC_ASSERT(++on_core[share.core] == 1);
      RC_ASSERT(plan.dispatch == Dispatch::slots || share.threads == 1);
      threads += share.threads;
    }
    RC_ASSERT(threads == run.threads);
    RC_ASSERT(!run.spare || plan.spare_threads);
    if (plan.dispatch != Dispatch::strategies || !(plan.co_run || plan.spare_threads))
      RC_ASSERT(run.threads == plan.threads[static_cast<std::size_t>(run.op)]);
  }
  RC_ASSERT(timeline.runs.size() == ops);
  RC_ASSERT(last == timing.makespan);
  for (std::size_t op = 0; op < ops; ++op)  // precedence
    for (int i = graph.first_successor[op]; i < graph.first_successor[op + 1]; ++i)
      RC_ASSERT(run_of[op]->end <= run_of[static_cast<std::size_t>(graph.successors[static_cast<std::size_t>(i)])]->start);
  // Each core: at most one operation of its own, with spare ones at most as many as it has hardware threads.
  for (const CpuTimeline::Run& a : timeline.runs) {
    int teams = 0;
    std::map<int, int> own, all;
    for (const CpuTimeline::Run& b : timeline.runs) {
      if (b.start > a.start || b.end <= a.start) continue;  // what runs when a starts
      ++teams;
      for (const CpuTimeline::Share& share : timeline.cores_of(b)) {
        all[share.core] += share.threads;
        if (!b.spare) own[share.core] += share.threads;
      }
    }
    if (plan.dispatch == Dispatch::slots) {
      RC_ASSERT(teams <= plan.slots);
      continue;
    }
    for (const auto& [core, threads] : own) RC_ASSERT(threads == 1);
    for (const auto& [core, threads] : all) RC_ASSERT(threads <= machine.threads_per_core);
    if (plan.dispatch == Dispatch::strategies && !plan.co_run && !plan.spare_threads) RC_ASSERT(teams == 1);
  }
}

}  // namespace

TEST_CASE("precedence, core counts and SMT rules hold on random graphs and plans", "[cpu_step]") {
  rc::prop("timeline", [] {
    const int cores = *rc::gen::inRange(1, 12), smt = *rc::gen::inRange(1, 5);
    CpuMachine machine{.cores = cores,
                       .sockets = *rc::gen::inRange(1, std::min(cores, 3) + 1),
                       .cores_per_tile = *rc::gen::inRange(1, 4),
                       .threads_per_core = smt,
                       .bandwidth_bytes_per_s = 20e9,
                       .core_bandwidth_bytes_per_s = *rc::gen::element(3e9, 10e9),
                       .tile_cache_bytes = 1e6,
                       .smt_yield = std::vector<double>(static_cast<std::size_t>(smt), 1.3),
                       .wake_s = *rc::gen::element(0.0, 1e-3),
                       .time_slice_s = *rc::gen::element(0.0, 0.1)};
    machine.smt_yield[0] = 1;
    std::vector<ToyClass> classes;
    for (int c = *rc::gen::inRange(1, 5); c > 0; --c)
      classes.push_back(
          {*rc::gen::element(0.001, 0.1, 1.0), *rc::gen::element(0.0, 1.0, 8.0), *rc::gen::element(0.0, 1e8, 1e10)});
    const ToyCosts costs(classes, machine.logical_cores());
    const int ops = *rc::gen::inRange(1, 30);
    std::vector<std::int32_t> class_of;
    std::vector<std::pair<int, int>> edges;
    for (int op = 0; op < ops; ++op) {
      class_of.push_back(*rc::gen::inRange(0, costs.classes()));
      for (int e = op == 0 ? 0 : *rc::gen::inRange(0, 3); e > 0; --e) edges.emplace_back(*rc::gen::inRange(0, op), op);
    }
    const CpuGraph graph = graph_of(class_of, edges, 1e6);
    CpuPlan plan{.dispatch = *rc::gen::element(Dispatch::slots, Dispatch::strategies, Dispatch::list),
                 .slots = *rc::gen::inRange(1, 5),
                 .belief = belief_of(machine, costs)};
    const bool slots = plan.dispatch == Dispatch::slots;
    for (int op = 0; op < ops; ++op) plan.threads.push_back(*rc::gen::inRange(1, (slots ? machine.logical_cores() : cores) + 1));
    if (plan.dispatch == Dispatch::strategies) {
      plan.co_run = *rc::gen::arbitrary<bool>();
      plan.spare_threads = *rc::gen::arbitrary<bool>();
      if (*rc::gen::arbitrary<bool>())
        for (int op = 0; op < ops; ++op) plan.priority.push_back(*rc::gen::inRange(0, 4));
    }
    CpuTimeline timeline;
    const CpuTiming timing = time_cpu_step(graph, costs, machine, plan, &timeline);
    check_timeline(graph, machine, plan, timing, timeline);
    CpuTimeline again;
    RC_ASSERT(time_cpu_step(graph, costs, machine, plan, &again).makespan == timing.makespan);
  });
}
