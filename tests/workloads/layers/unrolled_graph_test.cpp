#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>
#include <string>

#include "sim/base/errors.hpp"
#include "sim/step/op_graph.hpp"
#include "workloads/layers/structure.hpp"
#include "workloads/layers/unrolling.hpp"
#include "workloads/steps/graph_builder.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;

namespace {

int index_of(const sim::OpGraph& graph, const std::string& name) {
  const auto found = std::find_if(graph.ops.begin(), graph.ops.end(), [&](const sim::Op& o) { return o.name == name; });
  INFO(name);
  REQUIRE(found != graph.ops.end());
  return static_cast<int>(found - graph.ops.begin());
}

std::set<std::string> read_by(const sim::OpGraph& graph, const std::string& name) {
  const int op = index_of(graph, name);
  std::set<std::string> producers;
  for (const sim::Edge& e : graph.edges)
    if (e.to == op) producers.insert(graph.ops[e.from].name);
  return producers;
}

template <class Quantity>
double total(const sim::OpGraph& graph, Quantity quantity) {
  double sum = 0;
  for (const sim::Op& op : graph.ops) sum += quantity(op);
  return sum;
}

/// 2 layers of 3 units over 3 steps of 2 numbers, a loss at every step.
Network two_layers() {
  Network net{"two", {}};
  net.add("input", Input{{2, 3, 1}});
  net.add("lstm1", Recurrent{Cell::lstm, 3});
  net.add("lstm2", Recurrent{Cell::lstm, 3});
  net.add("loss", Loss{});
  return net;
}

double longest(const sim::OpGraph& graph, double (*duration)(const sim::Op&)) {
  std::vector<double> durations;
  for (const sim::Op& op : graph.ops) durations.push_back(duration(op));
  return longest_path(graph, durations).length;
}

double recurrent_products(const sim::Op& op) { return op.kind == sim::OpKind::rnn ? op.repeats : 0; }
double every_operation(const sim::Op& op) { return op.kind == sim::OpKind::variable ? 0 : op.repeats; }

}  // namespace

TEST_CASE("two LSTM layers of three steps: the wave front, by hand", "[unroll]") {
  const sim::OpGraph plain = build_graph(two_layers()), unrolled = build_graph(two_layers(), {.unroll = true});
  // Plain: 3 products of each of 2 layers, forward and backward. Unrolled: 3 steps of the first layer, then the last step of the
  // second, 2 + 3 - 1 = 4; back the same way.
  CHECK(longest(plain, recurrent_products) == 12);
  CHECK(longest(unrolled, recurrent_products) == 8);
  // All operations, each a unit: input product of step 0, three steps of lstm1, input product and step 2 of lstm2, loss and its
  // gradient, three gradients of lstm2, its data gradient at step 0, lstm1's gradient and filter gradient there, update.
  CHECK(longest(unrolled, every_operation) == 1 + 3 + 2 + 2 + 3 + 1 + 2 + 1);

  CHECK(read_by(unrolled, "lstm2/step1") == std::set<std::string>{"lstm2/parameters", "lstm2/step1/input", "lstm2/step0"});
  CHECK(read_by(unrolled, "lstm2/step1/input") == std::set<std::string>{"lstm2/parameters", "lstm1/step1"});
  CHECK(read_by(unrolled, "lstm1/step1/gradient") ==
        std::set<std::string>{"lstm1/parameters", "lstm2/step1/data_gradient", "lstm1/step2/gradient", "lstm1/step1"});
  CHECK(read_by(unrolled, "lstm2/step1/filter_gradient") ==
        std::set<std::string>{"lstm2/step2/filter_gradient", "lstm2/step1/gradient", "lstm1/step1"});
  CHECK(read_by(unrolled, "lstm2/update") == std::set<std::string>{"lstm2/step0/filter_gradient"});
  CHECK(read_by(unrolled, "lstm1/step0") == std::set<std::string>{"lstm1/parameters", "lstm1/step0/input"});

  // Batch 5. A step of lstm2: 5 x 12 x 3 twice, state and cell of 3 numbers each to the next step, of which the input product
  // has taken a third of all bytes: its weights 36 of 12 gates, 9 numbers in and 36 out, in 3 steps.
  const sim::Op& step = unrolled.ops[index_of(unrolled, "lstm2/step1")];
  CHECK(step.repeats == 1);
  CHECK(step.step == 1);
  CHECK(step.layer == 2);
  CHECK(step.flops.at(5) == 2.0 * 5 * 12 * 3);
  CHECK(step.matrix.m.at(5) == 5);
  CHECK(step.output_bytes.at(5) == 4 * 5 * 3);
  CHECK(step.output_shape == std::array{3, 1, 1});
  const sim::Op& input = unrolled.ops[index_of(unrolled, "lstm2/step1/input")];
  CHECK(input.matrix.m.at(5) == 5);
  CHECK(input.bytes.at(5) == Approx(4.0 * (36 + 5 * (9 + 36)) / 3).epsilon(1e-12));
  const sim::Op& filter = unrolled.ops[index_of(unrolled, "lstm2/step1/filter_gradient")];
  CHECK(filter.matrix.k.at(5) == 5);
  CHECK(filter.output_bytes.at(5) == 4 * 12 * (3 + 3 + 1));
  CHECK(filter.output_shape == std::array{12, 6, 1});
  const auto carried = std::find_if(unrolled.edges.begin(), unrolled.edges.end(), [&](const sim::Edge& e) {
    return e.from == index_of(unrolled, "lstm2/step0") && e.to == index_of(unrolled, "lstm2/step1");
  });
  REQUIRE(carried != unrolled.edges.end());
  CHECK(carried->bytes.at(5) == 4 * 5 * 6);
}

