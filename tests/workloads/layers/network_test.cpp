#include "workloads/layers/network.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "sim/base/errors.hpp"
#include "workloads/layers/structure.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;

namespace {

Shape shape_of(const std::vector<Shape>& in, LayerSpec spec) {
  Network net{"net", {}};
  std::vector<int> inputs;
  for (const Shape& shape : in) inputs.push_back(net.add("input", Input{shape}));
  net.add("layer", std::move(spec), std::move(inputs));
  return infer_shapes(net).back();
}

Shape shape_after(Shape in, LayerSpec spec) { return shape_of({in}, std::move(spec)); }

}  // namespace

TEST_CASE("output shapes by hand", "[network]") {
  CHECK(shape_after({3, 224, 224}, Conv{64, square(7, 2, 3)}) == Shape{64, 112, 112});    // (224 + 6 - 7) / 2 + 1
  CHECK(shape_after({3, 55, 55}, Pool{Pooling::max, square(3, 2)}) == Shape{3, 27, 27});  // (55 - 3) / 2 + 1
  CHECK(shape_after({768, 17, 17}, Conv{192, same(1, 7)}) == Shape{192, 17, 17});
  CHECK(shape_after({1, 161, 1230}, Conv{32, {41, 11, 2, 2, 20, 5}}) == Shape{32, 81, 615});
  CHECK(shape_after({100, 1, 1}, TransposedConv{512, square(4)}) == Shape{512, 4, 4});        // (1 - 1) 1 + 4
  CHECK(shape_after({512, 4, 4}, TransposedConv{256, square(4, 2, 1)}) == Shape{256, 8, 8});  // (4 - 1) 2 - 2 + 4
  CHECK(shape_after({32, 41, 615}, ToSequence{}) == Shape{1312, 615, 1});
  CHECK(shape_after({32, 2, 3}, Flatten{}) == Shape{192, 1, 1});
  CHECK(shape_after({1, 35, 1}, Embedding{1000, 64}) == Shape{64, 35, 1});
  CHECK(shape_after({64, 35, 1}, Recurrent{Cell::gru, 50, true}) == Shape{100, 35, 1});
  CHECK(shape_after({64, 35, 1}, Recurrent{Cell::gru, 50, true, true}) == Shape{50, 35, 1});
  CHECK(shape_after({64, 35, 1}, Recurrent{.hidden = 50, .bidirectional = true, .projection = 8}) == Shape{16, 35, 1});
  CHECK(shape_after({64, 35, 1}, LastStep{}) == Shape{64, 1, 1});
  CHECK(shape_after({64, 35, 1}, Dense{10}) == Shape{10, 35, 1});
}

TEST_CASE("dilated windows and zeros at one end, by hand", "[network]") {
  const auto window = [](int size, int stride, int pad, int dilation, int end) {
    return Window{size, size, stride, stride, pad, pad, dilation, dilation, end, end};
  };
  CHECK(shape_after({3, 50, 50}, Conv{8, window(3, 1, 0, 2, 0)}) == Shape{8, 46, 46});          // 50 - (2 x 2 + 1) + 1
  CHECK(shape_after({3, 32, 32}, Conv{8, window(2, 1, 0, 1, 1)}) == Shape{8, 32, 32});          // an even window, "same"
  CHECK(shape_after({3, 32, 1}, Conv{8, {3, 1, 1, 1, 4, 0, 2, 1, -4, 0}}) == Shape{8, 32, 1});  // causal: 4 zeros in front
  // Ceil mode: (112 - 3) / 2 + 1 = 55.5; one column more lets the 56th window fit.
  CHECK(shape_after({64, 112, 112}, Pool{Pooling::max, window(3, 2, 0, 1, 1)}) == Shape{64, 56, 56});
  // Output padding 1: (16 - 1) 2 - 2 + 3 + 1
  CHECK(shape_after({8, 16, 16}, TransposedConv{4, window(3, 2, 1, 1, -1), true, 4}) == Shape{4, 32, 32});
  CHECK_THROWS_AS(shape_after({3, 4, 4}, Conv{8, window(3, 1, 0, 2, 0)}), sim::InputError);
  CHECK_THROWS_AS(shape_after({3, 4, 4}, Conv{8, window(3, 1, 1, 1, -2)}), sim::InputError);
  CHECK_THROWS_AS(shape_after({3, 4, 4}, Conv{8, window(3, 1, 1, 0, 0)}), sim::InputError);
  CHECK_THROWS_AS(shape_after({3, 4, 4}, TransposedConv{5, square(3), true, 3}), sim::InputError);
}

