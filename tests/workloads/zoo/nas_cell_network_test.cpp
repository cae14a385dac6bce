#include "workloads/zoo/nas_cell_network.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "workloads/layers/account.hpp"
#include "workloads/layers/structure.hpp"
#include "workloads/steps/graph_builder.hpp"

using namespace rehearse;
using namespace rehearse::workloads;

namespace {

NasCell cell(const std::string& text) { return parse_nas_cell(text).value(); }

/// Nodes reached from node 0 by walking each of the ways from it, of which there are four.
bool way(const NasCell& c, std::initializer_list<std::size_t> edges) {
  for (const std::size_t edge : edges)
    if (c[edge] == NasOp::none) return false;
  return true;
}

}  // namespace

TEST_CASE("networks of cells have the benchmark's parameters and multiply-adds") {
  // Without a convolution in the cell the skeleton is left. Parameters: stem 432 + 32; first reduction 4608 + 64 + 9216 + 64 +
  // 512, second 18432 + 128 + 36864 + 128 + 2048; last batch norm 128; classifier 640 + 10: 73,306, as the benchmark has it
  // (0.073306 million). Multiply-adds: 432 x 1024; (4608 + 9216 + 512) x 256; (18432 + 36864 + 2048) x 64; 640: 7,783,040 (7.78).
  const auto skips = nas_cell_network(
      cell("|skip_connect~0|+|skip_connect~0|skip_connect~1|+|skip_connect~0|skip_connect~1|skip_connect~2|"), 10);
  REQUIRE(skips);
  CHECK(structure_features(*skips).parameters == 73306);
  CHECK(account_of(*skips).multiply_adds == 7783040);
  // Six 3 x 3 convolutions in each of 15 cells: 6 x 5 x (9 (256 + 1024 + 4096) + 2 (16 + 32 + 64)) = 1,458,240 more; 1.531546
  // million in the benchmark. 6 x 5 x (2304 x 1024 + 9216 x 256 + 36864 x 64) = 212,336,640 more: 220.12 million.
  const auto convs = nas_cell_network(
      cell("|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|"), 10);
  REQUIRE(convs);
  CHECK(structure_features(*convs).parameters == 1531546);
  CHECK(account_of(*convs).multiply_adds == 220119680);
  // 100 classes: 64 x 90 + 90 more.
  CHECK(structure_features(*nas_cell_network(cell("|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|"), 100)).parameters ==
        73306 + 5850);
}

TEST_CASE("operations that the output knows nothing of are left out") {
  // Node 1 is given nothing, and node 2 hands nothing on: neither convolution counts.
  const auto net = nas_cell_network(cell("|none~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_1x1~1|none~2|"), 10);
  REQUIRE(net);
  CHECK(structure_features(*net).parameters == 73306);
  CHECK_FALSE(nas_cell_network(cell("|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|none~0|none~1|none~2|"), 10));
  CHECK_FALSE(nas_cell_network(cell("|none~0|+|none~0|nor_conv_3x3~1|+|none~0|nor_conv_3x3~1|nor_conv_3x3~2|"), 10));
}

TEST_CASE("every cell with a way from its input to its output is a network") {
  rc::prop("a network, and every layer but the loss is another's input", [] {
    NasCell c;
    for (NasOp& op : c) op = static_cast<NasOp>(*rc::gen::inRange(0, 5));
    // 0-3; 0-1-3; 0-2-3; 0-1-2-3
    const bool connected = way(c, {3}) || way(c, {0, 4}) || way(c, {1, 5}) || way(c, {0, 2, 5});
    const auto net = nas_cell_network(c, 10);
    RC_ASSERT(net.has_value() == connected);
    if (!net) return;
    RC_ASSERT(infer_shapes(*net)[net->layers.size() - 2] == (Shape{10, 1, 1}));
    std::vector<bool> taken(net->layers.size());
    for (const Layer& layer : net->layers)
      for (const int input : layer.inputs) taken[static_cast<std::size_t>(input)] = true;
    for (std::size_t i = 0; i + 1 < taken.size(); ++i) RC_ASSERT(taken[i]);
    RC_ASSERT(build_graph(*net).ops.size() > 0);
  });
}