TEST_CASE("two directions run against each other", "[unroll]") {
  for (const bool sum : {false, true}) {
    Network net{"both", {}};
    net.add("input", Input{{2, 3, 1}});
    net.add("gru", Recurrent{Cell::gru, 4, true, sum});
    net.add("dense", Dense{2});
    net.add("loss", Loss{});
    const sim::OpGraph graph = build_graph(net, {.unroll = true});
    CHECK(read_by(graph, "gru/step1") == std::set<std::string>{"gru/parameters", "gru/step1/input", "gru/step0"});
    CHECK(read_by(graph, "gru/step1/reverse") == std::set<std::string>{"gru/parameters", "gru/step1/input", "gru/step2/reverse"});
    CHECK(read_by(graph, "dense/step1") == std::set<std::string>{"dense/parameters", "gru/step1", "gru/step1/reverse"});
    const sim::Op& reverse = graph.ops[index_of(graph, "gru/step1/reverse")];
    CHECK(reverse.step == 3 + 1);
    // Forward 3 steps of 4 numbers a direction; a dense layer of 2 reads them side by side, or summed.
    CHECK(reverse.output_bytes.at(1) == 4 * 4);
    for (const sim::Edge& e : graph.edges)
      if (graph.ops[e.from].name == "gru/step1/reverse" && graph.ops[e.to].name == "dense/step1") CHECK(e.bytes.at(1) == 4 * 4);
  }
}

TEST_CASE("an unrolled graph adds up to the plain one", "[unroll]") {
  for (const ZooEntry& entry : zoo()) {
    INFO(entry.name);
    const sim::OpGraph plain = zoo_graph(entry.name), unrolled = zoo_graph(entry.name, {}, true);
    for (const double batch : {1.0, 64.0}) {
      const auto same = [&](auto quantity) { CHECK(total(unrolled, quantity) == Approx(total(plain, quantity)).epsilon(1e-9)); };
      same([&](const sim::Op& op) { return op.flops.at(batch); });
      same([&](const sim::Op& op) { return op.bytes.at(batch); });
      same([&](const sim::Op& op) { return op.saved_bytes.at(batch); });
      same([&](const sim::Op& op) { return op.parameter_bytes; });
      same([&](const sim::Op& op) {
        return 2.0 * op.repeats * op.matrix.m.at(batch) * op.matrix.n.at(batch) * op.matrix.k.at(batch);
      });
    }
    CHECK(unrolled.parameters == plain.parameters);
    const bool recurrent = std::any_of(plain.ops.begin(), plain.ops.end(), [](auto& op) { return op.kind == sim::OpKind::rnn; });
    CHECK((unrolled.ops.size() > plain.ops.size()) == recurrent);
    std::set<std::string> names;
    std::vector<bool> fed(unrolled.ops.size()), read(unrolled.ops.size());
    for (const sim::Edge& e : unrolled.edges) {
      REQUIRE(e.from < e.to);
      REQUIRE(e.bytes.at(1) > 0);
      fed[e.to] = read[e.from] = true;
    }
    for (std::size_t i = 0; i < unrolled.ops.size(); ++i) {
      const sim::Op& op = unrolled.ops[i];
      INFO(op.name);
      REQUIRE(names.insert(op.name).second);
      REQUIRE(op.repeats == 1);
      if (op.phase != sim::Phase::forward) REQUIRE(fed[i]);
      if (op.phase != sim::Phase::update) REQUIRE((read[i] || op.phase == sim::Phase::backward));
      if (op.phase != sim::Phase::update && op.kind != sim::OpKind::variable) {
        REQUIRE(op.output_shape[0] * op.output_shape[1] * op.output_shape[2] > 0);
      }
    }
  }
}

