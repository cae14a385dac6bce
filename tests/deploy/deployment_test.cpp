#include "deploy/deployment.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "deploy/keras.hpp"
#include "deploy/torch_network.hpp"
#include "sim/base/errors.hpp"
#include "workloads/layers/structure.hpp"

using namespace rehearse;
using namespace rehearse::traces;
using namespace rehearse::workloads;

namespace {

std::string lines_of(const Network& network) { return keras_network(network, {}).lines; }

}  // namespace

TEST_CASE("even shares keep the batch and differ by at most one") {
  CHECK(even_batches(10, 4) == std::vector<int>{3, 3, 2, 2});
  rc::prop("any batch and workers", [] {
    const int workers = *rc::gen::inRange(1, 200), batch = workers + *rc::gen::inRange(0, 10'000);
    const std::vector<int> shares = even_batches(batch, workers);
    RC_ASSERT(std::accumulate(shares.begin(), shares.end(), 0) == batch);
    RC_ASSERT(shares.front() - shares.back() <= 1);
  });
}

TEST_CASE("padding that Keras places otherwise under strides is made explicit") {
  Network net{"n", {}};
  net.add("in", Input{{3, 8, 8}});
  net.add("a", Conv{4, square(3, 2, 1), 1, false});
  net.add("b", Conv{4, same(3, 3)});
  net.add("up", TransposedConv{2, square(4, 2, 1)});  // 4 x 4: 2 * 3 + 4 - 2 = 8; Keras's 4 * 2 + 2 = 10, less 1 on each side
  net.add("flat", Flatten{});
  const std::string lines = lines_of(net);
  CHECK(lines.find("layers.ZeroPadding2D((1, 1))(x0)") != lines.npos);
  CHECK(lines.find("strides=(1, 1), padding=\"same\", use_bias=True, name=\"b\")(x1)") != lines.npos);
  CHECK(lines.find("x3 = layers.Cropping2D(((1, 1), (1, 1)))(x3)") != lines.npos);
}

TEST_CASE("layers of hostile names get names of their own that Keras takes") {
  Network net{"n", {}};
  net.add("in", Input{{4, 1, 1}});
  net.add("a\")\nimport os", Dense{3});
  net.add("a\") import os", Dense{3});
  const std::string lines = lines_of(net);
  CHECK(lines ==
        "    x0 = keras.Input((4,), name=\"in\")\n"
        "    x1 = layers.Dense(3, use_bias=True, name=\"a___import_os\")(x0)\n"
        "    x2 = layers.Dense(3, use_bias=True, name=\"a___import_os_2\")(x1)\n");
}

TEST_CASE("shared parameters are one layer, an embedding's those of a tied classifier") {
  Network net{"n", {}};
  net.add("tokens", Input{{1, 5, 1}});
  net.add("words", Embedding{10, 4});
  net.add("classifier", Dense{10, false});
  net.layers.back().shares = 1;
  const KerasNetwork keras = keras_network(net, {});
  CHECK(keras.lines.find("l1 = layers.Embedding(10, 4, name=\"words\")\n    x1 = l1(x0)") != std::string::npos);
  CHECK(keras.lines.find("x2 = blocks.Tied(l1, name=\"classifier\")(x1)") != std::string::npos);
  CHECK(keras.objective == Objective::positions);
  net.add("wrong", Recurrent{Cell::gru, 3});
  net.layers.back().shares = 1;
  CHECK_THROWS_AS(keras_network(net, {}), sim::InputError);
}

TEST_CASE("layers that lead to no loss are left out") {
  Network net{"n", {}};
  net.add("in", Input{{4, 1, 1}});
  net.add("unused", Dense{3});
  net.add("used", Dense{2}, {0});
  net.add("loss", Loss{});
  CHECK(lines_of(net).find("unused") == std::string::npos);
  CHECK(keras_network(net, {}).model_outputs == "[x2]");
}

TEST_CASE("what no code can be written for is refused") {
  Network net{"n", {}};
  net.add("in", Input{{3, 8, 8}});
  CHECK_THROWS_AS(keras_network(net, {}), sim::InputError);  // an image as output
  Network mlp = make_network(MlpStructure{});
  mlp.only_costs = true;
  CHECK_THROWS_AS(keras_network(mlp, {}), sim::InputError);
}

TEST_CASE("layers that only files of networks have are refused by name, in both frameworks") {
  Network net{"net", {}};
  net.add("input", Input{{4, 8, 8}});
  const int dilated = net.add("dilated", Conv{4, {3, 3, 1, 1, 2, 2, 2, 2}});
  net.add("uneven", Pool{Pooling::max, {2, 2, 1, 1, 0, 0, 1, 1, 1, 1}});
  net.add("turned", Rearrange{{8, 8, 4}, true});
  net.add("means", GlobalPool{});  // 8 numbers
  const int shaped = net.add("shaped", Rearrange{{1, 1, 8}});
  net.add("repeated", Add{}, {dilated, shaped});
  net.add("flatten", Flatten{});
  net.add("loss", Loss{});
  const auto named = [&](auto&& write) {
    std::vector<std::string> found;
    try {
      write();
    } catch (const sim::InputError& error) {
      for (const sim::Mistake& m : error.mistakes()) found.push_back(m.pointer);
    }
    return found;
  };
  const std::vector<std::string> all{"net/dilated", "net/uneven", "net/turned", "net/shaped", "net/repeated"};
  CHECK(named([&] { (void)keras_network(net, {}); }) == all);
  CHECK(named([&] { (void)torch_network(net, {}); }) == all);
}

TEST_CASE("generated networks of every structure have code") {
  for (const Block block : {Block::plain, Block::residual, Block::bottleneck, Block::factorised})
    CHECK(!lines_of(make_network(CnnStructure{.conv_layers = 3, .batch_norm = true, .block = block})).empty());
  for (const Cell cell : {Cell::vanilla, Cell::gru, Cell::lstm})
    CHECK(lines_of(make_network(RnnStructure{.cell = cell, .bidirectional = true, .classify_every_step = false}))
              .find("layers.Cropping1D((34, 0)") != std::string::npos);
  CHECK(!lines_of(make_network(MlpStructure{})).empty());
}

TEST_CASE("usual learning rates") {
  CHECK(usual_learning_rate(Optimizer::momentum, 1024) == Approx(0.4));  // 0.1 x 1024 / 256
  CHECK(usual_learning_rate(Optimizer::adam, 1024) == Approx(0.002));    // 0.001 x sqrt(4)
}