TEST_CASE("parts, sums, products and other shapes of inputs", "[network]") {
  CHECK(shape_after({240, 28, 28}, Rearrange{{3, 80, 784}, true}) == Shape{3, 80, 784});
  CHECK(shape_after({240, 28, 28}, Slice{{240, 14, 28}}) == Shape{240, 14, 28});
  CHECK(shape_after({240, 28, 28}, Reduce{{240, 1, 28}}) == Shape{240, 1, 28});
  CHECK(shape_after({4, 7, 7}, Resize{{4, 10, 21}}) == Shape{4, 10, 21});
  CHECK(shape_of({{4, 3, 5}, {4, 9, 5}}, Concat{Axis::height}) == Shape{4, 12, 5});
  CHECK(shape_of({{4, 3, 5}, {4, 3, 1}}, Concat{Axis::width}) == Shape{4, 3, 6});
  CHECK(shape_of({{16, 1, 1}, {16, 8, 8}}, Multiply{}) == Shape{16, 8, 8});
  CHECK(shape_of({{16, 8, 1}, {1, 8, 8}, {16, 1, 1}}, Add{}) == Shape{16, 8, 8});
  CHECK(shape_of({{8, 35, 64}, {8, 64, 20}}, MatrixProduct{}) == Shape{8, 35, 20});
  CHECK_THROWS_AS(shape_after({4, 4, 4}, Rearrange{{4, 4, 5}}), sim::InputError);
  CHECK_THROWS_AS(shape_after({4, 4, 4}, Slice{{4, 4, 5}}), sim::InputError);
  CHECK_THROWS_AS(shape_after({4, 4, 4}, Reduce{{4, 4, 5}}), sim::InputError);
  CHECK_THROWS_AS(shape_after({4, 4, 4}, Resize{{4, 0, 5}}), sim::InputError);
  CHECK_THROWS_AS(shape_of({{4, 3, 5}, {4, 3, 6}}, Concat{Axis::height}), sim::InputError);
  CHECK_THROWS_AS(shape_of({{4, 3, 5}, {4, 2, 5}}, Add{}), sim::InputError);
  CHECK_THROWS_AS(shape_of({{4, 3, 5}, {4, 3, 5}, {4, 3, 5}}, Multiply{}), sim::InputError);
  CHECK_THROWS_AS(shape_of({{8, 35, 64}, {8, 35, 64}}, MatrixProduct{}), sim::InputError);
}

TEST_CASE("every layer that cannot work is named, what follows it is not", "[network]") {
  Network net{"net", {}};
  const int input = net.add("input", Input{{3, 8, 8}});
  net.add("too large", Conv{4, square(9)}, {input});
  net.add("behind it", Conv{4, square(9)});
  net.add("no filters", Conv{0, square(3)}, {input});
  net.add("image into dense", Dense{10}, {input});
  net.add("groups", Conv{4, square(3), 2}, {input});
  net.add("shrinks", TransposedConv{4, square(1, 1, 0)}, {input});  // fine
  net.add("unequal", Add{}, {input, net.last()});
  net.add("later input", Add{}, {input, 20});
  net.add("padding", Pool{Pooling::max, square(2, 1, 2)}, {input});
  net.add("itself", Dense{1}, {net.last() + 1});
  try {
    infer_shapes(net);
    FAIL("eight mistakes");
  } catch (const sim::InputError& error) {
    std::vector<std::string> named;
    for (const sim::Mistake& m : error.mistakes()) named.push_back(m.pointer);
    CHECK(named == std::vector<std::string>{"net/too large", "net/no filters", "net/image into dense", "net/groups",
                                            "net/unequal", "net/later input", "net/padding", "net/itself"});
  }
}