TEST_CASE("sequences one behind the other, and a vector for every step, keep the steps before and behind them", "[unroll]") {
  Network net{"joined", {}};
  const int input = net.add("input", Input{{4, 3, 1}});
  const int first = net.add("first", Recurrent{Cell::gru, 4});
  const int last = net.add("last", LastStep{});
  const int added = net.add("added", Add{}, {first, last});
  const int scaled = net.add("scaled", Multiply{}, {added, input});
  net.add("joined", Concat{Axis::height}, {scaled, first});
  net.add("second", Recurrent{Cell::gru, 2});
  net.add("loss", Loss{});
  CHECK(time_steps(net, infer_shapes(net)) == std::vector<int>{1, 3, 1, 1, 3, 1, 6, 6});
  const sim::OpGraph plain = build_graph(net, {}), unrolled = build_graph(net, {.unroll = true});
  const auto same = [&](auto quantity) { CHECK(total(unrolled, quantity) == Approx(total(plain, quantity)).epsilon(1e-9)); };
  same([](const sim::Op& op) { return op.flops.at(8); });
  same([](const sim::Op& op) { return op.bytes.at(8); });
  for (const sim::Edge& e : unrolled.edges) REQUIRE(e.bytes.at(1) > 0);
}

TEST_CASE("NMT's attention and softmax fall apart by decoder step", "[unroll]") {
  const sim::OpGraph graph = zoo_graph("nmt", {}, true);
  CHECK(read_by(graph, "attention/query/step7") == std::set<std::string>{"attention/query/parameters", "decoder1/step7"});
  // Scores of one query against the keys of all 30 source positions.
  std::set<std::string> scores{"attention/query/step7"}, context{"attention/step7/softmax"};
  for (int i = 0; i < 30; ++i) scores.insert("attention/key/step" + std::to_string(i));
  for (int i = 0; i < 30; ++i) scores.insert("encoder4/add/step" + std::to_string(i));
  CHECK(read_by(graph, "attention/step7/scores") == scores);
  CHECK(read_by(graph, "classifier/step7") == std::set<std::string>{"classifier/parameters", "decoder4/add/step7"});
  CHECK(read_by(graph, "loss/step7") == std::set<std::string>{"classifier/step7"});
  // Both languages read one table; its gradient comes from both.
  CHECK(read_by(graph, "target/embedding/step7") == std::set<std::string>{"source/embedding/parameters"});
  CHECK(read_by(graph, "source/embedding/update").size() == 2);
}

TEST_CASE("a network that classifies its last step alone", "[unroll]") {
  const Network net = make_network(RnnStructure{.steps = 4, .classes = 3, .classify_every_step = false});
  const sim::OpGraph plain = build_graph(net), graph = build_graph(net, {.unroll = true});
  CHECK(read_by(graph, "classifier") == std::set<std::string>{"recurrent1/step3"});
  CHECK(total(graph, [](auto& op) { return op.flops.at(3); }) == Approx(total(plain, [](auto& op) { return op.flops.at(3); })));
  CHECK(read_by(graph, "recurrent1/step3/gradient").contains("classifier/data_gradient"));
}

TEST_CASE("translation of other lengths and depths", "[unroll]") {
  const TranslationStructure structure{.layers = 2, .hidden = 8, .source_steps = 5, .target_steps = 3, .vocabulary = 50};
  const sim::OpGraph plain = build_graph(make_network(structure)), graph = build_graph(make_network(structure), {.unroll = true});
  CHECK(total(graph, [](auto& op) { return op.flops.at(4); }) == Approx(total(plain, [](auto& op) { return op.flops.at(4); })));
  const std::set<std::string> read = read_by(graph, "attention/step2/scores");
  CHECK(read.contains("attention/key/step4"));
  CHECK(read.contains("encoder2/step4"));
  CHECK(read.contains("attention/query/step2"));
  CHECK(read.size() == 5 + 5 + 1);
  CHECK_THROWS_AS(make_network(TranslationStructure{.layers = 1}), sim::InputError);
}
