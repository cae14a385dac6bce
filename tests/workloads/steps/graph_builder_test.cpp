#include "workloads/steps/graph_builder.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "workloads/layers/account.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;

namespace {

const sim::Op& op(const sim::OpGraph& graph, const std::string& name) {
  const auto found = std::find_if(graph.ops.begin(), graph.ops.end(), [&](const sim::Op& o) { return o.name == name; });
  INFO(name);
  REQUIRE(found != graph.ops.end());
  return *found;
}

std::vector<std::string> names(const sim::OpGraph& graph) {
  std::vector<std::string> result;
  for (const sim::Op& o : graph.ops) result.push_back(o.name);
  return result;
}

double saved_bytes(const sim::OpGraph& graph) {
  double total = 0;
  for (const sim::Op& o : graph.ops) total += o.saved_bytes.per_sample;
  return total;
}

/// 2 x 6 x 6 -> conv1 4 filters 3 x 3 -> 4 x 4 x 4, batch norm, ReLU -> conv2 3 filters 3 x 3 stride 2, padded -> 3 x 2 x 2 -> 5
/// classes
Network tiny() {
  Network net{"tiny", {}};
  net.add("input", Input{{2, 6, 6}});
  net.add("conv1", Conv{4, square(3)});
  net.add("bn", BatchNorm{});
  net.add("relu", Activation{});
  net.add("conv2", Conv{3, square(3, 2, 1), 1, false});
  net.add("flatten", Flatten{});
  net.add("dense", Dense{5});
  net.add("loss", Loss{});
  return net;
}

}  // namespace

TEST_CASE("a tiny network, operation by operation", "[graph]") {
  const sim::OpGraph graph = build_graph(tiny(), {.optimizer = Optimizer::adam, .stored_bytes_per_sample = 77});
  CHECK(names(graph) == std::vector<std::string>{"conv1", "bn", "relu", "conv2", "dense", "loss", "loss/gradient",
                                                 "dense/filter_gradient", "dense/data_gradient", "conv2/filter_gradient",
                                                 "conv2/data_gradient", "relu/gradient", "bn/gradient", "conv1/filter_gradient",
                                                 "conv1/update", "bn/update", "conv2/update", "dense/update"});
  // (2 x 9 + 1) x 4 + 2 x 4 + 4 x 9 x 3 + (12 + 1) x 5
  CHECK(graph.parameters == 76 + 8 + 108 + 65);
  CHECK(graph.input_bytes.at(3) == 3 * 77);

  // conv1, batch 10: M = 10 x 16, N = 4, K = 18; 2 M N K FLOPs; reads 72 numbers a sample and 72 weights, writes 64.
  const sim::Op& conv1 = op(graph, "conv1");
  CHECK(conv1.matrix.m.at(10) == 160);
  CHECK(conv1.matrix.n.at(10) == 4);
  CHECK(conv1.matrix.k.at(10) == 18);
  CHECK(conv1.flops.at(10) == 2.0 * 160 * 4 * 18);
  CHECK(conv1.bytes.at(10) == 4.0 * (72 + 10 * (72 + 64)));
  CHECK(conv1.parameter_bytes == 4 * 76);
  CHECK(conv1.output_bytes.at(10) == 4.0 * 640);

  // Filter gradient: M = filters, N = 18, K = 10 x 16. conv2's data gradient: M = 10 x 16 inputs, N = 4, K = 3 filters x 9 taps
  // of which a stride of 2 leaves 9 x 4 / 16, and as many zeros, which are no FLOPs.
  const sim::Op& filter = op(graph, "conv1/filter_gradient");
  CHECK(filter.matrix.m.at(10) == 4);
  CHECK(filter.matrix.n.at(10) == 18);
  CHECK(filter.matrix.k.at(10) == 160);
  CHECK(filter.flops.at(10) == conv1.flops.at(10));
  CHECK(filter.output_bytes.at(10) == 4 * 76);
  const sim::Op& data = op(graph, "conv2/data_gradient");
  CHECK(data.matrix.m.at(10) == 160);
  CHECK(data.matrix.n.at(10) == 4);
  CHECK(data.matrix.k.at(10) == 2 * 27 * 4.0 / 16);
  CHECK(data.flops.at(10) == op(graph, "conv2").flops.at(10));

  // 64 numbers a sample through batch norm: forward 3 passes, backward 5. Adam reads 4 and writes 3 numbers a parameter.
  CHECK(op(graph, "bn").bytes.at(10) == 4.0 * 3 * 640);
  CHECK(op(graph, "bn/gradient").bytes.at(10) == 4.0 * 5 * 640);
  CHECK(op(graph, "conv1/update").bytes.at(10) == 4.0 * 7 * 76);
  CHECK(account_of(tiny()).multiply_adds == 16.0 * 4 * 18 + 4 * 3 * 36 + 12 * 5);
}

