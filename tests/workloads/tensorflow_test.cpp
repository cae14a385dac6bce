// TensorFlow's operations against the layers that they come from, and counted by hand.
#include "workloads/tensorflow/tensorflow.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "sim/base/errors.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;

namespace {

using sim::Phase;

int count(const TensorFlowGraph& made, int layer, int step, Phase phase) {
  return static_cast<int>(std::count_if(made.graph.ops.begin(), made.graph.ops.end(), [&](const sim::Op& op) {
    return op.layer == layer && op.step == step && op.phase == phase;
  }));
}

double flops(const sim::OpGraph& graph) {
  double sum = 0;
  for (const sim::Op& op : graph.ops) sum += op.flops.at(7);
  return sum;
}

/// Of matrix products alone: the rest is shared out.
double product_flops(const sim::OpGraph& graph) {
  double sum = 0;
  for (const sim::Op& op : graph.ops)
    if (op.matrix.m.at(1) > 0) sum += op.flops.at(7);
  return sum;
}

/// What forward operations of a layer hand to those of other layers, each size once an operation.
std::map<int, double> handed_on(const sim::OpGraph& graph) {
  std::map<int, std::map<int, double>> of_op;
  for (const sim::Edge& edge : graph.edges) {
    const sim::Op &from = graph.ops[static_cast<std::size_t>(edge.from)], &to = graph.ops[static_cast<std::size_t>(edge.to)];
    if (from.phase != Phase::forward || to.phase != Phase::forward || from.layer == to.layer || edge.bytes.per_sample == 0)
      continue;
    double& bytes = of_op[from.layer][edge.from];
    bytes = std::max(bytes, edge.bytes.at(1));
  }
  std::map<int, double> sums;
  for (const auto& [layer, ops] : of_op)
    for (const auto& [op, bytes] : ops) sums[layer] += bytes;
  return sums;
}

void check_against_layers(const Network& network, const TensorFlowOptions& options = {}) {
  INFO(network.name);
  const TensorFlowGraph made = build_tensorflow_graph(network, options);
  const sim::OpGraph layers = build_graph(network, {.optimizer = options.optimizer, .unroll = true});
  CHECK(made.graph.parameters == layers.parameters);
  CHECK(product_flops(made.graph) == Approx(product_flops(layers)).epsilon(1e-12));
  CHECK(flops(made.graph) == Approx(flops(layers)).epsilon(1e-12));
  CHECK(made.facts.size() == made.graph.ops.size());
  for (const sim::Edge& edge : made.graph.edges) REQUIRE(edge.from < edge.to);  // so there is no circle
  const auto updates = std::count_if(made.graph.ops.begin(), made.graph.ops.end(),
                                     [](const sim::Op& op) { return op.kind == sim::OpKind::update; });
  CHECK(updates == made.variables);
}

Network lstm_of_three_steps() {
  Network net{"lstm", {}};
  net.add("tokens", Input{{1, 3, 1}});
  net.add("embedding", Embedding{10, 2});
  net.add("lstm", Recurrent{Cell::lstm, 4});
  net.add("loss", Loss{});
  return net;
}

}  // namespace

TEST_CASE("a dense layer and its loss, counted by hand", "[tensorflow]") {
  Network net{"dense", {}};
  net.add("input", Input{{3, 1, 1}});
  net.add("dense", Dense{2});
  net.add("loss", Loss{});
  const TensorFlowGraph made = build_tensorflow_graph(net, {.optimizer = Optimizer::sgd});
  // Forward: two variables with their reads, MatMul, BiasAdd.
  CHECK(count(made, 1, 0, Phase::forward) == 2 * 2 + 2);
  // BiasAddGrad, the barrier and two identities behind it; one MatMul, as nobody wants the input's gradient.
  CHECK(count(made, 1, 0, Phase::backward) == 4 + 1);
  CHECK(count(made, 1, 0, Phase::update) == 2);
  // Labels, Shape, cross entropy; the axes and Mean; `ones`.
  CHECK(count(made, 2, 0, Phase::forward) == 3 + 2 + 1);
  // Mean: 14 operations of shapes, Reshape, Tile, 10 of shapes, truediv. Cross entropy: PreventGradient, two of ExpandDims, mul.
  CHECK(count(made, 2, 0, Phase::backward) == 27 + 4);
  CHECK(made.variables == 2);
  // Initialisers: 7 of random numbers, 2 of a constant; 4 each of the saver.
  CHECK(made.outside_step == 7 + 2 + 2 * 4);
}

TEST_CASE("one step of an LSTM cell, counted by hand", "[tensorflow]") {
  const TensorFlowGraph made = build_tensorflow_graph(lstm_of_three_steps(), {.optimizer = Optimizer::sgd});
  // axis, ConcatV2, MatMul, BiasAdd, split_dim, Split; forget bias and Add; 3 Sigmoid, 2 Tanh, 3 Mul, Add.
  CHECK(count(made, 2, 1, Phase::forward) == 6 + 2 + 3 + 2 + 3 + 1);
  // 3 Mul of 12 each (two shapes, their arguments, 3 for each input, the barrier, 2 identities); Add of 10; that of the forget
  // bias of 9, as nobody reads the constant's; 3 SigmoidGrad, 2 TanhGrad; AddN of state and of output; ConcatV2 of the gates;
  // BiasAdd of 4, MatMul of 5, ConcatV2 of 4 + 2 Slice + 3.
  CHECK(count(made, 2, 1, Phase::backward) == 3 * 12 + 10 + 9 + 3 + 2 + 2 + 1 + 4 + 5 + 9);
  CHECK(count(made, 2, 0, Phase::update) == 2);  // of weights and biases, for all steps
  check_against_layers(lstm_of_three_steps());
}