TEST_CASE("sizes that would overflow are mistakes", "[network]") {
  CHECK_THROWS_AS(shape_after({1 << 20, 1 << 10, 1 << 10}, Flatten{}), sim::InputError);
  CHECK_THROWS_AS(shape_after({1, 1 << 20, 1}, TransposedConv{1, {30000, 1, 30000, 1, 0, 0}}), sim::InputError);
  CHECK_THROWS_AS(shape_after({1, 4, 4}, Pool{Pooling::max, square(1 << 30, 1, (1 << 30) - 1)}), sim::InputError);
  CHECK_THROWS_AS(shape_after({16, 35, 1}, Recurrent{.cell = Cell::gru, .hidden = 50, .projection = 8}), sim::InputError);
  CHECK_THROWS_AS(shape_after({16, 35, 1}, Recurrent{.hidden = 50, .projection = -1}), sim::InputError);
  CHECK_THROWS_AS(shape_after({16, 35, 1}, Recurrent{Cell::lstm, 2'000'000'000, true}), sim::InputError);
}

TEST_CASE("a transposed convolution undoes the shape of a convolution whose stride divides evenly", "[network]") {
  rc::prop("transposed", [] {
    const int size = *rc::gen::inRange(1, 8), stride = *rc::gen::inRange(1, 4), pad = *rc::gen::inRange(0, size);
    const int out = *rc::gen::inRange(1, 30), side = (out - 1) * stride + size - 2 * pad;
    RC_PRE(side > 0);
    const Window window = square(size, stride, pad);
    RC_ASSERT(shape_after({3, side, side}, Conv{5, window}) == (Shape{5, out, out}));
    RC_ASSERT(shape_after({5, out, out}, TransposedConv{3, window}) == (Shape{3, side, side}));
  });
}

TEST_CASE("networks from structure parameters have the layers they say", "[network]") {
  // 28 x 28 -> conv 8, pool 14 -> conv 16, pool 7 -> flatten 784 -> 100 -> 10
  const Network cnn = make_network(CnnStructure{
      .conv_layers = 2, .filters = 8, .dense_layers = 1, .nodes = 100, .image_height = 28, .image_width = 28, .channels = 1});
  const std::vector<Shape> shapes = infer_shapes(cnn);
  CHECK(shapes[shapes.size() - 5] == Shape{784, 1, 1});
  CHECK(shapes[shapes.size() - 2] == Shape{10, 1, 1});

  const std::vector<Shape> rnn = infer_shapes(make_network(
      RnnStructure{.layers = 2, .hidden = 16, .steps = 5, .classes = 7, .bidirectional = true, .classify_every_step = false}));
  CHECK(rnn[rnn.size() - 2] == Shape{7, 1, 1});
  CHECK(rnn[rnn.size() - 3] == Shape{32, 1, 1});
  CHECK(infer_shapes(make_network(MlpStructure{})).size() == 7);

  CHECK_THROWS_AS(make_network(CnnStructure{.conv_layers = -1}), sim::InputError);
  CHECK_THROWS_AS(make_network(CnnStructure{.layers_per_pool = 0}), sim::InputError);
  CHECK_THROWS_AS(make_network(MlpStructure{.layers = 2'000'000'000}), sim::InputError);
  CHECK_THROWS_AS(infer_shapes(make_network(MlpStructure{.nodes = 0})), sim::InputError);
}

TEST_CASE("any CNN structure with odd kernels and positive sizes works", "[network]") {
  rc::prop("cnn", [] {
    const CnnStructure s{.conv_layers = *rc::gen::inRange(0, 20),
                         .filters = *rc::gen::inRange(1, 64),
                         .kernel = 2 * *rc::gen::inRange(0, 4) + 1,
                         .layers_per_pool = *rc::gen::inRange(1, 4),
                         .dense_layers = *rc::gen::inRange(0, 4),
                         .nodes = *rc::gen::inRange(1, 100),
                         .image_height = *rc::gen::inRange(1, 65),
                         .image_width = *rc::gen::inRange(1, 65),
                         .batch_norm = *rc::gen::arbitrary<bool>()};
    RC_ASSERT(infer_shapes(make_network(s)).back() == (Shape{1, 1, 1}));
  });
}