TEST_CASE("what is kept for the backward pass, by hand", "[graph]") {
  const sim::OpGraph graph = build_graph(tiny());
  // The input (72) and conv1's output (64, batch norm's input) by conv1, batch norm's output = ReLU's (64), conv2's (12,
  // the dense layer's input), the loss's probabilities (5).
  CHECK(op(graph, "conv1").saved_bytes.per_sample == 4 * (72 + 64));
  CHECK(op(graph, "bn").saved_bytes.per_sample == 4 * 64);
  CHECK(op(graph, "relu").saved_bytes.per_sample == 0);
  CHECK(op(graph, "conv2").saved_bytes.per_sample == 4 * 12);
  CHECK(op(graph, "dense").saved_bytes.per_sample == 0);
  CHECK(op(graph, "loss").saved_bytes.per_sample == 4 * 5);

  // LSTM of 3 over 7 steps of 2: input 14, output 21, four gates and the cell a step 7 x 15; dropout's mask one byte a number.
  Network net{"lstm", {}};
  net.add("input", Input{{2, 7, 1}});
  net.add("lstm", Recurrent{Cell::lstm, 3});
  net.add("dropout", Dropout{});
  net.add("dense", Dense{2});
  net.add("loss", Loss{});
  CHECK(saved_bytes(build_graph(net)) == 4 * (14 + 21 + 105) + 21 + 4 * 14);
}

TEST_CASE("an LSTM's products", "[graph]") {
  Network net{"lstm", {}};
  net.add("input", Input{{20, 7, 1}});
  net.add("lstm", Recurrent{Cell::lstm, 30, true});
  net.add("loss", Loss{});
  const sim::OpGraph graph = build_graph(net);
  CHECK(graph.parameters == 2 * 4 * 30 * (20 + 30 + 1));
  // Input part of both directions at once: (5 x 7) x 240 x 20. Recurrent: 14 times 5 x 120 x 30.
  const sim::Op& input = op(graph, "lstm/input");
  CHECK(input.flops.at(5) == 2.0 * 35 * 240 * 20);
  const sim::Op& step = op(graph, "lstm");
  CHECK(step.repeats == 14);
  CHECK(step.matrix.m.at(5) == 5);
  CHECK(step.matrix.n.at(5) == 120);
  CHECK(step.matrix.k.at(5) == 30);
  CHECK(step.flops.at(5) == 14 * 2.0 * 5 * 120 * 30);
  CHECK(op(graph, "lstm/gradient").flops.at(5) == step.flops.at(5));
  CHECK(op(graph, "lstm/filter_gradient").flops.at(5) == input.flops.at(5) + step.flops.at(5));
}

