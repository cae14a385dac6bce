#include <catch2/catch.hpp>
#include <cmath>

#include "tests/workloads/devices.hpp"
#include "workloads/generate/sweep.hpp"
#include "workloads/layers/structure.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse;
using namespace rehearse::workloads;

TEST_CASE("features of a small CNN, by hand") {
  // 3 x 8 x 8 -> 4 filters of 3 x 3 (4 x 8 x 8) -> ReLU -> pool (4 x 4 x 4) -> flatten (64) -> dense 10 -> ReLU -> dense 2 ->
  // loss
  const StructureFeatures f = structure_features(make_network(CnnStructure{.conv_layers = 1,
                                                                           .filters = 4,
                                                                           .kernel = 3,
                                                                           .dense_layers = 1,
                                                                           .nodes = 10,
                                                                           .image_height = 8,
                                                                           .image_width = 8,
                                                                           .classes = 2}));
  CHECK(f.conv_layers == 1);
  CHECK(f.dense_layers == 2);
  CHECK(f.recurrent_layers == 0);
  CHECK(f.other_layers == 5);  // ReLU, pool, flatten, ReLU, loss
  CHECK(f.filters == 4);
  CHECK(f.kernel_side == 3);
  CHECK(f.dense_nodes == 12);
  CHECK(f.input_elements == 192);
  // 4 (3 3 3 + 1) = 112; 10 (64 + 1) = 650; 2 (10 + 1) = 22
  CHECK(f.parameters == 784);
  // 2 x 64 positions x 4 filters x 27 = 13,824; 2 (64 x 10 + 10 x 2) = 1,320
  CHECK(f.square3_flops == 13824);
  CHECK(f.dense_flops == 1320);
  CHECK(f.flops() == 15144);
  CHECK(f.padded_flops == 13824 * 16);  // 4 filters take a tile of 64
  CHECK(f.conv_elements == 256);
  CHECK(f.root_flops == Approx(std::sqrt(13824.0) + std::sqrt(1280.0) + std::sqrt(40.0)));
}

TEST_CASE("features of a small RNN, by hand") {
  const StructureFeatures f = structure_features(make_network(
      RnnStructure{.cell = Cell::lstm, .layers = 2, .hidden = 6, .steps = 5, .vocabulary = 0, .features = 4, .classes = 3}));
  CHECK(f.recurrent_layers == 2);
  CHECK(f.hidden == 12);
  CHECK(f.recurrent_steps == 10);  // two layers of five
  CHECK(f.input_elements == 20);
  // 4 gates of 6: 24 (4 + 6 + 1) = 264 and 24 (6 + 6 + 1) = 312; 3 (6 + 1) = 21
  CHECK(f.parameters == 597);
  CHECK(f.recurrent_reads == 5 * 576);
  // 2 x 5 steps x 24 (10 + 12) = 5,280; 2 x 5 x 18 = 180
  CHECK(f.recurrent_flops == 5280);
  CHECK(f.dense_flops == 180);
}

TEST_CASE("features agree with the graphs of the zoo") {
  for (const ZooEntry& entry : zoo()) {
    INFO(entry.name);
    const StructureFeatures f = structure_features(entry.build(dataset(entry.dataset)));
    const sim::OpGraph graph = zoo_graph(entry.name);
    CHECK(f.parameters == Approx(graph.parameters).epsilon(1e-9));
    double forward_flops = 0;
    for (const sim::Op& op : graph.ops)
      if (op.phase == sim::Phase::forward && op.matrix.m.at(1) > 0) forward_flops += op.flops.at(1);
    CHECK(f.flops() == Approx(forward_flops).epsilon(1e-9));
  }
}

TEST_CASE("a sweep is the same for the same seed, and fits its devices") {
  const std::vector<sim::Device> devices{tests::k80(), tests::knl()};
  const std::vector<double> limits{1, 0.6};
  for (const SweepKind kind : {SweepKind::cnn, SweepKind::rnn}) {
    const SweepSettings settings{.kind = kind, .networks = 12, .noise = 0.1, .seed = 3};
    const auto networks = sweep_networks(settings);
    REQUIRE(networks.size() == 12);
    const auto rows = sweep_rows(networks, devices, limits, settings), again = sweep_rows(networks, devices, limits, settings);
    REQUIRE(rows.size() == again.size());
    CHECK(rows.size() > 60);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(rows[i].step_s == again[i].step_s);
      CHECK(rows[i].step_s > 0);
      CHECK(rows[i].memory_bytes <= 0.94 * devices[static_cast<std::size_t>(rows[i].device)].memory_bytes);
      CHECK((rows[i].device == 0 || rows[i].power_limit_w == 0));  // a CPU has no limit
    }
    SweepSettings other = settings;
    other.seed = 4;
    CHECK(sweep_rows(sweep_networks(other), devices, limits, other).front().step_s != rows.front().step_s);
  }
}
