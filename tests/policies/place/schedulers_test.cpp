#include <catch2/catch.hpp>

#include "policies/place/methods/methods.hpp"
#include "tests/policies/place/toys.hpp"

namespace rehearse::tests {

using policies::DeviceOfGroup;
using policies::DeviceTimeline;
using policies::Groups;
using policies::PlacementGraph;
using policies::PlacementView;

namespace {

const std::vector<std::int64_t> kRoom(3, 1'000'000);

/// Figure 2 and table 1 of Topcuoglu, Hariri, Wu 2002.
sim::StepGraph topcuoglu() {
  std::vector<ToyOp> ops;
  for (const std::vector<double>& seconds : std::vector<std::vector<double>>{{14, 16, 9},
                                                                             {13, 19, 18},
                                                                             {11, 13, 19},
                                                                             {13, 8, 17},
                                                                             {12, 13, 10},
                                                                             {13, 16, 9},
                                                                             {7, 15, 11},
                                                                             {5, 11, 14},
                                                                             {18, 12, 20},
                                                                             {21, 7, 16}})
    ops.push_back({.durations_s = seconds});
  return toy_graph({"p1", "p2", "p3"}, ops,
                   {{0, 1, 18},
                    {0, 2, 12},
                    {0, 3, 9},
                    {0, 4, 11},
                    {0, 5, 14},
                    {1, 7, 19},
                    {1, 8, 16},
                    {2, 6, 23},
                    {3, 7, 27},
                    {3, 8, 23},
                    {4, 8, 13},
                    {5, 7, 15},
                    {6, 9, 17},
                    {7, 9, 11},
                    {8, 9, 13}});
}

}  // namespace

TEST_CASE("A device's timeline fills gaps") {
  DeviceTimeline line;
  line.occupy(10, 5);
  line.occupy(20, 5);
  CHECK(line.earliest(0, 10) == 0);   // just fits before 10
  CHECK(line.earliest(0, 11) == 25);  // neither before 10 nor in 15..20
  CHECK(line.earliest(12, 5) == 15);  // the gap 15..20
  CHECK(line.earliest(16, 5) == 25);
  CHECK(line.earliest(30, 1) == 30);
  line.occupy(15, 5);  // joins both: 10..25
  CHECK(line.earliest(0, 11) == 25);
  line.occupy(0, 10);  // 0..25
  CHECK(line.earliest(0, 1) == 25);
  CHECK(line.end() == 25);
}

TEST_CASE("HEFT makes the schedule of its paper") {
  const sim::StepGraph graph = topcuoglu();
  const sim::Machine machine = toy_machine({"p1", "p2", "p3"});
  const Groups groups = one_op_groups(graph);
  const PlacementView view(graph, machine, groups, 1);
  // Table 2 of the paper: the mean of an operation's durations, and the longest way after it. Of operation 10: (21+7+16)/3 =
  // 14.667; of 8: (5+11+14)/3 + 11 + 14.667 = 35.667; of 9: 50/3 + 13 + 14.667 = 44.333.
  const std::vector<double> ranks = policies::upward_ranks(view, policies::all_devices(machine));
  const std::vector<double> paper{108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667};
  for (std::size_t op = 0; op < paper.size(); ++op) CHECK(ranks[op] / kSecond == Approx(paper[op]).epsilon(1e-4));
  // Figure 3(a) of the paper: the last operation ends at 80.
  const policies::ListSchedule schedule = heft_schedule(view, PlacementGraph(view), kRoom);
  CHECK(schedule.makespan() == 80 * kSecond);
  CHECK(schedule.device_of_group() == DeviceOfGroup{2, 0, 2, 1, 2, 1, 2, 0, 1, 1});
}

TEST_CASE("HEFT keeps groups together and goes where there is room") {
  // Two equal operations that could run at once; the GPU is ten times faster.
  const sim::Machine machine = toy_machine({"cpu", "gpu", "gpu"});
  const sim::StepGraph graph = toy_graph(
      {"cpu", "gpu"}, {{.durations_s = {10, 1}, .resident_bytes = 6}, {.durations_s = {10, 1}, .resident_bytes = 6}}, {});
  const Groups apart{.of_op = {0, 1}, .count = 2}, together{.of_op = {0, 0}, .count = 1};
  const PlacementView free(graph, machine, apart, 1), bound(graph, machine, together, 1);
  CHECK(heft_schedule(free, PlacementGraph(free), kRoom).makespan() == 1 * kSecond);
  CHECK(heft_schedule(bound, PlacementGraph(bound), kRoom).makespan() == 2 * kSecond);
  // 6 bytes each: one GPU has room for one, the other for none, so the second goes to the CPU.
  CHECK(heft_schedule(free, PlacementGraph(free), {100, 6, 5}).device_of_group() == DeviceOfGroup{1, 0});
}

TEST_CASE("m-ETF starts what can start first") {
  // a(2) -> b(3), c(3) -> d(1), each tensor takes 1 s between GPUs.
  //   a: GPU 1 at 0. b: GPU 1 at 2 (GPU 2: 2 + 1 = 3). c: GPU 2 at 3 (GPU 1: 5).
  //   d: on GPU 1 at max(5, 6 + 1) = 7, on GPU 2 at max(5 + 1, 6) = 6. The step ends at 7.
  const std::vector<double> a{20, 2}, b{30, 3}, d{10, 1};
  const sim::StepGraph graph =
      toy_graph({"cpu", "gpu"}, {{.durations_s = a}, {.durations_s = b}, {.durations_s = b}, {.durations_s = d}},
                {{0, 1, 1}, {0, 2, 1}, {1, 3, 1}, {2, 3, 1}});
  const sim::Machine machine = toy_machine({"cpu", "gpu", "gpu"});
  const Groups groups = one_op_groups(graph);
  const PlacementView view(graph, machine, groups, 1);
  const policies::ListSchedule schedule = etf_schedule(view, PlacementGraph(view), kRoom);
  CHECK(schedule.device_of_group() == DeviceOfGroup{1, 1, 2, 2});
  CHECK(schedule.makespan() == 7 * kSecond);
}

TEST_CASE("m-ETF leaves full GPUs, and takes the roomiest device when nothing fits") {
  const ToyOp op{.durations_s = {10, 1}, .resident_bytes = 6};
  const sim::StepGraph graph = toy_graph({"cpu", "gpu"}, {op, op, op}, {{0, 1, 1}, {1, 2, 1}});
  const sim::Machine machine = toy_machine({"cpu", "gpu", "gpu"});
  const Groups groups = one_op_groups(graph);
  const PlacementView view(graph, machine, groups, 1);
  // Memory of a group: 6 bytes that stay and the 1 byte that it makes; 7, 7, 6 in all.
  CHECK(etf_schedule(view, PlacementGraph(view), {0, 14, 6}).device_of_group() == DeviceOfGroup{1, 1, 2});
  CHECK(etf_schedule(view, PlacementGraph(view), {9, 7, 2}).device_of_group() == DeviceOfGroup{1, 0, 1 - 1});
}

TEST_CASE("m-SCT gives a parent's device to its favourite") {
  // a -> b (short), a -> c -> d (long), 2 s for each tensor between GPUs: the end is soonest when c follows a at once.
  const sim::StepGraph graph = toy_graph(
      {"cpu", "gpu"}, {{.durations_s = {9, 1}}, {.durations_s = {9, 3}}, {.durations_s = {9, 3}}, {.durations_s = {9, 3}}},
      {{0, 1, 2}, {0, 2, 2}, {2, 3, 2}});
  const sim::Machine machine = toy_machine({"cpu", "gpu", "gpu"});
  const Groups groups = one_op_groups(graph);
  const PlacementView view(graph, machine, groups, 1);
  const std::vector<std::int32_t> favourite = policies::favourite_successors(view);
  CHECK(favourite == std::vector<std::int32_t>{2, -1, 3, -1});
  // a, c, d on GPU 1 from 0 to 7; b on GPU 2 from 1 + 2 to 6.
  const policies::ListSchedule schedule = etf_schedule(view, PlacementGraph(view), kRoom, favourite);
  CHECK(schedule.device_of_group() == DeviceOfGroup{1, 2, 1, 1});
  CHECK(schedule.makespan() == 7 * kSecond);
}

TEST_CASE("A favourite is not kept from its device by an operation that would delay it") {
  // a(1) -> f(2) by 5 s; x(4) is free from 0 on. On one GPU, x would start at 1 as f does; the favourite goes first.
  const sim::StepGraph graph =
      toy_graph({"cpu", "gpu"}, {{.durations_s = {9, 1}}, {.durations_s = {9, 2}}, {.durations_s = {9, 4}}}, {{0, 1, 5}});
  const sim::Machine machine = toy_machine({"cpu", "gpu"});
  const Groups groups = one_op_groups(graph);
  const PlacementView view(graph, machine, groups, 1);
  const std::vector<std::int32_t> favourite{1, -1, -1};
  CHECK(etf_schedule(view, PlacementGraph(view), {100, 100}, favourite).makespan() == 7 * kSecond);
}

TEST_CASE("m-TOPO fills one GPU after the other") {
  // Four groups of 10 bytes on two GPUs: each takes its share, 40/2, and one group more: 30.
  const ToyOp op{.durations_s = {10, 1}, .resident_bytes = 10};
  const sim::StepGraph graph = toy_graph({"cpu", "gpu"}, {op, op, op, op}, {{0, 1, 0}, {1, 2, 0}, {2, 3, 0}});
  const sim::Machine machine = toy_machine({"cpu", "gpu", "gpu"});
  const Groups groups = one_op_groups(graph);
  const PlacementView view(graph, machine, groups, 1);
  const auto timer = sim::make_fast_timer(graph, machine);
  policies::TimerScorer scorer(*timer, machine, groups);
  policies::MTopo method;
  CHECK(run_placement(method, view, scorer, 5).device_of_group == DeviceOfGroup{1, 1, 1, 2});
}

}  // namespace rehearse::tests