TEST_CASE("an LSTM with a projection", "[graph]") {
  Network net{"lstm", {}};
  net.add("input", Input{{20, 7, 1}});
  net.add("lstm", Recurrent{.cell = Cell::lstm, .hidden = 30, .projection = 10});
  net.add("loss", Loss{});
  const sim::OpGraph graph = build_graph(net);
  CHECK(graph.parameters == 4 * 30 * (20 + 10 + 1) + 30 * 10);
  // A step of 5 samples: 5 x 120 x 10 of the state and 5 x 10 x 30 of the projection, as many as 5 x 120 x 12.5.
  const sim::Op& step = op(graph, "lstm");
  CHECK(step.flops.at(5) == 7 * 2.0 * 5 * (120 * 10 + 10 * 30));
  CHECK(step.matrix.k.at(5) == 12.5);
  CHECK(op(graph, "lstm/gradient").flops.at(5) == step.flops.at(5));
  CHECK(op(graph, "lstm/filter_gradient").flops.at(5) == op(graph, "lstm/input").flops.at(5) + step.flops.at(5));
  // Over 7 steps: input 20, output 10, four gates, the cell, and the 30 units that the projection reads; the loss's 10.
  CHECK(saved_bytes(graph) == 4 * 7 * (20 + 10 + 120 + 30 + 30 + 10));
}

TEST_CASE("gradients of a layer with two readers are summed; a detached one gets none", "[graph]") {
  Network net{"net", {}};
  net.add("input", Input{{4, 1, 1}});
  const int stem = net.add("stem", Dense{4});
  const int branch = net.add("branch", Dense{4});
  net.add("add", Add{}, {stem, branch});
  net.add("loss", Loss{});
  net.add("detach", Detach{}, {branch});
  net.add("aside", Dense{4});
  net.add("aside/loss", Loss{});
  const sim::OpGraph graph = build_graph(net);
  const std::vector<std::string> ops = names(graph);
  CHECK(std::count(ops.begin(), ops.end(), "stem/gradient_sum") == 1);
  CHECK(std::count(ops.begin(), ops.end(), "branch/gradient_sum") == 0);
  CHECK(std::count(ops.begin(), ops.end(), "aside/data_gradient") == 0);
  CHECK(std::count(ops.begin(), ops.end(), "aside/filter_gradient") == 1);
}

TEST_CASE("layers that move numbers or multiply two inputs, by hand", "[graph]") {
  // 2 x 4 x 6, its left half, and that gated by its means over the height; the same numbers turned, and a product of both.
  Network net{"moves", {}};
  const int conv = net.add("conv", Conv{2, square(1)}, {net.add("input", Input{{2, 4, 6}})});
  const int half = net.add("half", Slice{{2, 4, 3}}, {conv});
  const int means = net.add("means", Reduce{{2, 1, 3}}, {half});
  const int gated = net.add("gated", Multiply{}, {half, means});
  const int shifted = net.add("shifted", Add{}, {gated, means});
  const int turned = net.add("turned", Rearrange{{2, 3, 4}, true}, {half});
  const int product = net.add("product", MatrixProduct{}, {shifted, turned});  // (2, 4, 3) by (2, 3, 4): 2 x 4 x 4
  const int again = net.add("again", Rearrange{{4, 4, 2}}, {product});
  const int larger = net.add("larger", Resize{{4, 4, 6}}, {again});
  net.add("both", Concat{Axis::width}, {larger, again});
  net.add("flatten", Flatten{});
  net.add("loss", Loss{});
  const sim::OpGraph graph = build_graph(net, {});
  const auto bytes = [&](const std::string& name) { return op(graph, name).bytes.at(1) / 4; };
  CHECK(bytes("half") == 24 + 24);           // 24 of 48 numbers are read and written
  CHECK(bytes("half/gradient") == 24 + 48);  // and the gradient of all 48 is
  CHECK(bytes("means") == 24 + 6);
  CHECK(bytes("means/gradient") == 6 + 24);
  CHECK(bytes("gated") == 24 + 6 + 24);
  CHECK(bytes("gated/gradient") == 24 + 6 + 24 + 24 + 24 + 6);  // gradient and other input, written; for each input
  CHECK(bytes("shifted") == 24 + 6 + 24);
  CHECK(bytes("shifted/gradient") == 24 + 6);
  CHECK(bytes("turned") == 48);
  CHECK(bytes("turned/gradient") == 48);
  CHECK(bytes("product") == 24 + 24 + 32);
  CHECK(op(graph, "product").flops.at(1) == 2.0 * 2 * 4 * 4 * 3);
  CHECK(op(graph, "product/left_gradient").flops.at(1) == 2.0 * 2 * 4 * 3 * 4);
  CHECK(op(graph, "product/right_gradient").flops.at(1) == 2.0 * 2 * 3 * 4 * 4);
  CHECK(bytes("larger") == 32 + 96);
  CHECK(bytes("both") == 2 * 128);
  const std::vector<std::string> all = names(graph);
  CHECK(std::count(all.begin(), all.end(), "again") == 0);  // the same memory
  // 2 (2 + 1) weights; 4 x 6 positions of 2 x 2, and the product's 96
  CHECK(graph.parameters == 6);
  CHECK(account_of(net).multiply_adds == 24 * 4 + 96);
}

