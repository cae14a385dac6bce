#include "workloads/layers/conv_forms.hpp"

#include <catch2/catch.hpp>

#include "workloads/layers/layer_cost.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;

namespace {

Window square_window(int side, int stride) { return {side, side, stride, stride, side / 2, side / 2}; }

/// M, N, K at `batch`.
void check_shape(const sim::MatrixShape& shape, double batch, double m, double n, double k) {
  CHECK(shape.m.at(batch) == m);
  CHECK(shape.n.at(batch) == n);
  CHECK(shape.k.at(batch) == k);
}

LayerCost cost_of(const Conv& conv, const Shape& in, const Shape& out) { return layer_cost(conv, std::span(&in, 1), out); }

}  // namespace

TEST_CASE("a 3 x 3 convolution in Winograd's forms, by hand", "[conv_forms]") {
  // 10 x 14 outputs, 64 channels, 128 filters, batch 8. F(4 x 4, 3 x 3): 3 x 4 tiles of 4 x 4, 36 products of (8 x 12) x 128 x
  // 64; written and read: 36 numbers of 4 bytes for each tile and channel or filter, 8 x 12 x (64 + 128), and each of 64 x 128
  // pairs.
  const std::vector<sim::FastForm> forms = fast_forms(square_window(3, 1), {1, 64, 128}, {128, 10, 14});
  REQUIRE(forms.size() == 2);
  check_shape(forms[0].matrix, 8, 96, 128, 64);
  CHECK(forms[0].products == 36);
  CHECK(forms[0].relative_efficiency == 1);
  CHECK(forms[0].transform_bytes.at(8) == 2 * 4 * 36 * (96.0 * (64 + 128) + 64 * 128));
  // F(2 x 2, 3 x 3), fused: 5 x 7 tiles of 4 outputs each, 16 multiplications for 4 outputs, 4 an output and channel.
  check_shape(forms[1].matrix, 8, 8 * 35 * 4, 128, 4 * 64);
  CHECK(forms[1].products == 1);
  CHECK(forms[1].relative_efficiency == 0.75);
  CHECK(forms[1].transform_bytes.at(8) == 0);
  // The filter's gradient sums over the 96 tiles and has no fused kernel.
  const std::vector<sim::FastForm> gradient = fast_gradient_forms(square_window(3, 1), {1, 64, 128}, {128, 10, 14});
  REQUIRE(gradient.size() == 1);
  check_shape(gradient[0].matrix, 8, 128, 64, 96);
  CHECK(gradient[0].transform_bytes.at(8) == forms[0].transform_bytes.at(8));
}

TEST_CASE("groups convolve on their own", "[conv_forms]") {
  // Four groups of 16 channels and 32 filters: four times the rows, and only pairs within a group.
  const std::vector<sim::FastForm> forms = fast_forms(square_window(3, 1), {4, 16, 32}, {128, 8, 8});
  check_shape(forms[0].matrix, 2, 4 * 2 * 4, 32, 16);
  CHECK(forms[0].transform_bytes.at(2) == 2 * 4 * 36 * (2 * 4 * (64.0 + 128) + 4 * 16 * 32));
  const std::vector<sim::FastForm> gradient = fast_gradient_forms(square_window(3, 1), {4, 16, 32}, {128, 8, 8});
  check_shape(gradient[0].matrix, 2, 128, 16, 2 * 4);
}

TEST_CASE("a 5 x 5 convolution may use Fourier's transform, by hand", "[conv_forms]") {
  // 27 x 27 outputs fit one tile of 32 x 32 (28 outputs): 32 x 17 complex coefficients, each product four real ones of 8 x 192
  // x 64.
  const std::vector<sim::FastForm> forms = fast_forms(square_window(5, 1), {1, 64, 192}, {192, 27, 27});
  REQUIRE(forms.size() == 2);
  check_shape(forms[0].matrix, 8, 8 * 14 * 14, 192, 64);  // F(2 x 2, 5 x 5)
  check_shape(forms[1].matrix, 8, 8, 192, 64);
  CHECK(forms[1].products == 4 * 544);
  CHECK(forms[1].transform_bytes.at(8) == 2 * 8 * 544 * (8.0 * (64 + 192) + 64 * 192));
}

TEST_CASE("which convolutions have fast forms", "[conv_forms]") {
  const auto count = [](const Window& w) { return fast_forms(w, {1, 64, 64}, {64, 28, 28}).size(); };
  CHECK(count(square_window(1, 1)) == 0);
  CHECK(count(square_window(3, 2)) == 0);
  CHECK(count(square_window(5, 2)) == 0);
  CHECK(count(square_window(7, 1)) == 1);
  CHECK(count({1, 7, 1, 1, 0, 3}) == 0);  // no side of 4
  CHECK(count(square_window(17, 1)) == 0);
}

TEST_CASE("a layer's passes hold their forms, and a strided data gradient its zeros", "[conv_forms]") {
  const LayerCost plain = cost_of({128, square_window(3, 1), 1, false}, {64, 10, 14}, {128, 10, 14});
  check_shape(plain.forward[0].op.fast_forms[0].matrix, 8, 96, 128, 64);
  check_shape(plain.data_gradient[0].op.fast_forms[0].matrix, 8, 96, 64, 128);  // channels and filters change places
  check_shape(plain.data_gradient[0].op.matrix, 8, 8 * 140, 64, 128 * 9);
  CHECK(plain.filter_gradient[0].op.relative_efficiency == 0.75);
  CHECK(plain.forward[0].op.relative_efficiency == 1);
  // 28 x 28 to 14 x 14 with a 1 x 1 window: a quarter of the input's positions meet it, half of each row that does. A row's tile
  // multiplies all of its positions: half of 256 a position, on average, of which the other half are zeros.
  const LayerCost strided = cost_of({256, {1, 1, 2, 2, 0, 0}, 1, false}, {64, 28, 28}, {256, 14, 14});
  check_shape(strided.data_gradient[0].op.matrix, 8, 8 * 784, 64, 256.0 / 4 * 2);
  CHECK(strided.data_gradient[0].op.flops.at(8) == strided.forward[0].op.flops.at(8));
}