TEST_CASE("the projection of an LSTM is a product more a step", "[tensorflow]") {
  Network net = lstm_of_three_steps();
  std::get<Recurrent>(net.layers[2].spec).projection = 3;
  const TensorFlowGraph made = build_tensorflow_graph(net, {.optimizer = Optimizer::sgd});
  CHECK(count(made, 2, 1, Phase::forward) == 6 + 2 + 3 + 2 + 3 + 1 + 1);
  CHECK(count(made, 2, 0, Phase::update) == 3);
  check_against_layers(net);
}

TEST_CASE("a convolution with batch norm, counted by hand", "[tensorflow]") {
  Network net{"conv", {}};
  net.add("input", Input{{2, 4, 4}});
  net.add("conv", Conv{3, same(3, 3), 1, false});
  net.add("bn", BatchNorm{});
  net.add("loss", Loss{});
  const TensorFlowGraph made = build_tensorflow_graph(net, {.optimizer = Optimizer::sgd});
  CHECK(count(made, 1, 0, Phase::forward) == 2 + 3);   // the variable; Shape, dilation_rate, Conv2D
  CHECK(count(made, 1, 0, Phase::backward) == 1 + 3);  // AddN of what three readers send; two Shapes, Conv2DBackpropFilter
  // gamma and beta; 2 Mean with axes, StopGradient, SquaredDifference, 2 Squeeze with shapes; 2 running means of 6; epsilon, Add,
  // Rsqrt; 3 Mul, Sub, Add.
  CHECK(count(made, 2, 0, Phase::forward) == 4 + 4 + 1 + 1 + 4 + 12 + 3 + 5);
  // Add 10, Sub 11, 3 Mul of 12, AddN of the scale, RsqrtGrad, epsilon's Add 9, 2 Squeeze of 2, 2 Mean of 27,
  // SquaredDifference 14.
  CHECK(count(made, 2, 0, Phase::backward) == 10 + 11 + 3 * 12 + 1 + 1 + 9 + 2 * 2 + 2 * 27 + 14);
  CHECK(count(made, 2, 0, Phase::update) == 2);
  check_against_layers(net);
}

TEST_CASE("every model of the zoo has its layers' arithmetic and parameters, and one update a variable", "[tensorflow]") {
  for (const ZooEntry& entry : zoo()) {
    if (entry.name == "deepspeech2") continue;  // its cells are those of the random chains below
    check_against_layers(entry.build(dataset(entry.dataset)), {.optimizer = entry.optimizer});
  }
}

TEST_CASE("random chains of layers keep their arithmetic", "[tensorflow]") {
  rc::prop("in TensorFlow's operations", [] {
    Network net{"random", {}};
    const int steps = *rc::gen::inRange(1, 5);
    net.add("tokens", Input{{1, steps, 1}});
    net.add("embedding", Embedding{*rc::gen::inRange(2, 9), *rc::gen::inRange(1, 6)});
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
      const std::string name = "layer" + std::to_string(i);
      const Cell cell = *rc::gen::element(Cell::vanilla, Cell::gru, Cell::lstm);
      switch (*rc::gen::inRange(0, 4)) {
        case 0:
          net.add(name, Dense{*rc::gen::inRange(1, 6), *rc::gen::arbitrary<bool>()});
          break;
        case 1:
          net.add(name, Recurrent{cell, *rc::gen::inRange(1, 5), *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<bool>()});
          break;
        case 2:
          net.add(name, Dropout{});
          break;
        default:
          net.add(name, Activation{});
      }
    }
    net.add("loss", Loss{});
    check_against_layers(net, {.optimizer = *rc::gen::element(Optimizer::sgd, Optimizer::momentum, Optimizer::adam)});
  });
}

TEST_CASE("layers hand on what they do in the graph of layers", "[tensorflow]") {
  std::vector<Network> networks{language_model({.hidden = 8, .steps = 5, .vocabulary = 20, .dropout = true}),
                                translation_model({.layers = 3, .hidden = 8, .steps = 5, .vocabulary = 20})};
  for (const char* model : {"vgg16", "resnet18", "inception-v3", "bert"})
    networks.push_back(zoo_entry(model).build(dataset(zoo_entry(model).dataset)));
  for (const Network& network : networks) {
    INFO(network.name);
    const std::map<int, double> made = handed_on(build_tensorflow_graph(network, {}).graph);
    const std::map<int, double> layers = handed_on(build_graph(network, {.unroll = true}));
    for (const auto& [layer, bytes] : layers) {
      INFO(network.layers[static_cast<std::size_t>(layer)].name);
      CHECK(made.at(layer) == Approx(bytes).epsilon(1e-12));
    }
  }
}

TEST_CASE("the paper's models have about the paper's operations, in sizes that are assumed", "[tensorflow]") {
  for (const char* model : {"rnnlm", "nmt", "inception-v3"}) {
    INFO(model);
    const int operations = tensorflow_graph(model).operations(), paper = paper_counts(model)->operations;
    CHECK(operations > 0.75 * paper);
    CHECK(operations < 1.25 * paper);
  }
  CHECK(paper_counts("vgg16") == nullptr);
  CHECK_THROWS_AS(tensorflow_graph("vgg16", {}, {.layers = 3}), sim::InputError);
  CHECK_THROWS_AS(tensorflow_graph("rnnlm", "ptb"), sim::InputError);
}