TEST_CASE("a dilated convolution has the taps of a plain one, and no transformed form", "[graph]") {
  Network net{"dilated", {}};
  net.add("input", Input{{2, 8, 8}});
  net.add("plain", Conv{3, square(3, 1, 1)});
  net.add("dilated", Conv{3, {3, 3, 1, 1, 2, 2, 2, 2}});
  net.add("flatten", Flatten{});
  net.add("loss", Loss{});
  const sim::OpGraph graph = build_graph(net, {});
  CHECK(op(graph, "dilated").flops.at(1) == 2.0 * 64 * 3 * 27);
  CHECK(op(graph, "plain").flops.at(1) == 2.0 * 64 * 3 * 18);
  CHECK_FALSE(op(graph, "plain").fast_forms.empty());
  CHECK(op(graph, "dilated").fast_forms.empty());
  CHECK(op(graph, "dilated").workspace_bytes.at(1) == 0);
}

TEST_CASE("shared parameters are counted and updated once", "[graph]") {
  Network net{"net", {}};
  net.add("tokens", Input{{1, 6, 1}});
  const int table = net.add("table", Embedding{100, 8});
  net.add("classifier", Dense{100, false});
  net.layers.back().shares = table;
  net.add("loss", Loss{});
  const sim::OpGraph graph = build_graph(net);
  CHECK(graph.parameters == 800);
  const std::vector<std::string> ops = names(graph);
  CHECK(std::count(ops.begin(), ops.end(), "table/update") == 1);
  CHECK(std::count(ops.begin(), ops.end(), "classifier/update") == 0);
  int gradients = 0;
  for (const sim::Edge& e : graph.edges) gradients += graph.ops[e.to].name == "table/update";
  CHECK(gradients == 2);
}

TEST_CASE("every zoo graph is in order, connected and finite", "[graph]") {
  for (const ZooEntry& entry : zoo()) {
    INFO(entry.name);
    const sim::OpGraph graph = zoo_graph(entry.name);
    double parameter_bytes = 0;
    std::vector<int> in(graph.ops.size()), out(graph.ops.size());
    for (const sim::Edge& e : graph.edges) {
      REQUIRE(e.from < e.to);
      REQUIRE(e.bytes.at(1) > 0);
      ++in[e.to];
      ++out[e.from];
    }
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      const sim::Op& o = graph.ops[i];
      INFO(o.name);
      parameter_bytes += o.parameter_bytes;
      CHECK(o.bytes.at(1) > 0);
      if (o.phase != sim::Phase::forward) CHECK(in[i] > 0);
      if (o.phase == sim::Phase::forward) CHECK(out[i] > 0);
      if (o.phase == sim::Phase::update) CHECK(out[i] == 0);
    }
    CHECK(parameter_bytes == 4 * graph.parameters);
  }
}
