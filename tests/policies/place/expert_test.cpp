#include <catch2/catch.hpp>

#include "policies/place/methods/methods.hpp"
#include "tests/policies/place/toys.hpp"

namespace rehearse::tests {

using policies::DeviceOfGroup;
using policies::Groups;
using policies::PlacementView;

namespace {

DeviceOfGroup expert(const sim::StepGraph& graph, const std::vector<std::string>& devices) {
  const sim::Machine machine = toy_machine(devices);
  const Groups groups = one_op_groups(graph);
  const auto timer = sim::make_fast_timer(graph, machine);
  policies::TimerScorer scorer(*timer, machine, groups);
  policies::Expert method;
  return run_placement(method, PlacementView(graph, machine, groups, 1), scorer, 1).device_of_group;
}

}  // namespace

TEST_CASE("The expert cuts a convolutional network into parts of equal time") {
  // 4, 2, 2, 1, 1, 2 s: 12 s, halves of 6. Middles: 2, 5, 7, 8.5, 9.5, 11: the first two lie below 6.
  std::vector<ToyOp> ops;
  for (const double s : {4., 2., 2., 1., 1., 2.}) ops.push_back({.durations_s = {100, s}});
  const sim::StepGraph graph = toy_graph({"cpu", "gpu"}, ops, {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 4, 1}, {4, 5, 1}});
  CHECK(expert(graph, {"cpu", "gpu", "gpu"}) == DeviceOfGroup{1, 1, 2, 2, 2, 2});
}

TEST_CASE("The expert puts LSTM layers, attention and softmax on GPUs of their own") {
  sim::StepGraphBuilder builder("nmt", {"cpu", "gpu"});
  const std::vector<double> durations{10, 1};
  const auto add = [&](const char* name, sim::OpKind kind, int layer) {
    builder.add_op({.name = name, .kind = kind, .phase = sim::Phase::forward, .layer = layer}, durations);
  };
  add("embedding", sim::OpKind::embedding, 0);   // unit 0, with the first LSTM layer
  add("lstm1", sim::OpKind::rnn, 1);             // unit 0
  add("dropout", sim::OpKind::elementwise, 2);   // unit 0
  add("attention/query", sim::OpKind::gemm, 3);  // unit 1
  add("attention", sim::OpKind::softmax, 4);     // unit 1
  add("lstm2", sim::OpKind::rnn, 5);             // unit 2
  add("classifier", sim::OpKind::gemm, 6);       // unit 3
  add("loss", sim::OpKind::softmax, 7);          // unit 3
  const sim::StepGraph graph = builder.build();
  CHECK(expert(graph, {"cpu", "gpu", "gpu", "gpu", "gpu"}) == DeviceOfGroup{1, 1, 1, 2, 2, 3, 4, 4});
  // Two GPUs: units 0 and 1 on the first, 2 and 3 on the second.
  CHECK(expert(graph, {"cpu", "gpu", "gpu"}) == DeviceOfGroup{1, 1, 1, 1, 1, 2, 2, 2});
  // More GPUs than units: floor(i 5 / 4) = 0, 1, 2, 3.
  CHECK(expert(graph, {"cpu", "gpu", "gpu", "gpu", "gpu", "gpu"}) == DeviceOfGroup{1, 1, 1, 2, 2, 3, 4, 4});
}

}  // namespace rehearse::tests
