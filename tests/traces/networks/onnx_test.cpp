#include <fmt/format.h>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "sim/base/errors.hpp"
#include "tests/traces/networks/onnx_bytes.hpp"
#include "traces/networks/network_file.hpp"
#include "traces/networks/onnx_graph.hpp"
#include "workloads/layers/account.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/layers/structure.hpp"
#include "workloads/steps/graph_builder.hpp"

using namespace rehearse;
using namespace rehearse::traces;
using namespace onnx_bytes;
using workloads::Network;
using workloads::Shape;

namespace {

bool has_library() { return OnnxModel::newest_opset() > 0; }

Network read(const std::string& graph, int opset = 13) { return read_onnx(model(graph, opset), "m.onnx"); }

std::string refusal(const std::string& file) {
  try {
    (void)read_onnx(file, "m.onnx");
  } catch (const sim::InputError& error) {
    return error.what();
  }
  return "none";
}
std::string said(const std::string& graph, int opset = 13) { return refusal(model(graph, opset)); }

Network own(const std::string& layers) {
  const sim::JsonDocument document = sim::parse_json("{\"name\": \"made\", \"layers\": [" + layers + "]}", "m.json");
  return read_layers(document.root());
}

/// What a step computes and moves, each pass by itself: layers that only give the same numbers another shape are no part of it.
struct Work {
  double parameters = 0, multiply_adds = 0, flops = 0, bytes = 0;
  bool operator==(const Work&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Work& w) {
  return out << w.parameters << " parameters, " << w.multiply_adds << " multiply-adds, " << w.flops << " FLOPs, " << w.bytes
             << " bytes";
}
Work work(const Network& net) {
  const sim::OpGraph graph = build_graph(net, {});
  Work w{graph.parameters, account_of(net).multiply_adds};
  for (const sim::Op& op : graph.ops) {
    w.flops += op.flops.at(64);
    w.bytes += op.bytes.at(64);
  }
  return w;
}

/// Of what the loss reads.
Shape output_of(const Network& net) {
  for (std::size_t i = 0; i < net.layers.size(); ++i)
    if (std::holds_alternative<workloads::Loss>(net.layers[i].spec))
      return infer_shapes(net)[static_cast<std::size_t>(net.layers[i].inputs.at(0))];
  return {};
}

Network file(const std::string& name) {
  return read_network(REHEARSE_SOURCE_DIR "/tests/traces/networks/onnx/" + name + ".onnx.gz");
}

}  // namespace

TEST_CASE("files of exporters have the weights and multiply-adds of their operations, by hand", "[onnx]") {
  if (!has_library()) return;
  struct Case {
    const char* name;
    double weights, multiply_adds;
    Shape output;
  };
  const Case cases[] = {
      // LSTM of 256 on 35 steps of 128: 4 x 256 (128 + 256) weights, and as many multiply-adds a step
      {"a1_lstm_seq_first", 393216, 393216. * 35, {256, 35, 1}},
      {"a6_reshape_seq", 393216, 393216. * 35, {256, 35, 1}},
      // 240 x 24, 240 x 9, 240 x 80 weights at 28 x 28 positions
      {"a5_shuffle", 5760 + 2160 + 19200, 27120. * 784, {240, 28, 28}},
      // 64 x 27 at 64 x 64, 128 x 576 at 32 x 32, 131,072 x 10; 64, 128 and 10 biases
      {"tf2onnx_cnn", 1728 + 73728 + 1310720, 1728. * 4096 + 73728. * 1024 + 1310720, {10, 1, 1}},
      // three matrices of 256 x 256 at 128 steps; 128 x 128 x 256 scores, and as many for the values
      {"attention", 3 * 65536, 3 * 65536. * 128 + 2. * 128 * 128 * 256, {256, 128, 1}},
      // 64 x 147 at 112 x 112, 192 x 576 at 56 x 56: the ceiling of 55.5
      {"ceil", 9408 + 110592, 9408. * 12544 + 110592. * 3136, {192, 56, 56}},
      {"concat_axis2", 36864 + 4096, 36864. * 1024 + 4096. * 2048, {64, 64, 32}},  // 32 rows and 32 more
      {"constant_weight", 36864, 36864. * 1024, {64, 32, 32}},
      {"identity_weight", 36864, 36864. * 1024, {64, 32, 32}},
      {"conv1d", 64 * 16 * 9 + 128 * 64 * 9, 82944. * 16000, {128, 16000, 1}},
      // (16,000 - 10) / 5 + 1 = 3,199 and (3,199 - 8) / 4 + 1 = 798
      {"conv1d_strided", 5120 + 2097152, 5120. * 3199 + 2097152. * 798, {512, 798, 1}},
      // 512 x 32 at 100 columns, an LSTM of 256 on 512 features
      {"crnn", 16384 + 1024 * 768, 16384. * 100 + 786432. * 100, {256, 100, 1}},
      {"layernorm_old", 65536, 65536. * 128, {256, 128, 1}},
      {"matmul_tw", 128 * 256, 128. * 256, {128, 1, 1}},
      {"reducemean_axis", 1728 + 576, 1728. * 1024 + 576. * 1024, {64, 32, 32}},
      // 64 x 27 and 128 x 64 at 32 x 32, 64 x 64 at one position
      {"se", 1728 + 4096 + 8192, 1728. * 1024 + 4096 + 8192. * 1024, {128, 32, 32}},
      {"shape_gather", 432 + 10240, 432. * 64 + 10240, {10, 1, 1}},
      {"split", 4096 + 9216, 4096. * 1024 + 9216. * 1024, {64, 32, 32}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const Network net = file(c.name);
    double weights = 0;
    const std::vector<Shape> shapes = infer_shapes(net);
    for (std::size_t i = 0; i < net.layers.size(); ++i) {
      std::vector<Shape> in;
      for (const int k : net.layers[i].inputs) in.push_back(shapes[static_cast<std::size_t>(k)]);
      weights += workloads::layer_cost(net.layers[i].spec, in, shapes[i]).weights;
    }
    CHECK(weights == c.weights);
    CHECK(work(net).multiply_adds == c.multiply_adds);
    CHECK(output_of(net) == c.output);
  }
  CHECK_THROWS_WITH(file("mismatch"), Catch::Contains("weights for the 3 channels of its input") &&
                                          Catch::Contains("(8, 5, 3, 3)") && Catch::Contains("node \"c0\", a Conv"));
  CHECK_THROWS_WITH(file("dynamic"), Catch::Contains("input \"x\" with sizes that are open: height, width") &&
                                         Catch::Contains("make_dynamic_shape_fixed --dim_param height"));
}

TEST_CASE("files of exporters do the work of the layers that they stand for", "[onnx]") {
  if (!has_library()) return;
  const std::string lstm = R"({"type":"input","channels":128,"height":35}, {"type":"lstm","units":256,"biases":2})";
  CHECK(work(file("a1_lstm_seq_first")) == work(own(lstm)));
  CHECK(work(file("a6_reshape_seq")) == work(own(lstm)));
  CHECK(work(file("a5_shuffle")) == work(own(R"({"type":"input","channels":24,"height":28,"width":28},
    {"type":"conv","filters":240,"kernel":1,"bias":false}, {"type":"conv","filters":240,"pad":1,"groups":240,"bias":false},
    {"type":"conv","filters":240,"kernel":1,"groups":3,"bias":false})")));
  CHECK(work(file("tf2onnx_cnn")) == work(own(R"({"type":"input","channels":3,"height":64,"width":64},
    {"type":"conv","filters":64,"pad":1}, {"type":"relu"}, {"type":"max_pool"}, {"type":"conv","filters":128,"pad":1},
    {"type":"relu"}, {"type":"flatten"}, {"type":"dense","units":10})")));
  CHECK(work(file("ceil")) == work(own(R"({"type":"input","channels":3,"height":224,"width":224},
    {"type":"conv","filters":64,"kernel":7,"stride":2,"pad":3,"bias":false}, {"type":"max_pool","kernel":3,"end":1},
    {"type":"conv","filters":192,"pad":1,"bias":false})")));
}

TEST_CASE("damaged ONNX files are refused or read, and nothing else", "[onnx]") {
  const std::string whole = GENERATE(
      small_onnx(), model(input("x", {0, 6, 4}) + list("s", {-1, 4}) + list("z", {0}) + weight("w", {1, 32, 4}) +
                          weight("wr", {1, 32, 8}) + node("Transpose", {"x"}, "t", integers("perm", {1, 0, 2})) +
                          node_of("LSTM", {"t", "w", "wr"}, {"y", "h", "c"}, integer("hidden_size", 8)) +
                          node("Shape", {"x"}, "n") + node("Slice", {"n", "z", "s"}, "m") + node("Reshape", {"x", "s"}, "r") +
                          node("Concat", {"x", "x"}, "k", integer("axis", 2)) + output("k") + output("h")));
  rc::prop("cut, changed or random bytes", [&] {
    std::string text = *rc::gen::oneOf(rc::gen::just(whole), rc::gen::arbitrary<std::string>());
    if (!text.empty()) text.resize(static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(text.size()) + 1)));
    for (int i = *rc::gen::inRange(0, 4); i > 0 && !text.empty(); --i)
      text[static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(text.size())))] = *rc::gen::arbitrary<char>();
    try {
      (void)read_onnx(text, "x.onnx");
    } catch (const sim::InputError&) {
      RC_SUCCEED("refused");
    }
  });
}

TEST_CASE("each operation of ONNX is the layer of our own that it stands for", "[onnx]") {
  if (!has_library()) return;
  const auto kernel = [](int size) { return integers("kernel_shape", {size, size}); };
  const auto same = [&](const std::string& graph, const std::string& layers, int opset = 13) {
    const Network net = read(graph, opset), other = own(layers);
    CAPTURE(layers_json(net), layers_json(other));
    CHECK(work(net) == work(other));
    CHECK(output_of(net) == output_of(other));
  };
  // Tokens, a table of 100 rows, recurrent layers of each kind; what works on constants alone is no part of a step.
  same(input("t", {0, 5}, 7) + weight("table", {100, 8}) + weight("w", {2, 24, 8}) + weight("v", {1, 12, 12}) +
           weight("u", {1, 3, 4}) + weight("wr", {2, 24, 6}) + weight("vr", {1, 12, 4}) + weight("ur", {1, 3, 3}) +
           weight("k", {3}) + list("one", {1}) + node("Concat", {"one", "one"}, "twice", integer("axis", 0)) +
           node("Gather", {"table", "t"}, "e") + node("Transpose", {"e"}, "s", integers("perm", {1, 0, 2})) +
           node("LSTM", {"s", "w", "wr"}, "l", integer("hidden_size", 6) + text("direction", "bidirectional")) +
           node("Transpose", {"l"}, "m", integers("perm", {0, 2, 1, 3})) + list("flat", {0, 0, -1}) +
           node("Reshape", {"m", "flat"}, "n") + node("GRU", {"n", "v", "vr"}, "g", integer("hidden_size", 4)) +
           node("Squeeze", {"g", "one"}, "q") + node("RNN", {"q", "u", "ur"}, "r", integer("hidden_size", 3)) +
           node("LayerNormalization", {"r", "k", "k"}, "y") + output("y"),
       R"({"type": "input", "channels": 1, "height": 5}, {"type": "embedding", "vocabulary": 100, "units": 8},
          {"type": "lstm", "units": 6, "bidirectional": true, "biases": 0}, {"type": "gru", "units": 4, "biases": 0}, {"type": "vanilla", "units": 3, "biases": 0},
          {"type": "layer_norm"})",
       17);
  // Batch first, as layout says.
  same(input("x", {0, 7, 4}) + weight("w", {1, 12, 4}) +
           node("GRU", {"x", "w", "w"}, "y", integer("hidden_size", 4) + integer("layout", 1)) + output("y"),
       R"({"type": "input", "channels": 4, "height": 7}, {"type": "gru", "units": 4, "biases": 0})", 14);
  // Images: a shortcut, a product with a weight beside it that costs nothing, both halves side by side.
  same(input("x", {0, 4, 8, 8}) + weight("w", {4, 2, 3, 3}) + weight("k", {4}) + weight("ks", {4, 1, 1}) + weight("m", {8, 10}) +
           weight("b", {10}) + node("Conv", {"x", "w"}, "c", kernel(3) + text("auto_pad", "SAME_UPPER") + integer("group", 2)) +
           node("BatchNormalization", {"c", "k", "k", "k", "k"}, "n") + node("Erf", {"n"}, "g") +
           node("Mul", {"g", "ks"}, "scaled") + node("Add", {"scaled", "x"}, "a") +
           node("Concat", {"a", "g"}, "both", integer("axis", 1)) + node("Dropout", {"both"}, "d") +
           node("GlobalAveragePool", {"d"}, "p") + list("s", {0, -1}) + node("Reshape", {"p", "s"}, "f") +
           node("MatMul", {"f", "m"}, "y") + node("Add", {"b", "y"}, "z") + output("z"),
       R"({"type": "input", "name": "input", "channels": 4, "height": 8, "width": 8},
          {"type": "conv", "name": "c", "filters": 4, "pad": 1, "groups": 2, "bias": false}, {"type": "batch_norm"},
          {"type": "relu", "name": "g"}, {"type": "add", "name": "a", "inputs": ["g", "input"]},
          {"type": "concat", "inputs": ["a", "g"]}, {"type": "dropout"}, {"type": "global_pool"}, {"type": "flatten"},
          {"type": "dense", "units": 10})");
  // Windows: dilation, zeros on one side, output padding and groups; a larger image by interpolation, and by zeros.
  same(
      input("x", {0, 4, 9, 8}) + weight("w", {6, 4, 3, 2}) + weight("v", {6, 2, 3, 3}) + weight("b", {4}) +
          list("pads", {0, 0, 1, 0, 0, 0, 0, 2}) + list("sizes", {0, 0, 0, 0}) +
          node("Conv", {"x", "w"}, "c",
               integers("kernel_shape", {3, 2}) + integers("dilations", {2, 1}) + integers("pads", {4, 0, 0, 1})) +
          node("ConvTranspose", {"c", "v"}, "d",
               kernel(3) + integers("strides", {2, 2}) + integers("output_padding", {1, 0}) + integer("group", 2)) +
          node("Pad", {"d", "pads"}, "p") +
          node("AveragePool", {"p"}, "q", kernel(2) + integers("strides", {2, 2}) + integer("ceil_mode", 1)) +
          bytes(5, bytes(1, packed({4})) + number(2, 1) + bytes(8, "scales") +
                       bytes(9, std::string("\0\0\x80\x3f\0\0\x80\x3f\0\0\0\x40\0\0\0\x40", 16))) +
          node("Resize", {"q", "", "scales"}, "y") + node("LRN", {"y"}, "z", integer("size", 3)) + output("z"),
      // (9 - 1) 2 + 3 + 1 = 20 rows of (8 - 1) 2 + 3 = 17; 21 of 19 with the zeros, of which half, rounded up
      R"({"type": "input", "channels": 4, "height": 9, "width": 8}, {"type": "conv", "filters": 6, "kernel": [3, 2], "dilation": [2, 1], "pad": [4, 0], "end": [-4, 1], "bias": false},
          {"type": "transposed_conv", "filters": 4, "stride": 2, "end": [-1, 0], "groups": 2, "bias": false}, {"type": "resize", "channels": 4, "height": 21, "width": 19},
          {"type": "average_pool", "end": 1}, {"type": "upsample"}, {"type": "local_response_norm", "size": 3})");
  // Keras's attention: projections to heads, scores and values as sums over letters.
  same(input("x", {0, 5, 12}) + weight("w", {12, 3, 4}) + weight("b", {3, 4}) + weight("o", {3, 4, 12}) +
           node("Einsum", {"x", "w"}, "p", text("equation", "abc,cde->abde")) + node("Add", {"p", "b"}, "q") +
           node("Einsum", {"q", "q"}, "s", text("equation", "aecd,abcd->acbe")) +
           node("Softmax", {"s"}, "t", integer("axis", -1)) +
           node("Einsum", {"t", "q"}, "v", text("equation", "acbe,aecd->abcd")) +
           node("Einsum", {"v", "o"}, "y", text("equation", "abcd,cde->abe")) + output("y", {0, 5, 12}),
       R"({"type": "input", "channels": 12, "height": 5}, {"type": "dense", "units": 12, "name": "q"},
          {"type": "reshape", "name": "h", "channels": 3, "height": 5, "width": 4}, {"type": "reshape", "name": "k", "channels": 3, "height": 4, "width": 5, "inputs": ["q"]},
          {"type": "product", "inputs": ["h", "k"]}, {"type": "relu", "name": "p"}, {"type": "product", "inputs": ["p", "h"]},
          {"type": "reshape", "channels": 12, "height": 5}, {"type": "dense", "units": 12, "bias": false})");
  // A decoder that begins with the encoder's states.
  same(
      input("x", {5, 0, 4}) + input("z", {3, 0, 4}) + weight("w", {1, 32, 4}) + weight("v", {1, 32, 8}) + weight("b", {1, 64}) +
          node_of("LSTM", {"x", "w", "v", "b"}, {"", "h", "c"}, integer("hidden_size", 8)) +
          node("LSTM", {"z", "w", "v", "b", "", "h", "c"}, "y", integer("hidden_size", 8)) + output("y"),
      R"({"type": "input", "channels": 4, "height": 5}, {"type": "lstm", "units": 8, "biases": 2, "name": "e"}, {"type": "last_step", "name": "h"},
          {"type": "last_step", "name": "c", "inputs": ["e"]}, {"type": "input", "channels": 4, "height": 3, "name": "z"},
          {"type": "lstm", "units": 8, "biases": 2, "inputs": ["z", "h", "c"], "shares": "e"})");
  // Layer normalisation in single operations, with a scale and a shift, as files before opset 17 have it.
  same(input("x", {0, 5, 12}) + weight("g", {12}) + weight("h", {12}) + weight("w", {12, 3}) + scalar("two", 2) + scalar("e", 1) +
           node("ReduceMean", {"x"}, "m", integers("axes", {-1})) + node("Sub", {"x", "m"}, "d") +
           node("Pow", {"d", "two"}, "q") + node("ReduceMean", {"q"}, "v", integers("axes", {-1})) +
           node("Add", {"v", "e"}, "ve") + node("Sqrt", {"ve"}, "r") + node("Div", {"d", "r"}, "n") +
           node("Mul", {"n", "g"}, "s") + node("Add", {"s", "h"}, "y") + node("MatMul", {"y", "w"}, "z") + output("z"),
       R"({"type": "input", "channels": 12, "height": 5}, {"type": "layer_norm"}, {"type": "dense", "units": 3, "bias": false})");
  // One that lacks its second mean is none: a mean, a difference, a square.
  same(
      input("x", {0, 5, 12}) + node("ReduceMean", {"x"}, "m", integers("axes", {-1})) + node("Sub", {"x", "m"}, "d") +
          node("Mul", {"d", "d"}, "y") + output("y"),
      R"({"type": "input", "name": "x", "channels": 12, "height": 5}, {"type": "reduce", "height": 5}, {"type": "add", "name": "d", "inputs": ["x", "reduce2"]},
          {"type": "multiply", "inputs": ["d", "d"]})");
  // Heads written out: (batch, heads, steps, width) by its transpose.
  same(input("x", {0, 5, 12}) + weight("w", {12, 12}) + list("cut", {0, 0, 3, 4}) + list("all", {0, 0, 12}) +
           node("MatMul", {"x", "w"}, "q") + node("Reshape", {"q", "cut"}, "a") +
           node("Transpose", {"a"}, "h", integers("perm", {0, 2, 1, 3})) +
           node("Transpose", {"a"}, "k", integers("perm", {0, 2, 3, 1})) + node("MatMul", {"h", "k"}, "s") +
           node("Softmax", {"s"}, "p", integer("axis", -1)) + node("MatMul", {"p", "h"}, "c") +
           node("Transpose", {"c"}, "o", integers("perm", {0, 2, 1, 3})) + node("Reshape", {"o", "all"}, "r") +
           node("Add", {"r", "x"}, "y") + output("y"),
       R"({"type": "input", "name": "x", "channels": 12, "height": 5}, {"type": "dense", "units": 12, "bias": false, "name": "q"},
          {"type": "reshape", "name": "h", "channels": 3, "height": 5, "width": 4}, {"type": "reshape", "name": "k", "channels": 3, "height": 4, "width": 5, "inputs": ["q"]},
          {"type": "product", "inputs": ["h", "k"]}, {"type": "relu", "name": "p"}, {"type": "product", "inputs": ["p", "h"]},
          {"type": "reshape", "channels": 12, "height": 5, "name": "r"}, {"type": "add", "inputs": ["r", "x"]})");
}

TEST_CASE("what an ONNX file asks for that no layer stands for is told with its node", "[onnx]") {
  if (!has_library()) return;
  const std::string image = input("x", {0, 4, 8, 8}) + weight("w", {4, 4, 3, 3}) + weight("m", {4, 4});
  const std::string conv = node("Conv", {"x", "w"}, "c");
  CHECK_THAT(said(image + bytes(1, bytes(1, "x") + bytes(1, "w") + bytes(3, "bare") + bytes(4, "Conv"))),
             Catch::Contains("layers"));
  CHECK_THAT(said(image + node("Einsum", {"x", "w"}, "y", text("equation", "...a,ab->...b"))),
             Catch::Contains("node \"n_y\", a Einsum"));
  CHECK_THAT(said(image + node("TopK", {"x"}, "y")), Catch::Contains("node \"n_y\", a TopK"));
  CHECK_THAT(said(image + node("QLinearConv", {"x", "w"}, "y") + node("Loop", {"x"}, "z")),
             Catch::Contains("a QLinearConv") && Catch::Contains("a Loop"));
  CHECK_THAT(said(image + node("Conv", {"x", "m"}, "c")), Catch::Contains("node \"n_c\", a Conv"));
  CHECK_THAT(said(image + weight("d", {4, 4, 3, 3, 3, 3}) + node("Conv", {"x", "d"}, "c"), 1),
             Catch::Contains("weights of as many dimensions as the input"));
  CHECK_THAT(said(image + node("Conv", {"x", "nowhere"}, "c")), Catch::Contains("an input among the nodes before it"));
  CHECK_THAT(said(image + node("Conv", {"x", "c"}, "y")), Catch::Contains("an input among the nodes before it"));
  CHECK_THAT(said(image + node("Conv", {"x", "x"}, "c")), Catch::Contains("weights of three or four dimensions"));
  CHECK_THAT(said(image + weight("b", {5}) + node("Conv", {"x", "w", "b"}, "c") + output("c")),
             Catch::Contains("a bias for its 4 filters"));
  CHECK_THAT(said(image + weight("k", {5}) + node("InstanceNormalization", {"x", "k", "k"}, "c") + output("c")),
             Catch::Contains("weights for the 4 channels of its input") && Catch::Contains("weights (5)"));
  CHECK_THAT(said(input("x", {7, 0, 4}) + weight("w", {1, 32, 4}) + weight("u", {1, 32, 9}) +
                  node("LSTM", {"x", "w", "u"}, "l", integer("hidden_size", 8)) + output("l")),
             Catch::Contains("recurrent weights (1, 32, 8)"));
  CHECK_THAT(said(image + node("MatMul", {"x", "m"}, "c")), Catch::Contains("node \"n_c\", a MatMul"));
  CHECK_THAT(said(image + node("MaxPool", {"x"}, "p")), Catch::Contains("kernel_shape"));
  CHECK_THAT(said(image + node_of("MaxPool", {"x"}, {"p", "i"}, integers("kernel_shape", {2, 2})) + output("i")),
             Catch::Contains("no reader of its output \"i\""));
  CHECK_THAT(
      said(input("x", {7, 0, 4}) + weight("w", {1, 32, 5}) + node("LSTM", {"x", "w", "w"}, "l", integer("hidden_size", 8))),
      Catch::Contains("a LSTM"));
  CHECK_THAT(
      said(input("x", {7, 0, 4}) + weight("w", {1, 32, 4}) + node_of("LSTM", {"x", "w", "w"}, {"l"}, integer("hidden_size", 9))),
      Catch::Contains("weights for 4 features and 9 hidden units"));
  // 2^32 + 4 filters are not 4.
  CHECK_THAT(said(image + weight("v", {4294967300, 4, 3, 3}) + node("Conv", {"x", "v"}, "c") + output("c")),
             Catch::Contains("fewer than 2^53 numbers") && Catch::Contains("4294967300"));
  CHECK_THAT(said(image + conv + output("c", {0, 4, 7, 7})), Catch::Contains("value \"c\" of shape (batch, 4, 6, 6)") &&
                                                                 Catch::Contains("the file states for it, (-1, 4, 7, 7)"));
  CHECK_THAT(said(image + node("Concat", {"x", "x"}, "y", integer("axis", 0)) + output("y")),
             Catch::Contains("an axis other than the batch"));
  CHECK_THAT(said(image + node("ReduceMean", {"x"}, "y", integers("axes", {0})) + output("y")),
             Catch::Contains("each sample of the batch"));
  CHECK_THAT(said(input("t", {0, -1}, 7) + weight("e", {9, 4}) + node("Gather", {"e", "t"}, "y")),
             Catch::Contains("sizes that are open: size1") && Catch::Contains("--dim_param size1"));
  CHECK_THAT(
      said(input("x", {0, 7, 4}) + weight("w", {1, 32, 4}) + node("LSTM", {"x", "w", "w"}, "l", integer("hidden_size", 8))),
      Catch::Contains("the batch on the second axis"));
  CHECK_THAT(refusal(""), Catch::Contains("an ONNX model with nodes"));
  CHECK_THAT(refusal("\b\xff"), Catch::Contains("Protocol Buffers"));
}

TEST_CASE("the same network in old and new versions of ONNX's operations", "[onnx]") {
  if (!has_library()) return;
  const Work first = work(read_onnx(small_onnx(), "m.onnx"));
  for (const int opset : {9, 13, 17, 18, 21, 25}) {
    INFO(opset);
    std::string text = small_onnx();
    text.back() = static_cast<char>(opset);  // the version ends the file
    CHECK(work(read_onnx(text, "m.onnx")) == first);
    // Axes, parts and sides were attributes, and became inputs: ReduceMean in 18, Squeeze and ReduceSum in 13, Slice in 10, Pad
    // in 11.
    const auto setting = [&](int since, const std::string& name) {
      return opset >= since ? std::vector<std::string>{"c", name} : std::vector<std::string>{"c"};
    };
    const auto old = [&](int since, const std::string& name, const std::vector<std::int64_t>& values) {
      return opset >= since ? std::string{} : integers(name, values);
    };
    const std::string tail =
        input("x", {0, 4, 10, 10}) + weight("w", {4, 4, 3, 3}) + list("axes", {2, 3}) + list("one", {1}) + list("ends", {3}) +
        list("pads", {0, 0, 0, 0, 0, 0, 0, 2}) + list("parts", {3, 1}) + node("Conv", {"x", "w"}, "c") +
        node("ReduceMean", setting(18, "axes"), "r", old(18, "axes", {2, 3}) + integer("keepdims", 0)) +
        node("ReduceSum", setting(13, "one"), "s", old(13, "axes", {1})) +
        node_of("Split", setting(13, "parts"), {"a", "b"}, integer("axis", 1) + old(13, "split", {3, 1})) +
        node("Slice", opset >= 10 ? std::vector<std::string>{"c", "one", "ends", "one"} : std::vector<std::string>{"c"}, "t",
             old(10, "starts", {1}) + old(10, "ends", {3}) + old(10, "axes", {1})) +
        node("Pad", setting(11, "pads"), "p", old(11, "pads", {0, 0, 0, 0, 0, 0, 0, 2})) + output("r", {0, 4}) +
        output("s", {0, 1, 8, 8}) + output("a", {0, 3, 8, 8}) + output("b", {0, 1, 8, 8}) + output("t", {0, 2, 8, 8}) +
        output("p", {0, 4, 8, 10});
    const Network net = read(tail, opset);
    const std::vector<Shape> shapes = infer_shapes(net);
    std::vector<Shape> ends;
    for (const workloads::Layer& layer : net.layers)
      if (std::holds_alternative<workloads::Loss>(layer.spec)) ends.push_back(shapes[static_cast<std::size_t>(layer.inputs[0])]);
    CHECK(ends == std::vector<Shape>{{4, 1, 1}, {1, 8, 8}, {3, 8, 8}, {1, 8, 8}, {2, 8, 8}, {4, 8, 10}});
  }
  // Operations that libonnx 1.12 does not know: GroupNormalization and Mish of opset 18, Gelu of 20, and one of another domain.
  const std::string recent = input("x", {0, 4, 6, 6}) + weight("k", {4}) +
                             node("GroupNormalization", {"x", "k", "k"}, "n", integer("num_groups", 2)) +
                             node("Mish", {"n"}, "m") + node("Gelu", {"m"}, "g") +
                             node("FastGelu", {"g"}, "y", bytes(7, "com.microsoft")) + output("y", {0, 4, 6, 6});
  CHECK(work(read(recent, 20)) == work(own(R"({"type": "input", "channels": 4, "height": 6, "width": 6}, {"type": "batch_norm"},
    {"type": "relu"}, {"type": "gelu"}, {"type": "gelu"})")));
  CHECK_THAT(said(input("x", {0, 4}) + node("Attention", {"x", "x", "x"}, "y"), 23),
             Catch::Contains("node \"n_y\", a Attention"));
  CHECK_THAT(said(input("x", {0, 4}) + node("Relu", {"x"}, "y", bytes(7, "own.ops"))), Catch::Contains("a own.ops.Relu"));
}

TEST_CASE("every output of a recurrent operation is read as what it is", "[onnx]") {
  if (!has_library()) return;
  rc::prop("heads behind Y, Y_h and Y_c", [] {
    const auto cell = *rc::gen::element<std::string>("LSTM", "GRU", "RNN");
    const bool both = *rc::gen::arbitrary<bool>(), open = *rc::gen::arbitrary<bool>();
    const int gates = cell == "LSTM" ? 4 : cell == "GRU" ? 3 : 1, ways = both ? 2 : 1;
    const int steps = *rc::gen::inRange(2, 6), features = *rc::gen::inRange(1, 5), hidden = *rc::gen::inRange(1, 5);
    const int states = cell == "LSTM" ? 2 : 1;
    const bool read_all = *rc::gen::arbitrary<bool>(), read_last = *rc::gen::arbitrary<bool>(),
               read_cell = states == 2 && *rc::gen::arbitrary<bool>();
    RC_PRE(read_all || read_last || read_cell);
    std::string graph =
        input("x", {steps, open ? 0 : 1, features}) + weight("w", {ways, gates * hidden, features}) +
        weight("u", {ways, gates * hidden, hidden}) +
        node_of(cell, {"x", "w", "u"}, states == 2 ? std::vector<std::string>{"y", "h", "c"} : std::vector<std::string>{"y", "h"},
                integer("hidden_size", hidden) + text("direction", both ? "bidirectional" : "forward"));
    double expected = ways * gates * hidden * (features + hidden) * steps;
    const auto head = [&](const std::string& from, int units) {
      const std::string name = "head_" + from;
      graph += weight(name + "w", {hidden, units}) + node("MatMul", {from, name + "w"}, name) + output(name);
    };
    if (read_all) head("y", 3), expected += 3.0 * hidden * ways * steps;
    if (read_last) head("h", 5), expected += 5.0 * hidden * ways;
    if (read_cell) head("c", 7), expected += 7.0 * hidden * ways;
    const Network net = read(graph);
    RC_ASSERT(work(net).multiply_adds == expected);
    RC_ASSERT(std::ranges::count_if(net.layers, [](const workloads::Layer& l) {
                return std::holds_alternative<workloads::Loss>(l.spec);
              }) == read_all + read_last + read_cell);
  });
}

namespace {

/// A graph that moves one tensor about, with the shape that it has then, by a rule of the test's own.
struct Chain {
  std::string graph;
  std::vector<std::int64_t> sizes;  ///< 0: the batch
  int count = 0;
  bool open = true;

  std::string now() const { return fmt::format("v{}", count); }
  std::int64_t size(std::size_t k) const { return sizes[k] == 0 && !open ? 1 : sizes[k]; }
  void next(const std::string& type, std::vector<std::string> more, const std::string& attributes, std::vector<std::int64_t> to) {
    std::vector<std::string> inputs{now()};
    inputs.insert(inputs.end(), more.begin(), more.end());
    ++count;
    graph += node(type, inputs, now(), attributes);
    sizes = std::move(to);
  }
  std::size_t batch() const { return static_cast<std::size_t>(std::ranges::find(sizes, 0) - sizes.begin()); }
  /// An axis besides the batch.
  std::size_t axis() const {
    const auto drawn = static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(sizes.size()) - 1));
    return drawn < batch() ? drawn : drawn + 1;
  }

  void transpose() {
    std::vector<std::int64_t> order(sizes.size()), to;
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t k = order.size(); k > 1; --k)
      std::swap(order[k - 1], order[static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(k)))]);
    for (const std::int64_t from : order) to.push_back(sizes[static_cast<std::size_t>(from)]);
    next("Transpose", {}, integers("perm", order), to);
  }
  /// Two neighbours that are no batch become one, or one becomes two.
  void reshape() {
    std::vector<std::int64_t> to = sizes;
    const std::size_t at = axis();
    if (*rc::gen::arbitrary<bool>() && at + 1 < to.size() && to[at + 1] != 0) {
      to[at] *= to[at + 1];
      to.erase(to.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    } else if (to.size() < 6) {
      const std::int64_t part = to[at] % 2 == 0 ? 2 : 1;
      to[at] /= part;
      to.insert(to.begin() + static_cast<std::ptrdiff_t>(at), part);
    }
    std::vector<std::int64_t> wanted = to;
    for (std::int64_t& one : wanted)
      if (one == 0) one = -1;
    const std::string name = now() + "s";
    graph += list(name, wanted);
    next("Reshape", {name}, {}, to);
  }
  void take(bool split) {
    const std::size_t at = axis();
    if (sizes[at] < 2) return;
    std::vector<std::int64_t> to = sizes;
    const std::int64_t kept = *rc::gen::inRange<std::int64_t>(1, sizes[at]);
    const std::string name = now();
    if (split) {
      graph += list(name + "p", {kept, sizes[at] - kept});
      ++count;
      graph += node_of("Split", {name, name + "p"}, {now(), name + "rest"}, integer("axis", static_cast<std::int64_t>(at)));
      to[at] = kept;
      sizes = to;
      return;
    }
    graph +=
        list(name + "b", {-kept}) + list(name + "e", {std::int64_t{1} << 40}) + list(name + "x", {static_cast<std::int64_t>(at)});
    to[at] = kept;
    next("Slice", {name + "b", name + "e", name + "x"}, {}, to);
  }
  void concat() {
    const std::size_t at = axis();
    if (sizes[at] > 100) return;
    std::vector<std::int64_t> to = sizes;
    to[at] *= 2;
    next("Concat", {now()}, integer("axis", static_cast<std::int64_t>(at)), to);
  }
  void reduce() {
    const std::size_t at = axis();
    if (sizes.size() < 3) return;
    std::vector<std::int64_t> to = sizes;
    const bool keep = *rc::gen::arbitrary<bool>();
    if (keep)
      to[at] = 1;
    else
      to.erase(to.begin() + static_cast<std::ptrdiff_t>(at));
    next("ReduceMax", {},
         integers("axes", {static_cast<std::int64_t>(at) - static_cast<std::int64_t>(sizes.size())}) + integer("keepdims", keep),
         to);
  }
};

}  // namespace

TEST_CASE("tensors that are turned, cut, joined and summed keep the shape that ONNX gives them", "[onnx]") {
  if (!has_library()) return;
  rc::prop("chains of operations", [] {
    Chain chain{.graph = "", .sizes = {0, 2 * *rc::gen::inRange(1, 5), 2 * *rc::gen::inRange(1, 4), *rc::gen::inRange(1, 7)}};
    chain.open = *rc::gen::arbitrary<bool>();
    std::vector<std::int64_t> first = chain.sizes;
    if (!chain.open) first[0] = 1;
    chain.graph = input("v0", first);
    for (int k = *rc::gen::inRange(1, 12); k > 0; --k) {
      switch (*rc::gen::inRange(0, 6)) {
        case 0:
          chain.transpose();
          break;
        case 1:
          chain.reshape();
          break;
        case 2:
          chain.take(true);
          break;
        case 3:
          chain.take(false);
          break;
        case 4:
          chain.concat();
          break;
        default:
          chain.reduce();
      }
    }
    ++chain.count;
    chain.graph += node("Relu", {fmt::format("v{}", chain.count - 1)}, chain.now());
    std::vector<std::int64_t> last = chain.sizes;
    double numbers = 1;
    for (std::int64_t& size : last) {
      numbers *= size == 0 ? 1.0 : static_cast<double>(size);
      if (size == 0 && !chain.open) size = 1;
    }
    // A wrong shape anywhere contradicts the output's.
    const Network net = read(chain.graph + output(chain.now(), last));
    RC_ASSERT(output_of(net).elements() == numbers);
  });
}

TEST_CASE("our own shape rules are the library's", "[onnx]") {
  if (!has_library()) return;
  rc::prop("nodes of versions that it knows", [] {
    std::vector<std::int64_t> sizes;
    for (int k = *rc::gen::inRange(1, 5); k > 0; --k) sizes.push_back(*rc::gen::inRange(1, 9));
    const auto rank = static_cast<std::int64_t>(sizes.size());
    const std::int64_t axis = *rc::gen::inRange<std::int64_t>(-rank, rank);
    std::string type = *rc::gen::element<std::string>("ReduceMean", "Split", "Pad", "Slice", "Softmax", "Mul");
    std::string graph = input("x", sizes), attributes;
    std::vector<std::string> inputs{"x"}, outputs{"y"};
    const std::int64_t side = sizes[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
    if (type == "ReduceMean") {
      if (*rc::gen::arbitrary<bool>()) attributes = integers("axes", {axis});
      attributes += integer("keepdims", *rc::gen::inRange(0, 2));
    } else if (type == "Split") {
      RC_PRE(side > 1);
      outputs = {"y", "z"};
      attributes = integer("axis", axis);
      graph += list("parts", {1, side - 1});
      inputs.push_back("parts");
    } else if (type == "Pad") {
      std::vector<std::int64_t> pads;
      for (std::int64_t k = 0; k < 2 * rank; ++k) pads.push_back(*rc::gen::inRange(0, 4));
      graph += list("pads", pads);
      inputs.push_back("pads");
    } else if (type == "Slice") {
      const std::int64_t step = *rc::gen::element<std::int64_t>(-3, -1, 1, 2);
      graph += list("from", {*rc::gen::inRange<std::int64_t>(-12, 12)}) + list("to", {*rc::gen::inRange<std::int64_t>(-12, 12)}) +
               list("axis", {axis}) + list("step", {step});
      inputs.insert(inputs.end(), {"from", "to", "axis", "step"});
    } else if (type == "Mul") {
      std::vector<std::int64_t> other = sizes;
      for (std::int64_t& one : other)
        if (*rc::gen::arbitrary<bool>()) one = 1;
      if (*rc::gen::arbitrary<bool>()) other.erase(other.begin());
      graph += weight("w", other);
      inputs.push_back("w");
    }
    const OnnxModel made(model(graph + node_of(type, inputs, outputs, attributes), 13), "m.onnx");
    std::map<std::string, OnnxValue> values = made.graph().values;
    values["x"] = {.shape = sizes, .type = 1};
    const auto own_shapes = onnx_shapes(made.graph().nodes[0], values);
    RC_ASSERT(own_shapes.has_value());
    const std::vector<OnnxValue> theirs = made.infer(0, values);
    for (std::size_t k = 0; k < theirs.size(); ++k) {
      if (!theirs[k].shape) RC_SUCCEED("the library does not say");
      RC_ASSERT((*own_shapes)[k] == *theirs[k].shape);
    }
  });
}

TEST_CASE("what exporters write to find a shape is computed", "[onnx]") {
  if (!has_library()) return;
  const std::string image =
      input("x", {0, 4, 6, 6}) + scalar("zero", 0) + list("first", {0}) + list("rest", {-1}) + weight("w", {10, 144});
  // PyTorch: x.view(x.size(0), -1)
  const std::string flat = node("Shape", {"x"}, "s") + node("Gather", {"s", "zero"}, "n", integer("axis", 0)) +
                           node("Unsqueeze", {"n", "first"}, "u") + node("Concat", {"u", "rest"}, "to", integer("axis", 0)) +
                           node("Reshape", {"x", "to"}, "f");
  CHECK(output_of(read(image + flat + node("Gemm", {"f", "w"}, "y", integer("transB", 1)) + output("y"))) == Shape{10, 1, 1});
  // tf2onnx: a slice of the shape, a product of the others, cast and joined
  const std::string product = node("Shape", {"x"}, "s") + list("one", {1}) + list("four", {4}) +
                              node("Slice", {"s", "one", "four"}, "sides") +
                              node("ReduceProd", {"sides"}, "all", integer("keepdims", 1)) +
                              node("Slice", {"s", "first", "one"}, "batch") + node("Cast", {"batch"}, "b", integer("to", 7)) +
                              node("Concat", {"b", "all"}, "to", integer("axis", 0)) + node("Reshape", {"x", "to"}, "f");
  CHECK(output_of(read(image + product + node("Gemm", {"f", "w"}, "y", integer("transB", 1)) + output("y"))) == Shape{10, 1, 1});
  // Steps folded into the batch, and out of it again: 6 products a sample.
  const std::string folded = input("x", {0, 6, 4}) + weight("w", {4, 3}) + list("to", {-1, 4}) + list("back", {-1, 6, 3}) +
                             node("Reshape", {"x", "to"}, "f") + node("MatMul", {"f", "w"}, "m") +
                             node("Reshape", {"m", "back"}, "y") + output("y", {0, 6, 3});
  CHECK(work(read(folded)).multiply_adds == 6 * 4 * 3);
  CHECK(output_of(read(folded)) == Shape{3, 6, 1});
  // A file that is exported with one sample, its batch renamed later: sizes of one sample stand in it.
  const std::string baked = image + list("to", {1, 144}) + node("Reshape", {"x", "to"}, "f") +
                            node("Gemm", {"f", "w"}, "y", integer("transB", 1)) + output("y");
  CHECK(output_of(read(baked)) == Shape{10, 1, 1});
  // Weights of a file beside it are known by their shape.
  const std::string outside = bytes(5, bytes(1, packed({10, 144})) + number(2, 1) + bytes(8, "v") +
                                           bytes(13, bytes(1, "location") + bytes(2, "v.bin")) + number(14, 1));
  CHECK(work(read(image + outside + flat + node("Gemm", {"f", "v"}, "y", integer("transB", 1)) + output("y"))).multiply_adds ==
        1440);
}

TEST_CASE("weights that several operations read are one layer's", "[onnx]") {
  if (!has_library()) return;
  const Network net =
      read(input("a", {0, 8}) + input("b", {0, 8}) + weight("w", {8, 5}) + weight("k", {5}) + node("Gemm", {"a", "w", "k"}, "p") +
           node("Gemm", {"b", "w", "k"}, "q") + node("Concat", {"p", "q"}, "y", integer("axis", 1)) + output("y"));
  CHECK(work(net).parameters == 45);  // 8 x 5 + 5, once
  CHECK(work(net).multiply_adds == 80);
  // An embedding's table, turned, as the classifier of the same words
  const Network tied =
      read(input("t", {0, 6}, 7) + weight("e", {50, 4}) + node("Gather", {"e", "t"}, "x") +
           node("Transpose", {"e"}, "u", integers("perm", {1, 0})) + node("MatMul", {"x", "u"}, "y") + output("y"));
  CHECK(work(tied).parameters == 200);
}
