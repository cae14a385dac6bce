// Weights and multiply-adds of networks that others have counted, over all readers; the words that say what was read.
#include <catch2/catch.hpp>

#include "sim/base/errors.hpp"
#include "traces/networks/network_file.hpp"
#include "traces/networks/onnx_graph.hpp"
#include "workloads/layers/account.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse;
using namespace rehearse::workloads;

namespace {

const std::string kCounted = REHEARSE_SOURCE_DIR "/tests/traces/networks/counted/";
const std::string kTorch = REHEARSE_SOURCE_DIR "/tests/traces/networks/torch/";

struct Counted {
  std::string network;  ///< of the zoo, or a file
  double weights, multiply_adds;
  std::vector<Shape> inputs, outputs;
  bool has_attention = false;
};

}  // namespace

TEST_CASE("weights and multiply-adds of 18 networks are those that others have counted") {
  // Values: tests/traces/networks/counted/count_products.py, which prints them from PyTorch 1.13's own shapes; weights are also
  // torchvision's (alexnet to resnet50, mobilenet_v2, squeezenet1_1, shufflenet_v2_x1_0), Hugging Face's (BERT for questions,
  // without its pooler; GPT-2) and keras.io's (34,826 of its "Simple MNIST convnet", 2,757,761 of its bidirectional LSTM on
  // IMDB).
  const Shape image{3, 224, 224}, classes{1000, 1, 1};
  const Counted networks[] = {
      {"alexnet", 61'100'840, 714'188'480, {image}, {classes}},
      {"vgg16", 138'357'544, 15'470'264'320, {image}, {classes}},
      {"resnet18", 11'689'512, 1'814'073'344, {image}, {classes}},
      {"resnet50", 25'557'032, 4'089'184'256, {image}, {classes}},
      // PyTorch's LSTM has a second bias a gate, 4 x 1,500 a layer: the zoo's has one.
      {"rnnlm", 66'034'000 - 2 * 4 * 1'500, 1'785'000'000, {{1, 35, 1}}, {{10'000, 35, 1}}},
      {"bert", 108'893'186, 35'333'406'720, {{1, 384, 1}}, {{2, 384, 1}}, true},
      {"gpt2", 124'439'808, 145'824'153'600, {{1, 1'024, 1}}, {{50'257, 1'024, 1}}, true},
      {kCounted + "mobilenet_v2.onnx.gz", 3'504'872, 300'774'272, {image}, {classes}},
      {kCounted + "squeezenet.onnx.gz", 1'235'496, 349'151'936, {image}, {classes}},
      {kCounted + "shufflenet_v2.onnx.gz", 2'278'604, 144'907'992, {image}, {classes}},
      {kCounted + "crnn.onnx.gz", 8'723'749, 692'785'152, {{1, 32, 100}}, {{37, 24, 1}}},
      {kCounted + "vit.onnx.gz", 1'230'760, 232'005'120, {image}, {classes}, true},
      {kCounted + "dcgan_generator.onnx.gz", 12'658'435, 410'583'040, {{100, 1, 1}}, {{3, 64, 64}}},
      {kCounted + "tcn.onnx.gz", 40'842, 7'987'840, {{16, 200, 1}}, {{10, 1, 1}}},
      {kCounted + "mnist_convnet.json", 34'826, 2'440'960, {{1, 28, 28}}, {{10, 1, 1}}},
      // 20,000 x 128; twice two directions of 4 x 64 x (128 + 64 + 1); 128 + 1. A step of a layer: 2 x 4 x 64 x 192, twice, 200
      // of them; 128.
      {kCounted + "imdb_bilstm.json", 2'560'000 + 2 * 98'816 + 129, 200 * 2 * 98'304 + 128, {{1, 200, 1}}, {{1, 1, 1}}},
      // 64,000 of the table, 128 of the norm, 3 x 4,160, 256 x 65, 64 x 257. 32 x (3 x 64 x 64 + 2 x 64 x 256), and twice 8 heads
      // of 32 x 32 x 8.
      {kTorch + "encoder_export.txt",
       64'000 + 128 + 12'480 + 16'640 + 16'448,
       32 * 45'056 + 2 * 65'536,
       {{1, 32, 1}},
       {{64, 1, 1}},
       true},
      // 16 x 27, 32, 16 x 144, 170. 1,024 x 16 x (27 + 144), 160.
      {kTorch + "residual_export.txt", 432 + 32 + 2'304 + 170, 1'024 * 16 * 171 + 160, {{3, 32, 32}}, {{10, 1, 1}}},
  };
  for (const Counted& one : networks) {
    CAPTURE(one.network);
    if (one.network.ends_with(".onnx.gz") && traces::OnnxModel::newest_opset() == 0) continue;  // built without the library
    const NetworkAccount account =
        account_of(traces::names_file(one.network) ? traces::read_network(one.network) : zoo_network(one.network));
    CHECK(account.weights == one.weights);
    CHECK(account.multiply_adds == Approx(one.multiply_adds).epsilon(1e-12));
    CHECK(account.inputs == one.inputs);
    CHECK(account.outputs == one.outputs);
    CHECK(account.has_attention == one.has_attention);
  }
}

TEST_CASE("the account in words") {
  CHECK(
      account_words(account_of(zoo_network("resnet50"))) ==
      "175 layers (54 with matrix products), 25.56 M weights, 4.089 G multiply-adds a sample; input 3 x 224 x 224, output 1000");
  Network net{"n", {}};
  const int a = net.add("a", Input{{8, 5, 1}}), b = net.add("b", Input{{1, 5, 1}});
  const int c = net.add("c", Embedding{3, 8}, {b});
  net.add("d", Attention{2}, {a, c, c});
  net.add("e", Dense{2}, {a});
  net.add("loss", Loss{});
  // The table 24 and the layer 8 x 2 + 2. Twice 5 x 5 x 8 of attention and 5 x 16.
  CHECK(account_words(account_of(net)) ==
        "3 layers (2 with matrix products), 42 weights, 480 multiply-adds a sample; inputs 5 steps "
        "of 8 and 5 steps of 1, outputs 5 steps of 8 and 5 steps of 2");
  CHECK(account_of(net).has_attention);
  CHECK(account_words(account_of(Network{"none", {}})) ==
        "0 layers (0 with matrix products), 0 weights, 0 multiply-adds a sample; inputs none, outputs none");
}

TEST_CASE("the account of all layers is that of each, and of the operations") {
  for (const ZooEntry& entry : zoo()) {
    CAPTURE(entry.name);
    const Network network = zoo_network(entry.name);
    const NetworkAccount account = account_of(network);
    const sim::OpGraph graph = zoo_graph(entry.name);
    double weights = 0, multiply_adds = 0, forward_flops = 0;
    for (const LayerAccount& layer : account.of_layer) {
      weights += layer.weights;
      multiply_adds += layer.multiply_adds;
    }
    for (const sim::Op& op : graph.ops)
      if (op.phase == sim::Phase::forward && op.matrix.m.at(1) > 0) forward_flops += op.flops.at(1);
    CHECK(weights == account.weights);
    CHECK(account.weights == graph.parameters);
    CHECK(multiply_adds == account.multiply_adds);
    CHECK(2 * account.multiply_adds == Approx(forward_flops).epsilon(1e-12));
    const bool has_attention = entry.name == "bert" || entry.name == "gpt2" || entry.name == "nmt";
    CHECK(account.has_attention == has_attention);
  }
}
